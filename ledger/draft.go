package ledger

import (
	"fmt"
	"slices"

	"ledger.example/events"
)

// A draft is a posting request, expanded to the legs of one transaction.
type draft struct {
	note   Annotation
	kind   events.Kind
	legs   []LegRequest // of a transfer: from, to; of a trade: buyer, seller
	settle bool         // a trade's: add legs that move the cost in the asset's currency

	reverses string // of a reversal: the id of the transaction to reverse, and what of it
	part     Part
}

func (r PostTransaction) expand() draft {
	return draft{note: r.Annotation, kind: events.KindTransaction, legs: r.Postings}
}

func (r PostTransfer) expand() draft {
	return draft{note: r.Annotation, kind: events.KindTransfer, legs: []LegRequest{
		{Account: r.From, Asset: r.Asset, Quantity: r.Quantity.Neg()},
		{Account: r.To, Asset: r.Asset, Quantity: r.Quantity},
	}}
}

func (r PostTrade) expand() draft {
	return draft{note: r.Annotation, kind: events.KindTrade, settle: r.Settle, legs: []LegRequest{
		{Account: r.Buyer, Asset: r.Asset, Quantity: r.Quantity, Cost: r.Cost},
		{Account: r.Seller, Asset: r.Asset, Quantity: r.Quantity.Neg(), Cost: r.Cost.Neg()},
	}}
}

// withCash returns all legs of d. Those of a settlement are left out while the currency is unknown, which is "".
func (d draft) withCash(currency string) []LegRequest {
	if !d.settle || currency == "" || d.legs[0].Cost.IsZero() {
		return d.legs
	}
	buyer, seller := d.legs[0], d.legs[1]
	return append(slices.Clip(d.legs),
		LegRequest{Account: buyer.Account, Asset: currency, Quantity: buyer.Cost.Neg()},
		LegRequest{Account: seller.Account, Asset: currency, Quantity: buyer.Cost})
}

// debits reports whether d takes anything from an account.
func (d draft) debits(account string) bool { return d.moves(account, -1) }

// credits reports whether d gives anything to an account.
func (d draft) credits(account string) bool { return d.moves(account, 1) }

func (d draft) moves(account string, sign int) bool {
	return slices.ContainsFunc(d.legs, func(leg LegRequest) bool {
		return leg.Account == account && (leg.Quantity.Sign() == sign || d.settle)
	})
}

// legFields names the fields of a request that state one leg. A zero Field: the fields of another leg state it.
type legFields struct{ account, asset, quantity, cost Field }

