package projections

import (
	"context"
	"fmt"
)

// alarmLateCredit logs an alarm when a credit reaches an account that is closed. An account closes only when all its
// balances are zero. So the first such credit makes a balance positive whose debits are at least the credits counted
// before. Only then is the account read. The alarm is logged before the write: if the write's outcome is unknown, the
// retry may find the credit counted and would stay silent.
func (r *refold) alarmLateCredit(ctx context.Context) error {
	head := r.balance.Head
	if head.Quantity().Sign() <= 0 || head.Debits.Cmp(r.stored.Head.Credits) < 0 {
		return nil
	}
	closed, err := r.projector.views.IsClosed(ctx, r.balance.Account)
	if err != nil {
		return fmt.Errorf("read account: %w", err)
	}
	if closed {
		r.projector.log.ErrorContext(ctx, "credit reached a closed account", "account", r.balance.Account,
			"asset", r.balance.Asset, "quantity", head.Quantity(), "CreditsAfterClose", 1)
	}
	return nil
}
