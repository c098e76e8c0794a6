package ledger

import (
	"slices"

	"ledger.example/events"
)

// debt is what one item asks of a pair that it debits.
type debt struct {
	item   *posting
	before events.Amount // credits less debits of the items before it, those of which the bound counts
	gross  events.Amount // its own debits
	net    events.Amount // its own credits less debits
}

// limit makes the limits of what is open: one for each pair.
//
// Posted one after the other, an item that debits a pair passes if what was spent before it is within the credits known
// and those of the items before it and of its own, less its debits. So all of them pass if what was spent before the
// whole is within known credits and overdraft and the least that credits less debits sum up to, over all beginnings of
// the whole that end with a debit. What a backdated item brings counts for itself alone.
func (w *whole) limit() {
	before := w.limits
	w.limits = nil
	for _, p := range w.open {
		w.limits = appendLimits(w.limits, p.header, p.known)
	}
	for at := range w.limits {
		l := &w.limits[at]
		var least events.Amount
		first := true
		w.debts(l.pair, func(d debt) bool {
			l.gross = addSaturating(l.gross, d.gross)
			if after := addSaturating(d.before, d.net); first || after.Cmp(least) < 0 {
				least, first = after, false
			}
			return true
		})
		l.own = addSaturating(least, l.gross) // so that the bound counts the least
		for _, known := range before {        // what a command knows never falls
			if known.pair == l.pair {
				l.raise(known.known)
				if known.account.Version > l.account.Version {
					l.adopt(known.account)
				}
			}
		}
	}
}

// debts goes through what is asked of a pair, in the order of the items.
func (w *whole) debts(pair events.Pair, do func(debt) bool) {
	var running events.Amount
	for _, p := range w.open {
		var credits, debits events.Amount
		for _, leg := range p.header.Legs {
			switch {
			case leg.Account != pair.Account || leg.Asset != pair.Asset:
			case leg.Quantity.Sign() < 0:
				debits = addSaturating(debits, leg.Quantity.Neg())
			case !p.header.IsHold(): // what a hold would bring counts for nothing
				credits = addSaturating(credits, leg.Quantity)
			}
		}
		net := addSaturating(credits, debits.Neg())
		if !debits.IsZero() && !do(debt{item: p, before: running, gross: debits, net: net}) {
			return
		}
		if p.draft.note.EffectiveAt == nil || net.Sign() < 0 { // what is backdated is spent once it is projected
			running = addSaturating(running, net)
		}
	}
}

// refusal is the error of the first item that is not covered.
func (w *whole) refusal(short []shortfall) *Error {
	var s shortfall
	var d debt
	for _, of := range short {
		first := w.uncovered(of)
		if s.limit == nil || slices.Index(w.open, first.item) < slices.Index(w.open, d.item) {
			s, d = of, first
		}
	}
	if !s.limit.isOpen() {
		return d.item.named(barred(d.item.draft, s.limit.account))
	}
	e := insufficientFunds(*s.limit, s.spent)
	e.Funds.Available = addSaturating(e.Funds.Available, d.before)
	e.Funds.Requested = d.net.Neg()
	return d.item.named(e)
}

// uncovered returns the first debt that is not covered in a pair that is short.
func (w *whole) uncovered(s shortfall) (found debt) {
	w.debts(s.limit.pair, func(d debt) bool {
		found = d // beyond what sums can hold, the last counts
		left := addSaturating(s.limit.available(s.spent), addSaturating(d.before, d.net))
		return s.limit.isOpen() && left.Sign() >= 0
	})
	return found
}
