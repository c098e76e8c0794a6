package memdb

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/table"
)

// A packed item is how the store keeps an item: in a third of the memory of a map, and immutable. It has the attributes
// in the order of their names, so equal items are equal texts. "" is a missing item.
//
// An attribute is its name and its value, and a value the letter of its type and its text. Names and texts have their
// length before them.
type packed string

// packedBytes is the room that most items need while they are packed.
const packedBytes = 512

// pack packs an item of a request; nil is a missing item. The error is a ValidationException.
func pack(i table.Item) (packed, error) {
	b := make([]byte, 0, packedBytes)
	for _, name := range sortedNames(i) {
		if name == "" {
			return "", validation("Attribute name must not be empty")
		}
		v, err := valueOf(i[name])
		if err != nil {
			return "", err
		}
		b = appendValue(appendText(b, name), v)
	}
	return packed(b), nil
}

// packValues packs attributes.
func packValues(values map[string]value) packed {
	var b []byte
	for _, name := range sortedNames(values) {
		b = appendValue(appendText(b, name), values[name])
	}
	return packed(b)
}

func sortedNames[V any](of map[string]V) []string {
	names := slices.AppendSeq(make([]string, 0, len(of)), maps.Keys(of))
	slices.Sort(names)
	return names
}

func appendValue(b []byte, v value) []byte { return appendText(append(b, v.letter), v.text) }

func appendText(b []byte, text string) []byte {
	n := len(text)
	for ; n >= 1<<7; n >>= 7 {
		b = append(b, byte(n)|1<<7)
	}
	return append(append(b, byte(n)), text...)
}

// item returns the attributes in names, or all if names is nil, for a caller who may change them. It returns nil for a
// missing item.
func (p packed) item(names map[string]bool) table.Item {
	if p == "" {
		return nil
	}
	i := make(table.Item, p.attributes())
	for len(p) > 0 {
		if name, v := p.next(); names == nil || names[name] {
			i[name] = v.unpack()
		}
	}
	return i
}

// attributes returns the number of attributes.
func (p packed) attributes() (n int) {
	for ; len(p) > 0; n++ {
		p.next()
	}
	return n
}

// size returns the size of the attributes in names, or of all if names is nil, by DynamoDB's rules. It is that of
// table.SizeOf.
func (p packed) size(names map[string]bool) (total int) {
	for len(p) > 0 {
		if name, v := p.next(); names == nil || names[name] {
			total += len(name) + v.size()
		}
	}
	return total
}

// size returns the size of a value by DynamoDB's rules.
func (v value) size() int {
	total, rest := table.CollectionBytes, packed(v.text)
	switch v.letter {
	case packedText:
		return len(v.text)
	case packedNumber:
		return table.NumberBytes(v.text)
	case packedMap:
		return total + rest.size(nil) + table.ElementBytes*rest.attributes()
	case packedList:
		for len(rest) > 0 {
			total += rest.value().size() + table.ElementBytes
		}
		return total
	}
	return 1 // a boolean or a null
}

// get returns the value of an attribute.
func (p packed) get(of string) value {
	for len(p) > 0 {
		if name, v := p.next(); name == of {
			return v
		}
	}
	return value{}
}

// next takes an attribute off the front.
func (p *packed) next() (name string, v value) {
	name = p.cut()
	return name, p.value()
}

// value takes a value off the front: an element of a list, or what follows a name.
func (p *packed) value() (v value) {
	v.letter, *p = (*p)[0], (*p)[1:]
	v.text = p.cut()
	return v
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

// unpack returns a value for a caller who may change it.
func (v value) unpack() types.AttributeValue {
	switch v.letter {
	case packedText:
		return &types.AttributeValueMemberS{Value: v.text}
	case packedNumber:
		return &types.AttributeValueMemberN{Value: v.text}
	case packedFlag:
		return &types.AttributeValueMemberBOOL{Value: v.text == "true"}
	case packedMap:
		m := packed(v.text).item(nil)
		if m == nil {
			m = table.Item{} // a map may be empty
		}
		return &types.AttributeValueMemberM{Value: m}
	case packedList:
		l := []types.AttributeValue{}
		for all := packed(v.text); len(all) > 0; {
			l = append(l, all.value().unpack())
		}
		return &types.AttributeValueMemberL{Value: l}
	}
	return &types.AttributeValueMemberNULL{Value: true}
}
