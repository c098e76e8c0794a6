package repair

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

// ErrCountsMore is why a balance is not rebuilt: it, or a segment of it, counts more postings than there are. Postings
// may have been deleted, and after a rebuild nothing would show it.
var ErrCountsMore = errors.New("more is counted than there is")

// Scope says what of an account is rebuilt, and how.
type Scope struct {
	Account     string
	Asset       string // this asset's balance only, and the summary; "": all
	DryRun      bool   // nothing is written
	DropMissing bool   // balances that count more than there is are rebuilt, too; else they fail with ErrCountsMore
}

// Account rebuilds an account's balances, then its summary, then, unless one asset is asked for, its memberships, its
// places in groups and the entries of its holds, and calls report for each. The assets are those of its postings,
// balances and segments; the users, those of its grants and memberships. When ctx ends, it finishes what it is at. What
// fails stops nothing else, but for the summary, which needs every balance. Error: that of ctx, or why assets or users
// cannot be listed.
func (b *Rebuilder) Account(ctx context.Context, scope Scope, report func(Report)) error {
	account, complete := scope.Account, context.WithoutCancel(ctx)
	if scope.DryRun {
		b = b.dryRun()
	}
	noting := &withHolds{Views: b.views, holds: make(map[string]bool)}
	b = b.on(noting)
	assets, strays, err := []string{scope.Asset}, []Stray(nil), error(nil)
	if scope.Asset == "" {
		assets, strays, err = b.namesIn(ctx, table.AccountKey(account).PK, table.PostingAssetAfter,
			table.BalanceAfter, table.SegmentAssetAfter)
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
			would := b.dryRun().Balance(complete, pair)
			if slices.ContainsFunc(would.Differences, func(d Difference) bool { return d.CountsMore }) {
				would.Differences, would.Err = nil, ErrCountsMore
			}
			if len(would.Differences) == 0 {
				report(would)
				continue
			}
		}
		report(b.Balance(complete, pair))
	}
	summary := b.summary(complete, account)
	summary.Strays = strays
	report(summary)
	if scope.Asset != "" {
		return nil
	}
	if err := b.memberships(ctx, complete, projections.Membership{Account: account}, report); err != nil {
		return err
	}
	if err := b.places(ctx, complete, account, report); err != nil {
		return err
	}
	return b.accountHolds(ctx, complete, account, noting.holds, report)
}

// memberships rebuilds the memberships on an account or in a group: of users with grants, and of those with a stored
// membership.
func (b *Rebuilder) memberships(
	ctx, complete context.Context, of projections.Membership, report func(Report),
) error {
	users, strays, err := b.namesIn(complete, of.Key().PK, table.GrantUserAfter, table.MembershipAfter)
	if err != nil {
		return err
	}
	if len(strays) > 0 {
		report(Report{Account: of.Account, Group: of.Group, Strays: strays})
	}
	for _, user := range users {
		if err := ctx.Err(); err != nil {
			return err
		}
		of.User = user
		report(b.Membership(complete, of))
	}
	return nil
}

// Membership makes the membership of a user on an account or in a group what the newest grant or revocation says,
// whatever is stored. One without any grant becomes a revoked one of number 0, which any grant is put over. It is
// written only if nobody wrote it since it was read. By a wrong number a projector may have taken a grant for shown
// that came after the rebuild had read the grants: so what was wrong is rebuilt once more. Errors in the report: those
// of Views; store.ErrConflict when others kept coming first.
func (b *Rebuilder) Membership(ctx context.Context, of projections.Membership) Report {
	report := Report{Account: of.Account, Group: of.Group, User: of.User}
	return rebuildShown(ctx, b, report, shown[projections.Membership]{
		key:    of.Key(),
		stored: func() (Stored[projections.Membership], error) { return b.views.StoredMembership(ctx, of) },
		newest: func() (projections.Membership, error) { return b.views.NewestGrant(ctx, of) },
		none:   of,
		put:    b.views.PutMembership,
	})
}

// shown is a projection of the newest of numbered events, and how it is read and written.
type shown[T comparable] struct {
	key    table.Key
	stored func() (Stored[T], error)
	newest func() (T, error) // what it should be. Error: also ErrAbsent, without any event
	none   T                 // what it is made without any event: of number 0
	put    func(ctx context.Context, v T, read projections.Revision) error
	behind func(found Stored[T]) bool // whether it lacks only what came moments ago; nil: it never does
}

// rebuildShown makes a projection what its newest event says, as Membership describes.
func rebuildShown[T comparable](ctx context.Context, b *Rebuilder, report Report, of shown[T]) Report {
	attempt := func() error {
		found, err := of.stored()
		if err != nil {
			return fmt.Errorf("read projection: %w", err)
		}
		v, err := of.newest()
		switch {
		case errors.Is(err, store.ErrAbsent) && !found.Exists:
			return nil
		case errors.Is(err, store.ErrAbsent):
			v = of.none
		case err != nil:
			return fmt.Errorf("read newest event: %w", err)
		}
		if found.Exists && found.Fault == nil && found.Value == v {
			return nil
		}
		d := differenceOf(of.key, found, v)
		d.Behind = of.behind != nil && of.behind(found)
		report.Differences = []Difference{d}
		if err := of.put(ctx, v, found.Revision); err != nil {
			return fmt.Errorf("write projection: %w", err)
		}
		return nil
	}
	report.Err = b.retry(ctx, attempt)
	if report.Err == nil && len(report.Differences) > 0 {
		report.Err = b.retry(ctx, attempt)
	}
	return report
}

// namesIn lists the assets, users or groups of which a partition has keys in any of these ranges, ascending; those that
// are no ids are strays.
func (b *Rebuilder) namesIn(
	ctx context.Context, partition string, ranges ...func(after string) table.Range,
) (names []string, strays []Stray, err error) {
	for _, after := range ranges {
		for name := ""; ; {
			var key table.Key
			err := b.retry(ctx, func() (err error) {
				key, err = b.views.FirstKey(ctx, partition, after(name))
				return err
			})
			if errors.Is(err, store.ErrAbsent) {
				break
			}
			if err != nil {
				return nil, nil, fmt.Errorf("list what %s has: %w", partition, err)
			}
			if name = table.FirstID(key.SK); events.ValidID(name) {
				names = append(names, name)
			} else {
				strays = append(strays, Stray{Key: key, Why: "its key holds no id"})
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), strays, nil
}
