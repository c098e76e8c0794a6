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

// Remember brings the membership of user on account up to its newest grant or revocation. Grants are numbered, and a
// membership is never put over one of a higher number: late and repeated calls do no harm. Errors: table.ErrAbsent when
// there is no grant; those of Views; table.ErrConflict when others kept coming first.
func (p *Projector) Remember(ctx context.Context, account, user string) error {
	return p.untilQuiet(ctx, func() error {
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
