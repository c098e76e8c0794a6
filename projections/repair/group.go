package repair

import (
	"context"
	"fmt"

	"ledger.example/events"
	"ledger.example/projections"
)

// Group rebuilds the items of a group in all views, and calls report for each. Errors: those of Account.
func (b *Rebuilder) Group(ctx context.Context, group string, dry bool, report func(Report)) error {
	if dry {
		b = b.dryRun()
	}
	return b.allViews(ctx, context.WithoutCancel(ctx), projections.Target{Group: group}, false, report)
}

const groupsPage = 1000

// groups rebuilds the memberships of all groups, one group after the other. The list of groups is eventually
// consistent. Error: that of ctx, or of listing groups.
func (r *Run) groups(ctx context.Context) error {
	lists := projections.NewLists(r.rebuilder.table)
	for s, more := (projections.Slice{Limit: groupsPage}), true; more; {
		var page projections.Page[events.GroupRegistered]
		err := r.rebuilder.retry(ctx, func() (err error) {
			page, err = lists.Groups(ctx, "", s)
			return err
		})
		if err != nil {
			return fmt.Errorf("list groups: %w", err)
		}
		s.After, more = page.Next, page.Next != ""
		for _, group := range page.Items {
			err := r.rebuilder.Group(ctx, group.ID, r.Scope.DryRun, r.report)
			switch {
			case err != nil && ctx.Err() != nil:
				return ctx.Err()
			case err != nil:
				r.report(Report{Group: group.ID, Err: err})
			}
		}
	}
	return nil
}
