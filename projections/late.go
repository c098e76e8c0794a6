package projections

import (
	"context"
	"fmt"
)

// tellLateCredit tells of a credit that came after its account was closed. All balances were zero then. So such a
// credit is seen first in a balance above zero whose debits are at least all credits that were counted before. Only
// then the account is read. Told before the write: an answer that is lost must not silence it.
func (r *refold) tellLateCredit(ctx context.Context) error {
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
