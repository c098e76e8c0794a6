package ledger

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"ledger.example/events"
)

// PostSplit asks to divide a quantity of an asset of one account among others. It says who gets which part, and the
// amounts follow from it alone: see divided. The transaction is of events.KindTransaction. Its legs are the debit, and
// a credit for each portion that gets something, in their order.
type PostSplit struct {
	Annotation
	From, Asset string
	Quantity    events.Amount // above zero; ignored with Fit
	To          []Portion     // 1 to PortionsMax
	Fit         *Fit          // as much as fits, of which the portions have a rest; nil for Quantity
	Sources     []Source      // with Fit, in place of From and of its Keep: 1 to SourcesMax; nil for From
}

// PortionsMax is the maximum number of portions of a split.
const PortionsMax = events.PostingsMax

// Portion is what an account gets of a split: a share of the whole quantity and a fixed quantity, or one of them, or a
// part of the rest, which is what these leave.
type Portion struct {
	Account  string
	Share    Share          // rounded half up, by itself; zero for none
	Quantity *events.Amount // not negative; nil for none
	Rest     int64          // weight in the rest, 1 to WeightMax; 0 for none
}

// WeightMax is the greatest weight of a portion in the rest.
const WeightMax = 1_000_000_000

// RuleWeight is the rule of a weight, as a text for callers.
var RuleWeight = "must be a whole number from 1 to " + strconv.Itoa(WeightMax)

// RuleShare is the rule of a share, as a text for callers.
const RuleShare = `must be above zero and at most all: percent with at most 9 decimals, such as "2.9%", ` +
	`or a fraction of numbers up to 1000000000, such as "19/119"`

// Share is a fraction of a whole, in lowest terms: above zero, and at most one. The zero Share is none.
type Share struct{ part, whole int64 }

const (
	shareDecimals = 9
	shareNumber   = 1_000_000_000 // the greatest in a fraction
)

// ParseShare parses a share, as RuleShare says. Leading zeros are not allowed.
func ParseShare(text string) (s Share, ok bool) {
	if percent, isPercent := strings.CutSuffix(text, "%"); isPercent {
		number, decimals, hasPoint := strings.Cut(percent, ".")
		if hasPoint && decimals == "" || len(decimals) > shareDecimals {
			return Share{}, false
		}
		for range shareDecimals - len(decimals) {
			decimals += "0"
		}
		whole, ok1 := wholeNumber(number, 100)
		fraction, ok2 := digits(decimals)
		return shareOf(whole*shareNumber+fraction, 100*shareNumber, ok1 && ok2)
	}
	number, of, ok := strings.Cut(text, "/")
	part, ok1 := wholeNumber(number, shareNumber)
	whole, ok2 := wholeNumber(of, shareNumber)
	return shareOf(part, whole, ok && ok1 && ok2)
}

// shareOf returns a fraction in lowest terms.
func shareOf(part, whole int64, ok bool) (Share, bool) {
	if !ok || part == 0 || part > whole {
		return Share{}, false
	}
	lowest := big.NewRat(part, whole)
	return Share{lowest.Num().Int64(), lowest.Denom().Int64()}, true
}

// wholeNumber parses a number without leading zeros.
func wholeNumber(text string, most int64) (n int64, ok bool) {
	n, ok = digits(text)
	return n, ok && n <= most && (text[0] != '0' || text == "0")
}

// digits parses a number that has only digits.
func digits(text string) (n int64, ok bool) {
	number, err := strconv.ParseUint(text, 10, 63)
	return int64(number), err == nil
}

// String returns the fraction, "" for none.
func (s Share) String() string {
	if s == (Share{}) {
		return ""
	}
	return strconv.FormatInt(s.part, 10) + "/" + strconv.FormatInt(s.whole, 10)
}

// of returns the share of a quantity, rounded half up.
func (s Share) of(quantity *big.Int) *big.Int {
	if s == (Share{}) {
		return new(big.Int)
	}
	whole := big.NewInt(s.whole)
	twice := new(big.Int).Mul(quantity, big.NewInt(2*s.part))
	twice.Add(twice, whole)
	return twice.Quo(twice, whole.Lsh(whole, 1))
}

