package ledger

import (
	"fmt"
	"slices"

	"ledger.example/events"
)

// A draft is a request for a transaction, expanded to its legs, or a request to end a hold.
type draft struct {
	Annotation
	kind   events.Kind  // of the transaction; "" if the request ends a hold
	legs   []LegRequest // from and to of a transfer, buyer and seller of a trade
	settle bool         // of a trade: add legs that move the cost in the asset's currency
	split  *divided     // of a split, whose legs follow from it; else nil
	fit    *fit         // of as much as fits: the legs are all that it may have; else nil

	reverses string         // of a reversal: id of the transaction to reverse
	outcome  events.Outcome // how the request ends a hold, whose id is ID; "" if it does not
	part     Part           // of the transaction to reverse, or of the hold
}

func (d draft) endsHold() bool   { return d.outcome != "" }
func (d draft) isReversal() bool { return d.kind == events.KindReversal }

// other is the id of the transaction that the request ends or reverses, "" if it does not.
func (d draft) other() string {
	if d.endsHold() {
		return d.ID
	}
	return d.reverses
}

func (r PostTransaction) expand() draft {
	return draft{Annotation: r.Annotation, kind: events.KindTransaction, legs: r.Postings}
}

func (r PostTransfer) expand() draft {
	quantity, fit := r.expandFit()
	return draft{Annotation: r.Annotation, kind: events.KindTransfer, fit: fit, legs: []LegRequest{
		{Account: r.From, Asset: r.Asset, Quantity: quantity.Neg()},
		{Account: r.To, Asset: r.Asset, Quantity: quantity},
	}}
}

func (r PostTrade) expand() draft {
	return draft{Annotation: r.Annotation, kind: events.KindTrade, settle: r.Settle, legs: []LegRequest{
		{Account: r.Buyer, Asset: r.Asset, Quantity: r.Quantity, Cost: r.Cost},
		{Account: r.Seller, Asset: r.Asset, Quantity: r.Quantity.Neg(), Cost: r.Cost.Neg()},
	}}
}

// debits reports whether d debits an account.
func (d draft) debits(account string) bool { return d.moves(account, true) }

// credits reports whether d credits an account, or posts only a cost to it.
func (d draft) credits(account string) bool { return d.moves(account, false) }

func (d draft) moves(account string, isDebit bool) bool {
	return slices.ContainsFunc(d.legs, func(leg LegRequest) bool {
		return leg.Account == account && (leg.Quantity.Sign() < 0 == isDebit || d.settle)
	})
}

// legFields are the fields of a request that give the values of one leg. A zero Field means that the value follows from
// the fields of another leg.
type legFields struct{ account, asset, quantity, cost Field }

// fields returns the fields of leg i.
func (d draft) fields(i int) legFields {
	switch {
	case d.split != nil && i == 0:
		return legFields{Field{Name: "from"}, Field{Name: "asset"}, Field{Name: "quantity"}, Field{}}
	case d.split != nil: // see accountFields
		return legFields{}
	case d.kind == events.KindTransaction:
		return legFields{LegField(i, "account"), LegField(i, "asset"), LegField(i, "quantity"), LegField(i, "cost")}
	case d.kind == events.KindTransfer && i == 0:
		return legFields{account: Field{Name: "from"}}
	case d.kind == events.KindTransfer:
		return legFields{account: Field{Name: "to"}, asset: Field{Name: "asset"}, quantity: Field{Name: "quantity"}}
	case i == 0:
		return legFields{Field{Name: "buyer"}, Field{Name: "asset"}, Field{Name: "quantity"}, Field{Name: "cost"}}
	}
	return legFields{account: Field{Name: "seller"}}
}

// Shape implements Request.
func (r PostTransaction) Shape() []FieldError { return r.expand().shape() }

// Shape implements Request.
func (r PostTransfer) Shape() []FieldError { return r.expand().shape() }

// Shape implements Request.
func (r PostTrade) Shape() []FieldError { return r.expand().shape() }

// shape returns the fields that are invalid by themselves.
func (d draft) shape() []FieldError {
	var f faults
	if d.ID != "" && !d.endsHold() {
		f.check(Field{Name: "id"}, idViolation(d.ID))
	}
	f.annotation(d.Annotation.Annotation)
	f.check(Field{Name: "effective_at"}, d.effectiveDateViolation())
	if d.split != nil {
		d.split.shape(&f)
		d.shapeOfFit(&f)
		return f
	}
	d.shapeOfFit(&f)
	for i, leg := range d.legs {
		quantity, cost := amountViolation(leg.Quantity), amountViolation(leg.Cost)
		switch {
		case d.fit != nil: // see shapeOfFit
			quantity = ""
		case d.kind != events.KindTransaction:
			quantity, cost = positiveViolation(leg.Quantity), negativeViolation(leg.Cost)
		}
		account, asset := idViolation(leg.Account), idViolation(leg.Asset)
		if account == "" && asset == "" && quantity == "" && cost == "" {
			continue
		}
		at := d.fields(i)
		f.check(at.account, account)
		f.check(at.asset, asset)
		f.check(at.quantity, quantity)
		f.check(at.cost, cost)
	}
	if d.isReversal() && d.Hold != nil {
		f.check(Field{Name: "hold"}, "is not for a reversal")
	}
	d.part.shape(&f)
	return f
}

