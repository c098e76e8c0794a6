package audit

import (
	"context"
	"strconv"

	"ledger.example/internal/table"
)

// transactionOf returns the id of the transaction whose rest an item of the scan belongs to, "" if there is none.
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
	case listed:
		return v.transaction
	}
	return ""
}

// isWanted reports whether an item belongs to what a rescan looks at.
func (c *legCheck) isWanted(value any) bool {
	if _, isPage := value.(page); isPage {
		return true // each entry is looked at
	}
	id := transactionOf(value)
	return id != "" && c.rescanned[c.bucketOf(id)]
}

// fact is the hash of something that two items must agree on.
func (c *legCheck) fact(parts ...string) digest {
	var buffer [512]byte
	b := append(buffer[:0], c.key[:]...)
	for _, s := range parts {
		b = append(strconv.AppendInt(b, int64(len(s)), 10), ':')
		b = append(b, s...)
	}
	return digestOf(b)
}

// shows is the fact that an entry shows a step.
func (c *legCheck) shows(e entry, s step) digest { return c.fact(e.key.PK, e.key.SK, s.text) }

func (c *legCheck) reversedFact(transaction, by string) digest {
	return c.fact("reversed", transaction, by)
}

// note adds what a header and an end of a hold demand, and subtracts what is stored beside them. It ignores all other
// values. l is what lifeOf read of the value's transaction. Each is added as of the age of the KSUID that both sides
// know.
func (c *legCheck) note(ctx context.Context, value any, l life, key table.Key) {
	if l.unreadable {
		return // the scan reports it
	}
	switch v := value.(type) {
	case header:
		demands := [partsCount]digest{ofEvents: c.hashOf(v.postings()...)}
		if v.kind == reversal {
			demands[ofEvents].add(c.reversedFact(v.reverses, v.id))
		}
		for _, e := range (life{header: v, exists: true}).entries(c.audit.Indexed) {
			demands[e.of].add(c.shows(e, e.steps[0]))
		}
		c.noteBackdated(v)
		c.add(ctx, ofEvents, v.id, v.legs[0].ksuid, demands[ofEvents])
		c.add(ctx, ofLists, v.id, v.legs[0].ksuid, demands[ofLists])
		c.noteEntries(ctx, []entryOf{v.journaled()})
	case posting:
		c.add(ctx, ofEvents, v.transaction, v.ksuid, c.hashOf(v).negated(), key)
	case outcome:
		c.noteEntries(ctx, []entryOf{v.journaled()})
		if postings := l.endPostings(); postings != nil {
			demands := c.hashOf(postings...)
			for _, e := range l.entries(nil) {
				if len(e.steps) > 1 {
					demands.add(c.shows(e, e.steps[1]))
				}
			}
			c.add(ctx, ofEvents, v.hold, v.legs[0].ksuid, demands)
		}
	case reversed:
		ksuid := ""
		if l.exists {
			ksuid = l.legs[0].ksuid
		}
		c.add(ctx, ofEvents, v.by, ksuid, c.reversedFact(v.transaction, v.by).negated(), key)
	case page:
		c.noteEntries(ctx, v.entries, key)
	}
	if v, ok := value.(listed); ok && !c.audit.isIndexed(v) {
		return // its transaction need not demand it
	}
	if e, ok := entryIn(value, key, l); ok {
		for _, s := range e.steps {
			c.add(ctx, e.of, e.transaction, s.ksuid, c.shows(e, s).negated(), key)
		}
	}
}
