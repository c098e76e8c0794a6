package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// silencePatience is how long the load goes on without one success.
	silencePatience = 20 * time.Second
	// finishPatience is how long requests that are under way may take when the run has ended, and checkPatience how long the
	// checks may go on from then: with what the API takes to end, Ctrl-C is obeyed within some 20 s.
	finishPatience = 5 * time.Second
	checkPatience  = 12 * time.Second
)

// errSilent ends a run whose ledger does nothing any more.
var errSilent = fmt.Errorf("the ledger did nothing that it was asked to for %s", silencePatience)

// storeError ends a run whose store has ended.
type storeError struct{ err error }

func (e *storeError) Error() string { return e.err.Error() }
func (e *storeError) Unwrap() error { return e.err }

// lost is why nothing can be asked any more, nil unless the store has ended.
func lost(ctx context.Context) error {
	if gone, ok := errors.AsType[*storeError](context.Cause(ctx)); ok {
		return gone
	}
	return nil
}

// outlasting returns a context that ends so long after ctx, for the same cause: what is under way is finished, but not waited
// for for ever. When the store has ended there is nothing to wait for.
func outlasting(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if lost(ctx) != nil || wait(longer, by) {
			cancel(context.Cause(ctx))
		}
	})
	return longer, func() {
		stop()
		cancel(nil)
	}
}

// wait returns after d, or when ctx ends: then it is false.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// succeeded tells that the ledger does what it is asked to.
func (r *run) succeeded() { r.success.Store(int64(time.Since(r.began))) }

// guard ends the run when nothing succeeds for silencePatience, until stop is called.
func (r *run) guard(ctx context.Context) (stop func()) {
	ctx, stop = context.WithCancel(ctx)
	r.succeeded()
	go func() {
		for left := silencePatience; left > 0; left = silencePatience - (time.Since(r.began) - time.Duration(r.success.Load())) {
			if !wait(ctx, left) {
				return
			}
		}
		r.end(errSilent)
	}()
	return stop
}
