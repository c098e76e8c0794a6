// Package retry has a loop of attempts, exponential backoff with jitter, and a sleep that ends with its context. Its
// callers decide what is retried and how often. Everything in it is safe for concurrent use.
package retry

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// Do runs attempt until it succeeds or its error allows no other. limit returns how many attempts in a row an error
// allows; 0 means that it is final. pause comes between attempts, with the number of those that failed; usually it is
// Backoff.Sleep. Error: that of the last attempt, joined with the error of pause if that ended the loop.
func Do(
	ctx context.Context, pause func(ctx context.Context, failed int) error, limit func(error) int, attempt func() error,
) error {
	for failed := 1; ; failed++ {
		err := attempt()
		if err == nil || failed >= limit(err) {
			return err
		}
		if stopped := pause(ctx, failed); stopped != nil {
			return errors.Join(stopped, err)
		}
	}
}

// Jitter says how much of a delay is random. Callers that failed together must not come back together.
type Jitter int

// Full draws from zero to the whole delay, which spreads contenders best. Half draws from half the delay to all of it,
// which guarantees a pause.
const (
	Full Jitter = iota
	Half
)

// Backoff computes the delays between attempts. First and Max must be positive.
type Backoff struct {
	First  time.Duration // bound of the first delay; the bound doubles with every attempt that failed
	Max    time.Duration // largest bound
	Jitter Jitter
	// Random returns a number in [0, n), for n > 0. Nil is FromClock.
	Random func(n int64) int64
}

// Delay returns the delay after the given number of failed attempts in a row; numbers below 1 count as 1.
func (b Backoff) Delay(failed int) time.Duration {
	bound := b.First
	for ; failed > 1 && bound < b.Max; failed-- {
		bound *= 2
	}
	bound = min(bound, b.Max)
	random := b.Random
	if random == nil {
		random = FromClock
	}
	var least time.Duration
	if b.Jitter == Half {
		least = bound / 2
	}
	return least + time.Duration(random(int64(bound-least)))
}

// Sleep pauses for Delay(failed). Error: that of the function Sleep.
func (b Backoff) Sleep(ctx context.Context, failed int) error {
	return Sleep(ctx, b.Delay(failed))
}

// Sleep pauses for d. Error: the context's cause if it ended first, or by the end of the pause.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
	return context.Cause(ctx)
}

// FromClock returns a number in [0, n) drawn from the current time. Two processes hardly ever read the same
// nanosecond, and a test that sets the clock (testing/synctest) sees the same delays every time it runs. The runtime's
// randomness would differ.
func FromClock(n int64) int64 {
	return rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)).Int64N(n)
}
