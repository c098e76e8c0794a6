package ledger

import (
	"fmt"
	"slices"

	"ledger.example/events"
)

// Part is the part of a transaction that a capture or a reversal takes. The zero Part is all that is left to take.
type Part struct {
	Quantity *events.Amount // of a transfer or a trade, not negative; may be nil
	// Cost is that of a trade, not negative, only with Quantity. A settled trade moves the same cash. It must be named
	// if the trade has a cost; nil is zero.
	Cost *events.Amount
	// Postings is for other transactions: one entry for each leg, in order, with the leg's sign or zero; may be nil.
	Postings []LegPart
}

// LegPart is the part of one leg.
type LegPart struct {
	Quantity events.Amount
	Cost     *events.Amount // must be named if the leg has a cost; nil is zero
}

// IsZero reports whether the part takes nothing.
func (p LegPart) IsZero() bool { return p.amounts() == events.Taken{} }

func (p LegPart) amounts() events.Taken {
	return events.Taken{Quantity: p.Quantity, Cost: orZero(p.Cost)}
}

// orZero returns an amount that a request need not name.
func orZero(a *events.Amount) events.Amount {
	if a == nil {
		return events.Amount{}
	}
	return *a
}

// field is the field for errors about the whole part.
func (p Part) field() Field {
	if p.Quantity != nil {
		return Field{Name: "quantity"}
	}
	return Field{Name: "postings"}
}

// shape adds the fields that are invalid by themselves.
func (p Part) shape(f *faults) {
	if p.Quantity != nil {
		f.check(Field{Name: "quantity"}, negativeViolation(*p.Quantity))
	} else if p.Cost != nil {
		f.check(Field{Name: "quantity"}, "is required with cost")
	}
	f.check(Field{Name: "cost"}, negativeViolation(orZero(p.Cost)))
	for i, of := range p.Postings {
		f.check(LegField(i, "quantity"), amountViolation(of.Quantity))
		f.check(LegField(i, "cost"), amountViolation(orZero(of.Cost)))
	}
}

func negativeViolation(a events.Amount) string {
	if violation := amountViolation(a); violation != "" || a.Sign() >= 0 {
		return violation
	}
	return ruleNegative
}

// rules checks the rules over several fields. Error: CodeInvalidTransaction.
func (p Part) rules() *Error {
	var f faults
	if p.Quantity != nil && p.Postings != nil {
		f.check(Field{Name: "postings"}, "must not be given with a quantity")
	}
	return invalidTransaction(f)
}

// takenFrom returns what the part takes of each leg of t, with the leg's sign; nil for the zero Part. It may be more
// than the leg has. from are the legs that it takes from: the planned or the posted ones. Errors:
// CodeInvalidTransaction, CodeUnbalanced. With CodeCostRequired, it also returns what the part takes if no cost that it
// does not name is taken: earlier versions posted that, and a replay of it gets its answer.
func (p Part) takenFrom(t events.TransactionPosted, from []events.Leg) ([]events.Taken, *Error) {
	if p.Quantity == nil && p.Postings == nil {
		return nil, nil
	}
	if err := p.checkKind(t); err != nil {
		return nil, err
	}
	if p.Quantity != nil {
		return p.fromQuantity(t), p.checkCosts(from)
	}
	var f faults
	legs, taken := make([]LegRequest, len(t.Legs)), make([]events.Taken, len(t.Legs))
	for i, leg := range t.Legs {
		taken[i] = p.Postings[i].amounts()
		f.checkStored(LegField(i, "quantity"), signViolation(taken[i].Quantity, leg.Quantity), leg.Account)
		f.checkStored(LegField(i, "cost"), signViolation(taken[i].Cost, leg.Cost), leg.Account)
		legs[i] = legOf(leg, taken[i])
	}
	if f != nil {
		return nil, invalidTransaction(f)
	}
	if refused := p.checkCosts(from); refused != nil {
		return taken, refused
	}
	if refused := unbalanced(legs); refused != nil {
		return nil, refused
	}
	return taken, nil
}

