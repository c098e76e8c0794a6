package ledger

import (
	"slices"
	"time"

	"ledger.example/events"
)

// sourceRates is what tells how much a source may give by its limits over time.
type sourceRates struct {
	at     time.Time            // of the KSUIDs of the next attempt, as far as is known
	states map[string]rateState // what is known of its guard, by name, until this command reads it
	given  []given              // what earlier requests of the batch give back
}

// nextInstant is the earliest that the KSUIDs of the next attempt can have.
func (a *attempts) nextInstant() time.Time {
	now := a.ledger.now()
	if opened := a.opened.Time(); opened.After(now) {
		return opened
	}
	return now
}

// setRates sets what the sources of a fit need to know of their rates for an attempt at an instant.
func (a *attempts) setRates(r *request, at time.Time) {
	for _, s := range r.fit.sources {
		s.rates = sourceRates{at: at}
		if s.hasRates() {
			s.rates.states, _ = a.ledger.rates.of(s.pair)
			s.rates.given = a.givesBefore(r)
		}
	}
}

// hasRates reports whether the account of the source has limits over time.
func (s *source) hasRates() bool { return s.limit != nil && len(s.limit.account.Rates) > 0 }

// eachRate calls do for each rate of a source, with what is used of it. It counts by the guard if this command has read
// it, else by what is known of it, which may be too little or too much.
func (s *source) eachRate(do func(u *rateUse, used events.Amount)) {
	if !s.hasRates() {
		return
	}
	states := s.rates.states
	if s.limit.isRead {
		states = s.limit.guard.rates
	}
	for _, rate := range s.limit.account.Rates {
		u, ok := newRateUse(rate, s.rates.at)
		if rate.Asset != s.pair.Asset || !ok { // the commit refuses an unknown zone
			continue
		}
		used := states[u.name].usedIn(u.slot)
		for _, g := range s.rates.given {
			if u.getsBack(s.pair, g) {
				used = addSaturating(used, g.amount.Neg())
			}
		}
		do(&u, used)
	}
}

// room is how much a source may give by its rates: the least over them.
func (s *source) room() events.Amount {
	room := events.MaxFolded()
	s.eachRate(func(u *rateUse, used events.Amount) {
		room = lesser(room, u.left(used))
	})
	return room
}

// lacksRoom reports whether the rates of all sources together leave less than the least, whatever their funds are.
func (f *fit) lacksRoom() bool {
	var sum events.Amount
	for _, s := range f.sources {
		if s.limit != nil && !s.limit.allowsDebit() { // its state refuses first
			return false
		}
		sum = addSaturating(sum, s.room())
	}
	return sum.Cmp(f.Least()) < 0
}

// rateError is the error of a fit whose sources lack room. Each has a rate then. The error names the one of the last
// source that refuses the fit longest. Whether the fit ever passes depends on the rates of all sources together.
func (f *fit) rateError() *Error {
	var most events.Amount // what all sources may give, if nothing is used
	for _, s := range f.sources {
		each := events.MaxFolded()
		s.eachRate(func(u *rateUse, _ events.Amount) { each = lesser(each, u.rate.Quantity) })
		most = addSaturating(most, each)
	}
	var longest *Error
	var opens time.Time
	last := f.sources[len(f.sources)-1]
	last.eachRate(func(u *rateUse, used events.Amount) {
		e := exceeded(last.Account, u, used, f.Least())
		if e.Rate.Available.Cmp(f.Least()) < 0 && e.refusesLonger(longest) {
			longest, opens = e, u.next()
		}
	})
	if longest.Rate.OpensAt = opens; f.Least().Cmp(most) > 0 {
		longest.Rate.OpensAt = time.Time{}
	}
	return longest
}

// fitsOtherwise reports whether the pending fits would be decided otherwise at the instant of the KSUIDs: another day,
// week or month began meanwhile, in which rates leave more or less.
func (a *attempts) fitsOtherwise(at time.Time) bool {
	return slices.ContainsFunc(a.pending, func(r *request) bool { return r.fit != nil && r.fit.isOtherwise(at) })
}

// isOtherwise reports whether the sources give something else at an instant than the next attempt takes.
func (f *fit) isOtherwise(at time.Time) bool {
	if !slices.ContainsFunc(f.sources, (*source).hasRates) {
		return false
	}
	for _, s := range f.sources {
		s.rates.at = at
	}
	each, sum, _ := f.gives()
	if f.legs == nil {
		return !f.refuses(sum)
	}
	next := 0
	for i, s := range f.sources {
		taken := events.Amount{}
		if next < len(f.legs) && f.legs[next].Account == s.Account && f.legs[next].Quantity.Sign() < 0 {
			taken, next = f.legs[next].Quantity.Neg(), next+1
		}
		if taken != each[i] {
			return true
		}
	}
	return false
}
