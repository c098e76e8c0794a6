package wire

import (
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/ledger/table"
)

// address is where an event belongs in the table; an empty secondary key is absent.
type address struct {
	table.Key
	sk2, pk2 string
}

func addressOf(e events.Event) address {
	switch e := e.(type) {
	case events.PostingRecorded:
		return legAddress(e.Leg)
	case *events.PostingRecorded:
		return legAddress(e.Leg)
	case events.TransactionPosted:
		return address{Key: table.TransactionKey(e.ID)}
	case events.AccountOpened:
		return address{Key: table.AccountKey(e.ID), sk2: table.ProfileSK2, pk2: table.AccountsPK2}
	case events.AssetRegistered:
		return address{Key: table.AssetKey(e.ID), pk2: table.AssetsPK2}
	case events.MemberGranted:
		return address{Key: table.GrantKey(e.Account, e.User, e.Number)}
	case events.MemberRevoked:
		return address{Key: table.GrantKey(e.Account, e.User, e.Number)}
	}
	// Package events keeps the set closed.
	panic(fmt.Sprintf("wire: no place in the table for %T", e))
}

func legAddress(l events.Leg) address {
	return address{Key: table.PostingKey(l.Account, l.Asset, string(l.ID)), sk2: table.PostingSK2(string(l.ID))}
}

// EventKey returns the key under which an event is stored.
func EventKey(e events.Event) table.Key { return addressOf(e).Key }

// DecodeEvent reads an event from its stored item; it checks that the keys are those that the event must have.
// Errors: ErrMalformedItem, and those of events.Decode.
func DecodeEvent(i Item) (events.Event, error) {
	s, err := split(i)
	if err != nil {
		return nil, err
	}
	e, err := events.Decode(s.name, s.version, s.fields)
	if err != nil {
		return nil, fmt.Errorf("item %s %s: %w", s.PK, s.SK, err)
	}
	return e, s.belongs(addressOf(e))
}

// DecodeListed reads an AssetRegistered or AccountOpened from what the inverse index holds of its item: Actor and
// Profile are left out and come back empty. Errors: those of DecodeEvent.
func DecodeListed(i Item) (events.Event, error) {
	s, err := split(i)
	if err != nil {
		return nil, err
	}
	e, err := events.DecodeListed(s.name, s.version, s.fields)
	if err != nil {
		return nil, fmt.Errorf("item %s %s: %w", s.PK, s.SK, err)
	}
	a := addressOf(e)
	a.sk2 = "" // a key of the other index
	return e, s.belongs(a)
}

// stored is an event's item, taken apart.
type stored struct {
	address
	name    string
	version int
	fields  events.Fields
}

// besideFields is how many attributes every event's item has at least beside its fields: two keys, type and version.
const besideFields = 4

func split(i Item) (stored, error) {
	size := len(i) - besideFields
	if i[table.AttrSK2] != nil {
		size--
	}
	s := stored{fields: make(events.Fields, max(size, 0))}
	var version string
	for name, v := range i {
		var text *string
		switch name {
		case table.AttrPK:
			text = &s.PK
		case table.AttrSK:
			text = &s.SK
		case table.AttrSK2:
			text = &s.sk2
		case table.AttrPK2:
			text = &s.pk2
		case table.AttrType:
			text = &s.name
		case table.AttrEventVersion:
			n, ok := v.(*types.AttributeValueMemberN)
			if !ok {
				return s, fmt.Errorf("%w: %s is not a number", ErrMalformedItem, name)
			}
			version = n.Value
			continue
		default:
			s.fields[name] = field(v)
			continue
		}
		t, ok := v.(*types.AttributeValueMemberS)
		if !ok || t.Value == "" { // an empty one would pass for an absent one
			return s, fmt.Errorf("%w: %s is not a string, or an empty one", ErrMalformedItem, name)
		}
		*text = t.Value
	}
	var err error
	if s.version, err = strconv.Atoi(version); err != nil || strconv.Itoa(s.version) != version {
		return s, fmt.Errorf("%w: item %s %s has no version", ErrMalformedItem, s.PK, s.SK)
	}
	return s, nil
}

// belongs returns an error unless the item was found where it must be.
func (s stored) belongs(a address) error {
	if s.address != a {
		return fmt.Errorf("%w: the %s at %s %s has keys that are not its own", ErrMalformedItem, s.name, s.PK, s.SK)
	}
	return nil
}
