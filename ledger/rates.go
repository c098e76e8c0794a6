package ledger

import (
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/internal/days"
)

// rateState is what a guard has of a rate. Its slot is the newest day, week or month that a debit opened: see days.
type rateState struct {
	slot    int64
	counted events.Amount // debited in the slot; never falls there
	back    events.Amount // of that, given back by holds that ended in the slot; never falls there
}

// usedIn returns what counts in a slot.
func (s rateState) usedIn(slot int64) events.Amount {
	if s.slot != slot {
		return events.Amount{}
	}
	return addSaturating(s.counted, s.back.Neg())
}

// isNewer reports whether a guard was s after it was o.
func (s rateState) isNewer(o rateState) bool {
	switch {
	case s.slot != o.slot:
		return s.slot > o.slot
	case s.counted != o.counted:
		return s.counted.Cmp(o.counted) > 0
	}
	return s.back.Cmp(o.back) > 0
}

// rateUse is what a commit changes of one rate of a guard. Without a limit it only gives back: a hold ends, and the
// account may no longer have the rate.
type rateUse struct {
	name    string
	rate    events.Rate
	slots   days.Slots
	slot    int64         // of the commit's KSUIDs; of the hold's, if it only gives back
	limited bool          // it counts debits
	need    events.Amount // the highest running sum of its debits less what is given back; may be negative
	counted events.Amount // the sum of its debits
	back    events.Amount // the sum of what is given back
	gives   []given       // beside debits: the parts of back

	known   rateState
	isKnown bool // what the guard has was read; it may have no state yet
}

// newRateUse returns the use of a rate at an instant; ok is false if this program does not know its zone.
func newRateUse(rate events.Rate, at time.Time) (u rateUse, ok bool) {
	in, err := days.Zone(rate.Zone)
	if err != nil {
		return u, false
	}
	u = rateUse{name: rate.Name(), rate: rate, slots: days.Slots{Unit: days.Unit(rate.Per), In: in}}
	u.slot = u.slots.Of(at)
	return u, true
}

// opens reports whether the commit opens a new slot, as far as is known.
func (u *rateUse) opens() bool { return u.limited && u.isKnown && u.known.slot < u.slot }

// isBehind reports whether the guard is known to have a newer slot than that of the commit's KSUIDs.
func (u *rateUse) isBehind() bool { return u.limited && u.isKnown && u.known.slot > u.slot }

// opening is the condition to open the slot: the guard's is older, or absent if it was absent when it was read.
func (u *rateUse) opening(slot, is string) string {
	if u.known.slot == 0 {
		return "attribute_not_exists(" + slot + ")"
	}
	return slot + " < " + is
}

// neverFits reports whether the debits alone are more than the rate.
func (u *rateUse) neverFits() bool { return u.need.Cmp(u.rate.Quantity) > 0 }

// cap is the most that may have been counted in the slot before the commit. A known amount that was given back may be
// too low, but never too high.
func (u *rateUse) cap() events.Amount {
	most := addSaturating(u.rate.Quantity, u.need.Neg())
	if u.isKnown && u.known.slot == u.slot {
		most = addSaturating(most, u.known.back)
	}
	return most
}

// exceeds reports whether the rate does not allow the debits on top of what the guard has. A guard with a newer slot
// proves nothing: the KSUIDs are minted again.
func (u *rateUse) exceeds(g guard) bool {
	state := g.rates[u.name]
	if !u.limited || state.slot > u.slot {
		return false
	}
	return addSaturating(state.usedIn(u.slot), u.need).Cmp(u.rate.Quantity) > 0
}

// exceedsRate reports whether a rate of the pair does not allow the debits, by the guard. Those of a source are not
// allowed if the rates of all sources of the fit leave too little.
func (l *limit) exceedsRate() bool {
	if l.source != nil {
		return l.source.fit.lacksRoom()
	}
	return l.allowsDebit() && slices.ContainsFunc(l.rates, func(u rateUse) bool { return u.exceeds(l.guard) })
}

// isCounted reports whether rates count the debits of the request: what it posts or holds now, and takes back from
// nobody.
func (r *request) isCounted() bool { return !r.endsHold() && !r.isReversal() && r.EffectiveAt == nil }

// markCounted notes in each debit which rates count it.
func (r *request) markCounted(legs []events.Leg, limits []*limit) {
	if !r.isCounted() {
		return
	}
	for _, l := range limits {
		if len(l.account.Rates) == 0 {
			continue
		}
		counted := events.CountedBy(l.account.Rates, l.pair.Asset)
		for i := range legs {
			if legs[i].Account == l.pair.Account && legs[i].Asset == l.pair.Asset && legs[i].Quantity.Sign() < 0 {
				legs[i].Counted = counted
			}
		}
	}
}

// countedDebits is the sum of the debits of a pair by the next attempt of a request that rates count.
func countedDebits(r *request, p events.Pair) (sum events.Amount) {
	if !r.isCounted() {
		return sum
	}
	for _, leg := range r.nextLegs() {
		if leg.Account == p.Account && leg.Asset == p.Asset && leg.Quantity.Sign() < 0 {
			sum = addSaturating(sum, leg.Quantity.Neg())
		}
	}
	return sum
}

// instant is that of the commit's KSUIDs. It is now if it has none: it is a dry run, or all is backdated.
func (c *commit) instant(now time.Time) time.Time {
	for i := range c.postings {
		if p := &c.postings[i]; !p.Backdated && p.ID != "" {
			return p.ID.Time()
		}
	}
	return now
}

// countRates sets what a commit at an instant changes of rates, in the limits of the commit. It adds a limit for each
// further guard that gets something back. If a guard has a slot that begins after that instant, it returns the last
// KSUID before that slot: the caller mints again, after it. A minter whose clock is too far behind then refuses.
func (a *attempts) countRates(c *commit, at time.Time) (opened events.KSUID) {
	gives := a.gives(c)
	for _, l := range c.limits {
		if l.rates = nil; len(l.account.Rates) > 0 {
			opened = max(opened, a.countLimit(c, l, at, gives))
		}
	}
	for _, g := range gives {
		a.giveBack(c, g)
	}
	return opened
}

// countLimit sets what the debits of a limit change of its rates.
func (a *attempts) countLimit(c *commit, l *limit, at time.Time, gives []given) (opened events.KSUID) {
	known, isKnown := a.ledger.rates.of(l.pair)
	for _, rate := range l.account.Rates {
		if rate.Asset != l.pair.Asset {
			continue
		}
		u, ok := newRateUse(rate, at)
		if !ok {
			c.unknownZone = rate.Zone
			continue
		}
		u.known, u.isKnown = known[u.name], isKnown
		if u.count(c.requests, l, gives); !u.limited {
			continue
		}
		if u.isBehind() {
			opened = max(opened, events.LastKSUIDBefore(u.slots.Begin(u.known.slot)))
		}
		l.rates = append(l.rates, u)
	}
	return opened
}

// count adds the debits of requests, one after the other, with what their ends of holds give back.
func (u *rateUse) count(requests []*request, l *limit, gives []given) {
	var running events.Amount
	for _, r := range requests {
		for _, g := range gives {
			if g.by == r && u.getsBack(l.pair, g) {
				running, u.back = addSaturating(running, g.amount.Neg()), addSaturating(u.back, g.amount)
				u.gives = append(u.gives, g)
			}
		}
		debits := countedDebits(r, l.pair)
		if debits.IsZero() {
			continue
		}
		running, u.counted = addSaturating(running, debits), addSaturating(u.counted, debits)
		if !u.limited || running.Cmp(u.need) > 0 {
			u.need, u.limited = running, true
		}
	}
}
