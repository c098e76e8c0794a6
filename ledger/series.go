package ledger

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// An addition is an event to put under a key of its own: the next one of a numbered series, such as the changes of an
// account or a user's grants, or a definition, which is a series of one event. Each key is put once, so a delayed write
// cannot overwrite a newer event.
type addition struct {
	event  events.Event   // nil for nothing to put
	number int64          // of the event; 0 of a definition
	with   []table.Write  // what is written in the same transaction
	unless []events.Event // nothing is written if one of these is stored
}

// keys returns the keys of all that is written.
func (a addition) keys() []table.Key {
	keys := []table.Key{table.EventKey(a.event)}
	for _, w := range a.with {
		keys = append(keys, table.ItemKey(w.Item))
	}
	return keys
}

// errNotYet is the error of a decision that cannot be made yet.
var errNotYet = fmt.Errorf("%w: not decided yet", table.ErrConflict)

// next puts the next event of a series. decide reads the newest event, and returns the one to put; its error is the
// store's, an *Error, or errNotYet. wrote is false if there was nothing to put. The error is an *Error.
func (l *Ledger) next(c *command, decide func() (addition, error)) (wrote bool, _ error) {
	var t tries
	for {
		add, err := decide()
		switch {
		case errors.Is(err, errNotYet):
		case err != nil:
			return false, t.cause(c, asError(err))
		case add.event == nil:
			return false, nil
		case add.number > events.MemberNumberMax:
			return false, internalError(fmt.Errorf("numbers of %s are used up", add.event.EventName()))
		default:
			// put resolves an unknown outcome by the event's own number. The newest may have a later number by then.
			if _, ours, err := l.put(c, add); err != nil || ours {
				return ours, err
			}
		}
		if conflict := table.ErrConflict; !t.again(c, conflict) { // another event has the number
			return false, asError(conflict)
		}
	}
}

// put puts an event if its key is absent. It tries again, also after an unknown outcome, because the write is
// idempotent. It writes nothing once the caller is gone. It returns the stored event; ours is true if this command
// wrote it. The error is an *Error. If any of add.unless is stored, it is CodeContention and wraps table.ErrOutdated.
func (l *Ledger) put(c *command, add addition) (stored events.Event, ours bool, _ error) {
	var t tries
	failure := func(err error) error {
		if t.unknown {
			return unknownError("", err)
		}
		return asError(err)
	}
	for outdated := false; ; {
		if err := c.abandoned(); err != nil {
			return nil, false, failure(err)
		}
		err := l.call(c, func(ctx context.Context) (at time.Time, err error) {
			stored, at, err = l.tryPut(ctx, add)
			return at, err
		})
		switch {
		case err == nil:
			return stored, true, nil
		case errors.Is(err, table.ErrExists):
			ours = t.unknown && reflect.DeepEqual(stored, add.event)
			if ours && add.with != nil { // what was written with it may be visible later
				if _, err := l.readTogether(c, add.keys()); err != nil {
					return nil, false, unknownError("", err)
				}
			}
			return stored, ours, nil
		case errors.Is(err, table.ErrOutdated) && (outdated || !t.unknown):
			return nil, false, asError(err)
		case errors.Is(err, table.ErrOutdated): // an earlier try may have been applied: try again
			outdated = true
		case declined(err), errors.Is(err, table.ErrConflict):
		case errors.Is(err, table.ErrUnknownOutcome):
			t.unknown = true
			l.log.WarnContext(c, "outcome of a write is unknown; the event is put again", "error", err)
		default:
			return nil, false, failure(internalError(err))
		}
		if !t.again(c, err) {
			return nil, false, failure(err)
		}
	}
}

// tryPut puts an event in one request. It returns the stored event: the new one or, with ErrExists, the earlier one.
// Other errors: ErrOutdated if the event is absent but one of add.unless is stored; ErrConflict, ErrThrottled,
// ErrUnavailable, ErrUnknownOutcome.
func (l *Ledger) tryPut(ctx context.Context, add addition) (_ events.Event, at time.Time, err error) {
	writes := append([]table.Write{putAbsent(table.NewItemEncoder(1), add.event)}, add.with...)
	for _, other := range add.unless {
		writes = append(writes, table.Write{Key: table.EventKey(other), If: table.IfAbsent})
	}
	var put table.Reason
	var others []table.Reason
	if len(writes) == 1 {
		at, err = l.table.Write(ctx, writes[0])
		if refused, ok := errors.AsType[*table.Refused](err); ok {
			put = table.Reason{Is: table.CauseCondition, Old: refused.Old}
		}
	} else {
		at, err = l.table.Transact(ctx, writes)
		if cancelled, ok := errors.AsType[*table.Cancelled](err); ok {
			put, others = cancelled.Reasons[0], cancelled.Reasons[1+len(add.with):]
		}
	}
	failed := func(r table.Reason) bool { return r.Is == table.CauseCondition }
	switch {
	case err == nil:
		return add.event, at, nil
	case failed(put):
		stored, broken := table.DecodeEvent(put.Old)
		if err = table.ErrExists; broken != nil {
			err = fmt.Errorf("stored event: %w", broken)
		}
		return stored, at, fmt.Errorf("put %s: %w", add.event.EventName(), err)
	// If the put has a conflict, that may be with an earlier try, so it is no ErrOutdated.
	case put.Is == table.CauseNone && slices.ContainsFunc(others, failed):
		err = table.ErrOutdated
	}
	return nil, at, fmt.Errorf("put %s: %w", add.event.EventName(), err)
}

// newest reads the last event of a range of a partition, strongly consistent, with retries. It is zero if there is
// none.
func newest[E events.Event](ctx context.Context, l *Ledger, partition string, within table.Range) (last E, err error) {
	q := table.Query{Partition: partition, Within: within, Descending: true, Consistency: table.Strong}
	err = l.read(ctx, func(ctx context.Context) (time.Time, error) {
		item, err := table.First(ctx, l.table, q)
		switch {
		case errors.Is(err, table.ErrAbsent):
			err = nil
		case err == nil:
			last, err = table.Only[E](table.DecodeEvent(item))
		}
		return time.Time{}, err
	})
	if err != nil {
		return last, fmt.Errorf("read newest %s: %w", last.EventName(), err)
	}
	return last, nil
}
