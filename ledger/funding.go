package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"ledger.example/events"
	"ledger.example/internal/store"
)

const (
	// belowLimitRetries is how often a transaction is retried because credits, read exactly, say that an account is
	// below its limit already. No debit can have done that: a credit is still being committed, item by item.
	belowLimitRetries = 5
	// quickAttempts is how many attempts follow each other at once when a refusal taught what the next one needs.
	quickAttempts = 3
)

// funding is what a command knows of the pairs that it debits.
type funding struct {
	limits     []limit
	belowLimit int // see belowLimitRetries
}

// shortfall is a refusal that is final: see refused.
type shortfall struct {
	limit *limit
	spent events.Amount // what had been spent at the refusal
}

// prepare takes in what the process knows of credits, and makes the guards that it knows to be missing.
func (f *funding) prepare(ctx context.Context, l *Ledger) *Error {
	var missing []events.Pair
	for i := range f.limits {
		limit := &f.limits[i]
		known, ok := l.credits.entry(limit.pair)
		if !ok {
			continue
		}
		limit.raise(known.known)
		if known.unguarded {
			missing = append(missing, limit.pair)
		}
	}
	if missing == nil {
		return nil
	}
	return f.makeGuards(ctx, l, missing)
}

// debits returns the updates of all guards.
func (f *funding) debits() []Debit {
	if len(f.limits) == 0 {
		return nil
	}
	debits := make([]Debit, len(f.limits))
	for i := range f.limits {
		debits[i] = f.limits[i].debit()
	}
	return debits
}

// of returns the limit of a pair.
func (f *funding) of(p events.Pair) *limit {
	i := slices.IndexFunc(f.limits, func(l limit) bool { return l.pair == p })
	return &f.limits[i]
}

// refused learns from guards that refused an attempt, whose cancellation found no header. It returns the pairs that are
// short, in the order of limits; none and no error when another attempt may pass.
//
// A shortfall is final, once the header was read and is absent (see posting.failUnlessThere), also for attempts of this
// request that are still in progress somewhere. The guard had been told of the version of the account that is compared
// here, which is the newest. Attempts with another version cannot pass it any more. Those with this one had no higher
// bound than the one compared here, as the credits that a limit knows never fall, and what was spent never falls. An
// attempt that had passed the guard before has a header, which is read after the refusal.
func (f *funding) refused(ctx context.Context, l *Ledger, refused []Refusal) (short []shortfall, _ *Error) {
	if unprepared, err := f.catchUp(ctx, l, refused); unprepared || err != nil {
		return nil, err
	}
	// First the exact credits and then the account: what is said by a limit is said by the newest.
	exact, err := l.exactFunds(ctx, refused)
	switch {
	case errors.Is(err, store.ErrConflict):
		return nil, nil
	case err != nil:
		return nil, storeError(err)
	}
	accounts := make([]string, len(refused))
	for i, r := range refused {
		f.of(r.Pair).raise(exact[i])
		accounts[i] = r.Pair.Account
	}
	if changed, err := f.renew(ctx, l, accounts); changed || err != nil {
		return nil, err
	}
	for i := range f.limits {
		limit := &f.limits[i]
		at := slices.IndexFunc(refused, func(r Refusal) bool { return r.Pair == limit.pair })
		if at < 0 {
			continue
		}
		known, _ := l.credits.of(limit.pair)
		limit.raise(known)
		spent := refused[at].Spent
		if spent.Cmp(limit.bound()) <= 0 {
			continue
		}
		if limit.isOpen() && limit.isBelow(spent) {
			if f.belowLimit++; f.belowLimit <= belowLimitRetries {
				return nil, nil
			}
			l.log.ErrorContext(ctx, "account is below its limit",
				"account", limit.pair.Account, "asset", limit.pair.Asset, "credits", limit.known.String(),
				"spent", spent.String(), "overdraft", limit.overdraft.String(),
				"BelowLimit", 1) // BelowLimit is counted as a metric
		}
		short = append(short, shortfall{limit, spent})
	}
	return short, nil
}

