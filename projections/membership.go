package projections

import (
	"context"
	"fmt"

	"ledger.example/events"
)

// Membership is the projection of one user's role on one account.
type Membership struct {
	Account, User string
	Role          events.Role // "" after a revocation
	Number        int64       // of the grant or revocation it shows
}

// RefreshMembership makes the membership of user on account what the newest grant or revocation says. A membership
// never replaces one of a higher number, so late and repeated calls do no harm. Errors: store.ErrAbsent when there is
// no grant; those of the ports; store.ErrConflict when others kept writing first.
func (p *Projector) RefreshMembership(ctx context.Context, account, user string) error {
	return p.retryOnConflict(ctx, func() error {
		m, err := p.views.NewestGrant(ctx, account, user)
		if err != nil {
			return fmt.Errorf("read newest grant: %w", err)
		}
		if err := p.views.WriteMembership(ctx, m); err != nil {
			return fmt.Errorf("write membership: %w", err)
		}
		return nil
	})
}
