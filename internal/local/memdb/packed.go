package memdb

import (
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/store"
)

// A packed item is how the store keeps an item: in a third of the memory of a map, and immutable. It has the attributes
// in the order of their names, so equal items are equal texts. "" is a missing item.
//
// An attribute is its name and its value. A value is the letter of its type and a text: of a map its attributes, of a
// list its elements. Names and texts have their length before them.
type packed string

// The letters of the types.
const (
	packedText   = 'S'
	packedNumber = 'N'
	packedFlag   = 'F'
	packedNull   = '0'
	packedMap    = 'M'
	packedList   = 'L'
)

// pack packs an item from copyItemIn, or one changed by an update; nil is a missing item.
func pack(i store.Item) packed { return packed(appendItem(nil, i)) }

func appendItem(b []byte, i store.Item) []byte {
	for _, name := range slices.Sorted(maps.Keys(i)) {
		b = appendValue(appendText(b, name), i[name])
	}
	return b
}

func appendText[T string | []byte](b []byte, text T) []byte {
	n := len(text)
	for ; n >= 1<<7; n >>= 7 {
		b = append(b, byte(n)|1<<7)
	}
	return append(append(b, byte(n)), text...)
}

func appendValue(b []byte, v types.AttributeValue) []byte {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return appendText(append(b, packedText), v.Value)
	case *types.AttributeValueMemberN:
		return appendText(append(b, packedNumber), v.Value)
	case *types.AttributeValueMemberBOOL:
		return appendText(append(b, packedFlag), strconv.FormatBool(v.Value))
	case *types.AttributeValueMemberM:
		return appendText(append(b, packedMap), appendItem(nil, v.Value))
	case *types.AttributeValueMemberL:
		var all []byte
		for _, element := range v.Value {
			all = appendValue(all, element)
		}
		return appendText(append(b, packedList), all)
	}
	return appendText(append(b, packedNull), "")
}

// item returns the attributes in names, or all if names is nil, for a caller who may change them. It returns nil for a
// missing item.
func (p packed) item(names map[string]bool) store.Item {
	if p == "" {
		return nil
	}
	n := 0
	for rest := p; len(rest) > 0; n++ {
		rest.next()
	}
	i := make(store.Item, n)
	for len(p) > 0 {
		name, letter, value := p.next()
		if names == nil || names[name] {
			i[name] = unpack(letter, value)
		}
	}
	return i
}

// size returns the size of the attributes in names, or of all if names is nil, by DynamoDB's rules. It is that of
// store.SizeOf.
func (p packed) size(names map[string]bool) (total int) {
	for len(p) > 0 {
		name, letter, value := p.next()
		if names == nil || names[name] {
			total += len(name) + valueSize(letter, value)
		}
	}
	return total
}

func valueSize(letter byte, value string) int {
	switch rest := packed(value); letter {
	case packedText:
		return len(value)
	case packedNumber:
		return store.NumberBytes(value)
	case packedMap:
		total := store.CollectionBytes + rest.size(nil)
		for ; len(rest) > 0; total += store.ElementBytes {
			rest.next()
		}
		return total
	case packedList:
		total := store.CollectionBytes
		for len(rest) > 0 {
			total += valueSize(rest.value()) + store.ElementBytes
		}
		return total
	}
	return 1 // a boolean or a null
}

// text returns the value of a string. ok is false if there is none of that name, or if it is of another type.
func (p packed) text(of string) (value string, ok bool) {
	for len(p) > 0 {
		if name, letter, value := p.next(); name == of {
			return value, letter == packedText
		}
	}
	return "", false
}

// next takes an attribute off the front.
func (p *packed) next() (name string, letter byte, value string) {
	name = p.cut()
	letter, value = p.value()
	return name, letter, value
}

// value takes a value off the front: an element of a list, or what follows a name.
func (p *packed) value() (letter byte, value string) {
	letter, *p = (*p)[0], (*p)[1:]
	return letter, p.cut()
}

// cut takes a text off the front.
func (p *packed) cut() string {
	n, at := 0, 0
	for shift := 0; ; shift += 7 {
		c := (*p)[at]
		at++
		if n |= int(c&(1<<7-1)) << shift; c < 1<<7 {
			break
		}
	}
	text := string((*p)[at : at+n])
	*p = (*p)[at+n:]
	return text
}

func unpack(letter byte, value string) types.AttributeValue {
	switch letter {
	case packedText:
		return &types.AttributeValueMemberS{Value: value}
	case packedNumber:
		return &types.AttributeValueMemberN{Value: value}
	case packedFlag:
		return &types.AttributeValueMemberBOOL{Value: value == "true"}
	case packedMap:
		m := packed(value).item(nil)
		if m == nil {
			m = store.Item{} // a map may be empty
		}
		return &types.AttributeValueMemberM{Value: m}
	case packedList:
		l := []types.AttributeValue{}
		for all := packed(value); len(all) > 0; {
			l = append(l, unpack(all.value()))
		}
		return &types.AttributeValueMemberL{Value: l}
	}
	return &types.AttributeValueMemberNULL{Value: true}
}
