package ledger

import (
	"slices"

	"ledger.example/events"
)

// limit is the overdraft limit that a commit must keep on one pair: one update of the pair's spending guard.
type limit struct {
	pair       events.Pair
	gross      events.Amount // the sum of the pending requests' debits of the pair, above zero; see debited
	ownCredits events.Amount // those of their credits that the debits may spend
	credits    events.Amount // credits known to be committed; never falls during a command
	account    Account       // as last read
	overdraft  events.Amount // of account
	found      events.Amount // spent, as the exact read of the credits found it
	isReversal bool          // only reversals debit the pair: they may debit a closed account

	rates    []rateUse // what the attempt counts in limits over time: see attempts.countRates
	backOnly bool      // nothing is debited: holds that end give back what their rates counted

	guard   guard // as it was when it refused the debits, or when it was read for a dry run or a fit
	isRead  bool  // guard is that one
	isExact bool  // credits were read exactly since then
	short   bool  // that refusal is final: see judge

	source *source // of a fit, if that takes from the pair; else nil
}

// appendLimits appends a limit without figures for each limited pair that r debits, unless limits has it. They are in
// the order of each pair's first leg, debit or credit: an error names the first one that is not covered.
func appendLimits(limits []*limit, r *request) []*limit {
	if r.endsHold() { // its debits were reserved
		return limits
	}
	legs := r.header.Legs
	for _, leg := range legs {
		pair := events.Pair{Account: leg.Account, Asset: leg.Asset}
		isDebit := func(leg events.Leg) bool {
			return leg.Account == pair.Account && leg.Asset == pair.Asset && leg.Quantity.Sign() < 0
		}
		a := r.known.account(leg.Account)
		if a.Overdraft.Unlimited || !slices.ContainsFunc(legs, isDebit) {
			continue
		}
		if at := slices.IndexFunc(limits, func(l *limit) bool { return l.pair == pair }); at >= 0 {
			limits[at].isReversal = limits[at].isReversal && r.isReversal()
			continue
		}
		l := &limit{pair: pair, isReversal: r.isReversal(), source: r.fit.takesFrom(pair)}
		l.setAccount(*a)
		if limits == nil {
			limits = make([]*limit, 0, 2) // enough for most requests
		}
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
func (l *limit) setAccount(a Account) {
	l.account, l.overdraft = a, a.Overdraft.Limits[l.pair.Asset]
	if a.State == events.StateClosed {
		l.overdraft = events.Amount{}
	}
	if l.source != nil {
		l.overdraft = lesser(l.overdraft, l.source.Keep.Neg())
	}
}

// allowsDebit reports whether the account's state allows the debit.
func (l *limit) allowsDebit() bool { return allowsDebit(l.account, l.isReversal) }

// allowsDebitBy reports whether the account's state allows the debit of one of the requests.
func (l *limit) allowsDebitBy(r *request) bool { return allowsDebit(l.account, r.isReversal()) }

// isBelow reports whether the amount spent puts the account below every limit that it ever had.
func (l *limit) isBelow() bool {
	most := l.account.mostOverdraft(l.pair.Asset)
	return addSaturating(l.credits, most).Cmp(l.guard.spent) < 0
}

// impassable is a bound that no debit passes. Its refusal proves which version of the account the guard has.
var impassable = events.NewAmount(-1)

// bound is the most that may have been spent before this debit: known credits + own credits + overdraft − gross. It
// saturates, so that the amount spent, which is at most bound + gross, never has more than events.FoldedDigits digits.
func (l *limit) bound() events.Amount {
	if !l.allowsDebit() || l.source != nil && l.source.fit.legs == nil {
		return impassable
	}
	return addSaturating(addSaturating(addSaturating(l.credits, l.ownCredits), l.overdraft), l.gross.Neg())
}

// exceeds reports whether the amount spent is above the bound. That of a source may be above it and the fit pass, with
// another quantity.
func (l *limit) exceeds() bool {
	if l.source != nil {
		return l.source.fit.isShort()
	}
	return l.guard.spent.Cmp(l.bound()) > 0
}

// available is what the pair had left at the refusal.
func (l *limit) available() events.Amount {
	return addSaturating(addSaturating(l.credits, l.overdraft), l.guard.spent.Neg())
}

// requestDebit is the debit of one pair by one request.
type requestDebit struct {
	request *request
	before  events.Amount // available credits less debits of the earlier requests
	gross   events.Amount // the request's own debits, above zero
	net     events.Amount // the request's own available credits less its debits
}

// setLimits computes the limit of each pair that the pending requests debit.
//
// The requests of an atomic batch are posted as if one after the other. A request that debits a pair is covered if the
// amount spent before the commit is at most known credits + overdraft + the net credits of all requests up to and
// including this one. So all requests are covered if the amount spent is at most known credits + overdraft + the least
// of these running sums, over all requests that debit the pair.
//
// Independent requests get a lower bound: the credits of one cover no debit of another (see postChain). So each of them
// counts with its debits less its own credits, but with zero at least.
func (a *attempts) setLimits() {
	before := a.limits
	a.limits = nil
	for _, r := range a.pending {
		a.limits = appendLimits(a.limits, r)
	}
	for _, l := range a.limits {
		var least, owed events.Amount
		first := true
		a.eachDebit(l.pair, func(d requestDebit) bool {
			l.gross = addSaturating(l.gross, d.gross)
			if after := addSaturating(d.before, d.net); first || after.Cmp(least) < 0 {
				least, first = after, false
			}
			if d.net.Sign() < 0 {
				owed = addSaturating(owed, d.net)
			}
			return true
		})
		if a.joint {
			least = owed
		}
		l.ownCredits = addSaturating(least, l.gross) // bound subtracts gross again
		for _, old := range before {                 // credits and account versions never fall during a command
			if old.pair == l.pair {
				l.raise(old.credits)
				l.guard, l.found, l.isRead, l.isExact = old.guard, old.found, old.isRead, old.isExact
				if old.account.Version > l.account.Version {
					l.setAccount(old.account)
				}
			}
		}
	}
	a.linkSources()
}

// eachDebit calls do for each pending request that debits a pair, in order, until do returns false.
func (a *attempts) eachDebit(pair events.Pair, do func(requestDebit) bool) {
	var running events.Amount
	for _, r := range a.pending {
		credits, debits := r.flow(pair)
		net := addSaturating(credits, debits.Neg())
		if !debits.IsZero() && !do(requestDebit{request: r, before: running, gross: debits, net: net}) {
			return
		}
		running = addSaturating(running, net)
	}
}

// flow returns what a request debits of a pair, and what it credits that may be spent at once.
func (r *request) flow(pair events.Pair) (credits, debits events.Amount) {
	for _, leg := range r.fundedLegs() {
		switch {
		case leg.Account != pair.Account || leg.Asset != pair.Asset:
		case leg.Quantity.Sign() < 0:
			debits = addSaturating(debits, leg.Quantity.Neg())
		case r.header.IsHold() && !r.endsHold(): // available once it is captured
		case r.EffectiveAt != nil: // available once it is projected
		default:
			credits = addSaturating(credits, leg.Quantity)
		}
	}
	return credits, debits
}

// shortfallError is the error of the first request that one of the short limits leaves uncovered.
func (a *attempts) shortfallError() *Error {
	if refused := a.rateError(); refused != nil {
		return refused
	}
	var short *limit
	var d requestDebit
	for _, l := range a.limits {
		if l.short {
			uncovered := a.firstUncovered(l)
			if short == nil || slices.Index(a.pending, uncovered.request) < slices.Index(a.pending, d.request) {
				short, d = l, uncovered
			}
		}
	}
	if short.source != nil {
		return d.request.inBatch(d.request.shortfall(a.unknown))
	}
	if !short.allowsDebitBy(d.request) {
		return d.request.inBatch(stateError(d.request.draft, short.account))
	}
	account, asset := short.pair.Account, short.pair.Asset
	e := refuse(CodeInsufficientFunds, "The account "+account+" does not have enough "+asset+".")
	e.Account = account
	e.Funds = &Funds{Asset: asset, Requested: d.net.Neg(), Available: addSaturating(short.available(), d.before)}
	return d.request.inBatch(e)
}

// firstUncovered returns the first debit of a pair that its limit leaves uncovered.
func (a *attempts) firstUncovered(l *limit) (uncovered requestDebit) {
	a.eachDebit(l.pair, func(d requestDebit) bool {
		uncovered = d // if sums saturate, the last debit counts
		left := addSaturating(l.available(), addSaturating(d.before, d.net))
		return l.allowsDebitBy(d.request) && left.Sign() >= 0
	})
	return uncovered
}

// lesser returns the lesser of two amounts.
func lesser(a, b events.Amount) events.Amount {
	if b.Cmp(a) < 0 {
		return b
	}
	return a
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
