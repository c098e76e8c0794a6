package ledger

import (
	"slices"

	"ledger.example/events"
)

// limit is the overdraft limit that a submission must keep on one pair: one update of the pair's spending guard.
type limit struct {
	pair       events.Pair
	gross      events.Amount // the sum of the submission's debits of the pair, above zero
	ownCredits events.Amount // the credits of the submission that its debits may spend
	credits    events.Amount // credits known to be committed; never falls during a command
	account    *Account      // as last read
	overdraft  events.Amount // of account
	isReversal bool          // a reversal may debit a closed account
}

// appendLimits appends a limit without figures for each limited pair that t debits, unless limits has it. They are
// in the order of each pair's first leg, debit or credit: an error names the first one that is not covered.
func appendLimits(limits []limit, t events.TransactionPosted, known *definitions) []limit {
	for _, leg := range t.Legs {
		pair := events.Pair{Account: leg.Account, Asset: leg.Asset}
		isDebit := func(leg events.Leg) bool {
			return leg.Account == pair.Account && leg.Asset == pair.Asset && leg.Quantity.Sign() < 0
		}
		isListed := func(l limit) bool { return l.pair == pair }
		a := known.account(leg.Account)
		if a.Overdraft.Unlimited || slices.ContainsFunc(limits, isListed) || !slices.ContainsFunc(t.Legs, isDebit) {
			continue
		}
		l := limit{pair: pair, isReversal: t.Kind == events.KindReversal}
		l.setAccount(a)
		limits = append(limits, l)
	}
	return limits
}

// raise sets the known credits, unless higher ones are known.
func (l *limit) raise(known events.Amount) {
	if known.Cmp(l.credits) > 0 {
		l.credits = known
	}
}

// setAccount sets the account. A closed account has no overdraft, so that a reversal cannot leave it with a debt that
// nobody can pay.
func (l *limit) setAccount(a *Account) {
	l.account, l.overdraft = a, a.Overdraft.Limits[l.pair.Asset]
	if a.State == events.StateClosed {
		l.overdraft = events.Amount{}
	}
}

// allowsDebit reports whether the account's state allows the debit.
func (l *limit) allowsDebit() bool { return allowsDebit(l.account, l.isReversal) }

// isBelow reports whether an amount spent puts the account below every limit that it ever had.
func (l *limit) isBelow(spent events.Amount) bool {
	most := l.account.mostOverdraft(l.pair.Asset)
	return addSaturating(l.credits, most).Cmp(spent) < 0
}

// impassable is a bound that no debit passes. Its refusal proves which version of the account the guard has.
var impassable = events.NewAmount(-1)

// bound is the most that may have been spent before this debit. It saturates, so that the amount spent never has more
// than events.FoldedDigits digits.
func (l limit) bound() events.Amount {
	if !l.allowsDebit() {
		return impassable
	}
	return addSaturating(addSaturating(addSaturating(l.credits, l.ownCredits), l.overdraft), l.gross.Neg())
}

// available is what the pair has left after an amount was spent.
func (l limit) available(spent events.Amount) events.Amount {
	return addSaturating(addSaturating(l.credits, l.overdraft), spent.Neg())
}

// debit is the update of the guard.
func (l limit) debit() debit {
	return debit{pair: l.pair, version: l.account.Version, gross: l.gross, bound: l.bound()}
}

// addSaturating returns a + b, or the largest or smallest amount if the sum is out of range.
func addSaturating(a, b events.Amount) events.Amount {
	switch s, err := a.Add(b); {
	case err == nil:
		return s
	case a.Sign() < 0:
		return events.MaxFolded().Neg()
	}
	return events.MaxFolded()
}
