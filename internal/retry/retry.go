// Package retry has a retry loop, exponential backoff with jitter, and a sleep that ends with its context. Its callers
// decide which errors are retried and how often. Everything in it is safe for concurrent use.
package retry

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// Do calls attempt until it succeeds or its error is final. limit returns how many attempts in a row an error allows, 0
// if it is final. pause is called between attempts with the number of failed ones; usually it is Backoff.Sleep. Error:
// that of the last attempt, joined with the error of pause if that ended the loop.
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

// Jitter is the random part of a delay. It spreads the retries of callers that failed at the same time.
type Jitter int

// Full draws from zero to the full delay, which spreads retries best. Half draws from half the delay to the full delay,
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
	random, least := FromClock, time.Duration(0)
	if b.Random != nil {
		random = b.Random
	}
	if b.Jitter == Half {
		least = bound / 2
	}
	return least + time.Duration(random(int64(bound-least)))
}

// Sleep pauses for Delay(failed). Error: that of the function Sleep.
func (b Backoff) Sleep(ctx context.Context, failed int) error {
	return Sleep(ctx, b.Delay(failed))
}

// Sleep pauses for d. Error: the context's cause if the context ends before the pause does.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
	return context.Cause(ctx)
}

// FromClock returns a number in [0, n) from the current time in nanoseconds. Two processes rarely read the same time.
// Unlike random numbers, it makes the delays of a test with a fake clock (testing/synctest) the same in every run.
func FromClock(n int64) int64 {
	return rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)).Int64N(n)
}
