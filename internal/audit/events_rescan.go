package audit

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	"ledger.example/internal/table"
)

// rescanItems is roughly how many headers and postings one rescan keeps.
const rescanItems = 50_000

// resolve examines what the scan left open: partial transactions, buckets that are not zero, and events too recent to
// have no checksum. All but the first need another scan of the table, and the journal often no more than another
// reading of itself. It also reports the assets whose sums are not zero.
func (c *legCheck) resolve(ctx context.Context) {
	c.examineAll(ctx)
	c.recount(ctx)
	dirty := c.dirtyBuckets(ctx)
	checksums := &c.audit.checksums
	for isFirst := true; len(dirty) > 0 || isFirst && checksums.anyMissing(); isFirst = false {
		c.rescanned, dirty = c.nextBuckets(dirty)
		c.listed = window{}
		c.audit.scan(ctx, func(ctx context.Context, item attributes) {
			value, _ := decode(item)
			if isFirst && checksums.isMissing(value) { // when checksums began is known after a whole scan only
				c.audit.report(ctx, checksumMissing(keyOf(item), checksums.since()))
			}
			if c.isWanted(value) {
				c.note(ctx, value, c.audit.lifeOf(ctx, value), keyOf(item))
			}
		})
		c.examineAll(ctx)
	}
	c.checkSums(ctx)
}

// checkSums reports the assets whose sums are not zero. A transaction with an effective date that was recorded
// meanwhile may be in them in part: then nothing is proved, and the comparison of transactions with their postings has
// to do. Such a one is noted by now, as its bucket was not zero.
func (c *legCheck) checkSums(ctx context.Context) {
	for id, s := range c.assets {
		switch {
		case c.unreadable[id] || s.isZero():
		case c.backdated:
			c.audit.noteUnsettled()
		default:
			c.audit.report(ctx, Finding{AssetUnbalanced, table.AssetKey(id), "", s.String(), noSum})
		}
	}
}

// dirtyBuckets returns the buckets that are not zero. Of those whose lists or journal alone are not, it returns what
// one rescan can keep, and reports that there are more: lists that were never made would else take thousands of scans.
func (c *legCheck) dirtyBuckets(ctx context.Context) (dirty []int) {
	var ofListsAlone []int
	for i, b := range c.buckets {
		switch {
		case !b.isClean(ofEvents):
			dirty = append(dirty, i)
		case !b.isClean(ofLists, ofJournal):
			ofListsAlone = append(ofListsAlone, i)
		}
	}
	now, later := c.nextBuckets(ofListsAlone)
	if len(later) > 0 {
		c.audit.report(ctx, Finding{ListsIncomplete, table.Key{PK: table.JournalPK}, "",
			fmt.Sprintf("%d of %d groups of transactions lack entries, or have others", len(ofListsAlone),
				bucketsCount),
			"all entries: only some of those that differ are named"})
	}
	return slices.AppendSeq(dirty, maps.Keys(now))
}

// nextBuckets takes as many buckets as one rescan can keep the transactions of.
func (c *legCheck) nextBuckets(dirty []int) (now map[int]bool, later []int) {
	now, items := make(map[int]bool), 0
	for i, b := range dirty {
		if items += c.buckets[b].items; items > rescanItems && len(now) > 0 {
			return now, dirty[i:]
		}
		now[b] = true
	}
	return now, nil
}

// examineAll examines the partial transactions and forgets them, at most Segments at a time.
func (c *legCheck) examineAll(ctx context.Context) {
	var all errgroup.Group
	all.SetLimit(c.audit.Segments)
	for id, p := range c.partials {
		all.Go(func() error {
			c.examine(ctx, id, p.naming)
			return nil
		})
	}
	_ = all.Wait()
	clear(c.partials)
	c.searchJournal(ctx)
}
