package ledger

import (
	"context"
	"slices"

	"ledger.example/events"
)

// decideFits decides how much the pending fits move in the next attempt, each after what the requests before it give to
// its sources. Each attempt decides anew: an earlier one was refused by a guard, whose amount spent is known now.
//
// A source gives less than is asked of it only by an exact read of its funds that this command made after its guard was
// read, or refused. The guard says what its rates leave. So nothing is left behind that was acknowledged before the
// request, and no later source gives what an earlier one has. Known funds suffice for a source that gives all that is
// asked of it.
func (a *attempts) decideFits(c context.Context) *Error {
	for _, r := range a.pending {
		if r.fit == nil {
			continue
		}
		if err := a.decideFit(c, r); err != nil {
			return err
		}
		a.setLimits() // of its debits, and of the accounts that it credits
	}
	return nil
}

func (a *attempts) decideFit(c context.Context, r *request) *Error {
	f := r.fit
	a.setRates(r, a.nextInstant())
	for {
		each, sum, less := f.gives()
		unread := slices.DeleteFunc(less, func(l *limit) bool { return l.isExact })
		isRefused := f.refuses(sum)
		var missing []*limit // guards of debits that will be sent
		for i, s := range f.sources {
			isSent := each[i].Sign() > 0 || isRefused && len(unread) == 0
			if isSent && s.limit != nil && a.isUnguarded(s.limit) && !r.DryRun {
				missing = append(missing, s.limit)
			}
		}
		var err *Error
		switch {
		case len(missing) > 0:
			err = a.createGuards(c, missing)
		case len(unread) > 0:
			err = a.readFunds(c, unread)
		default:
			f.legs = nil
			if !isRefused {
				f.setLegs(each, sum)
			}
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// gives returns what each source gives by what is known, and the sum. less are the limits of those that have less than
// is asked of them.
func (f *fit) gives() (each []events.Amount, sum events.Amount, less []*limit) {
	left := f.most()
	each = make([]events.Amount, len(f.sources))
	for i, s := range f.sources {
		each[i] = lesser(left, s.has())
		if left = addSaturating(left, each[i].Neg()); !left.IsZero() && s.limit != nil {
			less = append(less, s.limit)
		}
	}
	return each, addSaturating(f.most(), left.Neg()), less
}

// has returns what a source has to give. One that is frozen or closed has nothing.
func (s *source) has() events.Amount {
	l := s.limit
	switch {
	case l == nil:
		return events.MaxFolded()
	case !l.allowsDebit():
		return events.Amount{}
	}
	if has := lesser(s.funds(), s.room()); has.Sign() > 0 {
		return has
	}
	return events.Amount{}
}

// funds are what a source with a limit has above what it keeps, whatever its rates leave. They may be below zero.
func (s *source) funds() events.Amount { return addSaturating(s.limit.available(), s.limit.ownCredits) }

// isBoundByRates reports whether the rates of a source leave less than it has.
func (s *source) isBoundByRates() bool { return s.hasRates() && s.room().Cmp(s.funds()) < 0 }

// refuses reports whether a quantity is too small: it is less than the least, or cannot be divided.
func (f *fit) refuses(quantity events.Amount) bool {
	if quantity.Cmp(f.Least()) < 0 {
		return true
	}
	_, isDivided := f.divide(quantity)
	return !isDivided
}

// isShort reports whether the sources together have too little, by what is known.
func (f *fit) isShort() bool {
	_, sum, _ := f.gives()
	return f.refuses(sum)
}

// setLegs sets the legs of the next attempt: what each source gives, and the credits.
func (f *fit) setLegs(each []events.Amount, sum events.Amount) {
	for i, s := range f.sources {
		if !each[i].IsZero() {
			f.legs = append(f.legs, LegRequest{Account: s.Account, Asset: s.pair.Asset, Quantity: each[i].Neg()})
		}
	}
	credits, _ := f.divide(sum)
	f.legs = append(f.legs, credits...)
}

// nextLegs returns the legs of the next attempt, without KSUIDs.
func (r *request) nextLegs() []events.Leg {
	if r.fit == nil || r.fit.legs == nil {
		return r.header.Legs
	}
	legs := make([]events.Leg, len(r.fit.legs))
	for i, leg := range r.fit.legs {
		legs[i] = events.Leg{Account: leg.Account, Asset: leg.Asset, Quantity: leg.Quantity}
	}
	return legs
}

// fingerprint returns the fingerprint of the next attempt, which tells of its legs.
func (r *request) fingerprint() string {
	made := r.draft
	made.legs = r.fit.legs
	return fingerprint(made)
}

// linkSources links the sources of the pending fits with their limits. ownCredits of these are what the earlier
// requests of an atomic batch give.
func (a *attempts) linkSources() {
	for _, r := range a.pending {
		if r.fit == nil {
			continue
		}
		for _, s := range r.fit.sources {
			if s.limit = a.limitOf(s.pair); s.limit != nil {
				s.limit.ownCredits = a.givenBefore(r, s.pair)
			}
		}
	}
}

// givenBefore returns what the pending requests before r give to a pair.
func (a *attempts) givenBefore(r *request, pair events.Pair) (given events.Amount) {
	for _, other := range a.pending[:slices.Index(a.pending, r)] {
		credits, debits := other.flow(pair)
		given = addSaturating(given, addSaturating(credits, debits.Neg()))
	}
	return given
}

// limitOf returns the limit of a pair, nil if it has none.
func (a *attempts) limitOf(pair events.Pair) *limit {
	if at := slices.IndexFunc(a.limits, func(l *limit) bool { return l.pair == pair }); at >= 0 {
		return a.limits[at]
	}
	return nil
}

// isUnguarded reports whether a pair is known to have no guard.
func (a *attempts) isUnguarded(l *limit) bool {
	cached, _ := a.ledger.credits.fresh(l.pair)
	return cached.unguarded
}

// readFunds reads what pairs have: the guards, unless a refusal returned them in this command, and then the exact
// funds. An account that may have changed since it was read is read again in between: its guard has another version, or
// there is none, which a change would have set.
func (a *attempts) readFunds(ctx context.Context, of []*limit) *Error {
	var keys lookupKeys
	for _, l := range of {
		if !l.isRead {
			keys.credits = append(keys.credits, l.pair)
		}
	}
	var changed []*limit
	if !keys.empty() {
		found, err := a.ledger.lookup(ctx, keys)
		if err != nil {
			return asError(err)
		}
		for _, l := range of {
			if !l.isRead {
				l.guard, l.isRead = found.guards[l.pair], true
				l.guard.pair = l.pair
			}
			if l.isUnsynced() {
				changed = append(changed, l)
			}
		}
	}
	if changed != nil {
		if err := a.refreshAccounts(ctx, changed); err != nil {
			return err
		}
	}
	if err := a.raiseToExact(ctx, of); err != nil {
		return asError(err)
	}
	return nil
}

// lacksSources reports whether the guards of some source of a fit are not among those that refused an attempt. Then the
// fit is decided again. If it is too little, that attempt is sent to be refused by all of them.
func lacksSources(refused []*limit) bool {
	return slices.ContainsFunc(refused, func(l *limit) bool {
		return l.source != nil && slices.ContainsFunc(l.source.fit.sources, func(s *source) bool {
			return s.limit != nil && !slices.Contains(refused, s.limit)
		})
	})
}

// debited returns the limits that the next attempt updates: not those of sources that give nothing.
func debited(limits []*limit) []*limit {
	givesNothing := func(l *limit) bool { return l.gross.IsZero() }
	if !slices.ContainsFunc(limits, givesNothing) {
		return limits
	}
	return slices.DeleteFunc(slices.Clone(limits), givesNothing)
}

// shortfall is the error of a fit whose sources together have too little. Its account is the last of them, and its
// funds are those of all together. An earlier attempt whose outcome is unknown may have had less that could be divided,
// so then that proves nothing.
func (r *request) shortfall(unknown bool) *Error {
	f := r.fit
	_, fits, _ := f.gives()
	last, requested, isLess, keeps := f.sources[len(f.sources)-1], f.Least(), fits.Cmp(f.Least()) < 0, ""
	for _, s := range f.sources {
		switch {
		case isLess && s.limit != nil && !s.limit.allowsDebit():
			return stateError(r.draft, s.limit.account)
		case s.Keep.Sign() > 0: // less than that is available
			keeps = " above what is kept"
		}
	}
	e := refuse(CodeInsufficientFunds, "The account "+last.Account+" does not have enough "+last.pair.Asset+keeps+".")
	switch {
	case !isLess:
		e.Detail = "What fits" + keeps + " cannot be divided: the shares and quantities of to need more."
		credits, _ := f.divide(fits)
		requested = events.Amount{}
		for _, leg := range credits {
			requested = addSaturating(requested, leg.Quantity)
		}
	case len(f.sources) > 1:
		within := ""
		if slices.ContainsFunc(f.sources, (*source).isBoundByRates) {
			within = " within their limits over time"
		}
		e.Detail = "The accounts of from together do not have enough " + last.pair.Asset + keeps + within + "."
	}
	has := fits
	if last.limit != nil && len(f.sources) == 1 && has.IsZero() {
		has = lesser(has, last.funds()) // it may be below zero
	}
	e.Account, e.Funds = last.Account, &Funds{Asset: last.pair.Asset, Requested: requested, Available: has}
	if !isLess && unknown {
		return unknownError(r.ID, e)
	}
	return e
}
