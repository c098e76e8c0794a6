package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ledger.example/internal/retry"
)

const (
	// silenceTimeout is the time without a successful request after which the load ends.
	silenceTimeout = 20 * time.Second
	// After the end of the load, finishTimeout bounds the requests in flight, and checkTimeout the checks. Together
	// with the shutdown of the API, Ctrl-C takes at most about 20 s.
	finishTimeout = 5 * time.Second
	checkTimeout  = 12 * time.Second
)

// errSilent ends a run in which no request succeeds any more.
var errSilent = fmt.Errorf("no request succeeded for %s", silenceTimeout)

// storeError ends a run whose store has stopped.
type storeError struct{ error }

// storeLost returns the error of a store that has stopped, or nil while it runs.
func storeLost(ctx context.Context) error {
	lost, _ := errors.AsType[storeError](context.Cause(ctx))
	return lost.error
}

// outlasting returns a context that ends the given time after ctx, with the same cause, so that requests in flight can
// finish. If the store has stopped, it ends together with ctx.
func outlasting(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if storeLost(ctx) != nil || retry.Sleep(longer, by) == nil {
			cancel(context.Cause(ctx))
		}
	})
	return longer, func() {
		stop()
		cancel(nil)
	}
}

// watchSilence ends the run when no request succeeds for silenceTimeout. stop ends the watch.
func (r *Run) watchSilence(ctx context.Context) (stop func()) {
	ctx, stop = context.WithCancel(ctx)
	r.noteSuccess()
	go func() {
		for silence := time.Duration(0); silence < silenceTimeout; {
			if retry.Sleep(ctx, silenceTimeout-silence) != nil {
				return
			}
			silence = time.Since(r.began) - time.Duration(r.success.Load())
		}
		r.end(errSilent)
	}()
	return stop
}

func (r *Run) noteSuccess() { r.success.Store(int64(time.Since(r.began))) }
