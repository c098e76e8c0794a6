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

// shortfall is a final refusal: see resolveRefusals.
type shortfall struct {
	limit *limit
	spent events.Amount // at the refusal
}

// prepare raises the limits to the cached credits, and creates the guards that are known to be missing.
func (f *funding) prepare(ctx context.Context) *Error {
	var missing []events.Pair
	for i := range f.limits {
		limit := &f.limits[i]
		cached, ok := f.ledger.credits.freshEntry(limit.pair)
		if !ok {
			continue
		}
		limit.raise(cached.amount)
		if cached.unguarded {
			missing = append(missing, limit.pair)
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
// guards and limits up to date. It returns the pairs that are short, in the order of limits; none if another attempt
// may pass.
//
// A shortfall is final once the header was read and is absent (see attempts.failUnlessStored). Then no attempt of
// this request that is still in flight can succeed either: the guard has the newest version of the account, which is
// the one compared here. Attempts with another version fail its condition. Attempts with this version had no higher
// bound, because the credits of a limit never fall during a command, and the amount spent never falls. An attempt that
// passed the guard before the refusal has a header, and the header is read after the refusal.
func (f *funding) resolveRefusals(ctx context.Context, refused []refusal) (short []shortfall, _ *Error) {
	if synced, err := f.syncGuards(ctx, refused); synced || err != nil {
		return nil, err
	}
	if f.coveredByOthers(ctx, refused) {
		return nil, nil
	}
	// The account is read after the exact credits, so that a refusal is by the newest limit.
	exact, err := f.ledger.exactFunds(ctx, refused)
	switch {
	case errors.Is(err, store.ErrConflict):
		return nil, nil
	case err != nil:
		return nil, asError(err)
	}
	accounts := make([]string, len(refused))
	for i, r := range refused {
		f.limitOf(r.pair).raise(exact[i])
		accounts[i] = r.pair.Account
	}
	if changed, err := f.refreshAccounts(ctx, accounts); changed || err != nil {
		return nil, err
	}
	for i := range f.limits {
		limit := &f.limits[i]
		at := slices.IndexFunc(refused, func(r refusal) bool { return r.pair == limit.pair })
		if at < 0 {
			continue
		}
		cached, _ := f.ledger.credits.fresh(limit.pair)
		limit.raise(cached)
		spent := refused[at].spent
		if spent.Cmp(limit.bound()) <= 0 {
			continue
		}
		if limit.allowsDebit() && limit.isBelow(spent) {
			if f.belowLimit++; f.belowLimit <= belowLimitRetries {
				return nil, nil
			}
			f.ledger.log.ErrorContext(ctx, "account is below its limit",
				"account", limit.pair.Account, "asset", limit.pair.Asset, "credits", limit.credits.String(),
				"spent", spent.String(), "overdraft", limit.overdraft.String(),
				"BelowLimit", 1) // BelowLimit is counted as a metric
		}
		short = append(short, shortfall{limit, spent})
	}
	return short, nil
}

// coveredByOthers waits for exact reads by other commands, and reports whether what they read covers the debits. These
// reads may have begun before the refusal, so they are no reason to refuse. But many commands that spend the same
// credits are refused at the same time, and one read is enough for all that it covers.
func (f *funding) coveredByOthers(ctx context.Context, refused []refusal) bool {
	for _, r := range refused {
		f.ledger.credits.awaitRead(ctx, r.pair)
		cached, _ := f.ledger.credits.fresh(r.pair)
		limit := f.limitOf(r.pair)
		if limit.raise(cached); r.spent.Cmp(limit.bound()) > 0 {
			return false
		}
	}
	return true
}

// syncGuards creates missing guards. Where the versions of a guard and its limit differ, it reads the account again,
// and updates the guard if it has the older version. synced is false if no guard was missing and no version differed.
func (f *funding) syncGuards(ctx context.Context, refused []refusal) (synced bool, _ *Error) {
	var missing []events.Pair
	var accounts []string
	for _, r := range refused {
		switch {
		case r.absent || r.version == 0:
			missing = append(missing, r.pair)
		case r.version != f.limitOf(r.pair).account.Version:
			accounts = append(accounts, r.pair.Account)
		}
	}
	if missing == nil && accounts == nil {
		return false, nil
	}
	if missing != nil {
		if err := f.createGuards(ctx, missing); err != nil {
			return true, err
		}
	}
	if accounts == nil {
		return true, nil
	}
	if _, err := f.refreshAccounts(ctx, accounts); err != nil {
		return true, err
	}
	return true, inParallel(ctx, len(refused), func(ctx context.Context, i int) error {
		r := refused[i]
		if version := f.limitOf(r.pair).account.Version; 0 < r.version && r.version < version {
			return f.ledger.setGuardVersion(ctx, r.pair, version)
		}
		return nil
	})
}

// refreshAccounts reads accounts again, and reports whether any of them changed.
func (f *funding) refreshAccounts(ctx context.Context, ids []string) (changed bool, _ *Error) {
	found, err := f.ledger.lookup(ctx, lookupKeys{accounts: ids})
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
func (f *funding) createGuards(ctx context.Context, pairs []events.Pair) *Error {
	err := inParallel(ctx, len(pairs), func(ctx context.Context, i int) error {
		return f.ledger.createGuard(ctx, pairs[i])
	})
	if err != nil {
		return err
	}
	accounts := make([]string, len(pairs))
	for i, pair := range pairs {
		accounts[i] = pair.Account
	}
	if _, err := f.refreshAccounts(ctx, accounts); err != nil {
		return err
	}
	return inParallel(ctx, len(pairs), func(ctx context.Context, i int) error {
		return f.ledger.setGuardVersion(ctx, pairs[i], f.limitOf(pairs[i]).account.Version)
	})
}

// exactFunds reads the exact funds of the refused pairs.
func (l *Ledger) exactFunds(ctx context.Context, refused []refusal) ([]events.Amount, error) {
	exact := make([]events.Amount, len(refused))
	return exact, parallel(ctx, len(refused), func(ctx context.Context, i int) error {
		r := refused[i]
		defer l.credits.beginRead(r.pair)()
		return retryRead(ctx, func() error {
			funds, err := l.projections.Funds(ctx, r.pair.Account, r.pair.Asset)
			if err == nil {
				l.credits.raise(r.pair, funds)
				exact[i] = funds
			}
			return err
		})
	})
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
