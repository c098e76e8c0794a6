package audit

import (
	"context"
	"time"

	"ledger.example/internal/table"
)

// checkAccount compares the projections and guards of an account with its postings and grants. What looks wrong is
// examined by itself.
func (a *Audit) checkAccount(ctx context.Context, of account) {
	p := a.open(ctx, of.id)
	of = a.checkChanges(ctx, of, p)
	var shown, counted summary // of the stored balances, and of their postings
	var without []string       // assets with postings and without a balance
	unreadable := false
	byAsset := []string{balances, segments, postings, guards}
	for asset := p.least(ctx, byAsset...); asset != ""; asset = p.least(ctx, byAsset...) {
		read := a.pairOf(of, asset, p.take(balances, asset)(ctx), p.take(guards, asset)(ctx))
		read.segments, read.postings = p.take(segments, asset), p.take(postings, asset)
		read.closing = closingOf(of, asset)
		if read.guard != nil && read.guard.change == 0 && of.version == 1 {
			a.count(func(r *Report) { r.GuardsWithoutVersion++ })
		}
		result := compare(ctx, read)
		for _, prefix := range byAsset { // an unreadable item ends a comparison early
			for range p.take(prefix, asset).all(ctx) {
			}
		}
		if result.unreadable {
			unreadable = true
			continue
		}
		a.report(ctx, read.closing.judge()...)
		shown.add(read.balance.head, read.balance.first)
		counted.add(result.total.fold, result.total.first)
		switch {
		case read.balance.version == 0 && result.total.count > 0:
			without = append(without, asset)
		case len(result.issues) > 0:
			a.examine(ctx, of, asset, false)
		case result.tail:
			a.noteUnsettled()
		}
	}
	// The summary was read before the balances, which are never deleted. If it counts as many more, all of these were
	// lost. Otherwise they may not be projected yet.
	stored, _ := as[summary](p.summary)
	lost := !unreadable && stored.assets-shown.assets >= int64(len(without))
	for _, asset := range without {
		a.examine(ctx, of, asset, lost)
	}
	if !unreadable {
		a.checkSummary(ctx, of.id, p.summary, shown, counted)
	}
	a.checkMembers(ctx, owner{account: of.id}, p)
	a.checkGroups(ctx, of.id, p)
}

// add counts one balance, if it has a posting.
func (s *summary) add(head fold, first string) {
	if head.count == 0 {
		return
	}
	s.assets++
	if head.quantity().Sign() != 0 {
		s.holdings++
	}
	if s.first == "" || first < s.first {
		s.first = first
	}
}

// same compares all but the version.
func (s summary) same(t summary) bool {
	s.version = t.version
	return s == t
}

const (
	summaryRounds = 7
	summaryPause  = 200 * time.Millisecond
)

// checkSummary compares a summary with the stored balances, or with their postings if one of them is wrong. They
// change in one transaction, but are read one after the other.
func (a *Audit) checkSummary(ctx context.Context, account string, item attributes, shown, counted summary) {
	a.repeat(ctx, summaryRounds, summaryPause, func(round, last int) (done bool) {
		if round > 1 {
			var quiet, readable bool
			if item, shown, quiet, readable = a.quietSummary(ctx, account); !quiet || !readable {
				if readable {
					a.noteUnsettled()
				}
				return true
			}
		}
		stored, ok := as[summary](item)
		if !ok && len(item) > 0 || stored.same(shown) || stored.same(counted) {
			return true // the scan reports one that cannot be read
		}
		if round == last {
			text := absent
			if ok {
				text = stored.String()
			}
			a.report(ctx, Finding{SummaryWrong, table.SummaryKey(account), "", text, shown.String()})
		}
		return false
	})
}

// quietSummary reads a summary and the balances that it counts, while the summary does not change. quiet is false if
// it changes every time, readable is false if a balance cannot be read.
func (a *Audit) quietSummary(ctx context.Context, account string) (item attributes, shown summary,
	quiet, readable bool) {
	key := table.SummaryKey(account)
	for range pairRounds {
		before, _ := as[summary](a.get(ctx, key))
		shown := summary{}
		for item := range a.itemsOf(key.PK, table.BalancesRange("")).all(ctx) {
			b, ok := as[balance](item)
			if !ok {
				return nil, shown, false, false
			}
			shown.add(b.head, b.first)
		}
		item = a.get(ctx, key)
		if after, _ := as[summary](item); after.version == before.version {
			return item, shown, true, true
		}
	}
	return nil, shown, false, true
}
