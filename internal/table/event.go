package table

import (
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
)

// address has an event's keys in the table and its indexes. An empty secondary key is absent.
type address struct {
	key      Key
	sk2, pk2 string
}

func addressOf(e events.Event) address {
	switch e := e.(type) {
	case events.PostingRecorded:
		return legAddress(e.Leg)
	case *events.PostingRecorded:
		return legAddress(e.Leg)
	case events.TransactionPosted:
		return address{key: Transaction.Key(e.ID)}
	case events.HoldEnded:
		return address{key: Outcome.Key(e.Transaction)}
	case events.TransactionReversed:
		return address{key: Reversal.Key(e.Transaction, e.Number)}
	case events.AccountChanged:
		return address{key: Change.Key(e.ID, e.Number)}
	case events.AccountOpened:
		return address{key: Account.Key(e.ID), sk2: Account.SK2(), pk2: Account.PK2()}
	case events.AssetRegistered:
		return address{key: Asset.Key(e.ID), pk2: Asset.PK2()}
	case events.MemberGranted:
		if e.Group != "" {
			return address{key: GroupGrant.Key(e.Group, e.User, e.Number)}
		}
		return address{key: Grant.Key(e.Account, e.User, e.Number)}
	case events.GroupRegistered:
		return address{key: Group.Key(e.ID), pk2: Group.PK2()}
	case events.AccountGrouped:
		return address{key: Grouping.Key(e.Account, e.Number)}
	case events.PeriodClosed:
		return address{key: Period.Key(Number(e.Number))}
	case events.LanesGrown:
		return address{key: LanesGrown.Key(Number(e.Number))}
	}
	// Other packages cannot add events.
	panic(fmt.Sprintf("store: no place in the table for %T", e))
}

func legAddress(l events.Leg) address {
	return address{key: Posting.Key(l.Account, l.Asset, string(l.ID)), sk2: Posting.SK2(string(l.ID))}
}

// EventKey returns an event's key in the table.
func EventKey(e events.Event) Key { return addressOf(e).key }

// DecodeEvent decodes an event's item, and checks its keys. Errors: ErrMalformedItem, and those of events.Decode.
func DecodeEvent(i Item) (events.Event, error) { return DecodeAttributes(attributes(i)) }

// DecodeAttributes is DecodeEvent of all attributes of an item, in any order. It takes over the slice.
func DecodeAttributes(all events.Fields) (events.Event, error) {
	s, err := split(all)
	if err != nil {
		return nil, err
	}
	e, err := events.Decode(s.name, s.version, s.checksum, s.fields)
	if err != nil {
		return nil, fmt.Errorf("item %s %s: %w", s.at.key.PK, s.at.key.SK, err)
	}
	return e, s.checkAddress(addressOf(e))
}

// DecodeListed decodes an event from its entry in the inverse index: see events.DecodeListed. Errors: those of
// DecodeEvent.
func DecodeListed(i Item) (events.Event, error) {
	s, err := split(attributes(i))
	if err != nil {
		return nil, err
	}
	e, err := events.DecodeListed(s.name, s.version, s.fields)
	if err != nil {
		return nil, fmt.Errorf("item %s %s: %w", s.at.key.PK, s.at.key.SK, err)
	}
	a := addressOf(e)
	a.sk2 = "" // the other index's key is not projected
	return e, s.checkAddress(a)
}

// stored has the parts of an event's item.
type stored struct {
	at       address
	name     string
	version  int
	checksum string // "" if absent
	fields   events.Fields
}

// attributes returns an item's attributes in the form of events.
func attributes(i Item) events.Fields {
	all := make(events.Fields, 0, len(i))
	for name, v := range i {
		all = append(all, field(name, v))
	}
	return all
}

func split(all events.Fields) (stored, error) {
	s := stored{fields: all[:0]}
	var version string
	for _, f := range all {
		wanted := events.TextField
		var text *string
		switch f.Name {
		case AttrPK:
			text = &s.at.key.PK
		case AttrSK:
			text = &s.at.key.SK
		case AttrSK2:
			text = &s.at.sk2
		case AttrPK2:
			text = &s.at.pk2
		case AttrType:
			text = &s.name
		case AttrChecksum:
			text = &s.checksum
		case AttrForm:
			text, wanted = &version, events.NumberField
		default:
			s.fields = append(s.fields, f)
			continue
		}
		if f.Type != wanted || f.Text == "" { // an empty text would be taken for an absent one
			return s, fmt.Errorf("%w: %s is empty or of another type", ErrMalformedItem, f.Name)
		}
		*text = f.Text
	}
	var err error
	if s.version, err = strconv.Atoi(version); err != nil || strconv.Itoa(s.version) != version {
		return s, fmt.Errorf("%w: item %s %s has no version", ErrMalformedItem, s.at.key.PK, s.at.key.SK)
	}
	return s, nil
}

// checkAddress returns an error unless the item has the keys of its event.
func (s stored) checkAddress(a address) error {
	if s.at != a {
		return fmt.Errorf("%w: the %s at %s %s has keys of another item", ErrMalformedItem, s.name, s.at.key.PK,
			s.at.key.SK)
	}
	return nil
}

// field returns an attribute in the form of events. Events have no sets, binaries or nulls: those have no type, which
// the codec rejects.
func field(name string, v types.AttributeValue) events.Field {
	f := events.Field{Name: name}
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		f.Type, f.Text = events.TextField, v.Value
	case *types.AttributeValueMemberN:
		f.Type, f.Text = events.NumberField, v.Value
	case *types.AttributeValueMemberBOOL:
		f.Type, f.Text = events.FlagField, strconv.FormatBool(v.Value)
	case *types.AttributeValueMemberM:
		f.Type, f.Of = events.MapField, attributes(v.Value)
	case *types.AttributeValueMemberL:
		f.Type, f.Of = events.ListField, make(events.Fields, len(v.Value))
		for i, element := range v.Value {
			f.Of[i] = field("", element)
		}
	}
	return f
}

// FieldText returns what an attribute has, as events.StoredPosting takes it: "" unless it is of that type.
func FieldText(v types.AttributeValue, t events.FieldType) string {
	switch t {
	case events.TextField:
		return TextOf(v)
	case events.NumberField:
		return DigitsOf(v)
	}
	if b, ok := v.(*types.AttributeValueMemberBOOL); ok && t == events.FlagField {
		return strconv.FormatBool(b.Value)
	}
	return ""
}

// Only returns e, the result of a decoder, as an event of type E. Error: also ErrMalformedItem, for an event of
// another type.
func Only[E events.Event](e events.Event, err error) (typed E, _ error) {
	if err != nil {
		return typed, err
	}
	typed, ok := e.(E)
	if !ok {
		return typed, fmt.Errorf("%w: it is a %T, not a %T", ErrMalformedItem, e, typed)
	}
	return typed, nil
}
