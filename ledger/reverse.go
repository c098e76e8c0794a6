package ledger

import (
	"context"
	"fmt"

	"ledger.example/events"
)

// Reverse posts a transaction that reverses another one, in whole or in part. All reversals of a transaction together
// reverse at most the posted amounts. A reversal needs funds like any other debit. Errors: those of Post, where
// CodeUnbalanced is about the request's part, and CodeTransactionNotFound, CodeNothingToReverse, CodeExceedsReversible.
func (l *Ledger) Reverse(ctx context.Context, r ReverseRequest) (Posted, error) {
	return l.postSingle(ctx, r.Shape(), r.item())
}

// item returns the item of the request.
func (r ReverseRequest) item() *item { return &item{draft: r.draft(), reversal: &reversal{}} }

// draft returns the draft without legs. planReversal adds them.
func (r ReverseRequest) draft() draft {
	return draft{Annotation: r.Annotation, kind: events.KindReversal, reverses: r.Transaction, part: r.Part}
}

// Shape returns the fields that are invalid by themselves; nil if there are none.
func (r ReverseRequest) Shape() []FieldError {
	f := faults(draft{Annotation: r.Annotation}.shape())
	if r.Hold != nil {
		f.check(Field{Name: "hold"}, "is not for a reversal")
	}
	r.Part.shape(&f)
	return f
}

// reversal is the part of another transaction that an item takes back.
type reversal struct {
	number   int64          // the number of this reversal: the next one when the others were read
	taken    []events.Taken // what is taken back of each leg
	after    events.KSUID   // of the last posted leg; those of the reversal are greater
	stale    bool           // another reversal may have the number
	recorded bool           // the request's id is among the reversals: it was posted, or is being committed
}

// head returns the event that records the reversal of a transaction by another one, both by id.
func (r *reversal) head(of, by string) events.TransactionReversed {
	return events.TransactionReversed{Transaction: of, Number: r.number, By: by, Taken: r.taken}
}

// planReversal reads the transaction to reverse, and fills in the legs of the reversing transaction. It does not if the
// request's id is among the reversals already.
//
// Each number can be written once. Of two concurrent reversals with the same number, the second one is planned again.
// So an attempt with an older number never succeeds, and the amounts left to reverse only fall.
func (it *item) planReversal(ctx context.Context, l *Ledger) *Error {
	if refused := it.draft.part.rules(); refused != nil {
		return refused
	}
	lifecycle, err := l.Lifecycle(ctx, it.draft.reverses)
	if err != nil {
		return asError(err)
	}
	if lifecycle.reversedBy(it.draft.ID) {
		it.reversal.recorded = true
		return nil
	}
	taken, refused := it.draft.part.takenFrom(lifecycle.Header)
	if refused != nil {
		return refused
	}
	if taken != nil && takesNothing(taken) {
		return invalidTransaction([]FieldError{{Field: it.draft.part.field(), Rule: "must take something back"}})
	}
	legs := lifecycle.Posted()
	if legs == nil {
		return &Error{
			Code: CodeNothingToReverse, Detail: "A hold that was not captured has posted nothing to reverse.",
		}
	}
	if of := legs[0].ID.Time(); it.draft.EffectiveAt != nil && it.draft.effective().Before(of) {
		return invalidRequest([]FieldError{{Field: Field{Name: "effective_at"},
			Rule: "must not be before " + events.FormatTime(of) + ", the time of what it reverses"}})
	}
	left := lifecycle.Left()
	if taken == nil {
		taken = left
	}
	if refused := it.draft.part.reversible(lifecycle, taken, left); refused != nil {
		return refused
	}
	*it.reversal = reversal{number: int64(len(lifecycle.Reversals)) + 1, taken: taken, after: legs[len(legs)-1].ID}
	it.draft.legs = nil
	for i, of := range taken {
		if of != (events.Taken{}) {
			it.draft.legs = append(it.draft.legs, LegRequest{
				Account: legs[i].Account, Asset: legs[i].Asset, Quantity: of.Quantity.Neg(), Cost: of.Cost.Neg(),
			})
		}
	}
	return nil
}

// reversible returns CodeExceedsReversible if more is taken of a leg than is left.
func (p Part) reversible(lifecycle Lifecycle, taken, left []events.Taken) *Error {
	detail, faults := "", p.exceeding(taken, lifecycle.Posted(), left)
	switch {
	case takesNothing(left):
		detail = "All of the transaction has been reversed already."
	case faults != nil:
		detail = "The request names more than is left to reverse."
	case len(lifecycle.Reversals) >= events.ReversalsMax:
		detail = fmt.Sprintf("The transaction was reversed %d times, and may not be again.", len(lifecycle.Reversals))
	default:
		return nil
	}
	e := &Error{Code: CodeExceedsReversible, Detail: detail, Fields: faults}
	for i, leg := range lifecycle.Posted() {
		e.Left = append(e.Left, LegRequest{
			Account: leg.Account, Asset: leg.Asset, Quantity: left[i].Quantity, Cost: left[i].Cost,
		})
	}
	return e
}
