package ledger

import (
	"fmt"
	"slices"

	"ledger.example/events"
)

// Fit says how much a transfer or a split moves that has no quantity: as much as its source has, within these bounds.
// The ledger decides the quantity while it posts the request. Whoever sends it again gets that quantity, for ever.
//
// The source gives the least of UpTo, of what it has above Keep, and of what its limits over time leave. It has its
// credits + overdraft − debits and holds, where the overdraft counts only so far as Keep is negative. An account with
// an unlimited overdraft gives UpTo: it does not know how much it has. Several sources give one after the other: a
// later one gives what those before it do not have.
type Fit struct {
	UpTo    *events.Amount // the most in all, above zero; nil for all that there is
	Keep    events.Amount  // what stays in the account; below zero, so much of its overdraft may be used
	AtLeast *events.Amount // the least in all, above zero and at most UpTo; nil for 1
}

// Source is one of several accounts that a split of as much as fits takes from.
type Source struct {
	Account string
	Keep    events.Amount // see Fit
}

// SourcesMax is the maximum number of sources. Each is a posting if it gives something, and one posting is a credit.
// With them all the write has the header, 48 postings and 47 guards: 96 of the 100 actions that DynamoDB allows.
const SourcesMax = events.PostingsMax - 1

// fit is what a request moves as much as fits of. The legs of its draft and of its plan are all that it may have: a
// debit of each source, and a credit of each account that gets something, each with the least quantity. What does not
// depend on the amounts is decided by them. Each attempt has the legs that are decided for it.
type fit struct {
	Fit
	sources []*source // in order; a transfer has one
	// divide returns the credits for a quantity, without the zero ones; false if it is too small to be divided.
	divide func(quantity events.Amount) ([]LegRequest, bool)
	// legs are those of the next attempt; nil before they are decided, and if so little fits that it must be refused.
	legs []LegRequest
}

// source is one that a fit takes from.
type source struct {
	Source
	pair  events.Pair
	fit   *fit
	limit *limit // of the pair; nil if it is unlimited
	rates sourceRates
}

func newFit(of Fit, asset string, sources ...Source) *fit {
	f := &fit{Fit: of}
	for _, s := range sources {
		f.sources = append(f.sources, &source{Source: s, pair: events.Pair{Account: s.Account, Asset: asset}, fit: f})
	}
	return f
}

// expandFit returns the least quantity, and the fit; the quantity and nil for a transfer of a fixed quantity.
func (r PostTransfer) expandFit() (least events.Amount, f *fit) {
	if r.Fit == nil {
		return r.Quantity, nil
	}
	f = newFit(*r.Fit, r.Asset, Source{Account: r.From, Keep: r.Fit.Keep})
	to, asset := r.To, r.Asset
	f.divide = func(quantity events.Amount) ([]LegRequest, bool) {
		return []LegRequest{{Account: to, Asset: asset, Quantity: quantity}}, true
	}
	return r.Fit.Least(), f
}

// Least is the least quantity that is posted.
func (f *Fit) Least() events.Amount {
	if f.AtLeast == nil {
		return events.NewAmount(1)
	}
	return *f.AtLeast
}

// most is the largest quantity of which no leg is too large, or UpTo.
func (f *Fit) most() events.Amount {
	if f.UpTo == nil {
		return mostPosted
	}
	return *f.UpTo
}

// shapeOfFit adds the fields of a fit that are invalid by themselves.
func (d draft) shapeOfFit(f *faults) {
	if d.fit == nil {
		return
	}
	above := func(name string, a *events.Amount) {
		if a != nil {
			f.check(Field{Name: name}, positiveViolation(*a))
		}
	}
	above("up_to", d.fit.UpTo)
	above("at_least", d.fit.AtLeast)
	for i, s := range d.fit.sources {
		f.check(d.split.sourceField(i, "keep"), amountViolation(s.Keep))
	}
	if d.EffectiveAt != nil {
		f.check(Field{Name: "effective_at"}, "must not be given with up_to")
	}
}

// rulesOfFit adds the faults of a fit over several fields.
func (d draft) rulesOfFit(f *faults) {
	if d.fit == nil {
		return
	}
	if n := len(d.fit.sources); n < 1 || n > SourcesMax {
		f.check(Field{Name: "from"}, fmt.Sprintf("must have 1 to %d items, not %d", SourcesMax, n))
	}
	for i, s := range d.fit.sources {
		if i >= SourcesMax {
			break
		}
		isIt := func(other *source) bool { return other.Account == s.Account }
		if first := slices.IndexFunc(d.fit.sources, isIt); first < i {
			f.check(d.split.sourceField(i, "account"), "must differ from "+d.split.sourceName(first))
		}
	}
	if d.fit.Least().Cmp(d.fit.most()) > 0 {
		f.check(Field{Name: "at_least"}, "must be at most up_to")
	}
}

// checkSources refuses a fit of an account without a limit: it has no guard that says how much there is. Its overdraft
// never ceases to be unlimited, so the refusal is final.
func (d draft) checkSources(known *definitions) *Error {
	var f faults
	for i, s := range d.fit.sources {
		if !known.account(s.Account).Overdraft.Unlimited {
			continue
		}
		because := ", because the overdraft of " + d.split.sourceName(i) + " is unlimited"
		if d.fit.UpTo == nil {
			f.checkStored(Field{Name: "up_to"}, "must be an amount"+because, s.Account)
		}
		if !s.Keep.IsZero() {
			f.checkStored(d.split.sourceField(i, "keep"), "must not be given"+because, s.Account)
		}
	}
	return invalidTransaction(f)
}

// checkFits refuses an atomic batch in which another request debits what a fit takes from: how much each gives would
// depend on the other.
func (a *attempts) checkFits() *Error {
	for _, r := range a.pending {
		if r.fit == nil {
			continue
		}
		for _, other := range a.pending {
			if other != r && !other.endsHold() && slices.ContainsFunc(other.header.Legs, func(leg events.Leg) bool {
				pair := events.Pair{Account: leg.Account, Asset: leg.Asset}
				return leg.Quantity.Sign() < 0 && r.fit.takesFrom(pair) != nil
			}) {
				var f faults
				f.check(Field{Name: "up_to"}, "must not be given if another request of the batch debits from")
				return r.inBatch(invalidTransaction(f))
			}
		}
	}
	return nil
}

// takesFrom returns the source with a pair, nil if there is none, or no fit.
func (f *fit) takesFrom(pair events.Pair) *source {
	if f == nil {
		return nil
	}
	if at := slices.IndexFunc(f.sources, func(s *source) bool { return s.pair == pair }); at >= 0 {
		return f.sources[at]
	}
	return nil
}

// canonical appends what a fit says: the text "all" or "up to" and the most, what is kept, and the least quantity.
func (f *Fit) canonical(c canonical) canonical {
	if f.UpTo == nil {
		c = c.text("all")
	} else {
		c = c.text("up to").amount(*f.UpTo)
	}
	return c.amount(f.Keep).amount(f.Least())
}

func isFit(r *request) bool { return r.fit != nil }
