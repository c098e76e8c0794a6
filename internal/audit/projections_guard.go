package audit

import (
	"fmt"
	"math/big"
	"slices"

	"ledger.example/internal/store"
)

// judgeGuard compares the guard with the sum of all debits and with the account's newest version, and the available
// amount with the limit.
func (c *comparison) judgeGuard(total fold) {
	if !c.account.known {
		return
	}
	key, limit := store.Spend.Key(c.account.id, c.asset), c.account.limit(c.asset)
	is, stored, spent := absent, new(big.Int), total.spent()
	if c.guard != nil {
		is, stored = c.guard.spent.String(), c.guard.spent
	}
	if limit == nil {
		if c.guard != nil {
			c.addIssue(GuardUnexpected, key, store.AttrSpent, is, absent+": the account has no limit", wrong, lasting)
		}
		return
	}
	switch {
	case stored.Sign() != 0 && spent.Sign() == 0:
		c.addIssue(GuardUnexpected, key, store.AttrSpent, is, "0: the account had no debit of the asset", wrong,
			lasting)
	case stored.Cmp(spent) != 0:
		c.addIssue(GuardWrong, key, store.AttrSpent, is, spent.String(), wrong, lasting)
	}
	c.judgeGuardVersion(key)
	available := new(big.Int).Sub(total.quantity(), total.sums[pendingDebits])
	if available.Add(available, limit).Sign() < 0 {
		c.addIssue(Overdrawn, store.Balance.Key(c.account.id, c.asset), "",
			fmt.Sprintf("quantity %s, pending debits %s", total.quantity(), total.sums[pendingDebits]),
			fmt.Sprintf("not below %s", new(big.Int).Neg(limit)), wrong, lasting)
	}
}

// judgeGuardVersion compares the guard's version of the account with the newest, which was read later. A guard has none
// until its first debit.
func (c *comparison) judgeGuardVersion(key store.Key) {
	newest := fmt.Sprintf("%d, the newest version of the account", c.account.version)
	switch {
	case c.guard == nil, c.guard.change == c.account.version, c.guard.change == 0 && c.guard.spent.Sign() == 0:
	case c.guard.change == 0:
		c.addIssue(GuardWrong, key, store.AttrChange, fmt.Sprint(c.guard.change), newest, wrong, lasting)
	case c.guard.change > c.account.version:
		c.addIssue(GuardAhead, key, store.AttrChange, fmt.Sprint(c.guard.change), newest, wrong, lasting)
	case c.account.changedAt.Before(c.settled):
		c.addIssue(GuardBehind, key, store.AttrChange, fmt.Sprint(c.guard.change), newest, behind, lasting)
	default:
		c.addIssue(GuardBehind, key, store.AttrChange, fmt.Sprint(c.guard.change), newest, unsettled, lasting)
	}
}

// isOfGuard reports whether an issue is about a guard or a limit, which commands write or check with the postings.
func isOfGuard(i issue) bool {
	return slices.Contains([]Code{GuardWrong, GuardUnexpected, GuardAhead, GuardBehind, Overdrawn}, i.Code)
}

// sameGuard reports whether two guards are the same. nil stands for no guard.
func sameGuard(a, b *guard) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.spent.Cmp(b.spent) == 0 && a.change == b.change
}
