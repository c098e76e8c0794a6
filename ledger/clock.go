package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
)

const (
	// clockTolerance is how far the process's clock may be off the store's.
	clockTolerance = table.SettleWindow / 2
	// dateStep is what the store's Date is cut to.
	dateStep = time.Second
)

// errClock is the cause of CodeUnavailable when the process's clock is off the store's, or the store's is unknown.
var errClock = errors.New("no KSUID can be minted by this clock")

// storeClock is the store's clock by its newest reply. Its zero value knows nothing. It is safe for concurrent use.
type storeClock struct {
	mu             sync.Mutex
	at             time.Time // the store's clock in that reply, cut to dateStep
	sent, received time.Time // by the process's stopwatch (monotonic): the reply was made between them
}

// observe takes in the store's clock in one reply. A zero time says nothing.
func (c *storeClock) observe(at, sent, received time.Time) {
	if at.IsZero() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if received.After(c.received) {
		c.at, c.sent, c.received = at, sent, received
	}
}

// off reports whether the instant t is certainly further than clockTolerance from the store's clock when the stopwatch
// shows the given time, or nothing is known of that clock. It also returns the least that the store's clock can show.
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

// mint returns n KSUIDs greater than after and the stopwatch's time just before. Error: CodeUnavailable when the
// process's clock is off the store's. In doubt it asks the store once more, by looking up the account: a process that
// slept knows neither clock well. It asks nobody without an account: then the store's clock was read just before.
func (l *Ledger) mint(
	ctx context.Context, n int, account string, after events.KSUID,
) ([]events.KSUID, time.Time, error) {
	off, store := l.clock.off(l.now(), time.Now())
	if off && account != "" {
		if _, err := l.lookup(ctx, LookupKeys{Accounts: []string{account}}); err != nil {
			return nil, time.Time{}, err
		}
		off, store = l.clock.off(l.now(), time.Now())
	}
	if off {
		return nil, time.Time{}, l.clockError(ctx, "clock is off the store's", l.now(), store, nil)
	}
	start := time.Now()
	ids, instant, err := l.minter.MintAfter(after, n)
	if err != nil {
		return nil, time.Time{}, l.clockError(ctx, "no KSUID can be minted", l.now(), store, err)
	}
	// A minter never goes back: it may still be ahead after the process's clock was set right.
	if off, store = l.clock.off(instant, start); off {
		return nil, time.Time{}, l.clockError(ctx, "newest KSUID is off the store's clock", instant, store, nil)
	}
	return ids, start, nil
}

func (l *Ledger) clockError(ctx context.Context, message string, ours, store time.Time, err error) *Error {
	l.log.LogAttrs(ctx, slog.LevelError, message, slog.Time("clock", ours.UTC()), slog.Time("store", store.UTC()),
		slog.Any("error", err), slog.Int("ClockOff", 1)) // ClockOff is counted as a metric
	cause := errClock
	if err != nil {
		cause = fmt.Errorf("%w: %w", errClock, err)
	}
	return &Error{Code: CodeUnavailable, RetryAfter: clockTolerance, Err: cause,
		Detail: "The service can't post at the moment. Nothing was written."}
}

// instant is the process's clock as events store it.
func (l *Ledger) instant() time.Time { return l.now().UTC().Round(0).Truncate(time.Microsecond) }
