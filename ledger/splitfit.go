package ledger

import (
	"fmt"
	"math/big"
	"slices"

	"ledger.example/events"
)

// expandFit returns the draft of a split of as much as fits. What fits is divided anew in each attempt.
func (r PostSplit) expandFit() draft {
	sources := r.Sources
	if sources == nil {
		sources = []Source{{Account: r.From, Keep: r.Fit.Keep}}
	}
	f := newFit(*r.Fit, r.Asset, sources...)
	f.divide = func(quantity events.Amount) ([]LegRequest, bool) {
		of := r
		of.Quantity = quantity
		s := of.divide()
		return s.credits(), s.left != nil && s.left.Sign() == 0
	}
	r.Quantity = events.Amount{}
	if r.Fit.UpTo != nil {
		r.Quantity = *r.Fit.UpTo
	}
	d := draft{Annotation: r.Annotation, kind: events.KindTransaction, split: r.divide(), fit: f}
	for _, s := range sources {
		d.legs = append(d.legs, LegRequest{Account: s.Account, Asset: r.Asset, Quantity: f.Least().Neg()})
	}
	for _, p := range r.To {
		d.legs = append(d.legs, LegRequest{Account: p.Account, Asset: r.Asset, Quantity: f.Least()})
	}
	return d
}

// from returns the accounts that a split takes from.
func (s *divided) from() []string {
	if s.Sources == nil {
		return []string{s.From}
	}
	accounts := make([]string, len(s.Sources))
	for i, source := range s.Sources {
		accounts[i] = source.Account
	}
	return accounts
}

// sourceField returns a field of source i: of an item of the list from, or of the request itself if it has no list. A
// nil s is a transfer, which has none.
func (s *divided) sourceField(i int, name string) Field {
	switch {
	case s != nil && s.Sources != nil:
		return Field{List: "from", Leg: i + 1, Name: name}
	case name == "account":
		return Field{Name: "from"}
	}
	return Field{Name: name}
}

// sourceName is the name of the field with the account of source i.
func (s *divided) sourceName(i int) string {
	if s != nil && s.Sources != nil {
		return fmt.Sprintf("from[%d].account", i)
	}
	return "from"
}

// rulesOfFit checks the rules of a split of as much as fits, after those of its portions. A quantity that fits may be
// too small to be divided, but up_to is not. Errors: CodeInvalidTransaction, else CodeUnbalanced.
func (s *divided) rulesOfFit(d draft, f faults) *Error {
	d.rulesOfFit(&f)
	if s.Sources != nil && !s.Fit.Keep.IsZero() {
		f.check(Field{Name: "keep"}, RuleKeepOfList)
	}
	if n := len(d.legs); len(s.To) <= PortionsMax && n > events.PostingsMax {
		f.check(Field{Name: "to"},
			fmt.Sprintf("must have at most %d items together with from, not %d", events.PostingsMax, n))
	}
	switch {
	case s.sharesExceedAll():
		f.check(Field{Name: "to"}, "must not have shares of more than the whole")
	case s.left != nil && s.left.Sign() < 0:
		f.check(Field{Name: "to"}, "must not take more than up_to; too much: "+new(big.Int).Neg(s.left).String())
	}
	if f != nil || slices.ContainsFunc(s.To, func(p Portion) bool { return p.Rest > 0 }) {
		return invalidTransaction(f)
	}
	f.check(Field{Name: "to"}, "must have a rest, because the quantity is not known")
	return f.refusal(CodeUnbalanced, detailLeft)
}

// sharesExceedAll reports whether the shares are more than the whole.
func (s *divided) sharesExceedAll() bool {
	part, whole := new(big.Int), big.NewInt(1) // their sum as a fraction
	for _, p := range s.To[:min(len(s.To), PortionsMax)] {
		if p.Share != (Share{}) {
			part.Mul(part, big.NewInt(p.Share.whole))
			part.Add(part, new(big.Int).Mul(whole, big.NewInt(p.Share.part)))
			whole.Mul(whole, big.NewInt(p.Share.whole))
		}
	}
	return part.Cmp(whole) > 0
}

// RuleKeepOfList is the rule of what is kept, if from is a list, as a text for callers.
const RuleKeepOfList = "must be in the items of from, because that is a list"