// apportion divides a quantity in proportion to weights, none of which is negative and not all of which are zero. Each
// gets the whole part of its quota. The single units that are left go to the largest remainders, among equals to those
// that come first.
func apportion(quantity *big.Int, weights []*big.Int) []*big.Int {
	sum := new(big.Int)
	for _, w := range weights {
		sum.Add(sum, w)
	}
	parts, remainders := make([]*big.Int, len(weights)), make([]*big.Int, len(weights))
	order := make([]int, len(weights))
	left := new(big.Int).Set(quantity)
	for i, w := range weights {
		parts[i], remainders[i] = new(big.Int).QuoRem(new(big.Int).Mul(quantity, w), sum, new(big.Int))
		left.Sub(left, parts[i])
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return remainders[j].Cmp(remainders[i]) })
	for _, i := range order[:left.Int64()] { // fewer than the weights
		parts[i].Add(parts[i], big.NewInt(1))
	}
	return parts
}

// divided is a split with what each portion gets.
type divided struct {
	PostSplit
	amounts []events.Amount // of the portions; nil if they are too many, or the quantity is not valid, or all that fits
	left    *big.Int        // what the portions leave, negative if they take too much; nil without amounts
}

// divide computes what each portion gets. Each share of the whole quantity is rounded by itself, so it does not depend
// on the other portions. What the shares and the fixed quantities leave is divided by the weights in the rest.
func (r PostSplit) divide() *divided {
	s := &divided{PostSplit: r}
	if len(r.To) > PortionsMax || r.Quantity.Sign() <= 0 || amountViolation(r.Quantity) != "" {
		return s
	}
	whole := bigOf(r.Quantity)
	parts, left := make([]*big.Int, len(r.To)), new(big.Int).Set(whole)
	var weights, weighted []*big.Int
	for i, p := range r.To {
		parts[i] = p.Share.of(whole)
		if p.Quantity != nil && p.Quantity.Sign() > 0 && amountViolation(*p.Quantity) == "" {
			parts[i].Add(parts[i], bigOf(*p.Quantity))
		}
		if left.Sub(left, parts[i]); p.Rest > 0 {
			weights, weighted = append(weights, big.NewInt(p.Rest)), append(weighted, parts[i])
		}
	}
	if left.Sign() > 0 && weights != nil {
		for i, more := range apportion(left, weights) {
			weighted[i].Add(weighted[i], more)
		}
		left.SetInt64(0)
	}
	s.left, s.amounts = left, make([]events.Amount, len(parts))
	for i, part := range parts {
		s.amounts[i] = amountOf(part)
	}
	return s
}

// bigOf returns an amount as a number of any size.
func bigOf(a events.Amount) *big.Int {
	n, _ := new(big.Int).SetString(a.String(), 10) // its text is a number
	return n
}

// amountOf returns a number as an amount. A larger one, which no valid request leads to, is the largest amount.
func amountOf(n *big.Int) events.Amount {
	a, err := events.ParseAmount(n.String(), events.FoldedDigits)
	if err != nil {
		return events.MaxFolded()
	}
	return a
}

// expand returns the draft with the legs, if the amounts are valid.
func (r PostSplit) expand() draft {
	if r.Fit != nil {
		return r.expandFit()
	}
	s := r.divide()
	legs := make([]LegRequest, 1, 1+len(s.amounts))
	legs[0] = LegRequest{Account: r.From, Asset: r.Asset, Quantity: r.Quantity.Neg()}
	legs = append(legs, s.credits()...)
	return draft{Annotation: r.Annotation, kind: events.KindTransaction, legs: legs, split: s}
}

// credits returns the legs of the portions that get something.
func (s *divided) credits() []LegRequest {
	legs := make([]LegRequest, 0, len(s.amounts))
	for i, amount := range s.amounts {
		if !amount.IsZero() {
			legs = append(legs, LegRequest{Account: s.To[i].Account, Asset: s.Asset, Quantity: amount})
		}
	}
	return legs
}

// Shape implements Request.
func (r PostSplit) Shape() []FieldError { return r.expand().shape() }

// portionField returns a field of a portion with an index, counted from 0.
func portionField(index int, name string) Field { return Field{List: "to", Leg: index + 1, Name: name} }

