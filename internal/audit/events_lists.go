package audit

import (
	"context"
	"slices"
	"strconv"
	"time"

	"ledger.example/internal/table"
)

// listKeys returns the keys of the entries that a header must have in lists of transactions.
func (a *Audit) listKeys(h header) []table.Key {
	ksuid := h.legs[0].ksuid
	keys := []table.Key{table.ListedKey(ksuid, h.id)}
	for _, name := range a.Indexed {
		if value, ok := h.metadata[name]; ok {
			keys = append(keys, table.Key{PK: table.MetadataPK(name, value), SK: table.ListedSK(ksuid, h.id)})
		}
	}
	return keys
}

// isIndexed reports whether all transactions that belong into an entry's list must be there.
func (a *Audit) isIndexed(v listed) bool { return v.name == "" || slices.Contains(a.Indexed, v.name) }

// checkUnindexed compares an entry by metadata that is not indexed, or no longer, with its header. A header need not
// have one.
func (a *Audit) checkUnindexed(ctx context.Context, v listed, key table.Key) {
	if v.void || a.isIndexed(v) {
		return
	}
	l, readable := a.life(ctx, v.transaction)
	switch value, ok := l.metadata[v.name]; {
	case !readable: // the scan reports it
	case !l.exists, !ok, table.MetadataPK(v.name, value) != key.PK, l.legs[0].ksuid != v.ksuid:
		a.report(ctx, v.alone(key, l))
	case v.held != l.isHold():
		a.report(ctx, v.wrong(key))
	}
}

// alone is the finding of an entry that no header needs.
func (v listed) alone(k table.Key, l life) Finding {
	right := "no entry: there is no transaction " + strconv.Quote(v.transaction)
	if l.exists {
		right = "no entry: transaction " + strconv.Quote(v.transaction) + " does not belong there"
	}
	return Finding{ListEntryAlone, k, "", "an entry of " + strconv.Quote(v.transaction), right}
}

// wrong is the finding of an entry that shows a hold as none, or the other way round.
func (v listed) wrong(k table.Key) Finding {
	return Finding{ListEntryWrong, k, table.AttrHeld, strconv.FormatBool(v.held), strconv.FormatBool(!v.held)}
}

// listFact is the fact that a transaction is listed under a key.
func (c *legCheck) listFact(k table.Key, isHold bool) digest {
	return c.fact("entry", k.PK, k.SK, strconv.FormatBool(isHold))
}

// noteListed adds the entries that a header must have.
func (c *legCheck) noteListed(ctx context.Context, h header) {
	var all digest
	for _, k := range c.audit.listKeys(h) {
		all.add(c.listFact(k, h.isHold()))
	}
	at, ok := instantOf(h.legs[0].ksuid)
	c.addTo(ctx, ofLists, h.id, at, ok, all)
}

// compareLists compares a transaction with its entries in lists, whose keys it returns. isMoving is true if one is
// missing, and the transaction is too young for that to be wrong.
func (c *legCheck) compareLists(ctx context.Context, l life) (keys []table.Key, found []Finding, isMoving bool) {
	if !l.exists {
		return nil, nil, false
	}
	keys = c.audit.listKeys(l.header)
	for _, k := range keys {
		item := c.audit.get(ctx, k)
		switch v, ok := as[listed](item); {
		case len(item) > 0 && !ok: // the scan reports it
		case ok && !v.void && v.held != l.isHold():
			found = append(found, v.wrong(k))
		case ok && !v.void:
		case c.audit.isYoung(l.at):
			isMoving = true
		default:
			found = append(found, Finding{ListEntryBehind, k, "", absent, "an entry of " + strconv.Quote(l.id)})
		}
	}
	return keys, found, isMoving
}

// isYoung reports whether something need not be projected yet.
func (a *Audit) isYoung(at time.Time) bool { return at.After(a.Now().Add(-a.Settle)) }
