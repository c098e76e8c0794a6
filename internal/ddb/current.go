package ddb

import (
	"fmt"
	"maps"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/internal/table"
)

// Current returns the item that says what an account is now: the fields of its newest change and that one's checksum,
// under a key and a type of its own. It has no version, as it is no event: it is written again.
func (e *ItemEncoder) Current(c events.AccountChanged) Item {
	item := e.Event(c)
	key := table.CurrentKey(c.ID)
	item[table.AttrPK], item[table.AttrSK] = e.String(key.PK), e.String(key.SK)
	item[table.AttrType] = e.String(table.KindCurrent)
	delete(item, table.AttrEventVersion)
	return item
}

// DecodeCurrent decodes what Current made. Errors: those of DecodeEvent.
func DecodeCurrent(i Item) (events.AccountChanged, error) {
	r := Read(i)
	key := table.Key{PK: r.Text(table.AttrPK), SK: r.Text(table.AttrSK)}
	kind, number := r.Text(table.AttrType), r.Integer("Number")
	if r.Err() != nil {
		return events.AccountChanged{}, r.Err()
	}
	account, ok := table.ParseCurrent(key)
	if !ok || kind != table.KindCurrent {
		return events.AccountChanged{}, fmt.Errorf("%w: a %s at %s %s", store.ErrMalformedItem, kind, key.PK, key.SK)
	}
	change := maps.Clone(i)
	change[table.AttrSK] = String(table.ChangeKey(account, number).SK)
	name, version := events.AccountChanged{}.EventName()
	change[table.AttrType], change[table.AttrEventVersion] = String(name), Integer(int64(version))
	return Only[events.AccountChanged](DecodeEvent(change))
}
