package audit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"ledger.example/internal/table"
)

// A transaction that looks wrong is read examineRounds times: each read sees one instant, but the scan may have seen a
// posting before its header was visible.
const (
	examineRounds = 3
	examinePause  = 300 * time.Millisecond
)

// examine reads a transaction and the items that name it, and reports what is wrong.
func (c *legCheck) examine(ctx context.Context, id string, naming []table.Key) {
	slices.SortFunc(naming, compareKeys) // an entry names its hold twice: as it was placed, and ended
	naming = slices.Compact(naming)
	c.audit.repeat(ctx, examineRounds, examinePause, func(round, last int) (done bool) {
		found, missing, isMoving := c.compare(ctx, id, naming)
		if done = len(found) == 0; done || round == last {
			c.audit.report(ctx, c.unreported(found)...)
			c.noteUnlisted(missing)
			if isMoving {
				c.audit.noteUnsettled()
			}
		}
		return done
	})
}

// unreported leaves out the findings that were reported before. Of a hold that ended lately, the end is kept by itself,
// and the rest comes again with its bucket.
func (c *legCheck) unreported(all []Finding) []Finding {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(all, func(f Finding) bool {
		f.Stored, f.Recomputed = "", ""
		isKnown := c.reported[f]
		if len(c.reported) < partialMax {
			c.reported[f] = true
		}
		return isKnown
	})
}

// compare compares a transaction with the postings of its legs, a hold with its entries too, and with everything that
// names it. missing are the entries that none of the journal's pages in naming has. isMoving is true if its entries are
// behind, and it is too young for that to be wrong.
func (c *legCheck) compare(ctx context.Context, id string, naming []table.Key) (
	found []Finding, missing []entryOf, isMoving bool,
) {
	l := c.audit.life(ctx, id)
	if l.unreadable {
		return nil, nil, false // the scan reports it
	}
	known, found, isMoving := c.audit.compareEntries(ctx, l)
	compareLegs := func(key table.Key, of dated, postings []posting) {
		keys, differing := c.compareLegs(ctx, key, of, postings)
		known, found = append(known, keys...), append(found, differing...)
	}
	if l.exists {
		compareLegs(table.TransactionKey(id), l.header, l.postings())
		found = append(found, c.audit.unrecorded(ctx, l.header)...)
	}
	if l.end != nil {
		compareLegs(table.OutcomeKey(id), *l.end, l.endPostings())
	}
	missing, untrue, isBehind := c.compareJournal(ctx, l, naming)
	found, isMoving = append(found, untrue...), isMoving || isBehind
	for _, k := range naming {
		if !slices.Contains(known, k) {
			found = append(found, c.alone(ctx, k, l)...)
		}
	}
	return found, missing, isMoving
}

// alone finds an item that names a transaction and does not belong to it.
func (c *legCheck) alone(ctx context.Context, k table.Key, l life) (found []Finding) {
	value, _ := decode(c.audit.get(ctx, k))
	if e, ok := entryIn(value, k, l); ok && e.transaction == l.id && len(e.steps) > 0 {
		found = append(found, e.belongsNowhere(l))
	}
	if p, ok := value.(posting); ok && p.transaction == l.id {
		code, why := PostingWithoutTransaction, ": there is no transaction "+strconv.Quote(l.id)
		switch {
		case p.endsHeld() && l.isHold() && l.end == nil:
			code, why = PostingWithoutEnd, ": hold "+strconv.Quote(l.id)+" has not ended"
		case l.exists:
			why = ": transaction " + strconv.Quote(l.id) + " has no such leg"
		}
		found = append(found, Finding{code, k, "", p.String(), "no posting" + why})
	}
	return found
}

// compareLegs compares the legs of an event with their postings. It also returns the keys of these.
func (c *legCheck) compareLegs(ctx context.Context, key table.Key, of dated, wanted []posting) (
	keys []table.Key, found []Finding,
) {
	for _, p := range wanted {
		keys = append(keys, table.PostingKey(p.account, p.asset, p.ksuid))
	}
	claimed, claims := "", 0 // postings that are legs of another transaction
	own := map[table.Key]dated{key: of}
	for i, item := range c.audit.getTogether(ctx, keys) {
		want, k := wanted[i], keys[i]
		stored, ok := as[posting](item)
		if ok && stored.transaction == want.transaction {
			own[k] = stored
		}
		switch {
		case len(item) == 0:
			found = append(found, Finding{PostingMissing, k, "", absent, want.String()})
		case !ok, c.equal(stored, want): // the scan reports the former
		case c.isLegOfItsOwn(ctx, stored):
			claimed = stored.transaction
			claims++
		default:
			found = append(found, Finding{PostingDiffers, k, "", stored.String(), want.String()})
		}
	}
	if claims > 0 {
		found = append(found, Finding{TransactionClaimsOthers, key, fieldLegs,
			fmt.Sprintf("%d postings of others, such as transaction %q", claims, claimed), "postings of its own"})
	}
	return keys, append(found, c.audit.checksums.missingAmong(own)...)
}

// equal reports whether two postings are the same, with a checksum or without.
func (c *legCheck) equal(p, q posting) bool {
	p.sealed = q.sealed
	return c.hashOf(p) == c.hashOf(q)
}

// isLegOfItsOwn reports whether the transaction that a posting names has it among its legs, or those of its end.
func (c *legCheck) isLegOfItsOwn(ctx context.Context, p posting) bool {
	l := c.audit.life(ctx, p.transaction)
	isSame := func(q posting) bool { return c.equal(p, q) }
	return slices.ContainsFunc(l.postings(), isSame) || slices.ContainsFunc(l.endPostings(), isSame)
}

func (p posting) String() string {
	pending := ""
	if p.phase != "" {
		pending = fmt.Sprintf(", pending %s, %s", p.pending, p.phase)
	}
	return fmt.Sprintf("quantity %s, cost %s%s of %s %q, description %q", p.quantity, p.cost, pending, p.kind,
		p.transaction, p.description)
}

// compareKeys orders keys as the table does.
func compareKeys(k, l table.Key) int { return cmp.Or(cmp.Compare(k.PK, l.PK), cmp.Compare(k.SK, l.SK)) }
