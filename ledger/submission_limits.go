package ledger

import (
	"slices"

	"ledger.example/events"
)

// itemDebit is the debit of one pair by one item.
type itemDebit struct {
	item   *item
	before events.Amount // available credits less debits of the earlier items
	gross  events.Amount // the item's own debits, above zero
	net    events.Amount // the item's own available credits less its debits
}

// setLimits computes the limit of each pair that the pending items debit.
//
// The items are posted as if one after the other. An item that debits a pair is covered if the amount spent before the
// submission is at most known credits + overdraft + the net credits of all items up to and including this one. So all
// items are covered if the amount spent is at most known credits + overdraft + the least of these running sums, over
// all items that debit the pair.
func (s *submission) setLimits() {
	before := s.limits
	s.limits = nil
	for _, it := range s.pending {
		s.limits = appendLimits(s.limits, it.header, it.known)
	}
	for at := range s.limits {
		l := &s.limits[at]
		var least events.Amount
		first := true
		s.eachDebit(l.pair, func(d itemDebit) bool {
			l.gross = addSaturating(l.gross, d.gross)
			if after := addSaturating(d.before, d.net); first || after.Cmp(least) < 0 {
				least, first = after, false
			}
			return true
		})
		l.ownCredits = addSaturating(least, l.gross) // bound subtracts gross again
		for _, old := range before {                 // credits and account versions never fall during a command
			if old.pair == l.pair {
				l.raise(old.credits)
				if old.account.Version > l.account.Version {
					l.setAccount(old.account)
				}
			}
		}
	}
}

// eachDebit calls do for each pending item that debits a pair, in order, until do returns false.
func (s *submission) eachDebit(pair events.Pair, do func(itemDebit) bool) {
	var running events.Amount
	for _, it := range s.pending {
		var credits, debits events.Amount
		for _, leg := range it.header.Legs {
			switch {
			case leg.Account != pair.Account || leg.Asset != pair.Asset:
			case leg.Quantity.Sign() < 0:
				debits = addSaturating(debits, leg.Quantity.Neg())
			case it.header.IsHold(): // available once it is captured
			case it.draft.EffectiveAt != nil: // available once it is projected
			default:
				credits = addSaturating(credits, leg.Quantity)
			}
		}
		net := addSaturating(credits, debits.Neg())
		if !debits.IsZero() && !do(itemDebit{item: it, before: running, gross: debits, net: net}) {
			return
		}
		running = addSaturating(running, net)
	}
}

// shortfallError is the error of the first item that one of the shortfalls leaves uncovered.
func (s *submission) shortfallError(short []shortfall) *Error {
	var first shortfall
	var d itemDebit
	for _, one := range short {
		uncovered := s.firstUncovered(one)
		if first.limit == nil || slices.Index(s.pending, uncovered.item) < slices.Index(s.pending, d.item) {
			first, d = one, uncovered
		}
	}
	if !first.limit.allowsDebit() {
		return d.item.requestError(stateError(d.item.draft, first.limit.account))
	}
	pair := first.limit.pair
	return d.item.requestError(&Error{
		Code: CodeInsufficientFunds, Account: pair.Account,
		Detail: "The account " + pair.Account + " does not have enough " + pair.Asset + ".",
		Funds: &Funds{
			Asset: pair.Asset, Requested: d.net.Neg(),
			Available: addSaturating(first.limit.available(first.spent), d.before),
		},
	})
}

// firstUncovered returns the first debit of a pair that its shortfall leaves uncovered.
func (s *submission) firstUncovered(short shortfall) (uncovered itemDebit) {
	s.eachDebit(short.limit.pair, func(d itemDebit) bool {
		uncovered = d // if sums saturate, the last debit counts
		left := addSaturating(short.limit.available(short.spent), addSaturating(d.before, d.net))
		return short.limit.allowsDebit() && left.Sign() >= 0
	})
	return uncovered
}
