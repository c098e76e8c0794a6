package audit

import (
	"context"
	"fmt"
	"maps"
	"math/big"
	"strings"

	"ledger.example/internal/table"
)

// family is a stream of the items of one pattern in a partition. In their sort keys an id follows the prefix.
type family struct {
	prefix string
	stream
}

// peekID returns the id of the next item, or "" at the end.
func (f *family) peekID(ctx context.Context) string {
	item := f.peek(ctx)
	id, _, _ := strings.Cut(strings.TrimPrefix(textOf(item[table.AttrSK]), f.prefix), "#")
	return id
}

// take returns the items of one id.
func (f *family) take(id string) items {
	return func(ctx context.Context) attributes {
		if f.peekID(ctx) != id {
			return nil
		}
		return f.next(ctx)
	}
}

// families are the items of which an account may have several.
var families = []*table.Pattern{table.Change.Pattern, table.Balance.Pattern, table.Segment.Pattern,
	table.Posting.Pattern, table.Spend.Pattern}

// afterIDs sorts after every id.
const afterIDs = "~"

// partition has the items of an account: the summary, the current account, and all others in families. Each numbered
// kind has families of its own.
type partition struct {
	summary, current attributes
	families         map[*table.Pattern]*family
	numbered         map[*numberedKind]map[*table.Pattern]*family
}

// readPartition reads an account's partition. Most accounts fit into one page. In larger accounts each family is a
// query of its own. Callers read balances before postings, so a balance cannot count a posting that is not found.
func (a *Audit) readPartition(ctx context.Context, account string) partition {
	pk := table.Account.PK(account)
	page, more := a.page(ctx, keyRange{partition: pk, bounds: table.Range{From: "!", To: afterIDs}}, nil)
	fitsOnePage := len(more) == 0
	one := func(k table.Key) attributes {
		if !fitsOnePage {
			return a.get(ctx, k)
		}
		for _, item := range page {
			if keyOf(item) == k {
				return item
			}
		}
		return nil
	}
	begin := func(families map[*table.Pattern]*family) map[*table.Pattern]*family {
		for of, f := range families {
			f.begun = fitsOnePage
			for _, item := range page {
				if fitsOnePage && of.Is(keyOf(item).SK) {
					f.items = append(f.items, item)
				}
			}
		}
		return families
	}
	p := partition{
		summary: one(table.Summary.Key(account)), current: one(table.Current.Key(account)),
		families: begin(a.families(pk, families...)), numbered: make(map[*numberedKind]map[*table.Pattern]*family),
	}
	for _, k := range numberedKinds {
		p.numbered[k] = begin(k.families(a, pk))
	}
	return p
}

// families returns families of a partition. Of postings they read only the attributes that a fold needs.
func (a *Audit) families(partition string, all ...*table.Pattern) map[*table.Pattern]*family {
	found := make(map[*table.Pattern]*family)
	for _, of := range all {
		bounds := table.Range{From: of.Prefix(), To: of.Prefix() + afterIDs}
		found[of] = &family{of.Prefix(), stream{audit: a, source: keyRange{partition: partition, bounds: bounds,
			amountsOnly: of == table.Posting.Pattern}}}
	}
	return found
}

// take returns the items of one id in a family.
func (p partition) take(of *table.Pattern, id string) items { return p.families[of].take(id) }

// nextID returns the lowest next id of some families, or "" if all are at their end. It reads them in the given order.
func (p partition) nextID(ctx context.Context, all ...*table.Pattern) (id string) {
	for _, of := range all {
		if next := p.families[of].peekID(ctx); id == "" || next != "" && next < id {
			id = next
		}
	}
	return id
}

