package ledger

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// put writes an event if its key is absent. It retries, also after an unknown outcome, because the write is idempotent.
// It writes nothing once the caller is gone. It returns the stored event; created is true if this command wrote it. The
// error is an *Error. If any of unless is stored, it is CodeContention and wraps store.ErrOutdated.
func (l *Ledger) put(c *command, e events.Event, unless ...events.Event) (stored events.Event, created bool, _ error) {
	unknown, outdated, declines := false, false, 0
	failure := func(err error) error {
		if unknown {
			return unknownError("", err)
		}
		return storeError(err)
	}
	for failed := 1; ; failed++ {
		if err := c.abandoned(); err != nil {
			return nil, false, failure(err)
		}
		err := l.call(c, func(ctx context.Context) (_ time.Time, err error) {
			stored, err = l.putOnce(ctx, e, unless)
			return time.Time{}, err
		})
		switch {
		case err == nil:
			return stored, true, nil
		case errors.Is(err, store.ErrExists):
			return stored, unknown && reflect.DeepEqual(stored, e), nil
		case errors.Is(err, store.ErrOutdated) && (outdated || !unknown):
			return nil, false, storeError(err)
		case errors.Is(err, store.ErrOutdated): // an earlier attempt may have been applied: try again
			outdated = true
		case declined(err):
			declines++
		case errors.Is(err, store.ErrConflict):
		case errors.Is(err, store.ErrUnknownOutcome):
			unknown = true
			l.log.WarnContext(c, "outcome of a write is unknown; the event is put again", "error", err)
		default:
			return nil, false, internalError(err)
		}
		if declines == maxDeclines && !unknown || !pause(c, failed) {
			return nil, false, failure(err)
		}
	}
}

// putOnce writes an event that is not part of a transaction, in one request, on the condition that no event is stored
// under its key, nor under the keys of unless. It returns the stored event: e or, with ErrExists, the earlier one.
// Other errors: ErrOutdated if e is absent but one of unless is stored; ErrConflict, ErrThrottled, ErrUnavailable,
// ErrUnknownOutcome.
func (l *Ledger) putOnce(ctx context.Context, e events.Event, unless []events.Event) (events.Event, error) {
	err := l.writeUnless(ctx, e, unless)
	if err == nil {
		return e, nil
	}
	stored, err := storedInstead(err)
	return stored, fmt.Errorf("put %s: %w", e.EventName(), err)
}

// writeUnless writes e, and checks in the same transaction that none of unless is stored.
func (l *Ledger) writeUnless(ctx context.Context, e events.Event, unless []events.Event) error {
	put := putAbsent(store.NewItemEncoder(1), e)
	if len(unless) == 0 {
		_, err := l.table.Write(ctx, put)
		return err
	}
	writes := []store.Write{put}
	for _, other := range unless {
		writes = append(writes, store.Write{Key: store.EventKey(other), If: store.IfAbsent})
	}
	_, err := l.table.Transact(ctx, writes)
	return err
}

// storedInstead returns ErrExists with the event that was stored before, ErrOutdated, or err.
func storedInstead(err error) (events.Event, error) {
	var put store.Reason
	var others []store.Reason
	if refused, ok := errors.AsType[*store.Refused](err); ok {
		put = store.Reason{Is: store.CauseCondition, Old: refused.Old}
	} else if cancelled, ok := errors.AsType[*store.Cancelled](err); ok {
		put, others = cancelled.Reasons[0], cancelled.Reasons[1:]
	}
	failed := func(r store.Reason) bool { return r.Is == store.CauseCondition }
	switch {
	case failed(put):
		stored, err := store.DecodeEvent(put.Old)
		if err != nil {
			return nil, fmt.Errorf("stored event: %w", err)
		}
		return stored, store.ErrExists
	// If the put has a conflict, that may be with an earlier attempt, so it is no ErrOutdated.
	case put.Is == store.CauseNone && slices.ContainsFunc(others, failed):
		return nil, store.ErrOutdated
	}
	return nil, err
}