// rules checks the rules over several fields. Errors: CodeInvalidTransaction, else CodeUnbalanced.
func (d draft) rules() *Error {
	if d.endsHold() || d.isReversal() { // its legs follow from another transaction
		return d.part.rules()
	}
	if d.split != nil {
		return d.split.rules(d)
	}
	var f faults
	if d.kind != events.KindTransaction { // a transfer and a trade balance by construction
		if d.legs[0].Account == d.legs[1].Account {
			first, second := d.fields(0).account, d.fields(1).account
			f.check(first, "must differ from "+second.Name)
			f.check(second, "must differ from "+first.Name)
		}
		d.rulesOfFit(&f)
		return invalidTransaction(f)
	}
	if n := len(d.legs); n < events.PostingsMin || n > events.PostingsMax {
		f.check(Field{Name: "postings"},
			fmt.Sprintf("must have %d to %d items, not %d", events.PostingsMin, events.PostingsMax, n))
	}
	for i, leg := range d.legs[:min(len(d.legs), events.PostingsMax)] {
		if leg.Quantity.IsZero() && leg.Cost.IsZero() {
			f.check(LegField(i, ""), "must have a nonzero quantity or cost")
		}
	}
	if d.Hold != nil && f == nil {
		d.checkHeld(&f)
	}
	if f != nil {
		return invalidTransaction(f)
	}
	return unbalanced(d.legs)
}

// checkHeld adds the quantities of the accounts to which a hold has only costs. Nothing would be pending there, so the
// account could be closed while the hold is open, and the capture would post to a closed account.
func (d draft) checkHeld(f *faults) {
	for i, leg := range d.legs {
		isHeld := func(other LegRequest) bool { return other.Account == leg.Account && !other.Quantity.IsZero() }
		if !slices.ContainsFunc(d.legs, isHeld) {
			f.check(LegField(i, "quantity"),
				"must not be 0 in all postings of the account, because a hold has no costs alone")
		}
	}
}

// unbalanced returns CodeUnbalanced if the quantities or the costs of any asset do not sum to zero. No sum overflows:
// there are at most events.PostingsMax amounts of at most events.PostedDigits digits.
func unbalanced(legs []LegRequest) *Error {
	type sums struct {
		asset          string
		quantity, cost events.Amount
	}
	all := make([]sums, 0, 4)
	for _, leg := range legs {
		i := slices.IndexFunc(all, func(s sums) bool { return s.asset == leg.Asset })
		if i < 0 {
			i = len(all)
			all = append(all, sums{asset: leg.Asset})
		}
		all[i].quantity = addSaturating(all[i].quantity, leg.Quantity)
		all[i].cost = addSaturating(all[i].cost, leg.Cost)
	}
	var f faults
	check := func(what, asset string, sum events.Amount) {
		if sum.IsZero() {
			return
		}
		var accounts []string
		for _, leg := range legs {
			if leg.Asset == asset {
				accounts = append(accounts, leg.Account)
			}
		}
		rule := "the " + what + " of " + asset + " must sum to 0, not to " + sum.String()
		f.checkStored(Field{Name: "postings"}, rule, accounts...)
	}
	for _, s := range all {
		check("quantities", s.asset, s.quantity)
		check("costs", s.asset, s.cost)
	}
	return f.refusal(CodeUnbalanced, "The postings do not sum to zero.")
}

// Check checks a request without reading anything, as the commands do first. Errors: CodeInvalidRequest,
// CodeInvalidTransaction, CodeUnbalanced.
func Check(r Request) error {
	d := r.expand()
	if shape := d.shape(); len(shape) > 0 {
		return invalidRequest(shape...)
	}
	if err := d.rules(); err != nil {
		return err
	}
	return nil
}

// IsBackdated reports whether a posting request has an effective date.
func IsBackdated(r Request) bool { return r.expand().EffectiveAt != nil }

// Debited returns the accounts with a leg that is not a mere credit, because it debits them or gives them a cost: the
// caller needs the right to debit them.
func Debited(r Request) (accounts []string) {
	for _, leg := range r.expand().legs {
		if (leg.Quantity.Sign() <= 0 || !leg.Cost.IsZero()) && !slices.Contains(accounts, leg.Account) {
			accounts = append(accounts, leg.Account)
		}
	}
	return accounts
}

// AccountFields returns the fields of a posting request whose account matches, as errors with the given rule.
func AccountFields(r Request, matches func(account string) bool, rule string) []FieldError {
	return r.expand().accountFields(matches, rule)
}

func (d draft) accountFields(matches func(account string) bool, rule string) (f faults) {
	if d.split != nil {
		return d.split.accountFields(matches, rule)
	}
	for i, leg := range d.legs {
		if matches(leg.Account) {
			f.check(d.fields(i).account, rule)
		}
	}
	return f
}

// AccountsNotFound returns CodeAccountNotFound if an account of a posting request matches, as if it had not been
// opened.
func AccountsNotFound(r Request, matches func(account string) bool) error {
	if f := AccountFields(r, matches, ruleAccount); len(f) > 0 {
		return accountsNotFound(f)
	}
	return nil
}
