package audit

import (
	"context"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"time"

	"ledger.example/internal/table"
)

// issueKey identifies an issue over several looks.
type issueKey struct {
	code Code
	key  table.Key
}

// examine reads one pair until nothing looks wrong, and reports the remaining issues. Each look skips the postings that
// the look before found right. lost is the field of pair. A concurrent write or recent postings may explain an issue.
// Such an issue is not a finding, but the pair counts as unsettled.
func (a *Audit) examine(ctx context.Context, acct account, asset string, lost bool) {
	start := newTally()
	seen := make(map[issueKey]int) // number of looks, up to the last one, in which an issue appeared
	a.repeat(ctx, func(round, last int) (done bool) {
		p := a.readPair(ctx, acct, asset)
		p.start, p.lost = start, lost
		c := compare(ctx, a.withPostings(p))
		if round == last && start.Count > 0 && len(c.issues) > 0 { // backdated postings may have come before the start
			p = a.readPair(ctx, acct, asset)
			p.lost = lost
			c = compare(ctx, a.withPostings(p))
		}
		if slices.ContainsFunc(c.issues, isOfGuard) {
			a.recheckGuard(ctx, p, c)
		}
		if c.unreadable {
			return true
		}
		before := seen
		seen, start = make(map[issueKey]int), c.resume()
		isUnsettled := len(c.issues) == 0 && c.isTailYoung()
		for _, i := range c.issues {
			k := issueKey{i.Code, i.Key}
			seen[k] = before[k] + 1
			isSure := i.state != unsettled && seen[k] >= min(last, i.looks)
			if isUnsettled = isUnsettled || !isSure; isSure && round == last {
				a.report(ctx, i.Finding)
				if i.Code == BalanceBehind || i.Code == BalanceLost {
					a.progress.lacks(i.Key)
				}
			}
		}
		if done = len(c.issues) == 0; isUnsettled && (done || round == last) {
			a.countUnsettled()
		}
		return done
	})
}

const (
	// recentAge is the maximum age of the postings that are read again with a guard. A slower commit only costs another
	// round.
	recentAge = time.Second
	// guardReads bounds the reads of a guard with its recent postings. Even an account with continuous debits has some
	// stable reads.
	guardReads = 30
	// stableReads is the number of stable reads that must all show a guard as wrong: a query may miss a commit in
	// progress.
	stableReads = 4
	// recounts is how often all postings are counted again for a guard that seems wrong.
	recounts = 4
)

// recheckGuard compares the guard of a pair with its debits in stable reads. Backdated debits may have come before the
// recent postings since those were counted. So if the guard seems wrong, all before them are counted again. If there
// are more now, the guard is compared once more. Without a stable read, or if there are always more, the issues are
// unsettled: a slow commit may last for all reads of one look.
func (a *Audit) recheckGuard(ctx context.Context, p pair, result *comparison) {
	for range recounts {
		issues, isStable := a.stableGuard(ctx, p, result)
		if result.unreadable {
			return
		}
		if !isStable {
			break
		}
		before := result.beforeRecent
		if len(issues) > 0 {
			a.recount(ctx, p, result)
		}
		if result.unreadable {
			return
		}
		if before.sameSums(result.beforeRecent.fold) {
			result.issues = append(slices.DeleteFunc(result.issues, isOfGuard), issues...)
			return
		}
	}
	for i := range result.issues {
		if isOfGuard(result.issues[i]) {
			result.issues[i].state = unsettled
		}
	}
}

// recount counts the postings before the recent ones again.
func (a *Audit) recount(ctx context.Context, p pair, result *comparison) {
	p.start = newTally()
	total, through := p.start.copy(), result.beforeRecent.Through
	for item := range a.withPostings(p).postings.all(ctx) {
		one, ok := amountsOf(item)
		if result.unreadable = result.unreadable || !ok; !ok || one.ID > through {
			break
		}
		total.add(one)
	}
	result.beforeRecent = &total
}

// stableGuard compares the guard of a pair with its debits in stable reads: the guard did not change between the
// beginning and the end of the read. It returns the issues of the last of them. Only the recent postings are read.
func (a *Audit) stableGuard(ctx context.Context, p pair, result *comparison) (issues []issue, isStable bool) {
	stable := 0
	for reads := 0; reads < guardReads && stable < stableReads; reads++ {
		before := a.readPair(ctx, p.account, p.asset)
		before.start = *result.beforeRecent
		total := result.beforeRecent.copy()
		for item := range a.withPostings(before).postings.all(ctx) {
			p, ok := amountsOf(item)
			result.unreadable = result.unreadable || !ok
			if ok {
				total.add(p)
			}
		}
		after := a.readPair(ctx, p.account, p.asset)
		if before.unreadable || after.unreadable || result.unreadable {
			result.unreadable = true
			return nil, false
		}
		if !sameGuard(before.guard, after.guard) {
			continue
		}
		stable++
		c := comparison{pair: before}
		c.account = after.account // read after the guard
		c.judgeGuard(total)
		if issues = c.issues; len(issues) == 0 {
			break
		}
	}
	return issues, stable > 0
}

