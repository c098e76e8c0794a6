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
		short, refused := a.shortfalls(c)
		switch {
		case refused != nil:
			return refused
		case len(short) > 0:
			return a.shortfallError(short)
		}
	}
	return a.acknowledgeAll(c, commit, time.Time{})
}

// shortfalls reads the current funds and account states, and returns the pairs that are short. It reads the amounts
// spent before the credits, so that a covered debit is never found short.
func (f *funding) shortfalls(ctx context.Context) (short []shortfall, _ *Error) {
	var keys lookupKeys
	refused := make([]refusal, len(f.limits))
	for i, limit := range f.limits {
		keys.accounts = append(keys.accounts, limit.pair.Account)
		keys.credits = append(keys.credits, limit.pair)
		refused[i].pair = limit.pair
	}
	found, err := f.ledger.lookup(ctx, keys)
	if err != nil {
		return nil, asError(err)
	}
	exact, err := f.ledger.exactFunds(ctx, refused)
	if err != nil {
		return nil, asError(err)
	}
	for i := range f.limits {
		limit := &f.limits[i]
		if now := found.account(limit.pair.Account); now != nil {
			limit.setAccount(now)
		}
		limit.raise(exact[i])
		if spent := found.guards[limit.pair].spent; spent.Cmp(limit.bound()) > 0 {
			short = append(short, shortfall{limit, spent})
		}
	}
	return short, nil
}
