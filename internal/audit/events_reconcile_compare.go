package audit

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"ledger.example/internal/store"
)

// examine reads a transaction and the items that name it, and reports what is wrong.
func (c *reconciler) examine(ctx context.Context, id string, referrers []store.Key) {
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
func (c *reconciler) compare(ctx context.Context, id string, referrers []store.Key) (
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
	s := "quantity " + p.quantity.String() + ", cost " + p.cost.String()
	if p.phase != "" {
		s += ", pending " + p.pending.String() + ", " + p.phase
	}
	if p.backdated {
		s += ", backdated"
	}
	return s + " of " + p.kind + " " + strconv.Quote(p.transaction) + ", description " + strconv.Quote(p.description)
}

// compareKeys orders keys as the table does.
func compareKeys(k, l store.Key) int { return cmp.Or(cmp.Compare(k.PK, l.PK), cmp.Compare(k.SK, l.SK)) }
