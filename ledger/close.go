package ledger

import (
	"context"
	"fmt"
	"sync/atomic"

	"ledger.example/events"
)

// planClose decides on the next change of an account that is to be closed: c.next, which closes it, or one before that.
// The error is errNotYet while debits are still being committed.
//
// First the account is frozen, and every guard gets the new version. From then on no debit passes a guard, so the
// totals of the guards are final. When the postings of each pair have spent as much as its guard says, all debits are
// visible. When the table has as many postings as the holdings count, no acknowledged credit is missing: a backdated
// one may be anywhere below the seal of its balance, and counts only once it is projected. Then the account is closed
// under the next number, so nothing changed it in between.
func (c *accountChange) planClose(ctx context.Context) error {
	a := c.account
	if a.State == events.StateOpen {
		if err := c.checkFirstAssets(ctx, a); err != nil {
			return err
		}
		c.next = c.withState(a, events.StateFrozen)
		c.next.Closing = true
		return nil
	}
	if err := c.ledger.updateGuards(ctx, a); err != nil {
		return err
	}
	spent := make(map[string]events.Amount)
	if !a.Overdraft.Unlimited {
		err := c.ledger.eachGuard(ctx, a.ID, func(g guard) { spent[g.pair.Asset] = g.spent })
		if err != nil {
			return err
		}
	}
	var holdings []events.Holding
	left, isCommitting := "", false
	err := c.ledger.eachHolding(ctx, a.ID, func(h events.Holding) bool {
		holdings = append(holdings, h)
		isCommitting = isCommitting || !a.Overdraft.Unlimited && h.Spent != spent[h.Asset]
		delete(spent, h.Asset)
		if left == "" && !h.IsEmpty() {
			left = h.Asset
		}
		return true
	})
	if err != nil {
		return err
	}
	for _, amount := range spent { // of an asset without a posting yet
		isCommitting = isCommitting || !amount.IsZero()
	}
	switch {
	case isCommitting:
		return errNotYet
	case left == "":
		equal, err := c.ledger.countAll(ctx, a.ID, holdings)
		if err == nil && !equal {
			err = errNotYet
		}
		return err
	case !a.closing: // it was frozen for another reason, and stays frozen
		return notEmpty(left)
	}
	c.refusal, c.reopens, c.frozen = notEmpty(left), a.Version+1, false
	c.next = c.nextChange(a)
	return nil
}

// checkFirstAssets checks the first holdings of an account. It finds most accounts that cannot be closed, before
// anything is written.
func (c *accountChange) checkFirstAssets(ctx context.Context, a Account) error {
	left, seen := "", 0
	err := c.ledger.eachHolding(ctx, a.ID, func(h events.Holding) bool {
		if seen++; !h.IsEmpty() {
			left = h.Asset
		}
		return left == "" && seen < firstAssets
	})
	if err == nil && left != "" {
		err = notEmpty(left)
	}
	return err
}

// countAll reports whether holdings, which were read before, count every posting in the table. Postings are never
// removed, so equal counts mean the same postings.
func (l *Ledger) countAll(ctx context.Context, account string, holdings []events.Holding) (equal bool, _ error) {
	var missing atomic.Bool
	err := parallel(ctx, len(holdings), func(ctx context.Context, i int) error {
		h := holdings[i]
		stored, err := l.projections.CountPostings(ctx, account, h.Asset)
		if err == nil && stored < h.Count {
			err = fmt.Errorf("%d postings of %s in %s, but %d were counted", stored, h.Asset, account, h.Count)
		}
		if stored > h.Count {
			missing.Store(true)
		}
		return err
	})
	return !missing.Load(), err
}

// firstAssets is how many holdings checkFirstAssets reads.
const firstAssets = 100

// eachHolding calls do for each holding of an account, until do returns false.
func (l *Ledger) eachHolding(ctx context.Context, account string, do func(events.Holding) bool) error {
	for after := ""; ; {
		var page []events.Holding
		var next string
		err := retryRead(ctx, func() (err error) {
			page, next, err = l.projections.Holdings(ctx, account, after)
			return err
		})
		if err != nil {
			return err
		}
		for _, h := range page {
			if !do(h) {
				return nil
			}
		}
		if next == "" {
			return nil
		}
		after = next
	}
}

func notEmpty(asset string) *Error {
	return invalidChange("state", "cannot be closed while the account has a balance or an open hold in "+asset)
}
