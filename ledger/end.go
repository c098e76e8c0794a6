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

// expiryActor is the actor of every expiry.
const expiryActor = "expiry"

// Capture posts all or a part of a hold, and gives back the rest. It needs no funds, because the hold reserved them. A
// repeated capture gets the first answer. Errors: CodeInvalidRequest, CodeInvalidTransaction, CodeTransactionNotFound,
// CodeNotAHold, CodeUnbalanced, CodeNothingCaptured, CodeHoldEnded, CodeExceedsHold, CodeHoldExpired, CodeThrottled,
// CodeContention, CodeUnavailable, CodeOutcomeUnknown (also within clockTolerance after the expiry), CodeInternal.
func (l *Ledger) Capture(ctx context.Context, r CaptureRequest) (Ended, error) {
	return l.end(ctx, r.Shape(), r.ending())
}

func (r CaptureRequest) ending() ending {
	return ending{id: r.Transaction, outcome: events.OutcomeCaptured, part: r.Part, actor: r.Actor}
}

// Release gives back a whole hold, also after its time of expiry. A repeated release gets the first answer. Errors:
// those of Capture except CodeInvalidTransaction, CodeUnbalanced, CodeNothingCaptured, CodeExceedsHold and
// CodeHoldExpired.
func (l *Ledger) Release(ctx context.Context, r ReleaseRequest) (Ended, error) {
	return l.end(ctx, r.Shape(), r.ending())
}

func (r ReleaseRequest) ending() ending {
	return ending{id: r.Transaction, outcome: events.OutcomeReleased, description: r.Description, actor: r.Actor}
}

// Expire ends a hold after its time of expiry. Errors: those of Release; before that time, CodeOutcomeUnknown.
func (l *Ledger) Expire(ctx context.Context, hold string) (Ended, error) {
	return l.end(ctx, nil, ending{id: hold, outcome: events.OutcomeExpired, actor: expiryActor})
}

// Shape returns the fields that are invalid by themselves; nil if there are none.
func (r CaptureRequest) Shape() []FieldError {
	var f faults
	r.Part.shape(&f)
	return f
}

// Shape returns the fields that are invalid by themselves; nil if there are none.
func (r ReleaseRequest) Shape() []FieldError {
	var f faults
	f.check(Field{Name: "description"}, textViolation(r.Description, 0, events.DescriptionChars))
	return f
}

// ending is one command that ends a hold.
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

// run reads the hold and appends its end, with retries. All ends of a hold have the same key, so only one is stored.
func (e *ending) run(ctx *command) (Ended, error) {
	for failed := 1; ; failed++ {
		lifecycle, err := e.ledger.Lifecycle(ctx, e.id)
		if err != nil {
			return Ended{}, e.fail(ctx, err)
		}
		hold := lifecycle.Header
		taken, refused := e.takenLegs(hold)
		if refused != nil {
			return Ended{}, refused
		}
		if lifecycle.Ended != nil {
			return e.alreadyEnded(ctx, hold, *lifecycle.Ended, taken)
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
		at, cancelled, err := e.append(ctx, commit{heads: []events.Event{end}, postings: end.Postings(hold)}, minted)
		switch {
		case err == nil:
			return e.acknowledgeEnd(ctx, hold, end, taken, at)
		case cancelled != nil:
			if head := cancelled.Reasons[0]; head.Is == store.CauseCondition && head.Old != nil {
				stored, err := storedHead[events.HoldEnded](head)
				if err != nil {
					return Ended{}, e.fail(ctx, internalError(err))
				}
				return e.alreadyEnded(ctx, hold, stored, taken)
			}
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

// takenLegs returns what a capture takes of each leg, and zeros for the other outcomes. Its errors do not depend on the
// time or on other requests: CodeNotAHold, CodeInvalidTransaction, CodeUnbalanced, CodeNothingCaptured.
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
			Code: CodeNothingCaptured, Detail: "The capture is for zero. To give back the hold, release it.",
			Fields: []FieldError{{Field: e.part.field(), Rule: "must capture something"}},
		}
	}
	return taken, nil
}

// buildEnd returns the end of an open hold, with newly minted KSUIDs. A capture after the time of expiry becomes an
// expiry. Errors: CodeExceedsHold; CodeOutcomeUnknown if an expiry is less than clockTolerance after the time of
// expiry; those of mint.
func (e *ending) buildEnd(
	ctx context.Context, hold events.TransactionPosted, taken []events.Taken,
) (end events.HoldEnded, minted time.Time, err error) {
	if faults := e.part.exceeding(taken, hold.Legs, takeAll(hold.Legs)); faults != nil {
		return end, minted, &Error{Code: CodeExceedsHold, Detail: "More is captured than was held.", Fields: faults}
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

// errNearExpiry is the cause of CodeOutcomeUnknown within clockTolerance of the time of expiry: a process with another
// clock may still capture the hold.
var errNearExpiry = errors.New("too close to the time of expiry")

// alreadyEnded answers with the stored end. It may be from an attempt of this command, from an earlier request for the
// same end, or from a request for a different end, which is an error.
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
	return e.acknowledgeEnd(ctx, hold, stored, taken, at)
}

// matches reports whether a stored end is the requested one.
func (e *ending) matches(stored events.HoldEnded, taken []events.Taken) bool {
	return stored.Outcome == e.outcome &&
		(e.outcome != events.OutcomeCaptured || slices.Equal(takeAll(stored.Legs), taken))
}

// endedOtherwise returns the error of an end when a different one is stored.
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

// acknowledgeEnd answers with an end that was committed by the store's time at.
func (e *ending) acknowledgeEnd(
	ctx context.Context, hold events.TransactionPosted, end events.HoldEnded, taken []events.Taken, at time.Time,
) (Ended, error) {
	if !e.matches(end, taken) { // a late capture wrote an expiry
		return Ended{}, e.endedOtherwise(ctx, end)
	}
	if err := e.acknowledge(ctx, end.Legs, at); err != nil {
		return Ended{}, e.fail(ctx, unknownError(e.id, err))
	}
	return Ended{Transaction: hold, End: end, Replayed: !e.wrote(end.Legs)}, nil
}

// answerDryRun answers a dry run with a stored end, which is replayed, or with the end that would be written.
func (e *ending) answerDryRun(
	ctx context.Context, hold events.TransactionPosted, end events.HoldEnded, taken []events.Taken, replayed bool,
) (Ended, error) {
	if !e.matches(end, taken) {
		return Ended{}, e.endedOtherwise(ctx, end)
	}
	end.Legs, hold.Legs = withoutIDs(end.Legs), withoutIDs(hold.Legs)
	return Ended{Transaction: hold, End: end, Replayed: replayed}, nil
}

// awaitOutcome makes no further attempt. While the outcome of an earlier one is unknown, it reads the hold until the
// deadline. A command that stays without an answer ends with cause.
func (e *ending) awaitOutcome(
	ctx context.Context, failed int, hold events.TransactionPosted, taken []events.Taken, cause error,
) (Ended, error) {
	for ; e.unknown && pause(ctx, failed); failed++ {
		if lifecycle, err := e.ledger.Lifecycle(ctx, e.id); err == nil && lifecycle.Ended != nil {
			return e.alreadyEnded(ctx, hold, *lifecycle.Ended, taken)
		}
	}
	return Ended{}, e.fail(ctx, storeError(cause))
}

// fail returns the error that the command ends with. A hold ends once, so a different end proves that this one failed.
func (e *ending) fail(ctx context.Context, err error) error {
	return e.attempts.fail(ctx, e.id, err, CodeHoldEnded, CodeHoldExpired)
}
