package ledger

import (
	"fmt"

	"ledger.example/events"
)

// Part names what a capture or a reversal takes of a transaction. When nothing is named that is all there is to take.
type Part struct {
	Quantity *events.Amount // of a transfer or a trade, not negative; nil: not named
	Cost     events.Amount  // of a trade, not negative; the cash of a settled one follows it. Only with Quantity
	// Postings of any other: as many as its legs, in their order, each with its leg's sign or zero; nil: not named.
	Postings []events.Taken
}

// named reports whether anything is named.
func (p Part) named() bool { return p.Quantity != nil || p.Postings != nil }

// field is the field that names something.
func (p Part) field() Field {
	if p.Quantity != nil {
		return Field{Name: "quantity"}
	}
	return Field{Name: "postings"}
}

// shape records the fields whose value alone is at fault.
func (p Part) shape(f *faults) {
	if p.Quantity != nil {
		f.check(Field{Name: "quantity"}, brokenByPositive(*p.Quantity))
	} else if !p.Cost.IsZero() {
		f.check(Field{Name: "quantity"}, "is required with cost")
	}
	f.check(Field{Name: "cost"}, brokenByPositive(p.Cost))
	for i, taken := range p.Postings {
		f.check(LegField(i, "quantity"), brokenByAmount(taken.Quantity))
		f.check(LegField(i, "cost"), brokenByAmount(taken.Cost))
	}
}

func brokenByPositive(a events.Amount) string {
	if broken := brokenByAmount(a); broken != "" || a.Sign() >= 0 {
		return broken
	}
	return ruleNegative
}

// rules returns nil, or what breaks the rules over several fields: CodeInvalidTransaction.
func (p Part) rules() *Error {
	var f faults
	if p.Quantity != nil && p.Postings != nil {
		f.check(Field{Name: "postings"}, "must not be given with a quantity")
	}
	return invalidTransaction(f)
}

// of returns what is named of each leg of t, with its sign; nil when nothing is named. It may be more than there is.
// Errors: CodeInvalidTransaction, CodeUnbalanced.
func (p Part) takenFrom(t events.TransactionPosted) ([]events.Taken, *Error) {
	if !p.named() {
		return nil, nil
	}
	if err := p.checkKind(t); err != nil {
		return nil, err
	}
	if p.Quantity != nil {
		return p.fromQuantity(t), nil
	}
	var f faults
	legs := make([]LegRequest, len(t.Legs))
	for i, leg := range t.Legs {
		f.check(LegField(i, "quantity"), brokenBySign(p.Postings[i].Quantity, leg.Quantity))
		f.check(LegField(i, "cost"), brokenBySign(p.Postings[i].Cost, leg.Cost))
		legs[i] = LegRequest{
			Account: leg.Account, Asset: leg.Asset, Quantity: p.Postings[i].Quantity, Cost: p.Postings[i].Cost,
		}
	}
	if f != nil {
		return nil, invalidTransaction(f)
	}
	return p.Postings, unbalanced(legs)
}

// fits returns nil, or CodeInvalidTransaction when what is named is not named as t's kind wants it.
func (p Part) checkKind(t events.TransactionPosted) *Error {
	var f faults
	short := t.Kind == events.KindTransfer || t.Kind == events.KindTrade
	switch {
	case p.Quantity != nil && !short:
		f.check(Field{Name: "quantity"}, "is for transfers and trades: name postings")
	case p.Postings != nil && short:
		f.check(Field{Name: "postings"}, "is not for a "+string(t.Kind)+": name a quantity")
	case p.Postings != nil && len(p.Postings) != len(t.Legs):
		f.check(Field{Name: "postings"}, fmt.Sprintf("must be %d, as planned, not %d", len(t.Legs), len(p.Postings)))
	case t.Kind == events.KindTransfer && !p.Cost.IsZero():
		f.check(Field{Name: "cost"}, "is not for a transfer")
	}
	return invalidTransaction(f)
}

// short returns what a quantity and a cost name of each leg of a transfer or trade. They balance.
func (p Part) fromQuantity(t events.TransactionPosted) []events.Taken {
	quantity, taken := *p.Quantity, make([]events.Taken, len(t.Legs))
	if t.Kind == events.KindTransfer { // from, to
		taken[0].Quantity, taken[1].Quantity = quantity.Neg(), quantity
		return taken
	}
	taken[0] = events.Taken{Quantity: quantity, Cost: p.Cost} // buyer, seller
	taken[1] = events.Taken{Quantity: quantity.Neg(), Cost: p.Cost.Neg()}
	if len(taken) > 2 { // the cash: the buyer's, the seller's
		taken[2].Quantity, taken[3].Quantity = p.Cost.Neg(), p.Cost
	}
	return taken
}

// beyond returns the fields that name more than there is of each leg: nil when there are none.
func (p Part) exceeding(taken, left []events.Taken) []FieldError {
	var f faults
	for i, of := range taken {
		quantity, cost, most := LegField(i, "quantity"), LegField(i, "cost"), left[i]
		if p.Quantity != nil {
			quantity, cost = Field{}, Field{}
			if i == 0 { // it tells of the other legs too
				quantity, cost = Field{Name: "quantity"}, Field{Name: "cost"}
			}
			of.Quantity, of.Cost = of.Quantity.Abs(), of.Cost.Abs() // as they are named
			most.Quantity, most.Cost = most.Quantity.Abs(), most.Cost.Abs()
		}
		f.check(quantity, brokenByMost(of.Quantity, most.Quantity))
		f.check(cost, brokenByMost(of.Cost, most.Cost))
	}
	return f
}

func brokenByMost(taken, left events.Amount) string {
	if taken.Abs().Cmp(left.Abs()) <= 0 {
		return ""
	}
	return "must not be beyond " + left.String()
}

func brokenBySign(taken, leg events.Amount) string {
	if taken.Sign()*leg.Sign() >= 0 {
		return ""
	}
	return "must have the sign of the posting, or be 0"
}

// takenWhole returns the legs as what is taken of them: all.
func takeAll(legs []events.Leg) []events.Taken {
	taken := make([]events.Taken, len(legs))
	for i, leg := range legs {
		taken[i] = events.Taken{Quantity: leg.Quantity, Cost: leg.Cost}
	}
	return taken
}

// takenNothing reports whether nothing is taken of any leg.
func takesNothing(taken []events.Taken) bool {
	for _, of := range taken {
		if of != (events.Taken{}) {
			return false
		}
	}
	return true
}