// checkCosts returns CodeCostRequired if the part does not name the cost of a leg that has one. A part that forgot its
// price would move the rest for nothing.
func (p Part) checkCosts(of []events.Leg) *Error {
	var f faults
	for i, leg := range of {
		switch {
		case leg.Cost.IsZero():
		case p.Quantity == nil && p.Postings[i].Cost == nil:
			f.checkStored(LegField(i, "cost"), "is required, because the posting has a cost", leg.Account)
		case p.Quantity != nil && p.Cost == nil && f == nil:
			f.check(Field{Name: "cost"}, "is required, because the transaction has a cost")
		}
	}
	return f.refusal(CodeCostRequired, "A part of what has a cost must name its cost; 0 gives it away.")
}

// checkKind returns CodeInvalidTransaction if the part is not in the form for t's kind.
func (p Part) checkKind(t events.TransactionPosted) *Error {
	var f faults
	byQuantity := t.Kind == events.KindTransfer || t.Kind == events.KindTrade
	switch {
	case p.Quantity != nil && !byQuantity:
		f.check(Field{Name: "quantity"}, "is only for transfers and trades: give postings instead")
	case p.Postings != nil && byQuantity:
		f.check(Field{Name: "postings"}, "is not for a "+string(t.Kind)+": give a quantity instead")
	case p.Postings != nil && len(p.Postings) != len(t.Legs):
		f.check(Field{Name: "postings"},
			fmt.Sprintf("must be %d, as in the transaction, not %d", len(t.Legs), len(p.Postings)))
	case t.Kind == events.KindTransfer && !orZero(p.Cost).IsZero():
		f.check(Field{Name: "cost"}, "is not for a transfer")
	}
	return invalidTransaction(f)
}

// fromQuantity returns what a quantity and a cost take of each leg of a transfer or trade. The result balances.
func (p Part) fromQuantity(t events.TransactionPosted) []events.Taken {
	quantity, cost, taken := *p.Quantity, orZero(p.Cost), make([]events.Taken, len(t.Legs))
	if t.Kind == events.KindTransfer { // from, to
		taken[0].Quantity, taken[1].Quantity = quantity.Neg(), quantity
		return taken
	}
	taken[0] = events.Taken{Quantity: quantity, Cost: cost} // buyer, seller
	taken[1] = events.Taken{Quantity: quantity.Neg(), Cost: cost.Neg()}
	if len(taken) > 2 { // the cash: the buyer's, the seller's
		taken[2].Quantity, taken[3].Quantity = cost.Neg(), cost
	}
	return taken
}

// exceeding returns the fields that take more than is left of one of the legs.
func (p Part) exceeding(taken []events.Taken, legs []events.Leg, left []events.Taken) []FieldError {
	var f faults
	for i, of := range taken {
		accounts := []string{legs[i].Account}
		quantity, cost, most := LegField(i, "quantity"), LegField(i, "cost"), left[i]
		if p.Quantity != nil {
			quantity, cost = Field{}, Field{}
			if i == 0 { // these fields apply to all legs: who sees one of them sees the amounts
				quantity, cost, accounts = Field{Name: "quantity"}, Field{Name: "cost"}, nil
			}
			most.Quantity, most.Cost = most.Quantity.Abs(), most.Cost.Abs() // as in the request
		}
		f.checkStored(quantity, maximumViolation(of.Quantity, most.Quantity), accounts...)
		f.checkStored(cost, maximumViolation(of.Cost, most.Cost), accounts...)
	}
	return f
}

func maximumViolation(taken, left events.Amount) string {
	if taken.Abs().Cmp(left.Abs()) <= 0 {
		return ""
	}
	return "must not exceed " + left.String()
}

func signViolation(taken, leg events.Amount) string {
	if taken.Sign()*leg.Sign() >= 0 {
		return ""
	}
	return "must have the sign of the posting, or be 0"
}

// legOf returns a leg with other amounts, as requests have it.
func legOf(leg events.Leg, amounts events.Taken) LegRequest {
	return LegRequest{Account: leg.Account, Asset: leg.Asset, Quantity: amounts.Quantity, Cost: amounts.Cost}
}

// amountsOf returns the amounts of legs.
func amountsOf(legs []events.Leg) []events.Taken {
	all := make([]events.Taken, len(legs))
	for i, leg := range legs {
		all[i] = events.Taken{Quantity: leg.Quantity, Cost: leg.Cost}
	}
	return all
}

// allZero reports whether all amounts are zero.
func allZero(amounts []events.Taken) bool {
	return !slices.ContainsFunc(amounts, func(of events.Taken) bool { return of != events.Taken{} })
}
