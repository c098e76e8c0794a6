package audit

import (
	"context"
	"slices"
	"time"

	"ledger.example/internal/store"
)

const (
	// pairRounds is how often a pair that looks wrong is read. With the pauses this takes longer than a running
	// projector needs to project its postings.
	pairRounds = 8
	pairPause  = 200 * time.Millisecond
	// streakRounds is the number of successive rounds in which an issue must appear if one round does not prove it. An
	// issue that a write in progress causes disappears in the next round, or moves to another item.
	streakRounds = 3
)

// issueKey identifies an issue over several rounds.
type issueKey struct {
	code Code
	key  store.Key
}

// examine reads one pair until nothing looks wrong, and reports the remaining issues. Each round skips the postings
// that the round before found right. lost is the field of pair.
func (a *Audit) examine(ctx context.Context, acct account, asset string, lost bool) {
	start := newTally()
	streaks := make(map[issueKey]int) // number of rounds, up to the last one, in which an issue appeared
	a.repeat(ctx, pairRounds, pairPause, func(round, last int) (done bool) {
		before := a.readPair(ctx, acct, asset)
		p := before
		p.start, p.lost = start, lost
		result := compare(ctx, a.withPostings(p))
		if slices.ContainsFunc(result.issues, isOfGuard) {
			a.recheckGuard(ctx, before, &result)
		}
		if result.unreadable {
			return true
		}
		if len(result.issues) == 0 {
			if result.isTailYoung {
				a.countUnsettled()
			}
			return true
		}
		after := a.readPair(ctx, acct, asset)
		next := make(map[issueKey]int)
		for _, i := range result.issues {
			k := issueKey{i.Code, i.Key}
			next[k] = streaks[k] + 1
		}
		streaks, start = next, result.resume
		if after.unreadable || round < last {
			return after.unreadable
		}
		// A concurrent write or recent postings may explain an issue. Such an issue is not a finding, but the pair
		// counts as unsettled.
		anyUnsettled := false
		for _, i := range result.issues {
			isLasting := streaks[issueKey{i.Code, i.Key}] >= min(last, streakRounds)
			isSure := i.isProved || isLasting || before.balance.version == after.balance.version
			if isOfGuard(i) { // a slow commit may last for all stable reads of one round
				isSure = i.isProved && isLasting
			}
			if i.state == unsettled || !isSure {
				anyUnsettled = true
				continue
			}
			a.report(ctx, i.Finding)
		}
		if anyUnsettled {
			a.countUnsettled()
		}
		return true
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
)

// recheckGuard compares the guard of a pair with its debits in stable reads: the guard did not change between the
// beginning and the end of the read. It replaces the issues about the guard by those of the last stable read, which are
// proved. Without a stable read it keeps them.
func (a *Audit) recheckGuard(ctx context.Context, p pair, result *compared) {
	stable := 0
	var issues []issue
	for reads := 0; reads < guardReads && stable < stableReads; reads++ {
		before := a.readPair(ctx, p.account, p.asset)
		before.start = result.beforeRecent
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
			return
		}
		if !sameGuard(before.guard, after.guard) {
			continue
		}
		stable++
		c := comparison{pair: before}
		c.account = after.account // read after the guard
		c.judgeGuard(total.fold)
		if issues = c.issues; len(issues) == 0 {
			break
		}
		for i := range issues {
			issues[i].isProved = true
		}
	}
	if stable > 0 {
		result.issues = append(slices.DeleteFunc(result.issues, isOfGuard), issues...)
	}
}

// readPair reads the balance and the guard of a pair, and then the newest changes of the account. It does not read them
// in one transaction, because DynamoDB rejects that while others write the items.
func (a *Audit) readPair(ctx context.Context, acct account, asset string) pair {
	balance := a.get(ctx, store.Balance.Key(acct.id, asset))
	guard := a.get(ctx, store.Spend.Key(acct.id, asset))
	return a.decodePair(a.refreshed(ctx, acct), asset, balance, guard)
}

// decodePair decodes a balance and a guard. Each may be absent.
func (a *Audit) decodePair(acct account, asset string, storedBalance, storedGuard attributes) pair {
	now := a.Now()
	p := pair{account: acct, asset: asset, start: newTally(),
		settled: now.Add(-a.Settle), past: now.Add(-commandTimeout), recent: now.Add(-recentAge)}
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
	partition := store.Account.PK(p.account.id)
	after := p.start.through
	postings := &stream{audit: a, source: keyRange{partition: partition,
		bounds: store.Posting.All(p.asset).After(after), amountsOnly: true}}
	p.segments, p.postings = a.itemsOf(partition, store.Segment.All(p.asset).After(after)), postings.next
	return p
}