// shape adds the fields that are invalid by themselves.
func (s *divided) shape(f *faults) {
	for i, account := range s.from() {
		f.check(s.sourceField(i, "account"), idViolation(account))
	}
	f.check(Field{Name: "asset"}, idViolation(s.Asset))
	if s.Fit == nil {
		f.check(Field{Name: "quantity"}, positiveViolation(s.Quantity))
		if s.Sources != nil {
			f.check(Field{Name: "from"}, "must be one account without up_to")
		}
	}
	for i, p := range s.To {
		f.check(portionField(i, "account"), idViolation(p.Account))
		if p.Quantity != nil {
			f.check(portionField(i, "quantity"), negativeViolation(*p.Quantity))
		}
		if p.Rest < 0 || p.Rest > WeightMax {
			f.check(portionField(i, "rest"), RuleWeight)
		}
	}
}

// rules checks the rules over several fields. Errors: CodeInvalidTransaction, else CodeUnbalanced.
func (s *divided) rules(d draft) *Error {
	var f faults
	from := s.from()
	if n := len(s.To); n < 1 || n > PortionsMax {
		f.check(Field{Name: "to"}, fmt.Sprintf("must have 1 to %d items, not %d", PortionsMax, n))
	}
	for i, p := range s.To[:min(len(s.To), PortionsMax)] {
		if at := slices.Index(from, p.Account); at >= 0 {
			f.check(s.sourceField(at, "account"), fmt.Sprintf("must differ from to[%d].account", i))
			f.check(portionField(i, "account"), "must differ from "+s.sourceName(at))
		}
		isFixed := p.Share != Share{} || p.Quantity != nil
		switch {
		case !isFixed && p.Rest == 0:
			f.check(portionField(i, ""), "must have a share, a quantity or a rest")
		case isFixed && p.Rest != 0:
			f.check(portionField(i, "rest"), "must not be given with a share or a quantity")
		}
	}
	if s.Fit != nil {
		return s.rulesOfFit(d, f)
	}
	switch {
	case s.left == nil:
	case s.left.Sign() < 0:
		f.check(Field{Name: "to"}, "must not take more than the quantity; too much: "+new(big.Int).Neg(s.left).String())
	case len(d.legs) > events.PostingsMax:
		f.check(Field{Name: "to"}, fmt.Sprintf("must lead to at most %d postings with that of from, not %d",
			events.PostingsMax, len(d.legs)))
	}
	if f != nil || s.left.Sign() == 0 {
		return invalidTransaction(f)
	}
	f.check(Field{Name: "to"}, "must take the whole quantity, or have a rest; left: "+s.left.String())
	return f.refusal(CodeUnbalanced, detailLeft)
}

const detailLeft = "The split leaves something that nobody gets."

// accountFields returns the fields whose account matches, as errors with the given rule.
func (s *divided) accountFields(matches func(account string) bool, rule string) (f faults) {
	for i, account := range s.from() {
		if matches(account) {
			f.check(s.sourceField(i, "account"), rule)
		}
	}
	for i, p := range s.To {
		if matches(p.Account) {
			f.check(portionField(i, "account"), rule)
		}
	}
	return f
}

// unmoved returns the accounts of the portions that get nothing. They have no leg, but must exist all the same: whether
// an id is that of an account does not depend on an amount.
func (s *divided) unmoved() (accounts []string) {
	if s == nil {
		return nil
	}
	for i, amount := range s.amounts {
		if amount.IsZero() {
			accounts = append(accounts, s.To[i].Account)
		}
	}
	return accounts
}

// canonical appends what a split says: from, asset, quantity, the number of portions, and of each its account, its
// share, its quantity and its weight. In place of from, asset and quantity, one of as much as fits has the asset, the
// number of sources, the account of each and what it keeps, and the fit.
func (s *divided) canonical(c canonical, fit *fit) canonical {
	if fit == nil {
		c = c.text(s.From).text(s.Asset).amount(s.Quantity)
	} else {
		c = c.text(s.Asset).count(len(fit.sources))
		for _, source := range fit.sources {
			c = c.text(source.Account).amount(source.Keep)
		}
		c = (&Fit{UpTo: fit.UpTo, AtLeast: fit.AtLeast}).canonical(c) // with a list or without, it is the same request
	}
	c = c.count(len(s.To))
	for _, p := range s.To {
		c = c.text(p.Account).text(p.Share.String()).amount(orZero(p.Quantity)).count(int(p.Rest))
	}
	return c
}
