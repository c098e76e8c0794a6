package projections

import (
	"context"
	"fmt"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// Membership is the projection of one user's role on one account or in one group.
type Membership struct {
	Account, Group string // one of them is empty
	User           string
	Role           events.Role // "" after a revocation
	Number         int64       // of the grant or revocation it shows
}

// Grouped is the projection of one account's place in one group.
type Grouped struct {
	Account, Group string
	Out            bool  // it was taken out
	Number         int64 // of the change of the account's groups that it shows
}

// Key is the key of the membership.
func (m Membership) Key() table.Key {
	if m.Group != "" {
		return table.GroupMembershipKey(m.Group, m.User)
	}
	return table.MembershipKey(m.Account, m.User)
}

// RefreshMembership makes the membership of a user on an account or in a group what the newest grant or revocation
// says. A membership never replaces one of a higher number, so late and repeated calls do no harm. Errors:
// store.ErrAbsent when there is no grant; those of the ports; store.ErrConflict when others kept writing first.
func (p *Projector) RefreshMembership(ctx context.Context, of Membership) error {
	return p.retryOnConflict(ctx, func() error {
		m, err := p.views.NewestGrant(ctx, of)
		if err != nil {
			return fmt.Errorf("read newest grant: %w", err)
		}
		if err := p.views.WriteMembership(ctx, m); err != nil {
			return fmt.Errorf("write membership: %w", err)
		}
		return nil
	})
}

// RefreshGrouped brings account's places in the groups up to date that its changes from a number on name. Each change
// names the one group that it adds or removes, and each is refreshed by a record of its own at the latest: so whoever
// reads the newest one and then stalls can write nothing that is older than what a later change says of the same group.
// A place never replaces one of a higher number. Errors: as of RefreshMembership.
func (p *Projector) RefreshGrouped(ctx context.Context, account string, from int64) error {
	return p.retryOnConflict(ctx, func() error {
		places, err := p.views.GroupedSince(ctx, account, from)
		if err != nil {
			return fmt.Errorf("read groups: %w", err)
		}
		for _, g := range places {
			if err := p.views.WriteGrouped(ctx, g); err != nil {
				return fmt.Errorf("write place in a group: %w", err)
			}
		}
		return nil
	})
}
