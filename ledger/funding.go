package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// quickAttempts is how many attempts are made without a backoff after refusals by stale figures.
const quickAttempts = 3

// prepare raises the limits to the cached credits, and creates the guards that are known to be missing. Those of
// sources are created when it is decided which of them give something.
func (a *attempts) prepare(ctx context.Context) *Error {
	var missing []*limit
	for _, l := range a.limits {
		if cached, ok := a.ledger.credits.fresh(l.pair); ok {
			l.raise(cached.amount)
			if cached.unguarded && l.source == nil {
				missing = append(missing, l)
			}
		}
	}
	if missing == nil {
		return nil
	}
	return a.createGuards(ctx, missing)
}

// resolveRefusals judges the refusals of an attempt, whose cancellation found no header, and reads what that needs. It
// reports whether limits are short for good, if the header is absent; if none is, another attempt may pass.
func (a *attempts) resolveRefusals(ctx context.Context, refused []*limit) (short bool, _ *Error) {
	seen := findings{partial: a.partial}
	for {
		switch judge(refused, seen) {
		case stepRetry:
			return false, nil
		case stepRetryPartial:
			a.partial++
			return false, nil
		case stepRefuse:
			a.setShort(ctx, refused)
			return true, nil
		case stepSync:
			return false, a.syncGuards(ctx, refused)
		case stepAwait:
			seen.others = true
			a.awaitOthers(ctx, refused)
		case stepExact:
			seen.exact = true
			switch err := a.raiseToExact(ctx, refused); {
			case errors.Is(err, table.ErrConflict):
				return false, nil
			case err != nil:
				return false, asError(err)
			}
		case stepAccounts:
			seen.accounts = true
			if err := a.refreshAccounts(ctx, refused); err != nil {
				return false, err
			}
		}
		for _, l := range refused {
			l.raise(a.cachedCredits(l))
		}
	}
}

// setShort notes which limits are short. It logs the accounts that are damaged.
func (a *attempts) setShort(ctx context.Context, refused []*limit) {
	for _, l := range a.limits {
		l.short = false
	}
	byRate := slices.ContainsFunc(refused, (*limit).exceedsRate)
	for _, l := range refused {
		if l.short = l.exceeds(); byRate { // funds were not read: they prove nothing
			l.short = l.exceedsRate()
		}
		if l.isDamaged() {
			a.ledger.log.ErrorContext(ctx, "account is below its limit",
				"account", l.pair.Account, "asset", l.pair.Asset, "credits", l.credits.String(),
				"spent", l.guard.spent.String(), "overdraft", l.overdraft.String(),
				"BelowLimit", 1) // BelowLimit is counted as a metric
		}
	}
}

// cachedCredits returns the cached credits of a limit's pair, zero if there are none.
func (a *attempts) cachedCredits(l *limit) events.Amount {
	cached, _ := a.ledger.credits.fresh(l.pair)
	return cached.amount
}

// awaitOthers waits for exact reads by other commands, as long as what they read covers the debits. These reads may
// have begun before the refusal, so they are no reason to refuse. But many commands that spend the same credits are
// refused at the same time, and one read is enough for all that it covers.
func (a *attempts) awaitOthers(ctx context.Context, refused []*limit) {
	for _, l := range refused {
		a.ledger.credits.awaitRead(ctx, l.pair)
		if l.raise(a.cachedCredits(l)); l.exceeds() {
			return
		}
	}
}

// syncGuards creates missing guards. Where the versions of a guard and its limit differ, it reads the account again,
// and updates the guard if it has the older version.
func (a *attempts) syncGuards(ctx context.Context, refused []*limit) *Error {
	var missing, different []*limit
	for _, l := range refused {
		switch l.guard.version {
		case 0:
			missing = append(missing, l)
		case l.account.Version:
		default:
			different = append(different, l)
		}
	}
	if missing != nil {
		if err := a.createGuards(ctx, missing); err != nil {
			return err
		}
	}
	if different == nil {
		return nil
	}
	if err := a.refreshAccounts(ctx, different); err != nil {
		return err
	}
	return a.setVersions(ctx, slices.DeleteFunc(refused, func(l *limit) bool {
		return l.guard.version == 0 || l.guard.version >= l.account.Version
	}))
}

// refreshAccounts reads the accounts of limits again.
func (a *attempts) refreshAccounts(ctx context.Context, of []*limit) *Error {
	var keys lookupKeys
	for _, l := range of {
		keys.accounts = append(keys.accounts, l.pair.Account)
	}
	found, err := a.ledger.lookup(ctx, keys)
	if err != nil {
		return asError(err)
	}
	for _, l := range a.limits {
		if now := found.account(l.pair.Account); now != nil && now.Version != l.account.Version {
			l.setAccount(*now)
		}
	}
	return nil
}

