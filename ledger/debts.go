package ledger

import (
	"slices"

	"ledger.example/events"
)

// debt is what one request of an atomic batch asks of a pair.
type debt struct {
	pair    events.Pair
	request int           // by index
	before  events.Amount // credits less debits of the requests before it, those of which the bound counts
	net     events.Amount // its own
}

// limit makes the limits of what is open: one for each pair.
//
// Posted one after the other, a request that debits a pair passes if what was spent before it is within the credits
// known and those of the requests before it and of its own, less its debits. So all of them pass if what was spent
// before the batch is within known credits and overdraft and the least that credits less debits sum up to, over all
// beginnings of the batch that end with a debit. What a backdated request brings counts for itself alone.
func (w *whole) limit() {
	before := w.limits
	w.limits, w.debts = nil, nil
	for _, i := range w.open {
		for _, l := range w.batch.items[i].limits {
			if !slices.ContainsFunc(w.limits, func(of limit) bool { return of.pair == l.pair }) {
				l.gross, l.own = events.Amount{}, events.Amount{}
				w.limits = append(w.limits, l)
			}
		}
	}
	for at := range w.limits {
		l := &w.limits[at]
		w.sum(l)
		for _, known := range before { // what a command knows never falls
			if known.pair == l.pair {
				l.raise(known.known)
				if known.account.Version > l.account.Version {
					l.adopt(known.account)
				}
			}
		}
	}
}

// sum adds up the debts of one pair.
func (w *whole) sum(l *limit) {
	var running, least events.Amount
	first := true
	for _, i := range w.open {
		p := w.batch.items[i]
		var credits, debits events.Amount
		for _, leg := range p.header.Legs {
			switch {
			case leg.Account != l.pair.Account || leg.Asset != l.pair.Asset:
			case leg.Quantity.Sign() < 0:
				debits = addSaturating(debits, leg.Quantity.Neg())
			case !p.header.IsHold(): // what a hold would bring counts for nothing
				credits = addSaturating(credits, leg.Quantity)
			}
		}
		net := addSaturating(credits, debits.Neg())
		if !debits.IsZero() {
			w.debts = append(w.debts, debt{pair: l.pair, request: i, before: running, net: net})
			l.gross = addSaturating(l.gross, debits)
		}
		running = addSaturating(running, net)
		if !debits.IsZero() && (first || running.Cmp(least) < 0) {
			least, first = running, false
		}
		if p.draft.note.EffectiveAt != nil && net.Sign() > 0 { // no other may spend it before it is projected
			running = addSaturating(running, net.Neg())
		}
	}
	l.own = addSaturating(least, l.gross) // so that the bound counts the least
}

// refusal is the error of the first request that is not covered.
func (w *whole) refusal(short []shortfall) *Error {
	var s shortfall
	var d debt
	for _, of := range short {
		if first := w.uncovered(of); s.limit == nil || first.request < d.request {
			s, d = of, first
		}
	}
	if !s.limit.isOpen() {
		return ofRequest(barred(w.batch.items[d.request].draft, s.limit.account), d.request)
	}
	e := insufficientFunds(*s.limit, s.spent)
	e.Funds.Available = addSaturating(e.Funds.Available, d.before)
	e.Funds.Requested = d.net.Neg()
	return ofRequest(e, d.request)
}

// uncovered returns the first debt that is not covered in a pair that is short.
func (w *whole) uncovered(s shortfall) (found debt) {
	for _, d := range w.debts {
		if d.pair != s.limit.pair {
			continue
		}
		found = d // beyond what sums can hold, the last counts
		left := addSaturating(s.limit.available(s.spent), addSaturating(d.before, d.net))
		if !s.limit.isOpen() || left.Sign() < 0 {
			break
		}
	}
	return found
}
