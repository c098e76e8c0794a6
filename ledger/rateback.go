package ledger

import (
	"slices"

	"ledger.example/events"
	"ledger.example/internal/days"
)

// given is what the end of a hold gives back to one rate.
type given struct {
	pair   events.Pair
	name   string
	slot   int64 // in which the hold was counted
	amount events.Amount
	by     *request
}

// getsBack reports whether something is given back to the slot of a rate of a pair.
func (u *rateUse) getsBack(p events.Pair, g given) bool {
	return g.pair == p && g.name == u.name && g.slot == u.slot
}

// gives returns what the ends of holds in a commit give back to rates.
func (a *attempts) gives(c *commit) (all []given) {
	next := 0
	for _, r := range c.requests {
		if end, isEnd := c.events[next].(events.HoldEnded); isEnd {
			all = append(all, r.givesBack(amountsOf(end.Legs))...)
		}
		next += r.eventCount()
	}
	return all
}

// givesBefore returns what the ends of holds before a request of the batch are going to give back.
func (a *attempts) givesBefore(r *request) (all []given) {
	for _, earlier := range a.pending {
		if earlier == r {
			break
		}
		if earlier.endsHold() {
			all = append(all, earlier.givesBack(earlier.taken)...)
		}
	}
	return all
}

// givesBack returns what the end of a hold gives back to the rates that counted it: what each leg held and does not
// post. taken is what it posts of each leg.
func (r *request) givesBack(taken []events.Taken) (all []given) {
	for i, leg := range r.header.Legs {
		left := addSaturating(leg.Quantity.Neg(), taken[i].Quantity)
		if leg.Counted == "" || left.Sign() <= 0 {
			continue
		}
		for _, name := range leg.CountedNames() {
			per, zone, ok := events.ParseRateName(name)
			in, err := days.Zone(zone)
			if !ok || err != nil { // no slot has that time: what is counted stays counted
				continue
			}
			slot := days.Slots{Unit: days.Unit(per), In: in}.Of(leg.ID.Time())
			pair := events.Pair{Account: leg.Account, Asset: leg.Asset}
			all = append(all, given{pair: pair, name: name, slot: slot, amount: left, by: r})
		}
	}
	return all
}

// giveBack adds what is given back to a rate whose debits the commit does not count, unless the guard has another slot:
// the slot of the hold is over then, and nothing can be given back to it. If a guard that was read earlier has an older
// slot, it may have the hold's by now; if the guard that refused an attempt of this command has, it is damaged.
func (a *attempts) giveBack(c *commit, g given) {
	at := slices.IndexFunc(c.limits, func(l *limit) bool { return l.pair == g.pair })
	isCounted := func(u rateUse) bool { return u.limited && u.name == g.name }
	if at >= 0 && slices.ContainsFunc(c.limits[at].rates, isCounted) {
		return // see rateUse.count
	}
	known, isKnown := a.ledger.rates.of(g.pair)
	refused := slices.IndexFunc(a.refusing, func(by guard) bool { return by.pair == g.pair })
	if known[g.name].slot > g.slot || refused >= 0 && a.refusing[refused].rates[g.name].slot != g.slot {
		return
	}
	if at < 0 {
		at, c.limits = len(c.limits), append(slices.Clip(c.limits), &limit{pair: g.pair, backOnly: true})
	}
	l := c.limits[at]
	for i := range l.rates {
		u := &l.rates[i]
		switch {
		case u.name != g.name:
			continue
		case u.slot == g.slot:
			u.back = addSaturating(u.back, g.amount)
		case u.slot < g.slot:
			u.slot, u.back = g.slot, g.amount
		}
		return
	}
	u := rateUse{name: g.name, slot: g.slot, back: g.amount, known: known[g.name], isKnown: isKnown}
	l.rates = append(l.rates, u)
}

// giveBacks is how many guards the pending requests may update only to give back.
func (a *attempts) giveBacks() int {
	pairs := map[events.Pair]bool{}
	for _, r := range a.pending {
		for _, leg := range r.header.Legs {
			pair := events.Pair{Account: leg.Account, Asset: leg.Asset}
			if r.endsHold() && leg.Counted != "" && a.limitOf(pair) == nil {
				pairs[pair] = true
			}
		}
	}
	return len(pairs)
}

// learnRates notes what guards have of rates that refused an attempt.
func (a *attempts) learnRates(refused []*limit) {
	for _, l := range refused {
		if l.rates == nil {
			continue
		}
		a.ledger.rates.read(l.pair, l.guard.rates)
		a.refusing = slices.DeleteFunc(a.refusing, func(old guard) bool { return old.pair == l.pair })
		a.refusing = append(a.refusing, l.guard)
	}
}
