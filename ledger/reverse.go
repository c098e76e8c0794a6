package ledger

import (
	"context"
	"fmt"

	"ledger.example/events"
)

// Reverse posts a transaction that takes back a part of another one. All reversals of a transaction together take back
// at most what was posted. It needs funds like any debit. Errors: those of Post but CodeUnbalanced of what is named,
// CodeTransactionNotFound, CodeNothingToReverse, CodeExceedsReversible.
func (l *Ledger) Reverse(ctx context.Context, r ReverseRequest) (Posted, error) {
	return l.postAlone(ctx, r.Shape(), r.posting())
}

// posting returns the reversal on its way.
func (r ReverseRequest) posting() *posting { return &posting{draft: r.draft(), reversal: &reversal{}} }

// draft returns what is known of the transaction before the one to reverse is read: it has no legs.
func (r ReverseRequest) draft() draft {
	return draft{note: r.Annotation, kind: events.KindReversal, reverses: r.Transaction, part: r.Part}
}

// Shape returns the fields whose value alone is at fault; nil when there are none.
func (r ReverseRequest) Shape() []FieldError {
	f := faults(draft{note: r.Annotation}.shape())
	if r.Hold != nil {
		f.check(Field{Name: "hold"}, "is not for a reversal")
	}
	r.Part.shape(&f)
	return f
}

// reversal is what one command takes back of a transaction.
type reversal struct {
	number int64          // of the transaction's reversals, the next when they were read
	taken  []events.Taken // of each leg
	after  events.KSUID   // of the last leg that was posted
	stale  bool           // its number may be another reversal's by now
	there  bool           // the request's id is among the reversals: it was posted, or is being committed
}

// head is the reversal by the transaction with an id.
func (r *reversal) head(of, by string) events.TransactionReversed {
	return events.TransactionReversed{Transaction: of, Number: r.number, By: by, Taken: r.taken}
}

// rebuild reads what is left of the transaction to reverse, and makes the draft of the reversing transaction of it,
// unless the request's id is among the reversals already.
//
// Two reversals meet on a number, and the second reads again. So attempts that were sent with an older number never
// pass, and what is left only falls.
func (p *posting) rebuild(ctx context.Context, l *Ledger) *Error {
	if refused := p.draft.part.rules(); refused != nil {
		return refused
	}
	life, err := l.readLife(ctx, p.draft.reverses)
	if err != nil {
		return asError(err)
	}
	if life.reversedBy(p.draft.note.ID) {
		p.reversal.there = true
		return nil
	}
	taken, refused := p.draft.part.of(life.Header)
	if refused != nil {
		return refused
	}
	if taken != nil && takenNothing(taken) {
		return invalidTransaction([]FieldError{{Field: p.draft.part.field(), Rule: "must take something back"}})
	}
	legs := life.Posted()
	if legs == nil {
		return &Error{
			Code: CodeNothingToReverse, Detail: "A hold that was not captured has posted nothing to reverse.",
		}
	}
	left := life.Left()
	if taken == nil {
		taken = left
	}
	if refused := p.draft.part.reversible(life, taken, left); refused != nil {
		return refused
	}
	if refused := l.mayWriteLife(); refused != nil {
		return refused
	}
	*p.reversal = reversal{number: int64(len(life.Reversals)) + 1, taken: taken, after: legs[len(legs)-1].ID}
	p.draft.legs = nil
	for i, of := range taken {
		if of != (events.Taken{}) {
			p.draft.legs = append(p.draft.legs, LegRequest{
				Account: legs[i].Account, Asset: legs[i].Asset, Quantity: of.Quantity.Neg(), Cost: of.Cost.Neg(),
			})
		}
	}
	return nil
}

// reversible returns nil if what is taken of each leg is left of it, else CodeExceedsReversible.
func (p Part) reversible(life Life, taken, left []events.Taken) *Error {
	detail, faults := "", p.beyond(taken, left)
	switch {
	case takenNothing(left):
		detail = "All of the transaction has been reversed already."
	case faults != nil:
		detail = "More is named than what is left to reverse."
	case len(life.Reversals) >= events.ReversalsMax:
		detail = fmt.Sprintf("The transaction was reversed %d times, and may not be again.", len(life.Reversals))
	default:
		return nil
	}
	e := &Error{Code: CodeExceedsReversible, Detail: detail, Fields: faults}
	for i, leg := range life.Posted() {
		e.Left = append(e.Left, LegRequest{
			Account: leg.Account, Asset: leg.Asset, Quantity: left[i].Quantity, Cost: left[i].Cost,
		})
	}
	return e
}
