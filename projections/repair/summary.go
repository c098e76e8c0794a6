package repair

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ledger.example/internal/store"
	"ledger.example/projections"
)

// recountAssets is the maximum number of assets for which CountSummary recomputes the summary. Each takes a few
// requests, and all must finish within the time limit of a Lambda function.
const recountAssets = 500

// errMalformedBalance is returned for a balance that cannot be counted in a summary.
var errMalformedBalance = errors.New("malformed balance")

// summary recomputes an account's summary from its stored balances. A balance whose contribution changes is always
// written together with the summary. So if all balances are read at one version of the summary, they must add up to it.
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
		report.Differences = []Difference{differenceOf(store.Summary.Key(account), found, s)}
		s.Version++
		if _, err := b.table.Write(ctx, projections.SummaryForm.Replace(s, found.Revision)); err != nil {
			return fmt.Errorf("write summary: %w", err)
		}
		return nil
	})
	return report
}

// countSummary computes an account's summary from its balances at the version of the stored summary. It leaves out the
// balance of the asset except ("": none). It makes a few requests for each asset. It finds assets also through
// postings: a balance that is being created may not be visible yet. Errors: errMalformedBalance; those of store.Table;
// store.ErrConflict if the summary changed.
func (b *Rebuilder) countSummary(
	ctx context.Context, stored Stored[projections.Summary], except string,
) (projections.Summary, error) {
	s := projections.Summary{Account: stored.Value.Account, Version: stored.Value.Version}
	assets, _, err := b.namesIn(ctx, store.Account.PK(s.Account), store.Posting.NextAfter, store.Balance.NextAfter)
	if err != nil {
		return s, err
	}
	for some := range slices.Chunk(assets, snapshotItems) {
		now, balances, _, err := b.snapshotAccount(ctx, s.Account, some)
		if err != nil {
			return s, fmt.Errorf("read summary and balances: %w", err)
		}
		if now.Revision != stored.Revision {
			return s, fmt.Errorf("summary changed from %q to %q: %w", stored.Revision, now.Revision, store.ErrConflict)
		}
		for _, found := range balances {
			switch balance := found.Value; {
			case balance.Asset == except:
			case found.Fault != nil:
				return s, fmt.Errorf("%w of %s: %w", errMalformedBalance, balance.Asset, found.Fault)
			default:
				s = s.With(projections.Balance{}, balance)
			}
		}
	}
	return s, nil
}

// CountSummary implements projections.Repairer. It computes the summary from the balance of c and all other balances.
// If one of them is malformed, or if there are too many, it adds c's balance to the stored summary instead, and logs
// that the account needs a rebuild.
func (b *Rebuilder) CountSummary(ctx context.Context, c *projections.Change) error {
	found, err := b.storedSummary(ctx, c.Balance.Account)
	if err != nil {
		return err
	}
	s, err := found.Value, errMalformedBalance
	if s.Assets <= recountAssets {
		s, err = b.countSummary(ctx, found, c.Balance.Asset)
	}
	switch {
	case errors.Is(err, errMalformedBalance):
		b.log.WarnContext(ctx, "summary was not recomputed: rebuild the account", "account", s.Account)
		s = found.Value
	case err != nil:
		return err
	}
	s = s.With(projections.Balance{}, c.Balance)
	c.Summary, c.SummaryRevision = &s, &found.Revision
	return nil
}

// storedSummary reads an account's stored summary. If its version is not usable, it gets one from FirstVersion.
func (b *Rebuilder) storedSummary(ctx context.Context, account string) (Stored[projections.Summary], error) {
	found, _, at, err := b.snapshotAccount(ctx, account, nil)
	if err != nil {
		return found, fmt.Errorf("read summary: %w", err)
	}
	if found.Value.Version == 0 {
		found.Value.Version = projections.FirstVersion(at)
	}
	return found, nil
}
