package repair

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ledger.example/events"
	"ledger.example/internal/store"
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
		b = b.dryRun()
	}
	b = b.recordHolds()
	assets, strays, err := []string{scope.Asset}, []Stray(nil), error(nil)
	if scope.Asset == "" {
		assets, strays, err = b.namesIn(ctx, store.Account.PK(account), store.Posting.NextAfter,
			store.Balance.NextAfter, store.Segment.NextAfter)
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
			would := b.dryRun().Balance(uncanceled, pair)
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
	ctx context.Context, partition string, ranges ...func(after string) store.Range,
) (names []string, strays []Stray, err error) {
	for _, after := range ranges {
		for name := ""; ; {
			key, err := b.firstKey(ctx, partition, after(name))
			if errors.Is(err, store.ErrAbsent) {
				break
			}
			if err != nil {
				return nil, nil, fmt.Errorf("list keys of %s: %w", partition, err)
			}
			if name = store.FirstID(key.SK); events.ValidID(name) {
				names = append(names, name)
			} else {
				strays = append(strays, malformed(key))
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), strays, nil
}