// readPair reads the balance and the guard of a pair, and then the newest changes of the account. It does not read them
// in one transaction, because DynamoDB rejects that while others write the items.
func (a *Audit) readPair(ctx context.Context, acct account, asset string) pair {
	balance := a.get(ctx, table.Balance.Key(acct.ID, asset))
	guard := a.get(ctx, table.Spend.Key(acct.ID, asset))
	return a.decodePair(a.refreshed(ctx, acct), asset, balance, guard)
}

// decodePair decodes a balance and a guard. Each may be absent.
func (a *Audit) decodePair(acct account, asset string, storedBalance, storedGuard attributes) pair {
	now := a.Now()
	p := pair{account: acct, asset: asset, start: newTally(),
		settled: now.Add(-a.Settle), latest: a.latest(),
		past: now.Add(-commandTimeout), recent: now.Add(-recentAge)}
	b, isBalance := as[balance](storedBalance)
	g, isGuard := as[guard](storedGuard)
	p.balance = b
	if isGuard {
		p.guard = &g
	}
	p.unreadable = !isBalance && len(storedBalance) > 0 || !isGuard && len(storedGuard) > 0
	return p
}

// withPostings adds the segments and postings after the start of p.
func (a *Audit) withPostings(p pair) pair {
	partition := table.Account.PK(p.account.ID)
	after := p.start.Through
	postings := &stream{audit: a, source: keyRange{partition: partition,
		bounds: table.Posting.All(p.asset).After(after), amountsOnly: true}}
	p.segments, p.postings = a.itemsOf(partition, table.Segment.All(p.asset).After(after)), postings.next
	return p
}

// judgeGuard compares the guard with the sum of all debits and with the account's newest version, and the available
// amount with the limit.
func (c *comparison) judgeGuard(total tally) {
	if !c.account.known {
		return
	}
	key, limit := table.Spend.Key(c.account.ID, c.asset), c.account.limit(c.asset)
	is, stored, spent := absent, new(big.Int), total.spent()
	if c.guard != nil {
		is, stored = c.guard.Spent.String(), c.guard.Spent
	}
	if limit == nil {
		if c.guard != nil {
			c.addIssue(GuardUnexpected, key, table.AttrSpent, is, absent+": the account has no limit", wrong, lasting)
		}
		return
	}
	switch {
	case stored.Sign() != 0 && spent.Sign() == 0:
		c.addIssue(GuardUnexpected, key, table.AttrSpent, is, "0: the account had no debit of the asset", wrong,
			lasting)
	case stored.Cmp(spent) != 0:
		c.addIssue(GuardWrong, key, table.AttrSpent, is, spent.String(), wrong, lasting)
	}
	c.judgeGuardVersion(key)
	c.judgeRates(key, total.usage.windows)
	available := new(big.Int).Sub(total.quantity(), total.sums[pendingDebits])
	if available.Add(available, limit).Sign() < 0 {
		c.addIssue(Overdrawn, table.Balance.Key(c.account.ID, c.asset), "",
			fmt.Sprintf("quantity %s, pending debits %s", total.quantity(), total.sums[pendingDebits]),
			fmt.Sprintf("not below %s", new(big.Int).Neg(limit)), wrong, lasting)
	}
}

// judgeGuardVersion compares the guard's version of the account with the newest, which was read later. A guard has none
// until its first debit.
func (c *comparison) judgeGuardVersion(key table.Key) {
	newest := fmt.Sprintf("%d, the newest version of the account", c.account.version)
	switch {
	case c.guard == nil, c.guard.Change == c.account.version, c.guard.Change == 0 && c.guard.Spent.Sign() == 0:
	case c.guard.Change == 0:
		c.addIssue(GuardWrong, key, table.AttrChange, fmt.Sprint(c.guard.Change), newest, wrong, lasting)
	case c.guard.Change > c.account.version:
		c.addIssue(GuardAhead, key, table.AttrChange, fmt.Sprint(c.guard.Change), newest, wrong, lasting)
	case c.account.changedAt.Before(c.settled):
		c.addIssue(GuardBehind, key, table.AttrChange, fmt.Sprint(c.guard.Change), newest, behind, lasting)
	default:
		c.addIssue(GuardBehind, key, table.AttrChange, fmt.Sprint(c.guard.Change), newest, unsettled, lasting)
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
	return a.Spent.Cmp(b.Spent) == 0 && a.Change == b.Change && maps.EqualFunc(a.rates, b.rates, guardRate.equal)
}
