package rebuild

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

// ErrCountsMore is returned for a balance that counts more postings than exist, or has a segment that does. Postings
// may have been deleted. The balance is not rebuilt, since a rebuild would hide that.
var ErrCountsMore = errors.New("more postings are counted than exist")

// Scope says which part of an account is rebuilt, and how.
type Scope struct {
	Account     string
	Asset       string // only this asset's balance, and the summary; "": everything
	DryRun      bool   // write nothing
	DropMissing bool   // also rebuild balances that would fail with ErrCountsMore
}

// Account rebuilds an account and calls report for each projection: first the balances, then the summary. If
// scope.Asset is "", it also rebuilds the account's items of all views. It finds assets through postings, balances and
// segments. When ctx ends, it finishes the current projection. A projection that fails does not stop the others, but
// the summary needs every balance. Error: that of ctx, or of listing keys.
func (b *Rebuilder) Account(ctx context.Context, scope Scope, report func(Report)) error {
	account, uncanceled := scope.Account, context.WithoutCancel(ctx)
	if scope.DryRun {
		b = b.DryRun()
	}
	b = b.recordHolds()
	assets, strays, err := []string{scope.Asset}, []Stray(nil), error(nil)
	if scope.Asset == "" {
		assets, strays, err = b.namesIn(ctx, table.Account.PK(account), table.Posting.NextAfter,
			table.Balance.NextAfter, table.Segment.NextAfter)
		if err != nil {
			return err
		}
	}
	for _, asset := range assets {
		if err := ctx.Err(); err != nil {
			return err
		}
		pair := events.Pair{Account: account, Asset: asset}
		if !scope.DryRun && !scope.DropMissing {
			would := b.DryRun().Balance(uncanceled, pair)
			if slices.ContainsFunc(would.Differences, func(d Difference) bool { return d.CountsMore }) {
				would.Differences, would.Err = nil, ErrCountsMore
			}
			if len(would.Differences) == 0 {
				report(would)
				continue
			}
		}
		report(b.Balance(uncanceled, pair))
	}
	summary := b.summary(uncanceled, account)
	summary.Strays = strays
	report(summary)
	if scope.Asset != "" {
		return nil
	}
	return b.allViews(ctx, uncanceled, projections.Target{Account: account}, scope.DropMissing, report)
}

// namesIn lists the assets that the keys of a partition name within these ranges, ascending. Keys with malformed ids
// are strays.
func (b *Rebuilder) namesIn(
	ctx context.Context, partition string, ranges ...func(after string) table.Range,
) (names []string, strays []Stray, err error) {
	for _, after := range ranges {
		for name := ""; ; {
			key, err := b.firstKey(ctx, partition, after(name))
			if errors.Is(err, table.ErrAbsent) {
				break
			}
			if err != nil {
				return nil, nil, fmt.Errorf("list keys of %s: %w", partition, err)
			}
			if name = table.FirstID(key.SK); events.ValidID(name) {
				names = append(names, name)
			} else {
				strays = append(strays, malformed(key))
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), strays, nil
}

// errMalformedBalance is returned for a balance that cannot be counted in a summary.
var errMalformedBalance = errors.New("malformed balance")

// summary recomputes an account's summary from its stored balances. A balance whose contribution changes is always
// written together with the summary. So if all balances are read at one version of the summary, they must add up to it.
func (b *Rebuilder) summary(ctx context.Context, account string) Report {
	report := Report{Target: projections.Target{Account: account}}
	report.Err = b.Retry(ctx, func() error {
		found, err := b.storedSummary(ctx, account)
		if err != nil {
			return err
		}
		s, err := b.countSummary(ctx, found, "")
		if err != nil || found.Fault == nil && found.Value == s {
			return err
		}
		report.Differences = []Difference{differenceOf(table.Summary.Key(account), found, s)}
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
// postings: a balance that is being created may not be visible yet. Errors: errMalformedBalance; those of table.Table;
// table.ErrConflict if the summary changed.
func (b *Rebuilder) countSummary(
	ctx context.Context, stored Stored[projections.Summary], except string,
) (projections.Summary, error) {
	s := projections.Summary{Account: stored.Value.Account, Version: stored.Value.Version}
	assets, _, err := b.namesIn(ctx, table.Account.PK(s.Account), table.Posting.NextAfter, table.Balance.NextAfter)
	if err != nil {
		return s, err
	}
	for some := range slices.Chunk(assets, snapshotItems) {
		now, balances, _, err := b.summaryAnd(ctx, s.Account, some...)
		if err != nil {
			return s, fmt.Errorf("read summary and balances: %w", err)
		}
		if now.Revision != stored.Revision {
			return s, fmt.Errorf("summary changed: %w", table.ErrConflict)
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
// If one of them is malformed, or if there are more than projections.CountedAssets, it adds c's balance to the stored
// summary instead, and logs that the account needs a rebuild.
func (b *Rebuilder) CountSummary(ctx context.Context, c *projections.Change) error {
	found, err := b.storedSummary(ctx, c.Balance.Account)
	if err != nil {
		return err
	}
	s, err := found.Value, errMalformedBalance
	if s.Assets <= projections.CountedAssets {
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
	found, _, at, err := b.summaryAnd(ctx, account)
	if err != nil {
		return found, fmt.Errorf("read summary: %w", err)
	}
	if found.Value.Version == 0 {
		found.Value.Version = projections.FirstVersion(at)
	}
	return found, nil
}

// Group rebuilds the items of a group in all views, and calls report for each. Errors: those of Account.
func (b *Rebuilder) Group(ctx context.Context, group string, dry bool, report func(Report)) error {
	if dry {
		b = b.DryRun()
	}
	return b.allViews(ctx, context.WithoutCancel(ctx), projections.Target{Group: group}, false, report)
}
