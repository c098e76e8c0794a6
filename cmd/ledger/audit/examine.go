package audit

import (
	"context"
	"errors"
	"math/big"
	"slices"
	"time"

	"ledger.example/ledger/table"
)

const (
	// pairRounds is how often a pair that looks wrong is read again: together with the pauses, for longer than a projector
	// that runs needs to come round.
	pairRounds = 8
	pairPause  = 200 * time.Millisecond // before the second round; each next is as much longer
	// patience is after how many findings nothing is waited for any more at length: a table that is this wrong would take
	// days.
	patience   = 64
	hastyRound = 2
	hastyPause = 20 * time.Millisecond
)

// rounds is how often something is read again, and the pause that grows with each.
func (a *Audit) rounds(most int, pause time.Duration) (int, time.Duration) {
	if a.counts.findings.Load() >= patience {
		return min(most, hastyRound), hastyPause
	}
	return most, pause
}

// examine reads one pair by itself, until nothing looks wrong, and reports what stays. Each round but the first begins where
// the last one found all right, and so is short, also of a balance that is being moved all the time.
func (a *Audit) examine(ctx context.Context, of account, asset string) error {
	from := start()
	var seen streaks
	for round := 1; ; round++ {
		before, err := a.stored(ctx, of, asset)
		if err != nil {
			return unlessUnreadable(err)
		}
		p := before
		p.from = from
		result, err := compare(ctx, a.following(p))
		if err != nil {
			return unlessUnreadable(err)
		}
		if ofGuard(result.issues) {
			if err := a.closely(ctx, before, &result); err != nil {
				return unlessUnreadable(err)
			}
		}
		if len(result.issues) == 0 {
			if result.tail {
				a.counts.unsettled.Add(1)
			}
			return nil
		}
		after, err := a.stored(ctx, of, asset)
		if err != nil {
			return unlessUnreadable(err)
		}
		seen = seen.with(result.issues)
		most, pause := a.rounds(pairRounds, pairPause)
		if round >= most {
			a.conclude(result.issues, func(i issue) bool {
				return before.balance.version == after.balance.version || seen[issueKey{i.Code, i.Key}] >= min(most, streakRounds)
			})
			return nil
		}
		from = result.base
		if err := a.Pause(ctx, time.Duration(round)*pause); err != nil {
			return err
		}
	}
}

// streakRounds is in how many rounds one after the other something must be seen that one round alone doesn't prove. What a
// write looks like that is caught by half is gone in the next round, or is about another item.
const streakRounds = 3

type issueKey struct {
	code Code
	key  table.Key
}

// streaks count in how many rounds up to the last one an issue was seen.
type streaks map[issueKey]int

func (s streaks) with(issues []issue) streaks {
	next := make(streaks, len(issues))
	for _, i := range issues {
		k := issueKey{i.Code, i.Key}
		next[k] = s[k] + 1
	}
	return next
}

// conclude reports the issues of the last round. What may have come of a write while it was read, as quiet denies, and what
// is explained by postings that are too young, is no finding, and no proof that all is well.
func (a *Audit) conclude(issues []issue, quiet func(issue) bool) {
	unsettled := false
	for _, i := range issues {
		if i.state == moving || !i.lasting && (isOfGuard(i) || !quiet(i)) {
			unsettled = true
			continue
		}
		a.report(i.Finding)
	}
	if unsettled {
		a.counts.unsettled.Add(1)
	}
}

func ofGuard(issues []issue) bool { return slices.ContainsFunc(issues, isOfGuard) }

// isOfGuard tells whether an issue is about what a command writes together with the postings.
func isOfGuard(i issue) bool {
	return i.Code == GuardWrong || i.Code == GuardUnexpected || i.Code == Overdrawn
}

const (
	// quiteNew is how old a posting is that is looked at again while a guard is. A commit that takes longer only makes for
	// another round.
	quiteNew = time.Second
	// closeReads is how often a guard is read, each time with what was posted last: also of an account that spends all the
	// time, some moments are quiet.
	closeReads = 30
	// quietMoments is at how many of them it must be wrong: a query may miss what is being committed.
	quietMoments = 4
)