// createGuards creates guards in three steps, and each step must succeed before the next: it puts each guard without an
// account version, reads the accounts, and sets the version read on each guard. No debit passes a guard without a
// version. A change of an account is acknowledged only after a query for its guards, and an update of each. So either
// that query finds the new guard, or the account was read after the change.
func (a *attempts) createGuards(ctx context.Context, missing []*limit) *Error {
	err := inParallel(ctx, len(missing), func(ctx context.Context, i int) error {
		return a.ledger.createGuard(ctx, missing[i].pair)
	})
	if err == nil {
		err = a.refreshAccounts(ctx, missing)
	}
	if err == nil {
		err = a.setVersions(ctx, missing)
	}
	return err
}

// setVersions sets the versions of the accounts on the guards of limits.
func (a *attempts) setVersions(ctx context.Context, of []*limit) *Error {
	return inParallel(ctx, len(of), func(ctx context.Context, i int) error {
		return a.ledger.setGuardVersion(ctx, of[i].pair, of[i].account.Version)
	})
}

// raiseToExact reads the exact funds of the pairs of limits, and raises the limits to them.
func (a *attempts) raiseToExact(ctx context.Context, of []*limit) error {
	return parallel(ctx, len(of), func(ctx context.Context, i int) error {
		l := of[i]
		defer a.ledger.credits.beginRead(l.pair)()
		return retryRead(ctx, func() error {
			exact, spent, err := a.ledger.projections.Funds(ctx, l.pair.Account, l.pair.Asset)
			if err == nil {
				a.ledger.credits.raise(l.pair, exact)
				l.raise(exact)
				l.found, l.isExact = spent, true
			}
			return err
		})
	})
}

// inParallel is parallel for writes of guards. Its error is for a command that wrote no event.
func inParallel(ctx context.Context, n int, do func(ctx context.Context, i int) error) *Error {
	if err := parallel(ctx, n, do); err != nil {
		return asError(err)
	}
	return nil
}

// retryWrite makes an idempotent write, with retries also after an unknown outcome, until the deadline. Then that is
// ErrUnavailable: nothing depends on whether the write was applied.
func (l *Ledger) retryWrite(ctx context.Context, do func(context.Context) (time.Time, error)) error {
	for t := (tries{}); ; {
		err := l.call(ctx, do)
		if errors.Is(err, table.ErrUnknownOutcome) {
			t.unknown = true
			err = fmt.Errorf("%w: %w", table.ErrUnavailable, err)
		}
		if !declined(err) && !errors.Is(err, table.ErrConflict) || !t.again(ctx, err) {
			return err
		}
	}
}

// answerDryRun answers the pending requests of a dry run with what would be written if the funds suffice.
func (a *attempts) answerDryRun(c *command) error {
	commit, err := a.commit(c, a.pending)
	if err != nil {
		return a.fail(c, err)
	}
	if slices.ContainsFunc(commit.limits, func(l *limit) bool { return !l.backOnly }) {
		switch short, refused := a.areShort(c, commit); {
		case refused != nil:
			return refused
		case short:
			return a.shortfallError()
		}
	}
	if slices.ContainsFunc(a.pending, isFit) { // by what was read
		if err := a.decideFits(c); err != nil {
			return a.fail(c, err)
		}
		if commit, err = a.commit(c, a.pending); err != nil {
			return a.fail(c, err)
		}
	}
	return a.acknowledgeAll(c, commit, time.Time{})
}

// areShort reports whether limits are short by the current funds and account states. It reads the amounts spent before
// the credits, so that a debit that a commit covers is found short only while that commit is visible in part. A dry run
// promises nothing, so it does not wait for that.
func (a *attempts) areShort(ctx context.Context, c *commit) (short bool, _ *Error) {
	var keys lookupKeys
	for _, l := range a.limits {
		keys.accounts = append(keys.accounts, l.pair.Account)
		keys.credits = append(keys.credits, l.pair)
	}
	found, err := a.ledger.lookup(ctx, keys)
	if err == nil {
		err = a.raiseToExact(ctx, a.limits)
	}
	if err != nil {
		return false, asError(err)
	}
	for _, l := range a.limits {
		if now := found.account(l.pair.Account); now != nil {
			l.setAccount(*now)
		}
		l.guard, l.isRead = found.guards[l.pair], true
	}
	if err := a.decideFits(ctx); err != nil {
		return false, err
	}
	c.limits = a.limits
	a.countRates(c, c.instant(a.ledger.now()))
	byRate := slices.ContainsFunc(a.limits, (*limit).exceedsRate)
	for _, l := range a.limits {
		if l.short = l.exceeds(); byRate {
			l.short = l.exceedsRate()
		}
		short = short || l.short
	}
	return short, nil
}
