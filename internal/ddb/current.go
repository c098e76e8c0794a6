package ddb

import (
	"fmt"
	"maps"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// Current returns the copy of an account's newest change: its fields and its checksum, under a separate key and type.
// It is not an event: later changes overwrite it.
func (e *ItemEncoder) Current(c events.AccountChanged) Item {
	item := e.Event(c)
	key := table.Current.Key(c.ID)
	item[table.AttrPK], item[table.AttrSK] = e.String(key.PK), e.String(key.SK)
	item[table.AttrType] = e.String(table.Current.Type)
	return item
}

// DecodeCurrent decodes an item of Current. Errors: those of DecodeEvent.
func DecodeCurrent(i Item) (events.AccountChanged, error) {
	r := Open(i, table.Current.Type)
	key := table.Key{PK: r.Text(table.AttrPK), SK: r.Text(table.AttrSK)}
	number := r.Integer("Number")
	account, ok := table.Current.Parse(key)
	if !ok {
		r.Fail(table.AttrSK, "is not that of an account's newest change")
	}
	if r.Err() != nil {
		return events.AccountChanged{}, fmt.Errorf("item %s %s: %w", key.PK, key.SK, r.Err())
	}
	change := maps.Clone(i)
	change[table.AttrSK] = String(table.Change.Key(account, number).SK)
	change[table.AttrType] = String(events.AccountChanged{}.EventName())
	return Only[events.AccountChanged](DecodeEvent(change))
}
