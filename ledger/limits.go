package ledger

import (
	"slices"

	"ledger.example/events"
)

// limit is what a transaction asks of one pair whose account has a limit: one update of its spending guard.
type limit struct {
	pair      events.Pair
	gross     events.Amount // the sum of the transaction's debits of the pair, above zero
	own       events.Amount // the sum of the transaction's credits to the pair
	known     events.Amount // credits known to be committed; never falls during a command
	account   *Account      // as it is known
	overdraft events.Amount // of account
	takesBack bool          // the debit takes back what reached the account: that is allowed when it is closed
}

// appendLimits appends the limits that a transaction has to keep, without figures, and that are not among limits yet,
// in the order of each pair's first leg, debit or credit: a refusal names the first of them that is not covered.
func appendLimits(limits []limit, t events.TransactionPosted, known *definitions) []limit {
	for _, leg := range t.Legs {
		pair := events.Pair{Account: leg.Account, Asset: leg.Asset}
		isDebit := func(leg events.Leg) bool {
			return leg.Account == pair.Account && leg.Asset == pair.Asset && leg.Quantity.Sign() < 0
		}
		isKept := func(l limit) bool { return l.pair == pair }
		a := known.account(leg.Account)
		if a.Overdraft.Unlimited || slices.ContainsFunc(limits, isKept) || !slices.ContainsFunc(t.Legs, isDebit) {
			continue
		}
		l := limit{pair: pair, takesBack: t.Kind == events.KindReversal}
		l.adopt(a)
		limits = append(limits, l)
	}
	return limits
}

// raise takes in credits that are known to be committed.
func (l *limit) raise(known events.Amount) {
	if known.Cmp(l.known) > 0 {
		l.known = known
	}
}

// adopt takes in what the account is now. A closed one owes nothing, and what takes back a credit leaves it so: nobody
// could pay it any more.
func (l *limit) adopt(a *Account) {
	l.account, l.overdraft = a, a.Overdraft.Limits[l.pair.Asset]
	if a.State == events.StateClosed {
		l.overdraft = events.Amount{}
	}
}

// isOpen reports whether the account's state allows the debit.
func (l *limit) isOpen() bool { return allowsDebit(l.account, l.takesBack) }

// isBelow reports whether the account is below each of its limits when spent was spent.
func (l *limit) isBelow(spent events.Amount) bool {
	most := l.account.mostOverdraft(l.pair.Asset)
	return addSaturating(l.known, most).Cmp(spent) < 0
}

// impassable is a bound that nothing passes. A refusal by it proves that the guard knows why.
var impassable = events.NewAmount(-1)

// bound is the most that may have been spent before this debit: a debit that passes it is covered. What was ever spent
// stays within events.FoldedDigits.
func (l limit) bound() events.Amount {
	if !l.isOpen() {
		return impassable
	}
	return addSaturating(addSaturating(addSaturating(l.known, l.own), l.overdraft), l.gross.Neg())
}

// available is what the pair has left when spent was spent.
func (l limit) available(spent events.Amount) events.Amount {
	return addSaturating(addSaturating(l.known, l.overdraft), spent.Neg())
}

// requested is the transaction's net debit of the pair. It may be below zero.
func (l limit) requested() events.Amount { return addSaturating(l.gross, l.own.Neg()) }

// debit is the update of the guard.
func (l limit) debit() Debit {
	return Debit{Pair: l.pair, Change: l.account.Version, Gross: l.gross, Bound: l.bound()}
}

// addSaturating returns a + b, or the largest or least amount when that is out of range.
func addSaturating(a, b events.Amount) events.Amount {
	switch s, err := a.Add(b); {
	case err == nil:
		return s
	case a.Sign() < 0:
		return events.MaxFolded().Neg()
	}
	return events.MaxFolded()
}
