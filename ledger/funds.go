package ledger

import "ledger.example/events"

// limit is what a transaction asks of one pair whose account has a limit: one update of its guard.
type limit struct {
	Pair
	gross     events.Amount // the sum of the transaction's debits of the pair, above zero
	own       events.Amount // the sum of the transaction's credits to the pair
	overdraft events.Amount
	known     events.Amount // credits known to be committed; it only rises while the command lives
}

// limitsOf returns the limits that legs come up against, in the order of their first debit.
func limitsOf(legs []LegRequest, overdraft func(account string) events.Overdraft) []limit {
	var limits []limit
	find := func(p Pair) int {
		for i := range limits {
			if limits[i].Pair == p {
				return i
			}
		}
		return -1
	}
	for _, leg := range legs {
		if leg.Quantity.Sign() >= 0 {
			continue
		}
		p := Pair{leg.Account, leg.Asset}
		i := find(p)
		if i < 0 {
			o := overdraft(leg.Account)
			if o.Unlimited {
				continue
			}
			i = len(limits)
			limits = append(limits, limit{Pair: p, overdraft: o.Limits[leg.Asset]})
		}
		limits[i].gross = sum(limits[i].gross, leg.Quantity.Neg())
	}
	for _, leg := range legs {
		if i := find(Pair{leg.Account, leg.Asset}); i >= 0 && leg.Quantity.Sign() > 0 {
			limits[i].own = sum(limits[i].own, leg.Quantity)
		}
	}
	return limits
}

// raise takes in what became known of the credits meanwhile.
func (l *limit) raise(credits *knownCredits) {
	if known, _ := credits.of(l.Pair); known.Cmp(l.known) > 0 {
		l.known = known
	}
}

// bound is the most that may have been spent before this debit: what passes it is covered. What was ever spent stays
// within events.FoldedDigits.
func (l limit) bound() events.Amount {
	return sum(sum(sum(l.known, l.own), l.overdraft), l.gross.Neg())
}

// available is what the pair has left when spent was spent.
func (l limit) available(spent events.Amount) events.Amount {
	return sum(sum(l.known, l.overdraft), spent.Neg())
}

// requested is the transaction's net debit of the pair. It may be below zero.
func (l limit) requested() events.Amount { return sum(l.gross, l.own.Neg()) }

// debit is the update of the guard.
func (l limit) debit() Debit { return Debit{Pair: l.Pair, Gross: l.gross, Bound: l.bound()} }

// sum returns a + b, or the largest or least amount when that is out of range.
func sum(a, b events.Amount) events.Amount {
	switch s, err := a.Add(b); {
	case err == nil:
		return s
	case a.Sign() < 0:
		return events.MaxFolded().Neg()
	}
	return events.MaxFolded()
}
