package ledger

import (
	"maps"
	"strings"
	"time"

	"ledger.example/events"
)

// knownRates caches what guards have of rates, by pair. Only pairs with rates have entries. A state that is too old
// costs an attempt, and never lets a debit pass: slots and counts only grow, and so does what was given back in a slot.
// An entry expires after creditsTTL, for the same reason as known credits: the table may have been restored.
type knownRates struct {
	cache *cache[events.Pair, guardRates]
	now   func() time.Time // the process's clock
}

// guardRates is the cache entry of a pair.
type guardRates struct {
	rates  map[string]rateState // by name
	readAt readTime
}

func newKnownRates(now func() time.Time) *knownRates {
	weight := func(g guardRates) int { return 1 + len(g.rates) }
	clone := func(g guardRates) guardRates { return guardRates{maps.Clone(g.rates), g.readAt} }
	return &knownRates{newCache[events.Pair](creditsPairs, weight, clone), now}
}

// of returns what a guard has of rates, by name; ok is false if its guard was not read.
func (k *knownRates) of(p events.Pair) (rates map[string]rateState, ok bool) {
	known, ok := k.cache.get(p)
	if !ok || !known.readAt.within(creditsTTL, k.now) {
		return nil, false
	}
	return known.rates, true
}

// read caches what a guard has, as it was just read. If that is older than what was known, the guard moved on since,
// which costs an attempt, or the table was restored.
func (k *knownRates) read(p events.Pair, rates map[string]rateState) {
	k.change(p, func(guardRates) guardRates { return guardRates{rates, readTimeNow(k.now)} })
}

// learnFrom caches what a commit that was applied proves: the slots, and at least what it counted and gave back.
func (k *knownRates) learnFrom(c *commit) {
	for _, l := range c.limits {
		if l.rates == nil {
			continue
		}
		k.change(l.pair, func(known guardRates) guardRates { // without an entry, it makes one that has expired
			known.rates = maps.Clone(known.rates)
			if known.rates == nil {
				known.rates = make(map[string]rateState, len(l.rates))
			}
			for i := range l.rates {
				if s := l.rates[i].proved(); s.isNewer(known.rates[l.rates[i].name]) {
					known.rates[l.rates[i].name] = s
				}
			}
			return known
		})
	}
}

// proved returns what the guard had at least after the commit.
func (u *rateUse) proved() rateState {
	s := rateState{slot: u.slot, counted: u.counted, back: u.back}
	if u.isKnown && u.known.slot == u.slot {
		s.counted, s.back = addSaturating(u.known.counted, s.counted), addSaturating(u.known.back, s.back)
	}
	return s
}

func (k *knownRates) change(p events.Pair, to func(known guardRates) guardRates) {
	p = events.Pair{Account: strings.Clone(p.Account), Asset: strings.Clone(p.Asset)}
	k.cache.change(p, func(known guardRates, _ bool) guardRates { return to(known) })
}
