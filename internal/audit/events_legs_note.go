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

// The facts of holds and reversals. An entry of a hold has copies of header and end, whose checksums say what is in
// them; the entry by expiry only says that the hold is there, and whether it has ended.
func (c *legCheck) placedFact(account, ksuid string, h header) digest {
	return c.fact("placed", account, ksuid, h.id, h.checksum)
}

func (c *legCheck) endedFact(account string, o outcome) digest {
	return c.fact("ended", account, o.hold, o.checksum)
}

func (c *legCheck) listedFact(hold, expires string) digest { return c.fact("listed", hold, expires) }

func (c *legCheck) closedFact(hold string) digest { return c.fact("closed", hold) }

func (c *legCheck) reversedFact(transaction, by string) digest {
	return c.fact("reversed", transaction, by)
}

// note adds what a header and an end of a hold demand, and subtracts what is stored beside them. It ignores all other
// values. Each is added as of the age of the KSUID that both sides know.
func (c *legCheck) note(ctx context.Context, value any, key table.Key) {
	switch v := value.(type) {
	case header:
		all := c.hashOf(v)
		if v.isHold() {
			for _, account := range v.accounts() {
				all.add(c.placedFact(account, v.legs[0].ksuid, v))
			}
			all.add(c.listedFact(v.id, v.expires))
		}
		if v.kind == reversal {
			all.add(c.reversedFact(v.reverses, v.id))
		}
		c.noteBackdated(v)
		c.add(ctx, v.id, v.legs[0].ksuid, all)
		c.noteListed(ctx, v)
		c.noteEntries(ctx, []entryOf{v.journaled()})
	case posting:
		c.add(ctx, v.transaction, v.ksuid, c.hash(v).negated(), key)
	case endOf:
		c.noteEntries(ctx, []entryOf{v.journaled()})
		if v.of == nil || len(v.legs) != len(v.of.legs) {
			return // the scan reports it
		}
		all := c.closedFact(v.hold)
		for i := range v.legs {
			all.add(c.hash(v.posting(*v.of, i)))
		}
		for _, account := range v.of.accounts() {
			all.add(c.endedFact(account, v.outcome))
		}
		c.add(ctx, v.hold, v.legs[0].ksuid, all)
	case listed:
		if !v.void && c.audit.isIndexed(v) {
			at, ok := instantOf(v.ksuid)
			c.addTo(ctx, ofLists, v.transaction, at, ok, c.listFact(key, v.held).negated(), key)
		}
	case page:
		c.noteEntries(ctx, v.entries, key)
	case reversalBy:
		ksuid := ""
		if v.by != nil {
			ksuid = v.by.legs[0].ksuid
		}
		c.add(ctx, v.reversed.by, ksuid, c.reversedFact(v.transaction, v.reversed.by).negated(), key)
	case holdEntry:
		c.add(ctx, v.header.id, v.header.legs[0].ksuid, c.placedFact(v.account, v.ksuid, v.header).negated(), key)
		if v.end != nil {
			c.add(ctx, v.header.id, v.end.legs[0].ksuid, c.endedFact(v.account, *v.end).negated(), key)
		}
	case openHoldOf:
		placed, ended := "", ""
		if v.of != nil {
			placed = v.of.legs[0].ksuid
		}
		if v.end != nil {
			ended = v.end.legs[0].ksuid
		}
		c.add(ctx, v.hold, placed, c.listedFact(v.hold, v.expires).negated(), key)
		if v.version == endedVersion {
			c.add(ctx, v.hold, ended, c.closedFact(v.hold).negated(), key)
		}
	}
}
