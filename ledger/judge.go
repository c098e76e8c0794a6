package ledger

import "slices"

// belowLimitRetries is how often a transaction is retried because an account is already below its limit by exact
// credits. No debit can cause that, so a credit is still being committed, item by item.
const belowLimitRetries = 5

// findings is what a command has read since the guards refused an attempt, in this order.
type findings struct {
	others   bool // what other commands read meanwhile, if it covers the debits
	exact    bool // the exact credits, by a read that began after the refusal
	accounts bool // the accounts, by a read that began after that of the credits
	below    int  // how many attempts of the command were retried because an account was below its limit
}

// step is what follows on the refusals of an attempt.
type step int

const (
	stepRetry      step = iota // another attempt may pass
	stepRetryBelow             // likewise, but it counts in findings.below
	stepRefuse                 // the refusal is final, once the header was read and is absent
	stepSync                   // guards are missing, or have other versions than the accounts: set them, and retry
	stepAwait                  // the findings, in their order: read it, and judge again
	stepExact
	stepAccounts
)

// judge decides what it means that guards refused an attempt, and that the attempt wrote nothing. refused are their
// limits, brought up to date by what was read. It reads nothing itself.
//
// A refusal needs the exact credits. Known credits are a lower bound, so they prove that debits are covered, and never
// that they are not. The exact ones are read after the refusal, because the guard shows what was spent by then; those
// that another command read may be older, and only save this read if they cover the debits. The accounts are read last,
// so that a limit or a state that changed while the credits were read counts.
//
// Then the refusal is final, once the header was read and is absent (see attempts.failUnlessStored). An attempt that
// passed the guard before the refusal has a header, and the header is read after the refusal. No attempt of this
// request that is still in flight can pass the guard later: the guard has the newest version of the account, which is
// the one compared here. Attempts with another version fail its condition. Attempts with this version had no higher
// bound, because the credits of a limit never fall during a command, and the amount spent never falls. So a retry is not
// decided anew, and changes no other fact that a bound depends on.
func judge(refused []*limit, seen findings) step {
	isSynced := !slices.ContainsFunc(refused, (*limit).isUnsynced)
	isCovered := !slices.ContainsFunc(refused, (*limit).exceeds)
	switch {
	case !isSynced && seen.accounts: // an account changed meanwhile
		return stepRetry
	case !isSynced:
		return stepSync
	case !seen.others:
		return stepAwait
	case isCovered:
		return stepRetry
	case !seen.exact:
		return stepExact
	case !seen.accounts:
		return stepAccounts
	case slices.ContainsFunc(refused, (*limit).isDamaged) && seen.below < belowLimitRetries:
		return stepRetryBelow
	}
	return stepRefuse
}

// isUnsynced reports whether the guard that refused the debits is missing, or has another version than the account.
func (l *limit) isUnsynced() bool {
	return l.guard.version == 0 || l.guard.version != l.account.Version
}

// isDamaged reports whether the account is below its limit without these debits.
func (l *limit) isDamaged() bool { return l.exceeds() && l.allowsDebit() && l.isBelow() }
