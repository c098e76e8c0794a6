package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// expiryActor is who ends a hold whose time is over, whoever notices.
const expiryActor = "expiry"

// Capture posts what was held, in whole or in part, and gives back the rest. It needs no funds: they are held. The same
// capture again is answered as the first. Errors: CodeInvalidRequest, CodeInvalidTransaction, CodeTransactionNotFound,
// CodeNotAHold, CodeUnbalanced, CodeNothingCaptured, CodeHoldEnded, CodeExceedsHold, CodeHoldExpired, CodeThrottled,
// CodeContention, CodeUnavailable, CodeOutcomeUnknown (also when the hold is about to expire), CodeInternal.
func (l *Ledger) Capture(ctx context.Context, r CaptureRequest) (Ended, error) {
	return l.end(ctx, r.Shape(), r.ending())
}

func (r CaptureRequest) ending() ending {
	return ending{id: r.Transaction, outcome: events.OutcomeCaptured, part: r.Part, actor: r.Actor}
}

// Release gives back all that was held, also when its time is over. The same again is answered as the first release.
// Errors: those of Capture but CodeInvalidTransaction, CodeUnbalanced, CodeNothingCaptured, CodeExceedsHold and
// CodeHoldExpired.
func (l *Ledger) Release(ctx context.Context, r ReleaseRequest) (Ended, error) {
	return l.end(ctx, r.Shape(), r.ending())
}

func (r ReleaseRequest) ending() ending {
	return ending{id: r.Transaction, outcome: events.OutcomeReleased, description: r.Description, actor: r.Actor}
}

// Expire ends a hold whose time is over. Errors: those of Release; CodeOutcomeUnknown also while it is not over.
func (l *Ledger) Expire(ctx context.Context, hold string) (Ended, error) {
	return l.end(ctx, nil, ending{id: hold, outcome: events.OutcomeExpired, actor: expiryActor})
}

// Shape returns the fields whose value alone is at fault; nil when there are none.
func (r CaptureRequest) Shape() []FieldError {
	var f faults
	r.Part.shape(&f)
	return f
}

// Shape returns the fields whose value alone is at fault; nil when there are none.
func (r ReleaseRequest) Shape() []FieldError {
	var f faults
	f.check(Field{Name: "description"}, brokenByText(r.Description, 0, events.DescriptionChars))
	return f
}

// ending is one end of a hold on its way to the journal.
type ending struct {
	attempts
	id                 string
	outcome            events.Outcome
	part               Part // of a capture
	description, actor string
	dryRun             bool // nothing is written
}

func (l *Ledger) end(ctx context.Context, shape []FieldError, e ending) (Ended, error) {
	c, cancel, err := startCommand(ctx, shape, e.actor)
	if err != nil {
		return Ended{}, err
	}
	defer cancel()
	if err := e.part.rules(); err != nil {
		return Ended{}, err
	}
	e.ledger = l
	return e.run(c)
}

// run reads what became of the hold and appends its end, until one is there or the time is up. The outcome's key is
// what makes the end happen once: whoever comes second finds it.
func (e *ending) run(ctx *command) (Ended, error) {
	for failed := 1; ; failed++ {
		life, err := e.ledger.readLife(ctx, e.id)
		if err != nil {
			return Ended{}, e.fail(ctx, err)
		}
		hold := life.Header
		taken, refused := e.takenLegs(hold)
		if refused != nil {
			return Ended{}, refused
		}
		if life.Ended != nil {
			return e.alreadyEnded(ctx, hold, *life.Ended, taken)
		}
		if err := ctx.abandoned(); err != nil {
			return e.awaitOutcome(ctx, failed, hold, taken, err)
		}
		end, minted, err := e.buildEnd(ctx, hold, taken)
		if err != nil {
			return Ended{}, e.fail(ctx, err)
		}
		if e.dryRun {
			return e.answerDryRun(ctx, hold, end, taken, false)
		}
		at, cancelled, err := e.append(ctx, Commit{Heads: []events.Event{end}, Postings: end.Postings(hold)}, minted)
		switch {
		case err == nil:
			return e.answer(ctx, hold, end, taken, at)
		case cancelled != nil:
			if head := cancelled.head(0); head.Is == HeadExists {
				if stored, ok := head.Stored.(events.HoldEnded); ok {
					return e.alreadyEnded(ctx, hold, stored, taken)
				}
			}
			err = cancelled.cause()
		case declined(err), errors.Is(err, store.ErrConflict):
		case errors.Is(err, store.ErrUnknownOutcome):
			e.unknown = true
			e.ledger.log.WarnContext(ctx, "outcome of a hold's end is unknown; it is read",
				"transaction", e.id, "error", err)
		default:
			return Ended{}, e.fail(ctx, internalError(err))
		}
		if !e.waitToRetry(ctx, failed, err) {
			return Ended{}, e.fail(ctx, storeError(err))
		}
	}
}

