package audit

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"strconv"

	"ledger.example/internal/store"
)

// isWanted reports whether a rescan must add an item: it is in the difference of a bucket that the rescan examines.
func (c *reconciler) isWanted(value any, key store.Key) bool {
	e, ok := entryIn(value, key, lifecycle{})
	id := e.transaction
	if journaled, isEvent := entryOf(value, key); isEvent {
		id, ok = journaled.subject(), true
	}
	switch v := value.(type) {
	case journalPage:
		return true // addJournal selects its entries
	case reversed:
		id, ok = v.by, true
	}
	return ok && c.rescanned[c.bucketOf(id)]
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

// addRequired adds the entries that an event requires: a header, or with ofEnd the end of a hold.
func (c *reconciler) addRequired(ctx context.Context, l lifecycle, ofEnd bool, legs []leg) {
	var required [partsCount]digest
	for _, e := range l.entries(c.audit.Indexed) {
		for _, s := range e.steps {
			if s.ofEnd == ofEnd {
				required[e.part].add(c.stepHash(e, s))
			}
		}
	}
	if !ofEnd && l.kind == reversal {
		required[eventsPart].add(c.reversalHash(l.reverses, l.id))
	}
	for i, d := range required {
		if d != (digest{}) {
			c.add(ctx, part(i), l.id, timeOf(legs), d)
		}
	}
}

// addItem adds the entries that a header or an end requires. It subtracts entries, reversals and pages. It ignores all
// other items. l is the result of lifecycleOf.
func (c *reconciler) addItem(ctx context.Context, value any, l lifecycle, key store.Key) {
	if l.unreadable {
		return // the scan reports it
	}
	if e, ok := entryOf(value, key); ok {
		c.addJournal(ctx, []journalEntry{e})
	}
	switch v := value.(type) {
	case header:
		c.noteBackdated(v)
		c.addRequired(ctx, lifecycle{header: v, exists: true}, false, v.legs)
	case outcome:
		c.addRequired(ctx, l, true, v.legs)
	case reversed:
		c.add(ctx, eventsPart, v.by, timeOf(l.legs), c.reversalHash(v.transaction, v.by).negated(), key)
	case journalPage:
		c.addJournal(ctx, v.entries, key)
	}
	if v, ok := value.(listEntry); ok && !c.audit.isIndexed(v) {
		return // transactions need not have such entries
	}
	if e, ok := entryIn(value, key, l); ok {
		for _, s := range e.steps {
			at, _ := instantOf(s.ksuid)
			c.add(ctx, e.part, e.transaction, at, c.stepHash(e, s).negated(), key)
		}
	}
}
