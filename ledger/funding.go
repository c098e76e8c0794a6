package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ledger.example/events"
	"ledger.example/internal/store"
)

const (
	// belowLimitRetries is how often a transaction is retried because an account is already below its limit by exact
	// credits. No debit can cause that, so a credit is still being committed, item by item.
	belowLimitRetries = 5
	// quickAttempts is how many attempts are made without a backoff after refusals by stale figures.
	quickAttempts = 3
)

// funding is what a command knows about the limited pairs that it debits.
type funding struct {
	ledger     *Ledger
	limits     []limit
	belowLimit int // see belowLimitRetries
}

// prepare raises the limits to the cached credits, and creates the guards that are known to be missing.
func (f *funding) prepare(ctx context.Context) *Error {
	var missing []guard
	for i := range f.limits {
		limit := &f.limits[i]
		cached, ok := f.ledger.credits.freshEntry(limit.pair)
		if !ok {
			continue
		}
		limit.raise(cached.amount)
		if cached.unguarded {
			missing = append(missing, guard{pair: limit.pair})
		}
	}
	if missing == nil {
		return nil
	}
	return f.createGuards(ctx, missing)
}

// limitOf returns the limit of a pair.
func (f *funding) limitOf(p events.Pair) *limit {
	i := slices.IndexFunc(f.limits, func(l limit) bool { return l.pair == p })
	return &f.limits[i]
}

// resolveRefusals decides what guards mean that refused an attempt, whose cancellation found no header. It brings
// guards and limits up to date. It reports whether limits are short; if none is, another attempt may pass.
//
// A shortfall is final once the header was read and is absent (see attempts.failUnlessStored). Then no attempt of
// this request that is still in flight can succeed either: the guard has the newest version of the account, which is
// the one compared here. Attempts with another version fail its condition. Attempts with this version had no higher
// bound, because the credits of a limit never fall during a command, and the amount spent never falls. An attempt that
// passed the guard before the refusal has a header, and the header is read after the refusal.
func (f *funding) resolveRefusals(ctx context.Context, refused []guard) (short bool, _ *Error) {
	if synced, err := f.syncGuards(ctx, refused); synced || err != nil {
		return false, err
	}
	if f.coveredByOthers(ctx, refused) {
		return false, nil
	}
	// The account is read after the exact credits, so that a refusal is by the newest limit.
	switch err := f.raiseToExact(ctx, refused); {
	case errors.Is(err, store.ErrConflict):
		return false, nil
	case err != nil:
		return false, asError(err)
	}
	if changed, err := f.refreshAccounts(ctx, refused); changed || err != nil {
		return false, err
	}
	for i := range f.limits {
		f.limits[i].short = false
	}
	for _, g := range refused {
		limit := f.limitOf(g.pair)
		cached, _ := f.ledger.credits.fresh(g.pair)
		if limit.raise(cached); !limit.judge(g.spent) {
			continue
		}
		if limit.allowsDebit() && limit.isBelow(g.spent) {
			if f.belowLimit++; f.belowLimit <= belowLimitRetries {
				return false, nil
			}
			f.ledger.log.ErrorContext(ctx, "account is below its limit",
				"account", limit.pair.Account, "asset", limit.pair.Asset, "credits", limit.credits.String(),
				"spent", g.spent.String(), "overdraft", limit.overdraft.String(),
				"BelowLimit", 1) // BelowLimit is counted as a metric
		}
		short = true
	}
	return short, nil
}

// coveredByOthers waits for exact reads by other commands, and reports whether what they read covers the debits. These
// reads may have begun before the refusal, so they are no reason to refuse. But many commands that spend the same
// credits are refused at the same time, and one read is enough for all that it covers.
func (f *funding) coveredByOthers(ctx context.Context, refused []guard) bool {
	for _, g := range refused {
		f.ledger.credits.awaitRead(ctx, g.pair)
		cached, _ := f.ledger.credits.fresh(g.pair)
		limit := f.limitOf(g.pair)
		if limit.raise(cached); g.spent.Cmp(limit.bound()) > 0 {
			return false
		}
	}
	return true
}

