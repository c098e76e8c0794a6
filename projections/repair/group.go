package repair

import (
	"context"
	"fmt"

	"ledger.example/projections"
)

// Group rebuilds the items of a group in all views, and calls report for each. Errors: those of Account.
func (b *Rebuilder) Group(ctx context.Context, group string, dry bool, report func(Report)) error {
	if dry {
		b = b.dryRun()
	}
	return b.allViews(ctx, context.WithoutCancel(ctx), projections.Target{Group: group}, false, report)
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
