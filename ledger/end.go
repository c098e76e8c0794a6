package ledger

import (
	"context"
	"errors"
	"slices"
	"time"

	"ledger.example/events"
)

// expiryActor is the actor of every expiry.
const expiryActor = "expiry"

func (r CaptureRequest) expand() draft {
	return draft{
		Annotation: Annotation{ID: r.Transaction, Actor: r.Actor, DryRun: r.DryRun},
		outcome:    events.OutcomeCaptured, part: r.Part,
	}
}

func (r ReleaseRequest) expand() draft {
	return draft{
		Annotation: Annotation{ID: r.Transaction, Description: r.Description, Actor: r.Actor, DryRun: r.DryRun},
		outcome:    events.OutcomeReleased,
	}
}

// Shape implements Request.
func (r CaptureRequest) Shape() []FieldError { return r.expand().shape() }

// Shape implements Request.
func (r ReleaseRequest) Shape() []FieldError { return r.expand().shape() }

// decideEnd reads the hold, and plans what its end takes of each leg. Errors that do not depend on the time or on other
// requests: CodeTransactionNotFound, and those of captured. If more is captured than was held, CodeExceedsHold refuses
// the request unless the hold has ended.
func (r *request) decideEnd(ctx context.Context, l *Ledger) *Error {
	lifecycle, err := r.readOther(ctx, l)
	if err != nil {
		return asError(err)
	}
	hold := lifecycle.Header
	taken, refused := r.captured(hold)
	if refused != nil {
		return refused
	}
	legs := hold.Legs
	r.header, r.ended, r.taken, r.after = hold, lifecycle.Ended, taken, legs[len(legs)-1].ID
	if faults := r.part.exceeding(taken, legs, amountsOf(legs)); faults != nil {
		return refuse(CodeExceedsHold, "More is captured than was held.", faults...)
	}
	return nil
}

// captured returns what is captured of each leg: zeros if the hold ends otherwise. Errors: CodeNotAHold,
// CodeInvalidTransaction, CodeUnbalanced, CodeNothingCaptured.
func (d draft) captured(hold events.TransactionPosted) ([]events.Taken, *Error) {
	if !hold.IsHold() {
		return nil, refuse(CodeNotAHold, "The transaction was posted at once: it was never held.")
	}
	if d.outcome != events.OutcomeCaptured {
		return make([]events.Taken, len(hold.Legs)), nil
	}
	taken, err := d.part.takenFrom(hold)
	switch {
	case err != nil:
		return nil, err
	case taken == nil:
		return amountsOf(hold.Legs), nil
	case allZero(taken):
		return nil, refuse(CodeNothingCaptured, "The capture is for zero. To give back the hold, release it.",
			FieldError{Field: d.part.field(), Rule: "must capture something"})
	}
	return taken, nil
}

// isLate reports whether the request captures a hold after the time of expiry, by the clock or by the KSUIDs, now or
// when it was last asked.
func (r *request) isLate(now time.Time, ids []events.KSUID) bool {
	expires := r.header.ExpiresAt
	return r.outcome == events.OutcomeCaptured && (r.late || !now.Before(expires) || !ids[0].Time().Before(expires))
}

// buildEnd returns the end of an open hold. ids are newly minted, one for each leg, or empty in a dry run. A capture
// after the time of expiry becomes an expiry. Error: CodeOutcomeUnknown if an expiry is less than clockTolerance after
// the time of expiry.
func (r *request) buildEnd(now time.Time, ids []events.KSUID) (end events.HoldEnded, _ error) {
	hold := r.header
	end = events.HoldEnded{Transaction: hold.ID, Outcome: r.outcome, Description: r.Description, Actor: r.Actor}
	if r.isLate(now, ids) {
		end.Outcome, end.Actor = events.OutcomeExpired, expiryActor
	}
	if end.Outcome == events.OutcomeExpired && now.Before(hold.ExpiresAt.Add(clockTolerance)) {
		return end, unknownError(hold.ID, errNearExpiry)
	}
	end.Legs = slices.Clone(hold.Legs)
	for i := range end.Legs {
		leg := &end.Legs[i]
		leg.ID, leg.Quantity, leg.Cost = ids[i], events.Amount{}, events.Amount{}
		if end.Outcome == events.OutcomeCaptured {
			leg.Quantity, leg.Cost = r.taken[i].Quantity, r.taken[i].Cost
		}
	}
	return end, nil
}

// errNearExpiry is the cause of CodeOutcomeUnknown within clockTolerance of the time of expiry: a process with another
// clock may still capture the hold.
var errNearExpiry = errors.New("too close to the time of expiry")

// sameEnd returns nil if an end is the requested one. Errors: CodeHoldEnded, CodeHoldExpired.
func (r *request) sameEnd(end events.HoldEnded) *Error {
	captured := r.outcome == events.OutcomeCaptured
	status := statusOf(end)
	switch {
	case end.Outcome == r.outcome && (!captured || slices.Equal(amountsOf(end.Legs), r.taken)):
		return nil
	case captured && end.Outcome == events.OutcomeExpired:
		return refuse(CodeHoldExpired, "The hold expired before it was captured.")
	}
	return &Error{
		Code: CodeHoldEnded, HoldStatus: status, Detail: "The hold has ended already: it is " + string(status) + ".",
	}
}
