package ledger

import (
	"slices"
	"time"

	"ledger.example/events"
)

// RateExceeded has the figures of CodeRateExceeded.
type RateExceeded struct {
	events.Rate
	Used, Available, Requested events.Amount
	OpensAt                    time.Time // when the next slot begins; zero if the request never fits
}

// rateError is the error of the first request that a rate of a short limit does not allow, nil if there is none.
func (a *attempts) rateError() *Error {
	for i, r := range a.pending {
		for _, l := range a.limits {
			if !l.short || !l.exceedsRate() {
				continue
			}
			switch e := l.rateError(r, a.pending[:i]); {
			case l.source == nil && e != nil:
				return r.inBatch(e)
			case l.source != nil && l.source.fit == r.fit:
				return r.inBatch(r.fit.rateError())
			}
		}
	}
	return nil
}

// rateError is the error of a request that a rate of the pair does not allow after the earlier ones of the batch, nil
// if they all allow it. Of several rates it names the one that refuses the request longest.
func (l *limit) rateError(r *request, earlier []*request) (longest *Error) {
	requested := countedDebits(r, l.pair)
	if requested.IsZero() {
		return nil
	}
	for i := range l.rates {
		u := &l.rates[i]
		if !u.exceeds(l.guard) {
			continue
		}
		used := u.usedAfter(earlier, l)
		if addSaturating(used, requested).Cmp(u.rate.Quantity) <= 0 {
			continue
		}
		if e := exceeded(l.pair.Account, u, used, requested); e.refusesLonger(longest) {
			longest = e
		}
	}
	return longest
}

// refusesLonger reports whether the rate of an error refuses a request longer than that of another one, which is nil if
// there is none.
func (e *Error) refusesLonger(than *Error) bool {
	switch {
	case than == nil:
		return true
	case than.Rate.OpensAt.IsZero():
		return false
	}
	return e.Rate.OpensAt.IsZero() || e.Rate.OpensAt.After(than.Rate.OpensAt)
}

// usedAfter returns what is used of a rate of a pair after the first requests of the batch.
func (u *rateUse) usedAfter(earlier []*request, l *limit) events.Amount {
	used := l.guard.rates[u.name].usedIn(u.slot)
	for _, r := range earlier {
		used = addSaturating(used, countedDebits(r, l.pair))
	}
	for _, g := range u.gives {
		if slices.Contains(earlier, g.by) {
			used = addSaturating(used, g.amount.Neg())
		}
	}
	return used
}

// exceeded is the error of a debit that a rate does not allow on top of what is used.
func exceeded(account string, u *rateUse, used, requested events.Amount) *Error {
	e := refuse(CodeRateExceeded, "The account "+account+" may not debit so much "+u.rate.Asset+" in one "+
		string(u.rate.Per)+" of "+u.rate.Zone+".")
	e.Account, e.Rate = account, &RateExceeded{Rate: u.rate, Used: used, Available: u.left(used), Requested: requested}
	if requested.Cmp(u.rate.Quantity) <= 0 {
		e.Rate.OpensAt = u.next()
	}
	return e
}

// next is when the slot after that of the use begins.
func (u *rateUse) next() time.Time { return u.slots.Next(u.slots.Begin(u.slot)) }

// left is what a rate leaves after what is used; nothing if it was lowered below that.
func (u *rateUse) left(used events.Amount) events.Amount {
	if left := addSaturating(u.rate.Quantity, used.Neg()); left.Sign() > 0 {
		return left
	}
	return events.Amount{}
}

// unknownZoneError is the error of a rate whose zone the program that accepted it knew, and this one does not.
func unknownZoneError(zone string) *Error {
	return busy(CodeUnavailable, "This program does not know the zone "+zone+".", nil)
}
