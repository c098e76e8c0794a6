package audit

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"ledger.example/internal/table"
)

// rescanItems is roughly the number of items whose transactions one rescan examines.
const rescanItems = 50_000

// resolve examines what the scan left open: partial transactions, and buckets that are not zero. Buckets need another
// scan of the table. For buckets whose journal alone differs, reading the journal again is often enough. resolve also
// reports the assets whose sums are not zero.
func (c *reconciler) resolve(ctx context.Context) {
	c.examineAll(ctx)
	c.recountJournal(ctx)
	for dirty := c.dirtyBuckets(ctx); len(dirty) > 0; {
		c.rescanned, dirty = c.splitBuckets(dirty)
		c.journalSeen = window{}
		c.audit.scan(ctx, func(ctx context.Context, item attributes) {
			value, _ := decode(item)
			if key := keyOf(item); c.isWanted(value, key) {
				c.addItem(ctx, value, c.audit.lifecycleOf(ctx, value), key)
			}
		})
		c.examineAll(ctx)
	}
	c.checkSums(ctx)
}

// checkSums reports the assets whose sums are not zero. They count only postings that were recorded before the scan.
func (c *reconciler) checkSums(ctx context.Context) {
	for id := range c.unreadable {
		if c.assetSums[id] == nil { // its other postings are in the shared sum
			c.unreadable[""] = true
		}
	}
	for id, s := range c.assetSums {
		switch {
		case c.unreadable[id] || s.isZero():
		default:
			c.audit.report(ctx, Finding{AssetUnbalanced, table.Asset.Key(id), "", s.String(), noSum})
		}
	}
}

// dirtyBuckets returns the buckets that are not zero. If only lists or the journal differ, it returns what one rescan
// can examine and reports that there are more. Otherwise the audit of a table whose lists were never built would take
// thousands of scans.
func (c *reconciler) dirtyBuckets(ctx context.Context) (dirty []int) {
	var listsOnly []int
	for i, b := range c.buckets {
		switch {
		case !b.isClean(eventsPart):
			dirty = append(dirty, i)
		case !b.isClean(listsPart, journalPart):
			listsOnly = append(listsOnly, i)
		}
	}
	now, later := c.splitBuckets(listsOnly)
	if len(later) > 0 {
		c.audit.report(ctx, Finding{ListsIncomplete, table.Key{PK: table.Journal.PK("0")}, "",
			fmt.Sprintf("%d of %d groups of events have missing or wrong entries", len(listsOnly),
				bucketsCount),
			"no missing or wrong entries: the other findings name only some of them"})
	}
	return slices.AppendSeq(dirty, maps.Keys(now))
}

// splitBuckets splits buckets into those that one rescan can examine, at least one, and the rest.
func (c *reconciler) splitBuckets(dirty []int) (now map[int]bool, later []int) {
	now, items := make(map[int]bool), 0
	for i, b := range dirty {
		if items += c.buckets[b].items; items > rescanItems && len(now) > 0 {
			return now, dirty[i:]
		}
		now[b] = true
	}
	return now, nil
}

// examineAll examines and forgets the partial transactions, at most Segments at a time.
func (c *reconciler) examineAll(ctx context.Context) {
	var all errgroup.Group
	all.SetLimit(c.audit.Segments)
	for id, p := range c.partials {
		all.Go(func() error {
			c.examine(ctx, id, p.referrers)
			return nil
		})
	}
	_ = all.Wait()
	clear(c.partials)
	c.searchJournal(ctx)
}

// examine reads a transaction and the items that name it, and reports what is wrong.
func (c *reconciler) examine(ctx context.Context, id string, referrers []table.Key) {
	slices.SortFunc(referrers, compareKeys) // an entry of an ended hold was added twice
	referrers = slices.Compact(referrers)
	c.audit.repeat(ctx, func(round, last int) (done bool) {
		findings, missing, isUnsettled := c.compare(ctx, id, referrers)
		if done = len(findings) == 0; done || round == last {
			c.audit.report(ctx, c.unreported(findings)...)
			if hasRoom := c.expectInJournal(missing); isUnsettled || !hasRoom {
				c.audit.countUnsettled()
			}
		}
		return done
	})
}

// unreported leaves out the findings that were reported before. A hold with a recent end is examined twice: as a
// partial transaction because of its end, and with its bucket.
func (c *reconciler) unreported(all []Finding) []Finding {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(all, func(f Finding) bool {
		f.Stored, f.Recomputed = "", ""
		isKnown := c.reported[f]
		if len(c.reported) < maxPartials {
			c.reported[f] = true
		}
		return isKnown
	})
}

// compare compares a transaction with its entries and its referrers. missing are the entries that no page of the
// journal among the referrers has. isUnsettled is true if missing entries may still be projected.
func (c *reconciler) compare(ctx context.Context, id string, referrers []table.Key) (
	found []Finding, missing []journalEntry, isUnsettled bool,
) {
	if strings.Contains(id, "/") { // no transaction has such an id
		return c.compareEvent(ctx, id, referrers)
	}
	l := c.audit.readLifecycle(ctx, id)
	if l.unreadable {
		return nil, nil, false // the scan reports it
	}
	known, found, isUnsettled := c.audit.compareEntries(ctx, l)
	found = append(found, c.audit.unrecordedReversal(ctx, l.header)...)
	missing, untrue, isBehind := c.compareJournal(ctx, id, l.journaled(), referrers)
	found, isUnsettled = append(found, untrue...), isUnsettled || isBehind
	for _, k := range referrers { // those that name a transaction to which they do not belong
		value, _ := decode(c.audit.get(ctx, k))
		e, ok := entryIn(value, k, l)
		if ok && e.transaction == id && len(e.steps) > 0 && !slices.Contains(known, k) {
			found = append(found, e.orphanFinding(l))
		}
	}
	return found, missing, isUnsettled
}

// String returns all fields of a posting that follow from its transaction.
func (p posting) String() string {
	s := "quantity " + p.Quantity.String() + ", cost " + p.Cost.String()
	if p.Phase != "" {
		s += ", pending " + p.Pending.String() + ", " + p.Phase
	}
	if p.Counted != "" {
		s += ", counted by " + p.Counted
	}
	if p.Backdated {
		s += ", backdated, recorded at " + p.RecordedAt.Format(instantForm)
	}
	return s + " of " + p.Kind + " " + strconv.Quote(p.Transaction) + ", description " + strconv.Quote(p.Description)
}

// compareKeys orders keys as the table does.
func compareKeys(k, l table.Key) int { return cmp.Or(cmp.Compare(k.PK, l.PK), cmp.Compare(k.SK, l.SK)) }
