package ledger

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"ledger.example/events"
)

// holdDays is how many days a hold is open if the request gives no time of expiry.
const holdDays = 7

const day = 24 * time.Hour

// expiry returns the time of expiry of a hold that is placed now, as events store it. Error: CodeInvalidRequest. It
// depends on the clock, so its refusal does not apply to a request that was posted before.
func (h HoldRequest) expiry(now time.Time) (time.Time, *Error) {
	if h.ExpiresAt == nil {
		return now.Add(holdDays * day), nil
	}
	at := h.ExpiresAt.UTC().Round(0).Truncate(time.Microsecond)
	if at.After(now) && !at.After(now.Add(events.HoldDaysMax*day)) {
		return at, nil
	}
	return time.Time{}, invalidRequest(FieldError{
		Field: EntryField("hold", "expires_at"),
		Rule:  fmt.Sprintf("must be after now and at most %d days ahead", events.HoldDaysMax),
	})
}

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
		Annotation: Annotation{
			ID: r.Transaction, Annotation: events.Annotation{Description: r.Description},
			Actor: r.Actor, DryRun: r.DryRun,
		},
		outcome: events.OutcomeReleased,
	}
}

// Shape implements Request.
func (r CaptureRequest) Shape() []FieldError { return r.expand().shape() }

// Shape implements Request.
func (r ReleaseRequest) Shape() []FieldError { return r.expand().shape() }

// decideEnd plans what the end of a hold takes of each leg. Errors that do not depend on the time or on other requests:
// those of captured. If a cost is not named, or more is captured than was held, CodeCostRequired or CodeExceedsHold
// refuses the request unless the hold has ended.
func (p *plan) decideEnd(d *draft, of *Lifecycle) *Error {
	hold := of.Header
	taken, refused := d.captured(hold)
	if taken == nil {
		return refused
	}
	legs := hold.Legs
	p.header, p.ended, p.taken, p.after = hold, of.Ended, taken, legs[len(legs)-1].ID
	if refused != nil {
		return refused
	}
	if faults := d.part.exceeding(taken, hold, amountsOf(legs)); faults != nil {
		return refuse(CodeExceedsHold, "More is captured than was held.", faults...)
	}
	return nil
}

// captured returns what is captured of each leg: zeros if the hold ends otherwise. Errors: CodeNotAHold,
// CodeInvalidTransaction, CodeUnbalanced, CodeNothingCaptured, CodeCostRequired as takenFrom.
func (d draft) captured(hold events.TransactionPosted) ([]events.Taken, *Error) {
	if !hold.IsHold() {
		return nil, refuse(CodeNotAHold, "The transaction was posted at once: it was never held.")
	}
	if d.outcome != events.OutcomeCaptured {
		return make([]events.Taken, len(hold.Legs)), nil
	}
	taken, err := d.part.takenFrom(hold, hold.Legs, amountsOf(hold.Legs))
	switch {
	case taken == nil && err != nil:
		return nil, err
	case taken == nil:
		return amountsOf(hold.Legs), nil
	case allZero(taken):
		return nil, refuse(CodeNothingCaptured, "The capture is for zero. To give back the hold, release it.",
			FieldError{Field: d.part.field(), Rule: "must capture something"})
	}
	return taken, err
}

// isLate reports whether the request captures a hold after the time of expiry, by the clock or by the KSUIDs, now or
// when it was last asked.
func (r *request) isLate(now time.Time, ids []events.KSUID) bool {
	expires := r.header.ExpiresAt
	return r.outcome == events.OutcomeCaptured && (r.late || !now.Before(expires) || !ids[0].Time().Before(expires))
}

// buildEnd returns the end of an open hold. ids are newly minted, one for each leg, or empty in a dry run. A capture
// after the time of expiry becomes an expiry. Error: CodeUnavailable if an expiry is less than clockTolerance after the
// time of expiry.
func (r *request) buildEnd(now time.Time, ids []events.KSUID) (end events.HoldEnded, _ error) {
	hold := r.header
	end = events.HoldEnded{Transaction: hold.ID, Outcome: r.outcome, Description: r.Description, Actor: r.Actor}
	if r.isLate(now, ids) {
		end.Outcome, end.Actor = events.OutcomeExpired, expiryActor
	}
	if wait := hold.ExpiresAt.Add(clockTolerance).Sub(now); end.Outcome == events.OutcomeExpired && wait > 0 {
		return end, &Error{Code: CodeUnavailable, RetryAfter: wait, Err: errNearExpiry,
			Detail: "It is too close to the hold's time of expiry to end the hold. Nothing was written."}
	}
	end.Legs = slices.Clone(hold.Legs)
	for i := range end.Legs {
		leg := &end.Legs[i]
		leg.ID, leg.Quantity, leg.Cost, leg.Counted = ids[i], events.Amount{}, events.Amount{}, ""
		if end.Outcome == events.OutcomeCaptured {
			leg.Quantity, leg.Cost = r.taken[i].Quantity, r.taken[i].Cost
		}
	}
	return end, nil
}

