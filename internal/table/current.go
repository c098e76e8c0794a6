package table

import (
	"fmt"
	"strconv"

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
	return DecodeCurrentAttributes(attributes(i))
}

// DecodeCurrentAttributes is DecodeCurrent of all attributes of an item, in any order. It takes over the slice.
func DecodeCurrentAttributes(all events.Fields) (events.AccountChanged, error) {
	var key Key
	var number int64
	var kind, sk *events.Field
	for i := range all {
		switch f := &all[i]; f.Name {
		case AttrPK:
			key.PK = f.Text
		case AttrSK:
			key.SK, sk = f.Text, f
		case AttrType:
			kind = f
		case "Number":
			number, _ = strconv.ParseInt(f.Text, 10, 64)
		}
	}
	account, ok := Current.Parse(key)
	if !ok || number < 1 || kind == nil || kind.Type != events.TextField || kind.Text != Current.Type {
		return events.AccountChanged{}, fmt.Errorf("%w: item %s %s is no %s", ErrMalformedItem, key.PK, key.SK,
			Current.Type)
	}
	sk.Text, kind.Text = Change.Key(account, number).SK, events.AccountChanged{}.EventName()
	return Only[events.AccountChanged](DecodeAttributes(all))
}
