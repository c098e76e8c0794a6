package audit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

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
			c.expectInJournal(missing)
			if isUnsettled {
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

// compare compares a transaction with its postings, its entries, and its referrers. missing are the entries that no
// page of the journal among the referrers has. isUnsettled is true if missing entries may still be projected.
func (c *reconciler) compare(ctx context.Context, id string, referrers []store.Key) (
	found []Finding, missing []journalEntry, isUnsettled bool,
) {
	l := c.audit.readLifecycle(ctx, id)
	if l.unreadable {
		return nil, nil, false // the scan reports it
	}
	known, found, isUnsettled := c.audit.compareEntries(ctx, l)
	compareLegs := func(key store.Key, postings []posting) {
		keys, differing := c.compareLegs(ctx, key, postings)
		known, found = append(known, keys...), append(found, differing...)
	}
	if l.exists {
		compareLegs(store.Transaction.Key(id), l.postings())
		found = append(found, c.audit.unrecordedReversal(ctx, l.header)...)
	}
	if l.end != nil {
		compareLegs(store.Outcome.Key(id), l.endPostings())
	}
	missing, untrue, isBehind := c.compareJournal(ctx, l, referrers)
	found, isUnsettled = append(found, untrue...), isUnsettled || isBehind
	for _, k := range referrers {
		if !slices.Contains(known, k) {
			found = append(found, c.orphan(ctx, k, l)...)
		}
	}
	return found, missing, isUnsettled
}

// orphan reports an item that names a transaction to which it does not belong.
func (c *reconciler) orphan(ctx context.Context, k store.Key, l lifecycle) (found []Finding) {
	value, _ := decode(c.audit.get(ctx, k))
	if e, ok := entryIn(value, k, l); ok && e.transaction == l.id && len(e.steps) > 0 {
		found = append(found, e.orphanFinding(l))
	}
	if p, ok := value.(posting); ok && p.transaction == l.id {
		code, why := PostingWithoutTransaction, ": transaction "+strconv.Quote(l.id)+" does not exist"
		switch {
		case p.endsHold() && l.isHold() && l.end == nil:
			code, why = PostingWithoutEnd, ": hold "+strconv.Quote(l.id)+" has not ended"
		case l.exists:
			why = ": transaction " + strconv.Quote(l.id) + " has no such leg"
		}
		found = append(found, Finding{code, k, "", p.String(), "no posting" + why})
	}
	return found
}

// compareLegs compares the postings that an event requires with the stored ones. It also returns their keys.
func (c *reconciler) compareLegs(ctx context.Context, key store.Key, wanted []posting) (
	keys []store.Key, found []Finding,
) {
	for _, p := range wanted {
		keys = append(keys, store.Posting.Key(p.account, p.asset, p.ksuid))
	}
	claimed, claims := "", 0 // postings that belong to another transaction
	for i, item := range c.audit.getTogether(ctx, keys) {
		want, k := wanted[i], keys[i]
		stored, ok := as[posting](item)
		switch {
		case len(item) == 0:
			found = append(found, Finding{PostingMissing, k, "", absent, want.String()})
		case !ok, c.equal(stored, want): // the scan reports the former
		case c.hasMatchingLeg(ctx, stored):
			claimed = stored.transaction
			claims++
		default:
			found = append(found, Finding{PostingDiffers, k, "", stored.String(), want.String()})
		}
	}
	if claims > 0 {
		found = append(found, Finding{TransactionClaimsOthers, key, fieldLegs,
			fmt.Sprintf("%d postings of other transactions, such as %q", claims, claimed), "its own postings"})
	}
	return keys, found
}

// equal reports whether two postings are the same.
func (c *reconciler) equal(p, q posting) bool { return c.postingsHash(p) == c.postingsHash(q) }

// hasMatchingLeg reports whether the transaction that a posting names requires exactly this posting.
func (c *reconciler) hasMatchingLeg(ctx context.Context, p posting) bool {
	l := c.audit.readLifecycle(ctx, p.transaction)
	isSame := func(q posting) bool { return c.equal(p, q) }
	return slices.ContainsFunc(l.postings(), isSame) || slices.ContainsFunc(l.endPostings(), isSame)
}

func (p posting) String() string {
	pending := ""
	if p.phase != "" {
		pending = fmt.Sprintf(", pending %s, %s", p.pending, p.phase)
	}
	backdated := ""
	if p.backdated {
		backdated = ", backdated"
	}
	return fmt.Sprintf("quantity %s, cost %s%s%s of %s %q, description %q", p.quantity, p.cost, pending, backdated,
		p.kind, p.transaction, p.description)
}

// compareKeys orders keys as the table does.
func compareKeys(k, l store.Key) int { return cmp.Or(cmp.Compare(k.PK, l.PK), cmp.Compare(k.SK, l.SK)) }