// closely compares the guard of a pair with its debits at moments at which it stays what it is. The issues about it become
// those of such a moment: lasting ones, unless there was none.
func (a *Audit) closely(ctx context.Context, p pair, result *compared) error {
	var ofIt []issue
	quiet := 0 // moments
	for reads := 0; reads < closeReads && quiet < quietMoments; reads++ {
		before, err := a.stored(ctx, p.of, p.asset)
		if err != nil {
			return err
		}
		before.from = result.recent
		total := tallyFrom(result.recent.fold, result.recent.first)
		if err := a.addUp(ctx, a.following(before).postings, total); err != nil {
			return err
		}
		after, err := a.stored(ctx, p.of, p.asset)
		if err != nil {
			return err
		}
		if !same(before.guard, after.guard) {
			continue
		}
		quiet++
		c := comparison{pair: before}
		c.judgeGuard(total.fold())
		if ofIt = c.issues; len(ofIt) == 0 {
			break
		}
		for i := range ofIt {
			ofIt[i].lasting = true
		}
	}
	if quiet > 0 {
		result.issues = append(slices.DeleteFunc(result.issues, isOfGuard), ofIt...)
	}
	return nil
}

func (a *Audit) addUp(ctx context.Context, postings func(context.Context) (attributes, error), total *tally) error {
	for {
		item, err := postings(ctx)
		if item == nil || err != nil {
			return err
		}
		p, err := figuresOf(item)
		if err != nil {
			return err
		}
		total.add(p)
	}
}

func same(a, b *big.Int) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Cmp(b) == 0
}

// stored reads the balance and the guard of a pair: one by one, as reading them together would be refused for as long as
// others keep writing them.
func (a *Audit) stored(ctx context.Context, of account, asset string) (pair, error) {
	storedBalance, err := a.get(ctx, table.BalanceKey(of.id, asset))
	if err != nil {
		return pair{}, err
	}
	storedGuard, err := a.get(ctx, table.SpendKey(of.id, asset))
	if err != nil {
		return pair{}, err
	}
	return a.pairOf(of, asset, storedBalance, storedGuard)
}

// pairOf decodes balance and guard; each may be absent.
func (a *Audit) pairOf(of account, asset string, storedBalance, storedGuard attributes) (pair, error) {
	now := a.Now()
	p := pair{of: of, asset: asset, from: start(), settled: now.Add(-a.Settle), past: now.Add(-commandLife), quiteNew: now.Add(-quiteNew)}
	if storedBalance != nil {
		b, ok := as[balance](storedBalance)
		if !ok && len(storedBalance) > 0 {
			return pair{}, errUnreadable
		}
		p.balance = b
	}
	if len(storedGuard) > 0 {
		g, ok := as[guard](storedGuard)
		if !ok {
			return pair{}, errUnreadable
		}
		p.guard = g.spent
	}
	return p, nil
}

// following adds the segments and postings after where p begins.
func (a *Audit) following(p pair) pair {
	partition := table.AccountKey(p.of.id).PK
	after := p.from.through
	segmentsAfter := table.SegmentsFrom(p.asset, after)
	if after != "" {
		segmentsAfter.From += "!" // the one that ends there was compared
	}
	read := func(within table.Range, figures bool) func(context.Context) (attributes, error) {
		s := &stream{audit: a, of: stretch{partition: partition, within: within, figures: figures}}
		return func(ctx context.Context) (attributes, error) {
			item, err := s.peek(ctx)
			if item != nil {
				s.next()
			}
			return item, err
		}
	}
	p.segments = read(segmentsAfter, false)
	p.postings = read(table.PostingsAfter(p.asset, after, ""), true)
	return p
}

func unlessUnreadable(err error) error {
	if errors.Is(err, errUnreadable) {
		return nil
	}
	return err
}
