package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// clockTolerance is how far the process's clock may be off the store's.
const clockTolerance = table.ClockTolerance

// errClock is the cause of CodeUnavailable when the process's clock is off the store's, or the store's is unknown.
var errClock = errors.New("no KSUID can be minted by this clock")

// mint returns n KSUIDs greater than after and the stopwatch's time just before. Errors: those of mayMint, and
// CodeUnavailable when the minter's clock is off the store's.
func (l *Ledger) mint(
	ctx context.Context, n int, account string, after events.KSUID,
) ([]events.KSUID, time.Time, error) {
	store, err := l.mayMint(ctx, account)
	if err != nil {
		return nil, time.Time{}, err
	}
	start := time.Now()
	ids, instant, err := l.minter.MintAfter(after, n)
	if err != nil {
		return nil, time.Time{}, l.clockError(ctx, "no KSUID can be minted", l.now(), store, err)
	}
	// A minter never goes back: it may still be ahead after the process's clock was set right.
	if off, store := l.clock.Off(instant, start); off {
		return nil, time.Time{}, l.clockError(ctx, "newest KSUID is off the store's clock", instant, store, nil)
	}
	return ids, start, nil
}

// mayMint returns nil unless the process's clock is off the store's: CodeUnavailable. In doubt it asks the store once
// more, by looking up the account: a process that slept knows neither clock well. It asks nobody without an account:
// then the store's clock was read just before. It also returns the least that the store's clock can show.
func (l *Ledger) mayMint(ctx context.Context, account string) (store time.Time, _ error) {
	off, store := l.clock.Off(l.now(), time.Now())
	if off && account != "" {
		if _, err := l.lookup(ctx, LookupKeys{Accounts: []string{account}}); err != nil {
			return store, err
		}
		off, store = l.clock.Off(l.now(), time.Now())
	}
	if off {
		return store, l.clockError(ctx, "clock is off the store's", l.now(), store, nil)
	}
	return store, nil
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
