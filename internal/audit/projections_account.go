package audit

import (
	"context"

	"ledger.example/internal/store"
)

// checkAccount compares the projections and guards of an account with its events. It examines what looks wrong again.
func (a *Audit) checkAccount(ctx context.Context, acct account) {
	p := a.readPartition(ctx, acct.id)
	acct = a.checkChanges(ctx, acct, p)
	var ofBalances, ofPostings summary // computed from the stored balances, and from the postings
	var lacking []string               // assets with postings and without a balance
	unreadable := false
	byAsset := []string{balancePrefix, segmentPrefix, postingPrefix, guardPrefix}
	for asset := p.nextID(ctx, byAsset...); asset != ""; asset = p.nextID(ctx, byAsset...) {
		read := a.decodePair(acct, asset, p.take(balancePrefix, asset)(ctx), p.take(guardPrefix, asset)(ctx))
		read.segments, read.postings = p.take(segmentPrefix, asset), p.take(postingPrefix, asset)
		read.closing = closingOf(acct, asset)
		c := compare(ctx, read)
		for _, prefix := range byAsset { // skip what the comparison left after an unreadable item
			for range p.take(prefix, asset).all(ctx) {
			}
		}
		if c.unreadable {
			unreadable = true
			continue
		}
		a.report(ctx, read.closing.judge()...)
		ofBalances.add(read.balance.head, read.balance.first)
		ofPostings.add(c.all.fold, c.all.first)
		switch {
		case read.balance.version == 0 && c.all.count > 0:
			lacking = append(lacking, asset)
		case len(c.issues) > 0:
			a.examine(ctx, acct, asset, false)
		case c.isTailYoung():
			a.countUnsettled()
		}
	}
	// The summary was read before the balances, and the ledger never deletes a balance. If the summary counts all the
	// lacking balances, they were deleted. Otherwise they may not be projected yet.
	stored, _ := as[summary](p.summary)
	lost := !unreadable && stored.assets-ofBalances.assets >= int64(len(lacking))
	for _, asset := range lacking {
		a.examine(ctx, acct, asset, lost)
	}
	if !unreadable {
		a.checkSummary(ctx, acct.id, p.summary, ofBalances, ofPostings)
	}
	a.checkMembers(ctx, store.Account.PK(acct.id), p)
	a.checkGroups(ctx, acct.id, p)
}

// add counts a balance with postings.
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

// same compares all fields except the version.
func (s summary) same(t summary) bool {
	s.version = t.version
	return s == t
}

// checkSummary compares a stored summary with the summaries computed from the balances and from the postings. It may
// match either one, because a balance can be wrong. The projector writes summary and balances in one transaction, but
// the audit reads them one after the other, so it reads them again before it reports the summary.
func (a *Audit) checkSummary(ctx context.Context, account string, item attributes, ofBalances, ofPostings summary) {
	a.confirm(ctx, compareSummary(account, item, ofBalances, ofPostings), func() []Finding {
		item, ofBalances, ok := a.readStableSummary(ctx, account)
		if !ok {
			return nil
		}
		return compareSummary(account, item, ofBalances, ofPostings)
	})
}

// compareSummary compares a stored summary with computed ones once.
func compareSummary(account string, item attributes, ofBalances, ofPostings summary) []Finding {
	stored, ok := as[summary](item)
	if !ok && len(item) > 0 || stored.same(ofBalances) || stored.same(ofPostings) {
		return nil // the scan reports an unreadable summary
	}
	code, text := SummaryWrong, absent
	if ok {
		text = stored.String()
	}
	if !ok || stored.assets < ofBalances.assets && stored.first >= ofBalances.first {
		code = SummaryIncomplete
	}
	return []Finding{{code, store.Summary.Key(account), "", text, ofBalances.String()}}
}

// readStableSummary reads a summary, and computes another one from the balances, until the stored one does not change
// during the reads. ok is false if it always changes, or if a balance is unreadable.
func (a *Audit) readStableSummary(ctx context.Context, account string) (item attributes, ofBalances summary,
	ok bool,
) {
	key := store.Summary.Key(account)
	for range rounds {
		before, _ := as[summary](a.get(ctx, key))
		ofBalances = summary{}
		for item := range a.itemsOf(key.PK, store.Balance.All()).all(ctx) {
			b, ok := as[balance](item)
			if !ok {
				return nil, ofBalances, false
			}
			ofBalances.add(b.head, b.first)
		}
		item = a.get(ctx, key)
		if after, _ := as[summary](item); after.version == before.version {
			return item, ofBalances, true
		}
	}
	a.countUnsettled()
	return nil, ofBalances, false
}