// checkAccount compares the projections and guards of an account with its events. It examines what looks wrong again.
func (a *Audit) checkAccount(ctx context.Context, acct account) {
	p := a.readPartition(ctx, acct.ID)
	acct = a.checkChanges(ctx, acct, p)
	var ofBalances, ofPostings summary // computed from the stored balances, and from the postings
	var lacking []string               // assets with postings and without a balance
	unreadable := false
	balances, segments, postings, guards := table.Balance.Pattern, table.Segment.Pattern, table.Posting.Pattern,
		table.Spend.Pattern
	byAsset := []*table.Pattern{balances, segments, postings, guards}
	for asset := p.nextID(ctx, byAsset...); asset != ""; asset = p.nextID(ctx, byAsset...) {
		read := a.decodePair(acct, asset, p.take(balances, asset)(ctx), p.take(guards, asset)(ctx))
		read.segments, read.postings = p.take(segments, asset), p.take(postings, asset)
		read.closing = closingOf(acct, asset)
		c := compare(ctx, read)
		for _, of := range byAsset { // skip what the comparison left after an unreadable item
			for range p.take(of, asset).all(ctx) {
			}
		}
		if c.unreadable {
			unreadable = true
			continue
		}
		a.report(ctx, read.closing.judge()...)
		a.progress.project(read.balance, a.started)
		ofBalances.add(read.balance.Head, read.balance.First)
		ofPostings.add(c.all.fold, c.all.first)
		switch {
		case read.balance.Version == 0 && c.all.Count > 0:
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
	lost := !unreadable && stored.Assets-ofBalances.Assets >= int64(len(lacking))
	for _, asset := range lacking {
		a.examine(ctx, acct, asset, lost)
	}
	if !unreadable {
		a.checkSummary(ctx, acct.ID, p.summary, ofBalances, ofPostings)
	}
	if acct.tagged && !a.hasTags(ctx, acct.ID) {
		a.checkTags(ctx, acct.ID)
	}
	for _, k := range numberedKinds {
		if isID(acct.ID) { // otherwise nothing is projected, and the scan reports the key
			a.checkNumbered(ctx, k, table.Account.PK(acct.ID), partition{families: p.numbered[k]})
		}
	}
}

// add counts a balance with postings.
func (s *summary) add(head fold, first string) {
	if head.Count == 0 {
		return
	}
	s.Assets++
	if head.quantity().Sign() != 0 {
		s.Holdings++
	}
	if s.First == "" || first < s.First {
		s.First = first
	}
}

// same compares all fields except the version.
func (s summary) same(t summary) bool {
	s.Version = t.Version
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
	if !ok || stored.Assets < ofBalances.Assets && stored.First >= ofBalances.First {
		code = SummaryIncomplete
	}
	return []Finding{{code, table.Summary.Key(account), "", text, ofBalances.String()}}
}

// readStableSummary reads a summary, and computes another one from the balances, until the stored one does not change
// during the reads. ok is false if it always changes, or if a balance is unreadable.
func (a *Audit) readStableSummary(ctx context.Context, account string) (item attributes, ofBalances summary,
	ok bool,
) {
	key := table.Summary.Key(account)
	for range rounds {
		before, _ := as[summary](a.get(ctx, key))
		ofBalances = summary{}
		for item := range a.itemsOf(key.PK, table.Balance.All()).all(ctx) {
			b, ok := as[balance](item)
			if !ok {
				return nil, ofBalances, false
			}
			ofBalances.add(b.Head, b.First)
		}
		item = a.get(ctx, key)
		if after, _ := as[summary](item); after.Version == before.Version {
			return item, ofBalances, true
		}
	}
	a.countUnsettled()
	return nil, ofBalances, false
}

// checkChanges compares the changes of an account with each other and with the current account. It returns the account
// with the highest limits that it ever had.
func (a *Audit) checkChanges(ctx context.Context, acct account, p partition) account {
	changed, found := a.compareChanges(ctx, acct, p.current, p.families[table.Change.Pattern].next)
	a.confirm(ctx, found, func() []Finding {
		key := table.Current.Key(acct.ID)
		changed, found = a.compareChanges(ctx, acct, a.get(ctx, key), a.itemsOf(key.PK, table.Change.All()))
		return found
	})
	return changed
}

// compareChanges compares the changes of an account once. item is the current account, read before the changes. The
// account that it returns is not known if one of them is unreadable.
func (a *Audit) compareChanges(ctx context.Context, acct account, item attributes, changes items) (
	_ account, found []Finding,
) {
	stored, exists := as[current](item)
	readable := acct.known && (exists || len(item) == 0)
	for item := range changes.all(ctx) {
		c, ok := as[change](item)
		readable = readable && ok
		found = append(found, gap(ChangeMissing, "change", acct.version, c.Number, keyOf(item))...)
		if c.Overdraft.unlimited != acct.unlimited || !acct.closedAt.IsZero() {
			found = append(found, Finding{ChangeImpossible, keyOf(item), "", c.String(),
				"no such change of an account with " + acct.String()})
		}
		if acct.tagged && !c.Tagged {
			found = append(found, Finding{ChangeImpossible, keyOf(item), "Tagged", absent,
				"true, as in the version before"})
		}
		acct.become(c)
		highest := acct.highestBeside(c.Overdraft.limits)
		if len(found) == 0 && !maps.EqualFunc(highest, c.Highest, sameAmount) {
			found = append(found, Finding{ChangeImpossible, keyOf(item), "Highest", fmt.Sprint(c.Highest),
				fmt.Sprint(highest)})
		}
	}
	if !readable {
		acct.known = false
		return acct, nil // the scan reports it
	}
	is := absent
	if exists {
		is = stored.Newest.String()
	}
	switch {
	case exists && stored.Newest.Number > acct.version:
		found = append(found, Finding{ChangeMissing, table.Change.Key(acct.ID, stored.Newest.Number), "", absent, is})
	case exists && stored.Newest.Checksum != acct.checksum, !exists && acct.version > 1:
		found = append(found, Finding{AccountCurrentWrong, table.Current.Key(acct.ID), "", is, acct.String()})
	}
	return acct, found
}

// limitsKept bounds the number of assets with a limit, over all versions of an account. The audit does not check the
// limits of an account with more.
const limitsKept = 10_000

// become applies a change to the account. Of the old and the new limit of an asset it keeps the higher one.
func (a *account) become(c change) {
	limits := maps.Clone(c.Overdraft.limits)
	for asset, limit := range a.limits {
		if higher := limits[asset]; higher == nil || higher.Cmp(limit) < 0 {
			if limits == nil {
				limits = maps.Clone(a.limits)
			}
			limits[asset] = limit
		}
	}
	a.limits, a.version, a.changedAt, a.checksum = limits, c.Number, c.At, c.Checksum
	a.tagged = a.tagged || c.Tagged
	a.known = a.known && len(limits) <= limitsKept
	if c.State == closed && a.closedAt.IsZero() {
		a.closedAt = c.At
	}
}

// highestBeside returns the limits of the account that are higher than those in limits.
func (a account) highestBeside(limits map[string]*big.Int) map[string]*big.Int {
	highest := maps.Clone(a.limits)
	maps.DeleteFunc(highest, func(asset string, limit *big.Int) bool {
		now := limits[asset]
		return now == nil && limit.Sign() == 0 || now != nil && limit.Cmp(now) <= 0
	})
	return highest
}

func sameAmount(a, b *big.Int) bool { return a.Cmp(b) == 0 }

// refreshed returns an account with the changes that were written since it was read.
func (a *Audit) refreshed(ctx context.Context, acct account) account {
	if !acct.known || acct.unlimited {
		return acct // nothing is judged by its limits
	}
	newer := table.Change.All().Since(table.Number(acct.version + 1))
	for item := range a.itemsOf(table.Account.PK(acct.ID), newer).all(ctx) {
		c, ok := as[change](item)
		acct.become(c)
		acct.known = acct.known && ok
	}
	return acct
}

// String returns an account as findings show it.
func (a account) String() string {
	s := fmt.Sprintf("version %d, unlimited %t, checksum %s", a.version, a.unlimited, a.checksum)
	if !a.closedAt.IsZero() {
		s += ", closed"
	}
	return s
}

func (c change) String() string {
	return fmt.Sprintf("version %d, unlimited %t, checksum %s, %s", c.Number, c.Overdraft.unlimited, c.Checksum,
		c.State)
}