// errNearExpiry is the cause of CodeUnavailable within clockTolerance after the time of expiry: a process with another
// clock may still capture the hold.
var errNearExpiry = errors.New("too close to the time of expiry")

// sameEnd returns nil if an end is the requested one. Errors: CodeHoldEnded, CodeHoldExpired.
func (r *request) sameEnd(end events.HoldEnded) *Error {
	captured := r.outcome == events.OutcomeCaptured
	status := events.Status(end.Outcome)
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

// expand returns the draft without legs: decideReversal plans them.
func (r ReverseRequest) expand() draft {
	return draft{Annotation: r.Annotation, kind: events.KindReversal, reverses: r.Transaction, part: r.Part}
}

// Shape implements Request.
func (r ReverseRequest) Shape() []FieldError { return r.expand().shape() }

// decideReversal plans the legs of a reversal. It does not if the request's id is among the reversals already.
//
// Each number can be written once. Of two concurrent reversals with the same number, the second one is planned again.
// So an attempt with an older number never succeeds, and the amounts left to reverse only fall.
func (p *plan) decideReversal(d *draft, lifecycle *Lifecycle) *Error {
	if lifecycle.reversedBy(d.ID) {
		p.listed = true
		return nil
	}
	legs := lifecycle.Posted()
	left := lifecycle.Left()
	taken, refused := d.part.takenFrom(lifecycle.Header, legs, left)
	if taken == nil && refused != nil {
		return refused
	}
	if taken != nil && allZero(taken) {
		return invalidTransaction([]FieldError{{Field: d.part.field(), Rule: "must take something back"}})
	}
	if legs == nil {
		return refuse(CodeNothingToReverse, "A hold that was not captured has posted nothing to reverse.")
	}
	if of := legs[0].ID.Time(); d.EffectiveAt != nil && d.effective().Before(of) {
		return invalidRequest(FieldError{Field: Field{Name: "effective_at"},
			Rule: "must not be before " + events.FormatTime(of) + ", the time of what it reverses"})
	}
	if refused != nil { // CodeCostRequired
		return refused
	}
	if taken == nil {
		taken = left
	}
	if refused := d.part.reversible(*lifecycle, taken, left); refused != nil {
		return refused
	}
	p.taken, p.after = taken, legs[len(legs)-1].ID
	p.reversal, p.moved = int64(len(lifecycle.Reversals))+1, nil
	for i, of := range taken {
		if of != (events.Taken{}) {
			back := events.Taken{Quantity: of.Quantity.Neg(), Cost: of.Cost.Neg()}
			p.moved = append(p.moved, legOf(legs[i], back))
		}
	}
	return nil
}

// reversed returns the event that records a reversal under the transaction that it reverses.
func (r *request) reversed() events.TransactionReversed {
	return events.TransactionReversed{Transaction: r.reverses, Number: r.reversal, By: r.ID, Taken: r.taken}
}

// reversible returns CodeExceedsReversible if more is taken of a leg than is left.
func (p Part) reversible(lifecycle Lifecycle, taken, left []events.Taken) *Error {
	detail, faults := "", p.exceeding(taken, lifecycle.Header, left)
	switch {
	case allZero(left):
		detail = "All of the transaction has been reversed already."
	case faults != nil:
		detail = "The request names more than is left to reverse."
	case len(lifecycle.Reversals) >= events.ReversalsMax:
		detail = fmt.Sprintf("The transaction was reversed %d times, and may not be again.", len(lifecycle.Reversals))
	default:
		return nil
	}
	e := refuse(CodeExceedsReversible, detail, faults...)
	for i, leg := range lifecycle.Posted() {
		e.Left = append(e.Left, legOf(leg, left[i]))
	}
	return e
}
