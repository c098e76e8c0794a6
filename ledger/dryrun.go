package ledger

import (
	"context"
	"time"
)

// answerDryRun answers the pending requests of a dry run with what would be written if the funds suffice.
func (a *attempts) answerDryRun(c *command) error {
	commit, _, err := a.commit(c, a.pending)
	if err != nil {
		return a.fail(c, err)
	}
	if len(commit.limits) > 0 {
		switch short, refused := a.areShort(c); {
		case refused != nil:
			return refused
		case short:
			return a.shortfallError()
		}
	}
	return a.acknowledgeAll(c, commit, time.Time{})
}

// areShort reports whether limits are short by the current funds and account states. It reads the amounts spent before
// the credits, so that a covered debit is never found short.
func (f *funding) areShort(ctx context.Context) (short bool, _ *Error) {
	var keys lookupKeys
	guards := make([]guard, len(f.limits))
	for i, limit := range f.limits {
		keys.accounts = append(keys.accounts, limit.pair.Account)
		keys.credits = append(keys.credits, limit.pair)
		guards[i].pair = limit.pair
	}
	found, err := f.ledger.lookup(ctx, keys)
	if err == nil {
		err = f.raiseToExact(ctx, guards)
	}
	if err != nil {
		return false, asError(err)
	}
	for i := range f.limits {
		limit := &f.limits[i]
		if now := found.account(limit.pair.Account); now != nil {
			limit.setAccount(now)
		}
		short = limit.judge(found.guards[limit.pair].spent) || short
	}
	return short, nil
}
