package audit

import (
	"context"

	"golang.org/x/sync/errgroup"

	"ledger.example/internal/table"
)

// rescanItems is roughly how many headers and postings one rescan keeps.
const rescanItems = 50_000

// resolve examines what the scan left open: partial transactions, buckets that are not zero, and events too recent to
// have no checksum. All but the first need another scan of the table. It also reports the assets whose sums are not
// zero.
func (c *legCheck) resolve(ctx context.Context) {
	for id, s := range c.assets {
		if !c.unreadable[id] && !s.isZero() {
			c.audit.report(ctx, Finding{AssetUnbalanced, table.AssetKey(id), "", s.String(), noSum})
		}
	}
	c.examineAll(ctx)
	var dirty []int
	for i, b := range c.buckets {
		if b.rest != (digest{}) {
			dirty = append(dirty, i)
		}
	}
	checksums := &c.audit.checksums
	for isFirst := true; len(dirty) > 0 || isFirst && checksums.anyMissing(); isFirst = false {
		c.rescanned, dirty = c.nextBuckets(dirty)
		c.audit.scan(ctx, func(ctx context.Context, item attributes) {
			value, _ := decode(item)
			if isFirst && checksums.isMissing(value) { // when checksums began is known after a whole scan only
				c.audit.report(ctx, checksumMissing(keyOf(item), checksums.since()))
			}
			if c.isWanted(value) {
				c.note(ctx, c.audit.joined(ctx, value), keyOf(item))
			}
		})
		c.examineAll(ctx)
	}
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
}
