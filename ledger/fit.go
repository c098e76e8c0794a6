package ledger

import (
	"context"
	"slices"

	"ledger.example/events"
)

// Fit says how much a transfer moves that has no quantity: as much as its source has, within these bounds. The ledger
// decides the quantity while it posts the transfer. Whoever sends it again gets that quantity, for ever.
//
// The source gives the least of UpTo and of what it has above Keep: its credits + overdraft − debits and holds, where
// the overdraft counts only so far as Keep is negative. An account with an unlimited overdraft gives UpTo: it does not
// know how much it has.
type Fit struct {
	UpTo    *events.Amount // the most, above zero; nil for all that there is
	Keep    events.Amount  // what stays in the account; below zero, so much of its overdraft may be used
	AtLeast *events.Amount // the least, above zero and at most UpTo; nil for 1
}

// fit is what a request moves as much as fits of. The legs of its draft and of its plan have the least quantity.
// Everything that can refuse the request is decided by them: with less it would not be posted. In each attempt, taken
// replaces the quantity.
type fit struct {
	Fit
	taken events.Amount // decided for the next attempt; zero before that
}

// expandFit returns the least quantity, and the fit; the quantity and nil for a transfer of a fixed quantity.
func (r PostTransfer) expandFit() (least events.Amount, f *fit) {
	if r.Fit == nil {
		return r.Quantity, nil
	}
	return r.Fit.Least(), &fit{Fit: *r.Fit}
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

// shapeOfFit adds the fields of a transfer's fit that are invalid by themselves.
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
	f.check(Field{Name: "keep"}, amountViolation(d.fit.Keep))
	if d.EffectiveAt != nil {
		f.check(Field{Name: "effective_at"}, "must not be given with up_to")
	}
}

// rulesOfFit adds the faults of a transfer's fit over several fields.
func (d draft) rulesOfFit(f *faults) {
	if d.fit != nil && d.fit.Least().Cmp(d.fit.most()) > 0 {
		f.check(Field{Name: "at_least"}, "must be at most up_to")
	}
}

// checkSource refuses a fit of an account without a limit: it has no guard that says how much there is. Its overdraft
// never ceases to be unlimited, so the refusal is final.
func (d draft) checkSource(source Account) *Error {
	var f faults
	if !source.Overdraft.Unlimited {
		return nil
	}
	const because = ", because the overdraft of from is unlimited"
	if d.fit.UpTo == nil {
		f.checkStored(Field{Name: "up_to"}, "must be an amount"+because, source.ID)
	}
	if !d.fit.Keep.IsZero() {
		f.checkStored(Field{Name: "keep"}, "must not be given"+because, source.ID)
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
		source := r.source()
		for _, other := range a.pending {
			if other != r && !other.endsHold() && slices.ContainsFunc(other.header.Legs, func(leg events.Leg) bool {
				return leg.Account == source.Account && leg.Asset == source.Asset && leg.Quantity.Sign() < 0
			}) {
				var f faults
				f.check(Field{Name: "up_to"}, "must not be given if another request of the batch debits from")
				return r.inBatch(invalidTransaction(f))
			}
		}
	}
	return nil
}

func isFit(r *request) bool { return r.fit != nil }

// fill sets the quantity of a header's legs, and the fingerprint with it.
func (r *request) fill(header *events.TransactionPosted) {
	made := r.draft
	made.legs = slices.Clone(made.legs)
	for i, quantity := range []events.Amount{r.fit.taken.Neg(), r.fit.taken} {
		header.Legs[i].Quantity, made.legs[i].Quantity = quantity, quantity
	}
	header.Fingerprint = fingerprint(made)
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

// source is the pair that a fit takes from.
func (r *request) source() events.Pair {
	return events.Pair{Account: r.legs[0].Account, Asset: r.legs[0].Asset}
}

// decideFits decides how much the pending fits move in the next attempt, each after what the requests before it give to
// its source. Each attempt decides anew: an earlier one was refused by a guard, whose amount spent is known now.
//
// Less than UpTo is decided only by an exact read of the funds that this command made after the guard was read, or
// refused. So nothing is left behind that was acknowledged before the request. Known funds suffice for all of UpTo.
func (a *attempts) decideFits(ctx context.Context) *Error {
	for _, r := range a.pending {
		if r.fit == nil {
			continue
		}
		l := a.limitOf(r.source())
		if l == nil { // unlimited
			r.fit.taken = r.fit.most()
			continue
		}
		if r.fit.taken = l.fits(r.fit, a.before(r)); r.fit.taken.Cmp(r.fit.most()) < 0 && !l.isExact {
			if err := a.readFunds(ctx, l); err != nil {
				return err
			}
			r.fit.taken = l.fits(r.fit, a.before(r))
		}
		a.setLimits() // of the accounts that it credits
	}
	return nil
}

// fits returns how much a fit takes from its pair: at least its least quantity, which the guard refuses if there is
// less. before is what the earlier requests of the batch give to the pair.
func (l *limit) fits(f *fit, before events.Amount) events.Amount {
	has := addSaturating(l.available(), before)
	switch least, most := f.Least(), f.most(); {
	case has.Cmp(most) >= 0:
		return most
	case has.Cmp(least) <= 0:
		return least
	}
	return has
}

// before returns what the earlier requests of a batch give to the source of a fit.
func (a *attempts) before(r *request) (given events.Amount) {
	a.eachDebit(r.source(), func(d requestDebit) bool {
		given = d.before
		return d.request != r
	})
	return given
}

// limitOf returns the limit of a pair, nil if it has none.
func (a *attempts) limitOf(pair events.Pair) *limit {
	if at := slices.IndexFunc(a.limits, func(l *limit) bool { return l.pair == pair }); at >= 0 {
		return a.limits[at]
	}
	return nil
}

// readFunds reads what a pair has: the guard, unless a refusal returned it in this command, and then the exact funds.
func (a *attempts) readFunds(ctx context.Context, l *limit) *Error {
	if !l.isRead {
		found, err := a.ledger.lookup(ctx, lookupKeys{credits: []events.Pair{l.pair}})
		if err != nil {
			return asError(err)
		}
		l.guard, l.isRead = found.guards[l.pair], true
		l.guard.pair = l.pair
	}
	if err := a.raiseToExact(ctx, []*limit{l}); err != nil {
		return asError(err)
	}
	return nil
}
