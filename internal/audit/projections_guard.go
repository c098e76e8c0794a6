package audit

import (
	"fmt"
	"math/big"
	"slices"

	"ledger.example/internal/table"
)

// judgeGuard compares the guard with all that was spent and with the account's newest version, and what is available
// with the limit.
func (c *comparison) judgeGuard(total fold) {
	if !c.of.known {
		return
	}
	key, limit := table.SpendKey(c.of.id, c.asset), c.of.limit(c.asset)
	is, stored, spent := absent, new(big.Int), total.spent()
	if c.guard != nil {
		is, stored = c.guard.spent.String(), c.guard.spent
	}
	if limit == nil {
		if c.guard != nil {
			c.found(GuardUnexpected, key, table.AttrSpent, is, absent+": the account has no limit", wrong, true)
		}
		return
	}
	switch {
	case stored.Sign() != 0 && spent.Sign() == 0:
		c.found(GuardUnexpected, key, table.AttrSpent, is, "0: it never spent any", wrong, false)
	case stored.Cmp(spent) != 0:
		c.found(GuardWrong, key, table.AttrSpent, is, spent.String(), wrong, false)
	}
	c.judgeTold(key)
	available := new(big.Int).Sub(total.quantity(), total.sums[pendingDebits])
	if available.Add(available, limit).Sign() < 0 {
		c.found(Overdrawn, table.BalanceKey(c.of.id, c.asset), "",
			fmt.Sprintf("quantity %s, pending debits %s", total.quantity(), total.sums[pendingDebits]),
			fmt.Sprintf("not below %s", new(big.Int).Neg(limit)), wrong, false)
	}
}

// judgeTold compares the version of the account that the guard was told of with the newest, which was read later. A
// guard of before accounts could change was told of none, which is right while the account has its first.
func (c *comparison) judgeTold(key table.Key) {
	newest := fmt.Sprintf("%d, the newest version of the account", c.of.version)
	switch {
	case c.guard == nil, c.guard.change == c.of.version, c.guard.change == 0 && c.of.version == 1:
	case c.guard.change > c.of.version:
		c.found(GuardWrong, key, table.AttrChange, fmt.Sprint(c.guard.change), newest, wrong, true)
	case c.of.changedAt.Before(c.settled):
		c.found(GuardBehind, key, table.AttrChange, fmt.Sprint(c.guard.change), newest, behind, true)
	default:
		c.found(GuardBehind, key, table.AttrChange, fmt.Sprint(c.guard.change), newest, moving, true)
	}
}

// isOfGuard reports whether an issue is about what a command writes together with the postings.
func isOfGuard(i issue) bool {
	return slices.Contains([]Code{GuardWrong, GuardUnexpected, GuardBehind, Overdrawn}, i.Code)
}

// same reports whether two guards are the same. A nil one does not exist.
func same(a, b *guard) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.spent.Cmp(b.spent) == 0 && a.change == b.change
}