// syncGuards creates missing guards. Where the versions of a guard and its limit differ, it reads the account again,
// and updates the guard if it has the older version. synced is false if no guard was missing and no version differed.
func (f *funding) syncGuards(ctx context.Context, refused []guard) (synced bool, _ *Error) {
	var missing, different []guard
	for _, g := range refused {
		switch g.version {
		case 0:
			missing = append(missing, g)
		case f.limitOf(g.pair).account.Version:
		default:
			different = append(different, g)
		}
	}
	if missing != nil {
		if err := f.createGuards(ctx, missing); err != nil {
			return true, err
		}
	}
	if different == nil {
		return missing != nil, nil
	}
	if _, err := f.refreshAccounts(ctx, different); err != nil {
		return true, err
	}
	return true, f.setVersions(ctx, slices.DeleteFunc(refused, func(g guard) bool {
		return g.version == 0 || g.version >= f.limitOf(g.pair).account.Version
	}))
}

// refreshAccounts reads the accounts of guards again, and reports whether any of them changed.
func (f *funding) refreshAccounts(ctx context.Context, of []guard) (changed bool, _ *Error) {
	var keys lookupKeys
	for _, g := range of {
		keys.accounts = append(keys.accounts, g.pair.Account)
	}
	found, err := f.ledger.lookup(ctx, keys)
	if err != nil {
		return false, asError(err)
	}
	for i := range f.limits {
		limit := &f.limits[i]
		if now := found.account(limit.pair.Account); now != nil && now.Version != limit.account.Version {
			limit.setAccount(now)
			changed = true
		}
	}
	return changed, nil
}

// createGuards creates guards in three steps, and each step must succeed before the next: it puts each guard without an
// account version, reads the accounts, and sets the version read on each guard. No debit passes a guard without a
// version. A change of an account is acknowledged only after a query for its guards, and an update of each. So either
// that query finds the new guard, or the account was read after the change.
func (f *funding) createGuards(ctx context.Context, missing []guard) *Error {
	err := inParallel(ctx, len(missing), func(ctx context.Context, i int) error {
		return f.ledger.createGuard(ctx, missing[i].pair)
	})
	if err == nil {
		_, err = f.refreshAccounts(ctx, missing)
	}
	if err == nil {
		err = f.setVersions(ctx, missing)
	}
	return err
}

// setVersions sets the versions of the accounts on guards.
func (f *funding) setVersions(ctx context.Context, of []guard) *Error {
	return inParallel(ctx, len(of), func(ctx context.Context, i int) error {
		return f.ledger.setGuardVersion(ctx, of[i].pair, f.limitOf(of[i].pair).account.Version)
	})
}

// raiseToExact reads the exact funds of guards, and raises the limits to them.
func (f *funding) raiseToExact(ctx context.Context, of []guard) error {
	exact := make([]events.Amount, len(of))
	err := parallel(ctx, len(of), func(ctx context.Context, i int) error {
		p := of[i].pair
		defer f.ledger.credits.beginRead(p)()
		return retryRead(ctx, func() (err error) {
			if exact[i], err = f.ledger.projections.Funds(ctx, p.Account, p.Asset); err == nil {
				f.ledger.credits.raise(p, exact[i])
			}
			return err
		})
	})
	for i := 0; err == nil && i < len(of); i++ {
		f.limitOf(of[i].pair).raise(exact[i])
	}
	return err
}

// inParallel is parallel for writes of guards. Its error is for a command that wrote no event.
func inParallel(ctx context.Context, n int, do func(ctx context.Context, i int) error) *Error {
	switch err := parallel(ctx, n, do); {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrUnknownOutcome): // the write is idempotent
		return asError(fmt.Errorf("%w: %w", store.ErrUnavailable, err))
	default:
		return asError(err)
	}
}

// retryWrite makes an idempotent write, with retries also after an unknown outcome, until the deadline.
func (l *Ledger) retryWrite(ctx context.Context, do func(context.Context) error) error {
	for t := (tries{}); ; {
		err := l.callUntimed(ctx, do)
		again := declined(err) || errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrUnknownOutcome)
		if !again || !t.again(ctx, err) {
			return err
		}
	}
}
