package ledger

import "slices"

// partialRetries is how often a transaction is retried because a commit that a guard counts is visible in part only:
// see limit.isPartial.
const partialRetries = 5

// findings is what a command has read since the guards refused an attempt, in this order.
type findings struct {
	others   bool // what other commands read meanwhile, if it covers the debits
	exact    bool // the exact credits, by a read that began after the refusal
	accounts bool // the accounts, by a read that began after that of the credits
	partial  int  // how many attempts of the command were retried because commits were visible in part
}

// step is what follows on the refusals of an attempt.
type step int

const (
	stepRetry        step = iota // another attempt may pass
	stepRetryPartial             // likewise, but it counts in findings.partial
	stepRefuse                   // the refusal is final, once the header was read and is absent
	stepSync                     // guards are missing, or have other versions than the accounts: set them, and retry
	stepAwait                    // the findings, in their order: read it, and judge again
	stepExact
	stepAccounts
)

// judge decides what it means that guards refused an attempt, and that the attempt wrote nothing. refused are their
// limits, brought up to date by what was read. It reads nothing itself: it says what to read next, in this order, and
// whenever the debits turn out to be covered, they are sent again.
//
//  1. The version of each guard, which the refusal returned. If it is not that of the account that the command knows,
//     the limit that the guard applied is not the one compared here.
//  2. What other commands of the process are reading. It may cover the debits and save the next read. It may also have
//     been read before the refusal, so it is no reason to refuse.
//  3. The exact credits, by a read that begins after the refusal: all that are visible then. Known credits are a lower
//     bound: they prove that debits are covered, and never that they are not.
//  4. The accounts, after the exact credits, so that a limit or a state that changed meanwhile counts.
//  5. The headers of the requests, after all that: see attempts.failUnlessStored.
//
// Limits over time are judged before funds, right after the versions. Nothing is read for that: the guard says by
// itself what they have counted, and which version of the account is in force.
//
// A commit becomes visible item by item, so the guard may count what it spends before its credits are found. If the
// exact credits and the accounts look like that, the debits are sent again before a header is read, partialRetries
// times at most: see limit.isPartial.
//
// Of a fit, the refusal counts if the guards of all its sources refused the same attempt, and the sources together have
// too little: see lacksSources and fit.isShort.
//
// If no header is stored, the refusal is final: no attempt of this command can be applied any more. One that passed the
// guard before the refusal would have a header. One that reaches the guard later fails its condition. With another
// version of the account it fails, because the guard has the newest one, which is the one compared here. With the same
// version it has no higher bound, because the credits that a command knows only rise, and the amount spent never falls.
// It is the same with limits over time. In the slot that the guard has, what is counted never falls, and an attempt
// knows of nothing given back that the guard did not have. An attempt for an older slot fails, because slots never go
// back. If the guard has an older slot than the refused attempt, the debits alone exceed the limit, in any slot: what
// the same request gives back to a slot was counted there before.
//
// Nothing else raises a bound of an attempt that can still succeed. A reversal whose number was taken is decided again,
// with its batch, but its earlier attempts used that number. A request that turns out to be stored is no longer sent,
// and no longer counts in the bounds, but its earlier attempts would write what is stored.
func judge(refused []*limit, seen findings) step {
	isSynced := !slices.ContainsFunc(refused, (*limit).isUnsynced)
	isCovered := !slices.ContainsFunc(refused, (*limit).exceeds)
	switch {
	case !isSynced && seen.accounts: // an account changed meanwhile
		return stepRetry
	case !isSynced:
		return stepSync
	case slices.ContainsFunc(refused, (*limit).exceedsRate) && !lacksSources(refused):
		return stepRefuse
	case !seen.others:
		return stepAwait
	case isCovered, lacksSources(refused):
		return stepRetry
	case !seen.exact:
		return stepExact
	case !seen.accounts:
		return stepAccounts
	case slices.ContainsFunc(refused, (*limit).isPartial) && seen.partial < partialRetries:
		return stepRetryPartial
	}
	return stepRefuse
}

// isUnsynced reports whether the guard that refused the debits has another version than the account. One that is
// missing has version 0, which no account has.
func (l *limit) isUnsynced() bool { return l.guard.version != l.account.Version }

// isPartial reports whether the guard counts a commit of which the exact read of the credits did not find everything:
// it found less spent than the guard has, or less credited than was spent. That commit may have credits, too. A
// backdated debit is found once it is projected, so until then it looks the same.
func (l *limit) isPartial() bool {
	return l.exceeds() && l.allowsDebit() && (l.found.Cmp(l.guard.spent) < 0 || l.isBelow())
}

// isDamaged reports whether the account is below its limit without these debits.
func (l *limit) isDamaged() bool { return l.exceeds() && l.allowsDebit() && l.isBelow() }
