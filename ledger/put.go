package ledger

import (
	"context"
	"errors"
	"time"

	"ledger.example/ledger/table"
)

// put puts an event on the condition of its absence, again while the store declines or does not say what became of
// it: putting the same event twice is harmless. The function returns whether what is stored is the very event that it
// puts. Created is true when this command put it. The error is an *Error.
func (l *Ledger) put(ctx context.Context, once func(context.Context) (ours bool, err error)) (created bool, _ error) {
	unknown, declines := false, 0
	for tries := 1; ; tries++ {
		var ours bool
		err := l.ask(ctx, func(ctx context.Context) (_ time.Time, err error) {
			ours, err = once(ctx)
			return time.Time{}, err
		})
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, table.ErrExists):
			return unknown && ours, nil
		case declined(err):
			declines++
		case errors.Is(err, table.ErrConflict):
		case errors.Is(err, table.ErrUnknownOutcome):
			unknown = true
			l.log.WarnContext(ctx, "outcome of a write is unknown; it is put again", "error", err)
		default:
			return false, internalError(err)
		}
		if declines == declinedTries && !unknown || !pause(ctx, tries) {
			if unknown {
				return false, unknownError("", err)
			}
			return false, storeError(err)
		}
	}
}