// fields returns the names of the fields that state leg i.
func (d draft) fields(i int) legFields {
	switch {
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

// Shape implements PostingRequest.
func (r PostTransaction) Shape() []FieldError { return r.expand().shape() }

// Shape implements PostingRequest.
func (r PostTransfer) Shape() []FieldError { return r.expand().shape() }

// Shape implements PostingRequest.
func (r PostTrade) Shape() []FieldError { return r.expand().shape() }

// shape returns the fields whose value alone is at fault.
func (d draft) shape() []FieldError {
	var f faults
	if d.note.ID != "" {
		f.check(Field{Name: "id"}, brokenByID(d.note.ID))
	}
	f.check(Field{Name: "description"}, brokenByText(d.note.Description, 0, events.DescriptionChars))
	f.metadata(d.note.Metadata)
	f.check(Field{Name: "effective_at"}, d.note.brokenByEffective())
	for i, leg := range d.legs {
		quantity, cost := brokenByAmount(leg.Quantity), brokenByAmount(leg.Cost)
		if d.kind != events.KindTransaction {
			if quantity == "" && leg.Quantity.Sign() <= 0 {
				quantity = rulePositive
			}
			if cost == "" && leg.Cost.Sign() < 0 {
				cost = ruleNegative
			}
		}
		account, asset := brokenByID(leg.Account), brokenByID(leg.Asset)
		if account == "" && asset == "" && quantity == "" && cost == "" {
			continue
		}
		at := d.fields(i)
		f.check(at.account, account)
		f.check(at.asset, asset)
		f.check(at.quantity, quantity)
		f.check(at.cost, cost)
	}
	return f
}

// rules returns nil, or what breaks the rules over several fields: CodeInvalidTransaction, else CodeUnbalanced.
func (d draft) rules() *Error {
	var f faults
	if d.kind != events.KindTransaction { // a transfer and a trade balance by construction
		if d.legs[0].Account == d.legs[1].Account {
			one, other := d.fields(0).account, d.fields(1).account
			f.check(one, "must differ from "+other.Name)
			f.check(other, "must differ from "+one.Name)
		}
		return invalidTransaction(f)
	}
	if n := len(d.legs); n < events.PostingsMin || n > events.PostingsMax {
		f.check(Field{Name: "postings"},
			fmt.Sprintf("must be %d to %d, not %d", events.PostingsMin, events.PostingsMax, n))
	}
	for i, leg := range d.legs[:min(len(d.legs), events.PostingsMax)] {
		if leg.Quantity.IsZero() && leg.Cost.IsZero() {
			f.check(LegField(i, ""), "must have a quantity or a cost that is not zero")
		}
	}
	if f != nil {
		return invalidTransaction(f)
	}
	return unbalanced(d.legs)
}

// unbalanced returns an error if the quantities or the costs of any asset do not sum to zero. No sum overflows: there
// are at most events.PostingsMax amounts of at most events.PostedDigits digits.
func unbalanced(legs []LegRequest) *Error {
	type sums struct {
		asset          string
		quantity, cost events.Amount
	}
	var all []sums
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
	for _, s := range all {
		if !s.quantity.IsZero() {
			f.check(Field{Name: "postings"}, "the quantities of "+s.asset+" must sum to 0, not to "+s.quantity.String())
		}
		if !s.cost.IsZero() {
			f.check(Field{Name: "postings"}, "the costs of "+s.asset+" must sum to 0, not to "+s.cost.String())
		}
	}
	if f == nil {
		return nil
	}
	return &Error{Code: CodeUnbalanced, Detail: "The postings do not sum to zero.", Fields: f}
}

// Check returns nil, or what is wrong with a posting by itself, before anything is looked up: CodeInvalidRequest,
// CodeInvalidTransaction, CodeUnbalanced. The commands check the same.
func Check(r PostingRequest) error {
	d := r.expand()
	if shape := d.shape(); len(shape) > 0 {
		return invalidRequest(shape)
	}
	if err := d.rules(); err != nil {
		return err
	}
	return nil
}

// IsBackdated reports whether a posting asks for a time in the past.
func IsBackdated(r PostingRequest) bool { return r.expand().note.EffectiveAt != nil }

// Debited returns the accounts that a posting takes from: those with a leg that is no credit.
func Debited(r PostingRequest) (accounts []string) {
	d := r.expand()
	for _, leg := range d.legs {
		isCash := d.settle && !leg.Cost.IsZero()
		if (leg.Quantity.Sign() <= 0 || isCash) && !slices.Contains(accounts, leg.Account) {
			accounts = append(accounts, leg.Account)
		}
	}
	return accounts
}

// Naming returns the fields of a posting that name certain accounts, each with a rule that it breaks.
func Naming(r PostingRequest, which func(account string) bool, rule string) []FieldError {
	var f faults
	d := r.expand()
	for i, leg := range d.legs {
		if which(leg.Account) {
			f.check(d.fields(i).account, rule)
		}
	}
	return f
}

// NamesNoAccount returns nil, or the error of a posting that names accounts as if those were not opened.
func NamesNoAccount(r PostingRequest, which func(account string) bool) error {
	if f := Naming(r, which, ruleAccount); len(f) > 0 {
		return accountsNotFound(f)
	}
	return nil
}
