package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ledger.example/internal/retry"
)

const (
	// silenceTimeout ends a load in which no request succeeds.
	silenceTimeout = 20 * time.Second
	// finishTimeout bounds requests in flight when the run ends, and checkTimeout the checks after it: with the time
	// that the API needs to stop, Ctrl-C takes at most some 20 s.
	finishTimeout = 5 * time.Second
	checkTimeout  = 12 * time.Second
)

// errSilent ends a run whose ledger no longer succeeds at anything.
var errSilent = fmt.Errorf("no request succeeded for %s", silenceTimeout)

// storeError ends a run whose store has stopped.
type storeError struct{ error }

// storeLost returns the error of a store that has stopped, nil while it runs.
func storeLost(ctx context.Context) error {
	lost, _ := errors.AsType[storeError](context.Cause(ctx))
	return lost.error
}

// outlasting returns a context that ends the given time after ctx, for the same cause, so that what is in flight can
// finish. If the store has stopped it ends at once.
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

// watchSilence ends the run when nothing succeeds for silenceTimeout, until stop is called.
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
