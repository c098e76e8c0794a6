package wire

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/ledger/table"
)

// A Maker makes the items of one request. The SDK has a pointer for each value of an item: they point into arrays of many,
// as making each by itself is most of what an item costs. A Maker is not for concurrent use.
type Maker struct {
	texts   []types.AttributeValueMemberS
	numbers []types.AttributeValueMemberN
	maps    []types.AttributeValueMemberM
	digits  events.Decimals // of all numbers
	open    []opened        // the item that is being made, and what was begun in it and has not ended
	nested  [4]opened       // backs open: deeper than a leg in a header's list is no event
}

// opened is a map or, if item is nil, a list.
type opened struct {
	name string
	item Item
	list []types.AttributeValue
}

const (
	// eventAttributes is how many attributes an event's item has at most: a posting's eight, three keys, type and version;
	// an opening's six, four keys, type and version.
	eventAttributes = 13
	// textsEach and numbersEach are how many values an item of a transaction has, roughly: a leg is in the header, too.
	textsEach, numbersEach = 10, 4
	digitsEach             = 32 // characters of an item's numbers, roughly
	mapsFirst              = 4  // maps made at first: the legs of a settled trade
)

// NewMaker returns a maker of some items of a transaction. With more it makes more arrays.
func NewMaker(items int) *Maker {
	m := &Maker{
		texts:   make([]types.AttributeValueMemberS, 0, textsEach*items),
		numbers: make([]types.AttributeValueMemberN, 0, numbersEach*items),
	}
	m.open = m.nested[:0]
	m.digits.Grow(digitsEach * items)
	return m
}

// String is the function of that name.
func (m *Maker) String(s string) types.AttributeValue {
	if len(m.texts) == cap(m.texts) { // the values in the full array stay where they are
		m.texts = make([]types.AttributeValueMemberS, 0, max(textsEach, cap(m.texts)))
	}
	m.texts = append(m.texts, types.AttributeValueMemberS{Value: s})
	return &m.texts[len(m.texts)-1]
}

// Amount is the function of that name.
func (m *Maker) Amount(a events.Amount) types.AttributeValue {
	if len(m.numbers) == cap(m.numbers) {
		m.numbers = make([]types.AttributeValueMemberN, 0, max(numbersEach, cap(m.numbers)))
	}
	m.numbers = append(m.numbers, types.AttributeValueMemberN{Value: m.digits.Of(a)})
	return &m.numbers[len(m.numbers)-1]
}

// mapOf is the function Map.
func (m *Maker) mapOf(i Item) types.AttributeValue {
	if len(m.maps) == cap(m.maps) {
		m.maps = make([]types.AttributeValueMemberM, 0, max(mapsFirst, 2*cap(m.maps)))
	}
	m.maps = append(m.maps, types.AttributeValueMemberM{Value: i})
	return &m.maps[len(m.maps)-1]
}

// Key is the function of that name.
func (m *Maker) Key(k table.Key) Item {
	return Item{table.AttrPK: m.String(k.PK), table.AttrSK: m.String(k.SK)}
}

// Event returns the whole stored item of an event: its keys, type, version and fields. A posting may come as a pointer.
func (m *Maker) Event(e events.Event) Item {
	item := make(Item, eventAttributes)
	m.open = append(m.open[:0], opened{item: item})
	events.Write(e, (*form)(m))
	a := addressOf(e)
	item[table.AttrPK], item[table.AttrSK] = m.String(a.PK), m.String(a.SK)
	if a.sk2 != "" {
		item[table.AttrSK2] = m.String(a.sk2)
	}
	if a.pk2 != "" {
		item[table.AttrPK2] = m.String(a.pk2)
	}
	name, version := e.EventName()
	item[table.AttrType], item[table.AttrEventVersion] = m.String(name), m.Amount(events.NewAmount(int64(version)))
	return item
}

// EventItem returns the whole stored item of an event, made by itself.
func EventItem(e events.Event) Item { return NewMaker(1).Event(e) }

// form is a Maker as an event sees it.
type form Maker

var _ events.Form = (*form)(nil)

// Text implements events.Form.
func (f *form) Text(name, text string) { f.put(name, (*Maker)(f).String(text)) }

// Number implements events.Form.
func (f *form) Number(name string, n events.Amount) { f.put(name, (*Maker)(f).Amount(n)) }

// BeginMap implements events.Form.
func (f *form) BeginMap(name string, size int) {
	f.open = append(f.open, opened{name: name, item: make(Item, size)})
}

// BeginList implements events.Form.
func (f *form) BeginList(name string, size int) {
	f.open = append(f.open, opened{name: name, list: make([]types.AttributeValue, 0, size)})
}

// End implements events.Form.
func (f *form) End() {
	last := f.open[len(f.open)-1]
	f.open = slices.Delete(f.open, len(f.open)-1, len(f.open))
	if last.item != nil {
		f.put(last.name, (*Maker)(f).mapOf(last.item))
	} else {
		f.put(last.name, &types.AttributeValueMemberL{Value: last.list})
	}
}

func (f *form) put(name string, v types.AttributeValue) {
	if in := &f.open[len(f.open)-1]; in.item != nil {
		in.item[name] = v
	} else {
		in.list = append(in.list, v)
	}
}
