package table

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
)

// An ItemEncoder builds the items of one request. The SDK needs a pointer to each value. The encoder points into arrays
// of many values, because separate allocations would be most of the cost of an item. It is not safe for concurrent use.
type ItemEncoder struct {
	texts   []types.AttributeValueMemberS
	numbers []types.AttributeValueMemberN
	maps    []types.AttributeValueMemberM
	events  events.Encoder // also backs all numbers
}

const (
	// besideFields is how many attributes an event's item has in addition to its fields: up to four keys, type, version
	// and checksum.
	besideFields = 7
	// textsEach and numbersEach are estimates of the values of one item of a transaction. A leg is also in the header.
	textsEach, numbersEach = 13, 4
	charsEach              = 32 + events.ChecksumChars // an estimate of the numbers and the checksum of an item
	mapsFirst              = 4                         // initial capacity for maps: the legs of a settled trade
)

// NewItemEncoder returns an encoder with room for a number of items of a transaction. It grows if there are more.
func NewItemEncoder(items int) *ItemEncoder {
	e := &ItemEncoder{
		texts:   make([]types.AttributeValueMemberS, 0, textsEach*items),
		numbers: make([]types.AttributeValueMemberN, 0, numbersEach*items),
	}
	e.events.Grow(charsEach * items)
	return e
}

// grow appends v and returns a pointer to it. When the array is full, it begins another one and leaves the values in
// place.
func grow[V any](array *[]V, v V, least int) *V {
	if len(*array) == cap(*array) {
		*array = make([]V, 0, max(least, cap(*array)))
	}
	*array = append(*array, v)
	return &(*array)[len(*array)-1]
}

// String returns a string attribute.
func (e *ItemEncoder) String(s string) types.AttributeValue {
	return grow(&e.texts, types.AttributeValueMemberS{Value: s}, textsEach)
}

// Amount returns a number attribute.
func (e *ItemEncoder) Amount(a events.Amount) types.AttributeValue { return e.number(e.events.Of(a)) }

func (e *ItemEncoder) number(digits string) types.AttributeValue {
	return grow(&e.numbers, types.AttributeValueMemberN{Value: digits}, numbersEach)
}

// Key returns k in the SDK's form.
func (e *ItemEncoder) KeyItem(k Key) Item {
	return Item{AttrPK: e.String(k.PK), AttrSK: e.String(k.SK)}
}

// Event returns the stored item of an event: its keys, type, version, checksum and fields. A posting may be passed as
// a pointer.
func (e *ItemEncoder) Event(event events.Event) Item {
	fields, checksum := e.events.Encode(event)
	item := e.item(fields, besideFields)
	a := addressOf(event)
	item[AttrPK], item[AttrSK] = e.String(a.key.PK), e.String(a.key.SK)
	if a.sk2 != "" {
		item[AttrSK2] = e.String(a.sk2)
	}
	if a.pk2 != "" {
		item[AttrPK2] = e.String(a.pk2)
	}
	item[AttrType], item[AttrForm] = e.String(event.EventName()), form
	item[AttrChecksum] = e.String(checksum)
	return item
}

// EventItem returns the stored item of one event.
func EventItem(e events.Event) Item { return NewItemEncoder(1).Event(e) }

// item returns the attributes of fields, with room for more.
func (e *ItemEncoder) item(fields events.Fields, more int) Item {
	item := make(Item, len(fields)+more)
	for i := range fields {
		item[fields[i].Name] = e.value(&fields[i])
	}
	return item
}

func (e *ItemEncoder) value(f *events.Field) types.AttributeValue {
	switch f.Type {
	case events.NumberField:
		return e.number(f.Text)
	case events.FlagField:
		return Flag(true)
	case events.MapField:
		m := types.AttributeValueMemberM{Value: e.item(f.Of, 0)}
		return grow(&e.maps, m, max(mapsFirst, 2*cap(e.maps)))
	case events.ListField:
		list := make([]types.AttributeValue, len(f.Of))
		for i := range f.Of {
			list[i] = e.value(&f.Of[i])
		}
		return &types.AttributeValueMemberL{Value: list}
	}
	return e.String(f.Text)
}
