package projections

import (
	"context"
	"fmt"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// Membership is the projection of one user's role on one account or in one group.
type Membership struct {
	Account, Group string // one of them is empty
	User           string
	Role           events.Role // "" after a revocation
	Number         int64       // of the grant or revocation it shows
	At             time.Time   // of that event; zero if read from the projection
}

// GroupedAccount is the projection of one account's place in one group.
type GroupedAccount struct {
	Account, Group string
	Out            bool      // the account was taken out of the group
	Number         int64     // of the newest change of the account's groups that names this group
	At             time.Time // of that change; zero if read from the projection
}

// Key is the key of the membership.
func (m Membership) Key() table.Key {
	if m.Group != "" {
		return table.GroupMembership.Key(m.Group, m.User)
	}
	return table.Membership.Key(m.Account, m.User)
}

// RefreshMembership writes the membership of a user on an account or in a group from the newest grant or revocation. A
// membership never replaces one with a higher number, so late and repeated calls are safe. Errors: store.ErrAbsent if
// there is no grant; those of the ports; store.ErrConflict after too many conflicts.
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

// RefreshGrouped writes account's places in the groups that are named by its changes from the number `from` on. Each
// change adds or removes one group, and has its own stream record that triggers a refresh. A place never replaces one
// with a higher number, so a slow writer cannot undo a later change. Errors: those of RefreshMembership.
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