// judge returns what a capture takes of each leg; of other ends that is nothing. Errors are those that no other request
// and no clock can change: CodeNotAHold, CodeInvalidTransaction, CodeUnbalanced, CodeNothingCaptured.
func (e *ending) takenLegs(hold events.TransactionPosted) ([]events.Taken, *Error) {
	if !hold.IsHold() {
		return nil, &Error{Code: CodeNotAHold, Detail: "The transaction was posted at once: it was never held."}
	}
	if e.outcome != events.OutcomeCaptured {
		return make([]events.Taken, len(hold.Legs)), nil
	}
	taken, err := e.part.takenFrom(hold)
	switch {
	case err != nil:
		return nil, err
	case taken == nil:
		return takeAll(hold.Legs), nil
	case takesNothing(taken):
		return nil, &Error{
			Code: CodeNothingCaptured, Detail: "A capture of nothing is none: release the hold.",
			Fields: []FieldError{{Field: e.part.field(), Rule: "must capture something"}},
		}
	}
	return taken, nil
}

// commit returns the end of a hold that is open, with KSUIDs that are minted right before it is sent. A capture whose
// time is over becomes an expiry. Errors: CodeExceedsHold; CodeOutcomeUnknown while it is neither certain that the
// hold's time is over nor that it isn't; those of mint.
func (e *ending) buildEnd(
	ctx context.Context, hold events.TransactionPosted, taken []events.Taken,
) (end events.HoldEnded, minted time.Time, err error) {
	if faults := e.part.exceeding(taken, takeAll(hold.Legs)); faults != nil {
		return end, minted, &Error{Code: CodeExceedsHold, Detail: "More is captured than was held.", Fields: faults}
	}
	if err := e.ledger.checkNewestForm(); err != nil {
		return end, minted, err
	}
	legs := slices.Clone(hold.Legs)
	ids, minted, err := e.ledger.mint(ctx, len(legs), "", legs[len(legs)-1].ID)
	if err != nil {
		return end, minted, err
	}
	now := e.ledger.now()
	end = events.HoldEnded{Transaction: hold.ID, Outcome: e.outcome, Description: e.description, Actor: e.actor}
	late := !now.Before(hold.ExpiresAt) || !ids[0].Time().Before(hold.ExpiresAt)
	if e.outcome == events.OutcomeCaptured && late {
		end.Outcome, end.Actor = events.OutcomeExpired, expiryActor
	}
	if end.Outcome == events.OutcomeExpired && now.Before(hold.ExpiresAt.Add(clockTolerance)) {
		return end, minted, unknownError(e.id, errNearExpiry)
	}
	for i := range legs {
		legs[i].ID, legs[i].Quantity, legs[i].Cost = ids[i], events.Amount{}, events.Amount{}
		if end.Outcome == events.OutcomeCaptured {
			legs[i].Quantity, legs[i].Cost = taken[i].Quantity, taken[i].Cost
		}
	}
	end.Legs = legs
	return end, minted, nil
}

// errClose is the cause of CodeOutcomeUnknown within clockTolerance of the time of expiry: by another's clock the hold
// may be captured still.
var errNearExpiry = errors.New("the time of expiry is too close to tell whether it is over")