// catchUp makes the guards that are missing, reads anew the accounts of which a guard knows a newer version, and tells
// the guards that know an older one. unprepared is false when there was nothing to do.
func (f *funding) catchUp(ctx context.Context, l *Ledger, refused []Refusal) (unprepared bool, _ *Error) {
	var missing []events.Pair
	var accounts []string
	for _, r := range refused {
		switch {
		case r.Absent || r.Change == 0:
			missing = append(missing, r.Pair)
		case r.Change != f.of(r.Pair).account.Version:
			accounts = append(accounts, r.Pair.Account)
		}
	}
	if missing == nil && accounts == nil {
		return false, nil
	}
	if missing != nil {
		if err := f.makeGuards(ctx, l, missing); err != nil {
			return true, err
		}
	}
	if accounts == nil {
		return true, nil
	}
	if _, err := f.renew(ctx, l, accounts); err != nil {
		return true, err
	}
	return true, l.each(ctx, len(refused), func(ctx context.Context, i int) error {
		r := refused[i]
		if version := f.of(r.Pair).account.Version; 0 < r.Change && r.Change < version {
			return l.tellGuard(ctx, r.Pair, version)
		}
		return nil
	})
}

// renew reads accounts anew, and reports whether any of them changed.
func (f *funding) renew(ctx context.Context, l *Ledger, ids []string) (changed bool, _ *Error) {
	found, err := l.lookup(ctx, LookupKeys{Accounts: ids})
	if err != nil {
		return false, asError(err)
	}
	for i := range f.limits {
		limit := &f.limits[i]
		if now, ok := found.Accounts[limit.pair.Account]; ok && now.Version != limit.account.Version {
			limit.adopt(&now)
			changed = true
		}
	}
	return changed, nil
}

// makeGuards makes guards in three steps, none of which is believed unless it was answered: each is put without the
// number of a change, then the accounts are read, and then each is told of the version that was read. Nothing passes a
// guard without a number. A change of an account is acknowledged after its guards were found by a query and told. So it
// finds the guard, or the guard was put after the change was there to be read.
func (f *funding) makeGuards(ctx context.Context, l *Ledger, pairs []events.Pair) *Error {
	err := l.each(ctx, len(pairs), func(ctx context.Context, i int) error {
		return l.settle(ctx, func(ctx context.Context) error { return l.journal.MakeGuard(ctx, pairs[i]) })
	})
	if err != nil {
		return err
	}
	accounts := make([]string, len(pairs))
	for i, pair := range pairs {
		accounts[i] = pair.Account
	}
	if _, err := f.renew(ctx, l, accounts); err != nil {
		return err
	}
	return l.each(ctx, len(pairs), func(ctx context.Context, i int) error {
		return l.tellGuard(ctx, pairs[i], f.of(pairs[i]).account.Version)
	})
}

// tellGuard tells a guard of its account's version, and notes that it is there.
func (l *Ledger) tellGuard(ctx context.Context, pair events.Pair, version int64) error {
	err := l.settle(ctx, func(ctx context.Context) error { return l.journal.TellGuard(ctx, pair, version) })
	if err == nil {
		l.credits.guarded(pair)
	}
	return err
}

// exactFunds reads exactly what refused pairs ever received.
func (l *Ledger) exactFunds(ctx context.Context, refused []Refusal) ([]events.Amount, error) {
	exact := make([]events.Amount, len(refused))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxRequests)
	for i, r := range refused {
		group.Go(func() error {
			return retryRead(ctx, func() error {
				funds, err := l.projections.Funds(ctx, r.Pair.Account, r.Pair.Asset)
				if err == nil {
					l.credits.raise(r.Pair, funds)
					exact[i] = funds
				}
				return err
			})
		})
	}
	return exact, group.Wait()
}

// each does n things, some at a time. The error is that of a command that wrote no event.
func (l *Ledger) each(ctx context.Context, n int, do func(ctx context.Context, i int) error) *Error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxRequests)
	for i := range n {
		group.Go(func() error { return do(ctx, i) })
	}
	switch err := group.Wait(); {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrUnknownOutcome): // of a write that may be made again
		return storeError(fmt.Errorf("%w: %w", store.ErrUnavailable, err))
	default:
		return storeError(err)
	}
}

// settle makes a request whose repetition changes nothing, until it is answered or the time is up.
func (l *Ledger) settle(ctx context.Context, do func(context.Context) error) error {
	declines := 0
	for failed := 1; ; failed++ {
		err := l.callUntimed(ctx, do)
		switch {
		case declined(err):
			declines++
		case errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrUnknownOutcome):
		default:
			return err
		}
		if declines == maxDeclines || !pause(ctx, failed) {
			return err
		}
	}
}
