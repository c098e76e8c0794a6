package repair

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ledger.example/internal/store"
	"ledger.example/projections"
)

// places rebuilds the places of an account in groups, for each group that its changes name or that has a stored place.
func (b *Rebuilder) places(ctx, uncanceled context.Context, account string, report func(Report)) error {
	groups, strays, err := b.namesIn(uncanceled, store.Account.PK(account), store.Grouped.NextAfter)
	if err != nil {
		return err
	}
	var named []projections.GroupedAccount
	err = b.retry(uncanceled, func() (err error) {
		named, err = b.views.GroupedSince(uncanceled, account, 1)
		return err
	})
	if err != nil && !errors.Is(err, store.ErrAbsent) {
		report(Report{Account: account, Strays: strays, Err: fmt.Errorf("read groups: %w", err)})
		return nil
	}
	if len(strays) > 0 {
		report(Report{Account: account, Strays: strays})
	}
	for _, g := range named {
		groups = append(groups, g.Group)
	}
	slices.Sort(groups)
	for _, group := range slices.Compact(groups) {
		if err := ctx.Err(); err != nil {
			return err
		}
		report(b.Grouped(uncanceled, account, group))
	}
	return nil
}

// Grouped rebuilds account's place in group from its newest change of groups, as Membership does from grants. A place
// that no change names becomes one outside the group, with number 0.
func (b *Rebuilder) Grouped(ctx context.Context, account, group string) Report {
	none := projections.GroupedAccount{Account: account, Group: group, Out: true}
	return rebuildNewest(ctx, b, Report{Account: account, Group: group}, newestOf[projections.GroupedAccount]{
		key: store.Grouped.Key(account, group), none: none, put: projections.GroupedForm.Replace,
		stored: func() (Stored[projections.GroupedAccount], error) {
			return readStored(ctx, b.table, store.Grouped.Key(account, group), projections.GroupedForm,
				func(g *projections.GroupedAccount) { g.Account, g.Group = account, group })
		},
		number: func(g projections.GroupedAccount) int64 { return g.Number },
		newest: func() (projections.GroupedAccount, time.Time, error) {
			named, err := b.views.GroupedSince(ctx, account, 1)
			for _, g := range named {
				if at := g.At; g.Group == group {
					g.At = time.Time{}
					return g, at, nil
				}
			}
			return none, time.Time{}, cmp.Or(err, store.ErrAbsent)
		},
	})
}

// Group rebuilds the memberships of a group, and calls report for each. Errors: those of Account.
func (b *Rebuilder) Group(ctx context.Context, group string, dry bool, report func(Report)) error {
	if dry {
		b = b.dryRun()
	}
	return b.memberships(ctx, context.WithoutCancel(ctx), projections.Membership{Group: group}, report)
}

// groups rebuilds the memberships of all groups, one group after the other. Error: that of ctx, or of listing groups.
func (r *Run) groups(ctx context.Context) error {
	for after, more := "", true; more; {
		var groups []string
		err := r.rebuilder.retry(ctx, func() (err error) {
			groups, after, err = r.rebuilder.groupsAfter(ctx, after)
			return err
		})
		if err != nil {
			return fmt.Errorf("list groups: %w", err)
		}
		more = after != ""
		for _, group := range groups {
			err := r.rebuilder.Group(ctx, group, r.Scope.DryRun, r.report)
			switch {
			case err != nil && ctx.Err() != nil:
				return ctx.Err()
			case err != nil:
				r.report(Report{Group: group, Err: err})
			}
		}
	}
	return nil
}
