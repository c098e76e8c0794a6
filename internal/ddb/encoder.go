package ddb

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// An ItemEncoder builds the items of one request. The SDK needs a pointer to each value. The encoder points into arrays
// of many values, because separate allocations would be most of the cost of an item. It is not safe for concurrent use.
type ItemEncoder struct {
	texts     []types.AttributeValueMemberS
	numbers   []types.AttributeValueMemberN
	maps      []types.AttributeValueMemberM
	digits    events.Decimals // backs all numbers
	checksums strings.Builder // backs all checksums
	open      []container     // the item being built, and the nested maps and lists that have not ended
	nested    [4]container    // backs open; the deepest nesting is a leg in a header's list
}

// container is a map or, if item is nil, a list.
type container struct {
	name string
	item Item
	list []types.AttributeValue
}

const (
	// eventAttributes is the maximum number of attributes of an event's item: nine fields of a posting, three keys,
	// type, version and checksum; or six fields of an opening, four keys and these three.
	eventAttributes = 15
	// textsEach and numbersEach are estimates of the values of one item of a transaction. A leg is also in the header.
	textsEach, numbersEach = 13, 4
	digitsEach             = 32 // an estimate of the characters of an item's numbers
	mapsFirst              = 4  // initial capacity for maps: the legs of a settled trade
)

// NewItemEncoder returns an encoder with room for a number of items of a transaction. It grows if there are more.
func NewItemEncoder(items int) *ItemEncoder {
	e := &ItemEncoder{
		texts:   make([]types.AttributeValueMemberS, 0, textsEach*items),
		numbers: make([]types.AttributeValueMemberN, 0, numbersEach*items),
	}
	e.open = e.nested[:0]
	e.digits.Grow(digitsEach * items)
	e.checksums.Grow(events.ChecksumChars * items)
	return e
}

// next appends v and returns a pointer to it. When the array is full, it begins another one and leaves the values in
// place.
func next[V any](array *[]V, v V, least int) *V {
	if len(*array) == cap(*array) {
		*array = make([]V, 0, max(least, cap(*array)))
	}
	*array = append(*array, v)
	return &(*array)[len(*array)-1]
}

// String returns a string attribute.
func (e *ItemEncoder) String(s string) types.AttributeValue {
	return next(&e.texts, types.AttributeValueMemberS{Value: s}, textsEach)
}

// Amount returns a number attribute.
func (e *ItemEncoder) Amount(a events.Amount) types.AttributeValue {
	return next(&e.numbers, types.AttributeValueMemberN{Value: e.digits.Of(a)}, numbersEach)
}

// Key returns k in the SDK's form.
func (e *ItemEncoder) Key(k table.Key) Item {
	return Item{table.AttrPK: e.String(k.PK), table.AttrSK: e.String(k.SK)}
}

// Event returns the stored item of an event: its keys, type, version, checksum and fields. A posting may be passed as
// a pointer.
func (e *ItemEncoder) Event(event events.Event) Item {
	item := make(Item, eventAttributes)
	e.open = append(e.open[:0], container{item: item})
	events.Write(event, (*fieldEncoder)(e))
	a := addressOf(event)
	item[table.AttrPK], item[table.AttrSK] = e.String(a.key.PK), e.String(a.key.SK)
	if a.sk2 != "" {
		item[table.AttrSK2] = e.String(a.sk2)
	}
	if a.pk2 != "" {
		item[table.AttrPK2] = e.String(a.pk2)
	}
	item[table.AttrType], item[table.AttrForm] = e.String(event.EventName()), form
	item[table.AttrChecksum] = e.String(e.checksum(event))
	return item
}

func (e *ItemEncoder) checksum(event events.Event) string {
	var room [events.ChecksumChars]byte
	from := e.checksums.Len()
	e.checksums.Write(events.AppendChecksum(room[:0], event))
	return e.checksums.String()[from:]
}

// EventItem returns the stored item of one event.
func EventItem(e events.Event) Item { return NewItemEncoder(1).Event(e) }

// fieldEncoder receives the fields of an event and puts them into the encoder's innermost open container.
type fieldEncoder ItemEncoder

var _ events.FieldEncoder = (*fieldEncoder)(nil)

// Text implements events.FieldEncoder.
func (f *fieldEncoder) Text(name, text string) { f.put(name, (*ItemEncoder)(f).String(text)) }

// Number implements events.FieldEncoder.
func (f *fieldEncoder) Number(name string, n events.Amount) { f.put(name, (*ItemEncoder)(f).Amount(n)) }

// Flag implements events.FieldEncoder.
func (f *fieldEncoder) Flag(name string) { f.put(name, Flag(true)) }

// BeginMap implements events.FieldEncoder.
func (f *fieldEncoder) BeginMap(name string, size int) {
	f.open = append(f.open, container{name: name, item: make(Item, size)})
}

// BeginList implements events.FieldEncoder.
func (f *fieldEncoder) BeginList(name string, size int) {
	f.open = append(f.open, container{name: name, list: make([]types.AttributeValue, 0, size)})
}

// End implements events.FieldEncoder.
func (f *fieldEncoder) End() {
	last := f.open[len(f.open)-1]
	f.open[len(f.open)-1] = container{}
	f.open = f.open[:len(f.open)-1]
	if last.item != nil {
		f.put(last.name, next(&f.maps, types.AttributeValueMemberM{Value: last.item}, max(mapsFirst, 2*cap(f.maps))))
	} else {
		f.put(last.name, &types.AttributeValueMemberL{Value: last.list})
	}
}

func (f *fieldEncoder) put(name string, v types.AttributeValue) {
	if in := &f.open[len(f.open)-1]; in.item != nil {
		in.item[name] = v
	} else {
		in.list = append(in.list, v)
	}
}
