package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// clockTolerance is how far the process's clock may differ from the store's.
const clockTolerance = store.ClockTolerance

// errClock is the cause of CodeUnavailable when the process's clock differs from the store's by more than
// clockTolerance, or the store's time is unknown.
var errClock = errors.New("no KSUID can be minted by this clock")

// mint returns n KSUIDs greater than after, and the monotonic time just before minting. Errors: those of checkClock,
// and CodeUnavailable when the minter's clock is off the store's.
func (l *Ledger) mint(
	ctx context.Context, n int, account string, after events.KSUID,
) ([]events.KSUID, time.Time, error) {
	db, err := l.checkClock(ctx, account)
	if err != nil {
		return nil, time.Time{}, err
	}
	start := time.Now()
	ids, instant, err := l.minter.MintAfter(after, n)
	if err != nil {
		return nil, time.Time{}, l.clockError(ctx, "no KSUID can be minted", l.now(), db, err)
	}
	// A minter never goes back, so it may still be ahead after the process's clock was corrected.
	if off, db := l.clock.Off(instant, start); off {
		return nil, time.Time{}, l.clockError(ctx, "newest KSUID is off the store's clock", instant, db, nil)
	}
	return ids, start, nil
}

// checkClock returns CodeUnavailable if the process's clock is off the store's. Before that it reads the store's clock
// again, by looking up the account, because a suspended process has outdated times. Without an account it makes no
// request: the caller read the store's clock just before. It also returns the earliest possible time of the store.
func (l *Ledger) checkClock(ctx context.Context, account string) (db time.Time, _ error) {
	off, db := l.clock.Off(l.now(), time.Now())
	if off && account != "" {
		if _, err := l.lookup(ctx, lookupKeys{accounts: []string{account}}); err != nil {
			return db, err
		}
		off, db = l.clock.Off(l.now(), time.Now())
	}
	if off {
		return db, l.clockError(ctx, "clock is off the store's", l.now(), db, nil)
	}
	return db, nil
}

func (l *Ledger) clockError(ctx context.Context, message string, ours, db time.Time, err error) *Error {
	l.log.LogAttrs(ctx, slog.LevelError, message, slog.Time("clock", ours.UTC()), slog.Time("store", db.UTC()),
		slog.Any("error", err), slog.Int("ClockOff", 1)) // ClockOff is counted as a metric
	cause := errClock
	if err != nil {
		cause = fmt.Errorf("%w: %w", errClock, err)
	}
	return &Error{Code: CodeUnavailable, RetryAfter: clockTolerance, Err: cause,
		Detail: "The service cannot post at the moment. Nothing was written."}
}

// instant is the process's time as events store it.
func (l *Ledger) instant() time.Time { return l.now().UTC().Round(0).Truncate(time.Microsecond) }
