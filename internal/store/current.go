package store

import (
	"fmt"
	"maps"

	"ledger.example/events"
)

// Current returns the copy of an account's newest change: its fields and its checksum, under a separate key and type.
// It is not an event: later changes overwrite it.
func (e *ItemEncoder) Current(c events.AccountChanged) Item {
	item := e.Event(c)
	key := Current.Key(c.ID)
	item[AttrPK], item[AttrSK] = e.String(key.PK), e.String(key.SK)
	item[AttrType] = e.String(Current.Type)
	return item
}

// DecodeCurrent decodes an item of Current. Errors: those of DecodeEvent.
func DecodeCurrent(i Item) (events.AccountChanged, error) {
	r := Open(i, Current.Type)
	key := Key{PK: r.Text(AttrPK), SK: r.Text(AttrSK)}
	number := r.Integer("Number")
	account, ok := Current.Parse(key)
	if !ok {
		r.Fail(AttrSK, "is not that of an account's newest change")
	}
	if r.Err() != nil {
		return events.AccountChanged{}, fmt.Errorf("item %s %s: %w", key.PK, key.SK, r.Err())
	}
	change := maps.Clone(i)
	change[AttrSK] = String(Change.Key(account, number).SK)
	change[AttrType] = String(events.AccountChanged{}.EventName())
	return Only[events.AccountChanged](DecodeEvent(change))
}
