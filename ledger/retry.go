package ledger

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"ledger.example/ledger/table"
)

const (
	// life is how long a command lives: less than the settle window, so that what it appended is not settled before it
	// answers.
	life = 8 * time.Second
	// lifeMargin is kept of the caller's own deadline, for the answer.
	lifeMargin = 250 * time.Millisecond
	// requestLife is how long one request to the store may take: a hanging one leaves time for another.
	requestLife = 2500 * time.Millisecond
	// declinedTries is how often a command asks a store that declines (throttled, unavailable) before it says so.
	declinedTries = 6
	// pauseLeast and pauseMost bound the pause before trying again: it doubles from try to try, with jitter.
	pauseLeast = 20 * time.Millisecond
	pauseMost  = 640 * time.Millisecond
)

// lifeOf returns the context that a command lives in: that of its caller without its cancellation, since a caller who
// hangs up must not leave an outcome unknown that could be found out.
func lifeOf(ctx context.Context) (context.Context, context.CancelFunc) {
	end := time.Now().Add(life)
	if own, ok := ctx.Deadline(); ok && own.Add(-lifeMargin).Before(end) {
		end = own.Add(-lifeMargin)
	}
	return context.WithDeadline(context.WithoutCancel(ctx), end)
}

// pause waits before the try after number tries, counted from one. It reports whether there is life left.
func pause(ctx context.Context, tries int) bool {
	most := min(pauseMost, pauseLeast<<min(tries-1, 16))
	timer := time.NewTimer(most/2 + jitter(most/2))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}

// jitter returns a random duration below most. It is drawn from the clock, which no two processes read in the same
// nanosecond, and not from the runtime's randomness: where a test sets the clock, the same happens again.
func jitter(most time.Duration) time.Duration {
	return time.Duration(rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)).Int64N(int64(most)))
}

// ask makes one request to the store and takes in what its reply told of the store's clock.
func (l *Ledger) ask(ctx context.Context, do func(context.Context) (time.Time, error)) error {
	ctx, cancel := context.WithTimeout(ctx, requestLife)
	defer cancel()
	sent := time.Now()
	at, err := do(ctx)
	l.clock.tell(at, sent, time.Now())
	return err
}

// read makes a request that only reads, again when the store declines or conflicts.
func (l *Ledger) read(ctx context.Context, do func(context.Context) (time.Time, error)) error {
	return again(ctx, func() error { return l.ask(ctx, do) })
}

// again does what changes nothing a few times while the store declines or conflicts.
func again(ctx context.Context, do func() error) error {
	for tries := 1; ; tries++ {
		err := do()
		if err == nil || !declined(err) && !errors.Is(err, table.ErrConflict) || tries == declinedTries || !pause(ctx, tries) {
			return err
		}
	}
}

// declined tells whether the store did not take the request, or a read of it failed.
func declined(err error) bool {
	return errors.Is(err, table.ErrThrottled) || errors.Is(err, table.ErrUnavailable)
}
