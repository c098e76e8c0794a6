package ddb

import (
	"fmt"
	"maps"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/internal/table"
)

// Current returns the copy of an account's newest change: its fields and its checksum, under a separate key and type.
// It has no event version, because it is not an event: later changes overwrite it.
func (e *ItemEncoder) Current(c events.AccountChanged) Item {
	item := e.Event(c)
	key := table.CurrentKey(c.ID)
	item[table.AttrPK], item[table.AttrSK] = e.String(key.PK), e.String(key.SK)
	item[table.AttrType] = e.String(table.KindCurrent)
	delete(item, table.AttrEventVersion)
	return item
}

// DecodeCurrent decodes an item of Current. Errors: those of DecodeEvent.
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
