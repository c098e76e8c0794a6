package repair

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ledger.example/internal/store"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

// recountAssets is up to how many assets CountSummary counts an account's summary anew: some requests for each, which
// must end within a function's time.
const recountAssets = 500

// errUnreadableBalance is of a balance that cannot be counted in a summary.
var errUnreadableBalance = errors.New("unreadable balance")

// summary counts an account's summary anew from its stored balances, whatever is stored. Whenever a balance's part of
// the summary changes, both are written together. So at one version of the summary, at which all balances are read,
// they add up to it.
func (b *Rebuilder) summary(ctx context.Context, account string) Report {
	report := Report{Account: account}
	report.Err = b.retry(ctx, func() error {
		found, err := b.storedSummary(ctx, account)
		if err != nil {
			return err
		}
		s, err := b.countSummary(ctx, found, "")
		if err != nil || found.Fault == nil && found.Value == s {
			return err
		}
		report.Differences = []Difference{differenceOf(table.SummaryKey(account), found, s)}
		if err := b.views.WriteSummary(ctx, s, found.Revision); err != nil {
			return fmt.Errorf("write summary: %w", err)
		}
		return nil
	})
	return report
}

// countSummary counts an account's summary from its balances, all but that of one asset ("": all), at the version of
// the stored summary. It takes some requests for each asset of postings and of balances: a balance that a transaction
// under way makes may not be visible yet, but its postings are. Errors: errUnreadableBalance; those of Views;
// store.ErrConflict when the summary went on.
func (b *Rebuilder) countSummary(
	ctx context.Context, stored Stored[projections.Summary], except string,
) (projections.Summary, error) {
	s := projections.Summary{Account: stored.Value.Account, Version: stored.Value.Version}
	assets, _, err := b.namesIn(ctx, table.AccountKey(s.Account).PK, table.PostingAssetAfter, table.BalanceAfter)
	if err != nil {
		return s, err
	}
	for some := range slices.Chunk(assets, SnapshotItems) {
		now, balances, _, err := b.views.SnapshotAccount(ctx, s.Account, some)
		if err != nil {
			return s, fmt.Errorf("read summary and balances: %w", err)
		}
		if now.Revision != stored.Revision {
			return s, fmt.Errorf("summary went on from %q to %q: %w", stored.Revision, now.Revision, store.ErrConflict)
		}
		for _, found := range balances {
			switch balance := found.Value; {
			case balance.Asset == except:
			case found.Fault != nil:
				return s, fmt.Errorf("%w of %s: %w", errUnreadableBalance, balance.Asset, found.Fault)
			default:
				s = s.With(projections.Balance{}, balance)
			}
		}
	}
	return s, nil
}

// CountSummary implements projections.Repairer: it counts the summary from all other balances and the one that c makes.
// Where it cannot, or only at length, c moves the stored summary by the difference, and the log says that the account
// is to be rebuilt.
func (b *Rebuilder) CountSummary(ctx context.Context, c *projections.Change) error {
	found, err := b.storedSummary(ctx, c.Balance.Account)
	if err != nil {
		return err
	}
	s, err := found.Value, errUnreadableBalance
	if s.Assets <= recountAssets {
		s, err = b.countSummary(ctx, found, c.Balance.Asset)
	}
	switch {
	case errors.Is(err, errUnreadableBalance):
		b.log.WarnContext(ctx, "summary was not counted anew: rebuild the account", "account", s.Account)
		s = found.Value
	case err != nil:
		return err
	}
	s = s.With(projections.Balance{}, c.Balance)
	c.Summary, c.SummaryRevision = &s, &found.Revision
	return nil
}

// storedSummary reads an account's summary as it was found, but with a version that a write can count on from.
func (b *Rebuilder) storedSummary(ctx context.Context, account string) (Stored[projections.Summary], error) {
	found, _, at, err := b.views.SnapshotAccount(ctx, account, nil)
	if err != nil {
		return found, fmt.Errorf("read summary: %w", err)
	}
	if found.Value.Version == 0 {
		found.Value.Version = projections.FirstVersion(at)
	}
	return found, nil
}
