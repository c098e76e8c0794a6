package ledger

import (
	"context"
	"fmt"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// Reverse posts a transaction that takes back a part of another one. All reversals of a transaction together take back
// at most what was posted. It needs funds like any debit. Errors: those of Post but CodeUnbalanced of what is named,
// CodeTransactionNotFound, CodeNothingToReverse, CodeExceedsReversible.
func (l *Ledger) Reverse(ctx context.Context, r ReverseRequest) (Posted, error) {
	p := r.posting(l)
	c, cancel, err := startCommand(ctx, r.Shape(), r.Actor)
	if err != nil {
		return Posted{}, err
	}
	defer cancel()
	if err := r.Part.rules(); err != nil {
		return Posted{}, err
	}
	return p.run(c)
}

// posting returns the reversal on its way.
func (r ReverseRequest) posting(l *Ledger) *posting {
	return &posting{
		attempts: attempts{ledger: l}, reversal: &reversal{stale: true}, header: events.TransactionPosted{ID: r.ID},
		draft: r.draft(),
	}
}

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
}

// head is the reversal by the transaction with an id.
func (r *reversal) head(of, by string) events.TransactionReversed {
	return events.TransactionReversed{Transaction: of, Number: r.number, By: by, Taken: r.taken}
}

// rebuild reads what is left of the transaction to reverse, and makes the reversing transaction of it. there is true
// when the request's id is among the reversals already: that was posted, or is being committed.
//
// Two reversals meet on a number, and the second reads again. So attempts that were sent with an older number never
// pass, and what is left only falls.
func (p *posting) rebuild(ctx context.Context) (there bool, _ *Error) {
	life, err := p.ledger.readLife(ctx, p.draft.reverses)
	if err != nil {
		return false, asError(err)
	}
	if life.reversedBy(p.header.ID) {
		return true, nil
	}
	taken, refused := p.draft.part.of(life.Header)
	if refused != nil {
		return false, refused
	}
	if taken != nil && takenNothing(taken) {
		return false, invalidTransaction([]FieldError{{Field: p.draft.part.field(), Rule: "must take something back"}})
	}
	legs := life.Posted()
	if p.header.ID == "" {
		made, _, err := p.ledger.mint(ctx, 1, life.Header.Legs[0].Account, "")
		if err != nil {
			return false, asError(err)
		}
		p.header.ID = string(made[0])
	}
	if legs == nil {
		return false, &Error{
			Code: CodeNothingToReverse, Detail: "A hold that was not captured has posted nothing to reverse.",
		}
	}
	left := life.Left()
	if taken == nil {
		taken = left
	}
	if refused := p.draft.part.reversible(life, taken, left); refused != nil {
		return false, refused
	}
	if refused := p.ledger.mayWriteLife(); refused != nil {
		return false, refused
	}
	if refused := p.ledger.mayBackdate(ctx, p.draft.note); refused != nil {
		return false, refused
	}
	p.reversal.stale = false
	p.reversal.number, p.reversal.taken = int64(len(life.Reversals))+1, taken
	p.reversal.after = legs[len(legs)-1].ID
	return false, p.redraft(ctx, legs)
}

// redraft makes the transaction that takes back of legs what p.reversal says.
func (p *posting) redraft(ctx context.Context, legs []events.Leg) *Error {
	p.draft.legs = nil
	for i, of := range p.reversal.taken {
		if of != (events.Taken{}) {
			p.draft.legs = append(p.draft.legs, LegRequest{
				Account: legs[i].Account, Asset: legs[i].Asset, Quantity: of.Quantity.Neg(), Cost: of.Cost.Neg(),
			})
		}
	}
	known, err := p.ledger.resolve(ctx, p.draft)
	if err != nil {
		return asError(err)
	}
	id, before := p.header.ID, p.limits
	p.header, p.limits = known.decide(p.draft)
	p.header.ID = id
	for i := range p.limits { // what a command knows never falls
		for _, limit := range before {
			if limit.pair == p.limits[i].pair {
				p.limits[i].raise(limit.known)
			}
		}
	}
	return p.forbidden(ctx, known)
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

// unbuilt ends a command that rebuild made no transaction for. Without an error the transaction is there, or is being
// committed: its header is read until it is.
func (p *posting) unbuilt(ctx context.Context, failed int, err *Error) (Posted, error) {
	switch {
	case err == nil:
		p.unknown = true
		return p.await(ctx, failed, store.ErrConflict)
	case err.judgedLate():
		return p.failUnlessThere(ctx, err)
	}
	return Posted{}, p.fail(ctx, err)
}

// judgedLate reports whether time or others can change what a reversal is refused for: that is judged after the id.
func (e *Error) judgedLate() bool {
	switch e.Code {
	case CodeInvalidRequest, CodeNothingToReverse, CodeExceedsReversible, CodeUnavailable, CodeAccountFrozen,
		CodeAccountClosed:
		return true
	}
	return false
}
