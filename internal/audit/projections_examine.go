package audit

import (
	"context"
	"slices"
	"time"

	"ledger.example/internal/table"
)

const (
	// pairRounds is how often a pair that looks wrong is read again: with the pauses, longer than a running projector
	// needs to come to it.
	pairRounds = 8
	pairPause  = 200 * time.Millisecond
	// streakRounds is in how many successive rounds an issue must be seen that one round does not prove. What a write
	// in progress causes is gone in the next round, or is about another item.
	streakRounds = 3
)

// issueKey identifies an issue over several rounds.
type issueKey struct {
	code Code
	key  table.Key
}

// examine reads one pair by itself until nothing looks wrong, and reports what remains. Each round but the first
// begins where the last one found everything right, so it is short. lost is pair's.
func (a *Audit) examine(ctx context.Context, of account, asset string, lost bool) {
	from := newTally()
	streaks := make(map[issueKey]int) // in how many rounds up to the last one an issue was seen
	a.repeat(ctx, pairRounds, pairPause, func(round, last int) (done bool) {
		before := a.stored(ctx, of, asset)
		p := before
		p.from, p.lost = from, lost
		result := compare(ctx, a.following(p))
		if slices.ContainsFunc(result.issues, isOfGuard) {
			a.closely(ctx, before, &result)
		}
		if result.unreadable {
			return true
		}
		if len(result.issues) == 0 {
			if result.tail {
				a.noteUnsettled()
			}
			return true
		}
		after := a.stored(ctx, of, asset)
		next := make(map[issueKey]int)
		for _, i := range result.issues {
			k := issueKey{i.Code, i.Key}
			next[k] = streaks[k] + 1
		}
		streaks, from = next, result.base
		if after.unreadable || round < last {
			return after.unreadable
		}
		// Issues that a concurrent write or recent postings may explain are no findings, and no proof that all is
		// well.
		unsettled := false
		for _, i := range result.issues {
			isLasting := streaks[issueKey{i.Code, i.Key}] >= min(last, streakRounds)
			isSure := i.isProved || isLasting || before.balance.version == after.balance.version
			if isOfGuard(i) { // a slow commit may last for all the quiet moments of one round
				isSure = i.isProved && isLasting
			}
			if i.state == moving || !isSure {
				unsettled = true
				continue
			}
			a.report(ctx, i.Finding)
		}
		if unsettled {
			a.noteUnsettled()
		}
		return true
	})
}

const (
	// recentAge is the age of the postings that are read again together with a guard. A commit that takes longer only
	// costs another round.
	recentAge = time.Second
	// guardReads is how often a guard is read, each time with the recent postings: even an account that spends all the
	// time has some quiet moments.
	guardReads = 30
	// quietMoments is at how many of them a guard must be wrong: a query may miss a commit in progress.
	quietMoments = 4
)

// closely compares the guard of a pair with its debits at quiet moments: when it did not change during the reads. The
// issues about the guard become those of such a moment, and proved; without a quiet moment they stay as they are.
func (a *Audit) closely(ctx context.Context, p pair, result *compared) {
	quiet := 0 // moments
	var ofIt []issue
	for reads := 0; reads < guardReads && quiet < quietMoments; reads++ {
		before := a.stored(ctx, p.of, p.asset)
		before.from = result.recent
		total := result.recent.copy()
		for item := range a.following(before).postings.all(ctx) {
			p, ok := figuresOf(item)
			result.unreadable = result.unreadable || !ok
			if ok {
				total.add(p)
			}
		}
		after := a.stored(ctx, p.of, p.asset)
		if before.unreadable || after.unreadable || result.unreadable {
			result.unreadable = true
			return
		}
		if !same(before.guard, after.guard) {
			continue
		}
		quiet++
		c := comparison{pair: before}
		c.of = after.of // changed no earlier than the guard
		c.judgeGuard(total.fold)
		if ofIt = c.issues; len(ofIt) == 0 {
			break
		}
		for i := range ofIt {
			ofIt[i].isProved = true
		}
	}
	if quiet > 0 {
		result.issues = append(slices.DeleteFunc(result.issues, isOfGuard), ofIt...)
	}
}

// stored reads the balance and the guard of a pair: one by one, as DynamoDB would reject a transactional read for as
// long as others keep writing them. Then it reads the changes that the account got meanwhile.
func (a *Audit) stored(ctx context.Context, of account, asset string) pair {
	balance := a.get(ctx, table.BalanceKey(of.id, asset))
	guard := a.get(ctx, table.SpendKey(of.id, asset))
	return a.pairOf(a.refreshed(ctx, of), asset, balance, guard)
}

// pairOf decodes a balance and a guard; each may be absent.
func (a *Audit) pairOf(of account, asset string, storedBalance, storedGuard attributes) pair {
	now := a.Now()
	p := pair{of: of, asset: asset, from: newTally(), settled: now.Add(-a.Settle), past: now.Add(-commandTimeout),
		recent: now.Add(-recentAge)}
	b, isBalance := as[balance](storedBalance)
	g, isGuard := as[guard](storedGuard)
	p.balance = b
	if isGuard {
		p.guard = &g
	}
	p.unreadable = !isBalance && len(storedBalance) > 0 || !isGuard && len(storedGuard) > 0
	return p
}

// following adds the segments and postings from where p begins.
func (a *Audit) following(p pair) pair {
	partition := table.AccountKey(p.of.id).PK
	after := p.from.through
	segmentsAfter := table.SegmentsFrom(p.asset, after)
	if after != "" {
		segmentsAfter.From += "!" // the one that ends there was compared
	}
	postings := &stream{audit: a, of: stretch{partition: partition, within: table.PostingsAfter(p.asset, after, ""),
		figures: true}}
	p.segments, p.postings = a.itemsOf(partition, segmentsAfter), postings.next
	return p
}
