package ledger

import (
	"context"
	"fmt"

	"ledger.example/events"
)

// expand returns the draft without legs. decideReversal adds them.
func (r ReverseRequest) expand() draft {
	return draft{Annotation: r.Annotation, kind: events.KindReversal, reverses: r.Transaction, part: r.Part}
}

// Shape implements Request.
func (r ReverseRequest) Shape() []FieldError { return r.expand().shape() }

// decideReversal reads the transaction to reverse, and fills in the legs of the reversing transaction. It does not if
// the request's id is among the reversals already.
//
// Each number can be written once. Of two concurrent reversals with the same number, the second one is planned again.
// So an attempt with an older number never succeeds, and the amounts left to reverse only fall.
func (r *request) decideReversal(ctx context.Context, l *Ledger) *Error {
	lifecycle, err := r.readOther(ctx, l)
	if err != nil {
		return asError(err)
	}
	if lifecycle.reversedBy(r.ID) {
		r.listed = true
		return nil
	}
	taken, refused := r.part.takenFrom(lifecycle.Header)
	if refused != nil {
		return refused
	}
	if taken != nil && allZero(taken) {
		return invalidTransaction([]FieldError{{Field: r.part.field(), Rule: "must take something back"}})
	}
	legs := lifecycle.Posted()
	if legs == nil {
		return refuse(CodeNothingToReverse, "A hold that was not captured has posted nothing to reverse.")
	}
	if of := legs[0].ID.Time(); r.EffectiveAt != nil && r.effective().Before(of) {
		return invalidRequest(FieldError{Field: Field{Name: "effective_at"},
			Rule: "must not be before " + events.FormatTime(of) + ", the time of what it reverses"})
	}
	left := lifecycle.Left()
	if taken == nil {
		taken = left
	}
	if refused := r.part.reversible(lifecycle, taken, left); refused != nil {
		return refused
	}
	r.taken, r.after = taken, legs[len(legs)-1].ID
	r.reversal, r.outdated = int64(len(lifecycle.Reversals))+1, false
	r.legs = nil
	for i, of := range taken {
		if of != (events.Taken{}) {
			r.legs = append(r.legs, LegRequest{
				Account: legs[i].Account, Asset: legs[i].Asset, Quantity: of.Quantity.Neg(), Cost: of.Cost.Neg(),
			})
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
	detail, faults := "", p.exceeding(taken, lifecycle.Posted(), left)
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
		e.Left = append(e.Left, LegRequest{
			Account: leg.Account, Asset: leg.Asset, Quantity: left[i].Quantity, Cost: left[i].Cost,
		})
	}
	return e
}
