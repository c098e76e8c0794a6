package ledger

import (
	"fmt"
	"math/big"
	"slices"

	"ledger.example/events"
)

// Part is the part of a transaction that a capture or a reversal takes. The zero Part is all that is left to take.
type Part struct {
	// Quantity is of a trade, or of a transaction that hasOneAsset: each side gives as much, in proportion to what is
	// left of each leg. Not negative; may be nil.
	Quantity *events.Amount
	// Cost is that of a trade, not negative, only with Quantity. A settled trade moves the same cash. It must be named
	// if the trade has a cost; nil is zero.
	Cost *events.Amount
	// Postings is for all but transfers and trades: one entry for each leg, in order, with the leg's sign or zero; may
	// be nil.
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

// positiveViolation is negativeViolation for an amount that must be above zero.
func positiveViolation(a events.Amount) string {
	if violation := amountViolation(a); violation != "" || a.Sign() > 0 {
		return violation
	}
	return rulePositive
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
// than the leg has. from are the legs that it takes from, the planned or the posted ones, and left is what is left of
// them; both are nil of a hold that has posted nothing. Errors:
// CodeInvalidTransaction, CodeUnbalanced. With CodeCostRequired, it also returns what the part takes if no cost that it
// does not name is taken: earlier versions posted that, and a replay of it gets its answer.
func (p Part) takenFrom(
	t events.TransactionPosted, from []events.Leg, left []events.Taken,
) ([]events.Taken, *Error) {
	if p.Quantity == nil && p.Postings == nil {
		return nil, nil
	}
	if err := p.checkKind(t); err != nil {
		return nil, err
	}
	if p.Quantity != nil && t.Kind == events.KindTrade {
		return p.fromTrade(t), p.checkCosts(from)
	}
	if p.Quantity != nil {
		if from == nil {
			left = amountsOf(t.Legs)
		}
		return p.inProportion(t.Legs, left), nil
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
	case p.Quantity != nil && t.Kind != events.KindTrade && !hasOneAsset(t.Legs):
		f.checkStored(Field{Name: "quantity"},
			"is only for a trade, or a transaction of one asset without costs: give postings instead",
			accountsOf(t.Legs)...)
	case p.Postings != nil && byQuantity:
		f.check(Field{Name: "postings"}, "is not for a "+string(t.Kind)+": give a quantity instead")
	case p.Postings != nil && len(p.Postings) != len(t.Legs):
		f.check(Field{Name: "postings"},
			fmt.Sprintf("must be %d, as in the transaction, not %d", len(t.Legs), len(p.Postings)))
	case t.Kind != events.KindTrade && !orZero(p.Cost).IsZero():
		f.check(Field{Name: "cost"}, "is only for a trade")
	}
	return invalidTransaction(f)
}

// hasOneAsset reports whether legs are of one asset and have no costs. So a quantity says what is taken of each side.
func hasOneAsset(legs []events.Leg) bool {
	return !slices.ContainsFunc(legs, func(l events.Leg) bool { return l.Asset != legs[0].Asset || !l.Cost.IsZero() })
}

// inProportion returns what a quantity takes of each leg of one asset: of the debits and of the credits alike, in
// proportion to what is left of each, and never more than that. The part that takes the rest takes exactly what is left
// of each leg. A quantity that exceeds the rest is in proportion to the whole legs instead, and is refused by
// exceeding.
func (p Part) inProportion(legs []events.Leg, left []events.Taken) []events.Taken {
	quantity, taken := bigOf(*p.Quantity), make([]events.Taken, len(legs))
	if p.Quantity.Cmp(leftOf(legs, left)) > 0 {
		left = amountsOf(legs)
	}
	for _, sign := range []int{-1, 1} {
		var side []int
		var weights []*big.Int
		for i, leg := range legs {
			if leg.Quantity.Sign() == sign && !left[i].Quantity.IsZero() {
				side, weights = append(side, i), append(weights, bigOf(left[i].Quantity.Abs()))
			}
		}
		for n, part := range apportion(quantity, weights) {
			amount := amountOf(part)
			if sign < 0 {
				amount = amount.Neg()
			}
			taken[side[n]].Quantity = amount
		}
	}
	return taken
}

// leftOf returns how much is left of each side of legs of one asset. Both sides have the same.
func leftOf(legs []events.Leg, left []events.Taken) events.Amount {
	var debits, credits events.Amount
	for i, leg := range legs {
		if leg.Quantity.Sign() < 0 {
			debits = addSaturating(debits, left[i].Quantity.Abs())
		} else {
			credits = addSaturating(credits, left[i].Quantity.Abs())
		}
	}
	if debits.Cmp(credits) < 0 { // never of what the ledger wrote
		return debits
	}
	return credits
}

// accountsOf returns the accounts of legs.
func accountsOf(legs []events.Leg) []string {
	accounts := make([]string, len(legs))
	for i, l := range legs {
		accounts[i] = l.Account
	}
	return accounts
}

// fromTrade returns what a quantity and a cost take of each leg of a trade. The result balances.
func (p Part) fromTrade(t events.TransactionPosted) []events.Taken {
	quantity, cost, taken := *p.Quantity, orZero(p.Cost), make([]events.Taken, len(t.Legs))
	taken[0] = events.Taken{Quantity: quantity, Cost: cost} // buyer, seller
	taken[1] = events.Taken{Quantity: quantity.Neg(), Cost: cost.Neg()}
	if len(taken) > 2 { // the cash: the buyer's, the seller's
		taken[2].Quantity, taken[3].Quantity = cost.Neg(), cost
	}
	return taken
}

// exceeding returns the fields that take more than is left: of one of the legs, or of the sum of a side.
func (p Part) exceeding(taken []events.Taken, t events.TransactionPosted, left []events.Taken) []FieldError {
	var f faults
	if p.Quantity != nil { // who may take a part sees all legs of one side, and so this sum
		most := events.Taken{Quantity: leftOf(t.Legs, left)}
		if t.Kind == events.KindTrade { // the buyer's leg
			most = events.Taken{Quantity: left[0].Quantity.Abs(), Cost: left[0].Cost.Abs()}
		}
		f.check(Field{Name: "quantity"}, maximumViolation(*p.Quantity, most.Quantity))
		f.check(Field{Name: "cost"}, maximumViolation(orZero(p.Cost), most.Cost))
		return f
	}
	for i, of := range taken {
		account := t.Legs[i].Account
		f.checkStored(LegField(i, "quantity"), maximumViolation(of.Quantity, left[i].Quantity), account)
		f.checkStored(LegField(i, "cost"), maximumViolation(of.Cost, left[i].Cost), account)
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
