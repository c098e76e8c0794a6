package ledger

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"ledger.example/events"
)

const (
	// clockTolerance is how far the process's clock may be off the store's: half the settle window.
	clockTolerance = 5 * time.Second
	// dateStep is what the store's Date is cut to.
	dateStep = time.Second
)

// storeClock is the store's clock as its newest reply told it. Its zero value was never told. It is safe for
// concurrent use.
type storeClock struct {
	mu             sync.Mutex
	at             time.Time // what the reply said: the store's clock, cut to dateStep
	sent, received time.Time // by the process's stopwatch (monotonic): the reply was made between them
}

// tell takes in one reply; a zero time says nothing.
func (c *storeClock) tell(at, sent, received time.Time) {
	if at.IsZero() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if received.After(c.received) {
		c.at, c.sent, c.received = at, sent, received
	}
}

// off returns whether the instant t is certainly further than clockTolerance from the store's clock at the given
// reading of the stopwatch, or nothing was ever told; and the store's clock, at the least.
func (c *storeClock) off(t, stopwatch time.Time) (off bool, store time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at.IsZero() {
		return true, c.at
	}
	earliest := c.at.Add(stopwatch.Sub(c.received))
	latest := c.at.Add(dateStep + stopwatch.Sub(c.sent))
	return t.Before(earliest.Add(-clockTolerance)) || t.After(latest.Add(clockTolerance)), earliest
}

// mint returns n KSUIDs and the reading of the stopwatch just before, or CodeUnavailable when the process's clock is
// off the store's. When it seems to be, or the store's clock was never told, it asks the store once more by looking
// for the account: a process that slept knows neither clock well.
func (l *Ledger) mint(ctx context.Context, n int, account string) ([]events.KSUID, time.Time, error) {
	off, store := l.clock.off(l.now(), time.Now())
	if off {
		if _, err := l.look(ctx, Wanted{Accounts: []string{account}}); err != nil {
			return nil, time.Time{}, err
		}
		off, store = l.clock.off(l.now(), time.Now())
	}
	if off {
		return nil, time.Time{}, l.clockError(ctx, "clock is off the store's", l.now(), store, nil)
	}
	start := time.Now()
	ids, instant, err := l.minter.Mint(n)
	if err != nil {
		return nil, time.Time{}, l.clockError(ctx, "no KSUID can be minted", l.now(), store, err)
	}
	// A minter never goes back: it may still be ahead when the process's clock was set right.
	if off, store = l.clock.off(instant, start); off {
		return nil, time.Time{}, l.clockError(ctx, "newest KSUID is off the store's clock", instant, store, nil)
	}
	return ids, start, nil
}

func (l *Ledger) clockError(ctx context.Context, message string, ours, store time.Time, err error) *Error {
	l.log.LogAttrs(ctx, slog.LevelError, message, slog.Time("clock", ours.UTC()), slog.Time("store", store.UTC()), slog.Any("error", err),
		slog.Int("ClockOff", 1)) // counted as a metric
	return &Error{
		Code:       CodeUnavailable,
		Detail:     "The service can't post at the moment. Nothing was written.",
		RetryAfter: clockTolerance,
		Err:        err,
	}
}

// instant is the process's clock as events store it.
func (l *Ledger) instant() time.Time { return l.now().UTC().Round(0).Truncate(time.Microsecond) }
