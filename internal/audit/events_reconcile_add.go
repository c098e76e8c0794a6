package audit

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"strconv"

	"ledger.example/internal/store"
)

// transactionOf returns the id of the transaction whose difference an item changes, or "".
func transactionOf(value any) string {
	switch v := value.(type) {
	case header:
		return v.id
	case posting:
		return v.transaction
	case outcome:
		return v.hold
	case reversed:
		return v.by
	case holdEntry:
		return v.header.id
	case openHold:
		return v.hold
	case listEntry:
		return v.transaction
	}
	return ""
}

// isWanted reports whether a rescan must add an item.
func (c *reconciler) isWanted(value any) bool {
	if _, isPage := value.(journalPage); isPage {
		return true // addJournal selects its entries
	}
	id := transactionOf(value)
	return id != "" && c.rescanned[c.bucketOf(id)]
}

// hash returns the keyed hash of some strings.
func (c *reconciler) hash(parts ...string) digest {
	var buffer [512]byte
	b := append(buffer[:0], c.key[:]...)
	for _, s := range parts {
		b = append(strconv.AppendInt(b, int64(len(s)), 10), ':')
		b = append(b, s...)
	}
	hash := sha256.Sum256(b)
	return digest{binary.BigEndian.Uint64(hash[:]), binary.BigEndian.Uint64(hash[8:])}
}

// stepHash is the hash of a step in an entry.
func (c *reconciler) stepHash(e entry, s step) digest { return c.hash(e.key.PK, e.key.SK, s.text) }

func (c *reconciler) reversalHash(transaction, by string) digest {
	return c.hash("reversed", transaction, by)
}

// addItem adds the items that a header or an end requires. It subtracts postings, reversals, entries and pages. It
// ignores all other items. l is the result of lifecycleOf.
func (c *reconciler) addItem(ctx context.Context, value any, l lifecycle, key store.Key) {
	if l.unreadable {
		return // the scan reports it
	}
	switch v := value.(type) {
	case header:
		required := [partsCount]digest{eventsPart: c.postingsHash(v.postings()...)}
		if v.kind == reversal {
			required[eventsPart].add(c.reversalHash(v.reverses, v.id))
		}
		for _, e := range (lifecycle{header: v, exists: true}).entries(c.audit.Indexed) {
			required[e.part].add(c.stepHash(e, e.steps[0]))
		}
		c.noteBackdated(v)
		c.add(ctx, eventsPart, v.id, v.legs[0].ksuid, required[eventsPart])
		c.add(ctx, listsPart, v.id, v.legs[0].ksuid, required[listsPart])
		c.addJournal(ctx, []journalEntry{v.journaled()})
	case posting:
		c.add(ctx, eventsPart, v.transaction, v.ksuid, c.postingsHash(v).negated(), key)
	case outcome:
		c.addJournal(ctx, []journalEntry{v.journaled()})
		if postings := l.endPostings(); postings != nil {
			required := c.postingsHash(postings...)
			for _, e := range l.entries(nil) {
				if len(e.steps) > 1 {
					required.add(c.stepHash(e, e.steps[1]))
				}
			}
			c.add(ctx, eventsPart, v.hold, v.legs[0].ksuid, required)
		}
	case reversed:
		ksuid := ""
		if l.exists {
			ksuid = l.legs[0].ksuid
		}
		c.add(ctx, eventsPart, v.by, ksuid, c.reversalHash(v.transaction, v.by).negated(), key)
	case journalPage:
		c.addJournal(ctx, v.entries, key)
	}
	if v, ok := value.(listEntry); ok && !c.audit.isIndexed(v) {
		return // transactions need not have such entries
	}
	if e, ok := entryIn(value, key, l); ok {
		for _, s := range e.steps {
			c.add(ctx, e.part, e.transaction, s.ksuid, c.stepHash(e, s).negated(), key)
		}
	}
}