// found answers with the end that is stored. An attempt of this request wrote it, or an earlier request for the same
// end, or one for another end.
func (e *ending) alreadyEnded(
	ctx context.Context, hold events.TransactionPosted, stored events.HoldEnded, taken []events.Taken,
) (Ended, error) {
	if e.dryRun {
		return e.answerDryRun(ctx, hold, stored, taken, true)
	}
	if !e.matches(stored, taken) {
		return Ended{}, e.endedOtherwise(ctx, stored)
	}
	// The outcome may be visible before its postings are.
	at, err := e.ledger.verifyComplete(ctx, stored, stored.Postings(hold))
	switch {
	case errors.Is(err, store.ErrAbsent):
		return Ended{}, e.fail(ctx, internalError(fmt.Errorf("end of hold %s is incomplete: %w", e.id, err)))
	case err != nil:
		return Ended{}, e.fail(ctx, unknownError(e.id, err))
	}
	return e.answer(ctx, hold, stored, taken, at)
}

// same reports whether the end that is stored is the one that was asked for.
func (e *ending) matches(stored events.HoldEnded, taken []events.Taken) bool {
	return stored.Outcome == e.outcome &&
		(e.outcome != events.OutcomeCaptured || slices.Equal(takeAll(stored.Legs), taken))
}

// other is the refusal of an end because there is another one.
func (e *ending) endedOtherwise(ctx context.Context, stored events.HoldEnded) error {
	status := statusOf(stored)
	refusal := &Error{
		Code: CodeHoldEnded, HoldStatus: status, Detail: "The hold has ended already: it is " + string(status) + ".",
	}
	if e.outcome == events.OutcomeCaptured && stored.Outcome == events.OutcomeExpired {
		refusal = &Error{Code: CodeHoldExpired, Detail: "The hold expired before it was captured."}
	}
	return e.fail(ctx, refusal)
}

// answer answers with an end that is committed, as the store said at the given time of its clock.
func (e *ending) answer(
	ctx context.Context, hold events.TransactionPosted, end events.HoldEnded, taken []events.Taken, at time.Time,
) (Ended, error) {
	if !e.matches(end, taken) { // a capture that came too late has written the expiry
		return Ended{}, e.endedOtherwise(ctx, end)
	}
	if err := e.acknowledge(ctx, end.Legs, at); err != nil {
		return Ended{}, e.fail(ctx, unknownError(e.id, err))
	}
	return Ended{Transaction: hold, End: end, Replayed: !e.wrote(end.Legs)}, nil
}

// judged answers a dry run with the end that is stored, which is replayed, or would be written.
func (e *ending) answerDryRun(
	ctx context.Context, hold events.TransactionPosted, end events.HoldEnded, taken []events.Taken, replayed bool,
) (Ended, error) {
	if !e.matches(end, taken) {
		return Ended{}, e.endedOtherwise(ctx, end)
	}
	end.Legs, hold.Legs = withoutIDs(end.Legs), withoutIDs(hold.Legs)
	return Ended{Transaction: hold, End: end, Replayed: replayed}, nil
}

// await ends the command of a caller that is gone, with cause, and makes no further attempt. While the outcome of one
// is unknown it reads the hold's end until the time is up.
func (e *ending) awaitOutcome(
	ctx context.Context, failed int, hold events.TransactionPosted, taken []events.Taken, cause error,
) (Ended, error) {
	for ; e.unknown && pause(ctx, failed); failed++ {
		if life, err := e.ledger.readLife(ctx, e.id); err == nil && life.Ended != nil {
			return e.alreadyEnded(ctx, hold, *life.Ended, taken)
		}
	}
	return Ended{}, e.fail(ctx, storeError(cause))
}

// fail returns the error that the command may end with. The hold has one end: when that is another, this one never is.
func (e *ending) fail(ctx context.Context, err error) error {
	return e.attempts.fail(ctx, e.id, err, CodeHoldEnded, CodeHoldExpired)
}
