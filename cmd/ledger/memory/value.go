package memory

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/ledger/wire"
)

// depthMost is how deep lists and maps may be nested (AWS, "Quotas in Amazon DynamoDB").
const depthMost = 32

// Overheads of lists and maps, and of each of their elements, as in package table.
const (
	collectionBytes = 3
	elementBytes    = 1
)

// copies are copies of the values of an item, or of several things of one request. Those of the two common types point
// into one array each. The zero copies make each value by itself.
type copies struct {
	texts   []types.AttributeValueMemberS
	numbers []types.AttributeValueMemberN
	chars   strings.Builder // what was cloned
	bytes   int             // as much as will be
}

// counts are how many texts and numbers some values have, those within them included, and how many bytes all their strings.
type counts struct{ texts, numbers, bytes int }

// copiesOf returns copies with room for those values.
func copiesOf(given wire.Item) *copies {
	var n counts
	for _, v := range given {
		n.add(v)
	}
	return newCopies(n)
}

func newCopies(n counts) *copies {
	return &copies{
		texts: make([]types.AttributeValueMemberS, 0, n.texts), numbers: make([]types.AttributeValueMemberN, 0, n.numbers), bytes: n.bytes,
	}
}

func (n *counts) add(v types.AttributeValue) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		n.texts++
		n.bytes += len(v.Value)
	case *types.AttributeValueMemberN:
		n.numbers++
		n.bytes += len(v.Value)
	case *types.AttributeValueMemberM:
		for name, element := range v.Value {
			n.bytes += len(name)
			n.add(element)
		}
	case *types.AttributeValueMemberL:
		for _, element := range v.Value {
			n.add(element)
		}
	}
}

// clone returns a copy of a request's string, next to the others: what is kept must not be part of something larger, such as
// the body that a caller took it from.
func (c *copies) clone(s string) string {
	if c.chars.Cap() == 0 {
		c.chars.Grow(c.bytes)
	}
	from := c.chars.Len()
	c.chars.WriteString(s)
	return c.chars.String()[from:]
}

func (c *copies) text(s string) types.AttributeValue {
	if len(c.texts) == cap(c.texts) { // more than was counted
		return &types.AttributeValueMemberS{Value: s}
	}
	c.texts = append(c.texts, types.AttributeValueMemberS{Value: s})
	return &c.texts[len(c.texts)-1]
}

func (c *copies) number(s string) types.AttributeValue {
	if len(c.numbers) == cap(c.numbers) {
		return &types.AttributeValueMemberN{Value: s}
	}
	c.numbers = append(c.numbers, types.AttributeValueMemberN{Value: s})
	return &c.numbers[len(c.numbers)-1]
}

// kept returns a copy of a request's value as it is kept: numbers normalized, sets in order. The error is a
// ValidationException.
func (c *copies) kept(v types.AttributeValue, depth int) (types.AttributeValue, error) {
	if depth > depthMost {
		return nil, validation("Nesting Levels have exceeded supported limits")
	}
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return c.text(c.clone(v.Value)), nil
	case *types.AttributeValueMemberN:
		d, err := parseDecimal(v.Value)
		return c.number(c.clone(d.String())), err
	case *types.AttributeValueMemberB:
		return &types.AttributeValueMemberB{Value: bytes.Clone(v.Value)}, nil
	case *types.AttributeValueMemberBOOL:
		return &types.AttributeValueMemberBOOL{Value: v.Value}, nil
	case *types.AttributeValueMemberNULL:
		if !v.Value {
			return nil, validation("One or more parameter values were invalid: Null attribute value types must have the value of true")
		}
		return &types.AttributeValueMemberNULL{Value: true}, nil
	case *types.AttributeValueMemberM:
		m := make(map[string]types.AttributeValue, len(v.Value))
		for _, name := range inOrder(v.Value) {
			if name == "" {
				return nil, errNameless
			}
			element, err := c.kept(v.Value[name], depth+1)
			if err != nil {
				return nil, err
			}
			m[c.clone(name)] = element
		}
		return &types.AttributeValueMemberM{Value: m}, nil
	case *types.AttributeValueMemberL:
		l := make([]types.AttributeValue, len(v.Value))
		for i := range l {
			var err error
			if l[i], err = c.kept(v.Value[i], depth+1); err != nil {
				return nil, err
			}
		}
		return &types.AttributeValueMemberL{Value: l}, nil
	case *types.AttributeValueMemberSS, *types.AttributeValueMemberNS, *types.AttributeValueMemberBS:
		return nil, unsupported("a set")
	}
	return nil, validation("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
}

var errNameless = validation("One or more parameter values were invalid: Attribute name must not be empty")

// inOrder returns the keys of a map in order, so that the same calls give the same answers.
func inOrder[V any](m map[string]V) []string {
	if len(m) == 0 {
		return nil
	}
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// lent returns a copy of a kept value, for a caller who may do with it what he likes.
func (c *copies) lent(v types.AttributeValue) types.AttributeValue {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return c.text(v.Value)
	case *types.AttributeValueMemberN:
		return c.number(v.Value)
	case *types.AttributeValueMemberB:
		return &types.AttributeValueMemberB{Value: bytes.Clone(v.Value)}
	case *types.AttributeValueMemberBOOL:
		return &types.AttributeValueMemberBOOL{Value: v.Value}
	case *types.AttributeValueMemberM:
		m := make(map[string]types.AttributeValue, len(v.Value))
		for name, element := range v.Value {
			m[name] = c.lent(element)
		}
		return &types.AttributeValueMemberM{Value: m}
	case *types.AttributeValueMemberL:
		l := make([]types.AttributeValue, len(v.Value))
		for i, element := range v.Value {
			l[i] = c.lent(element)
		}
		return &types.AttributeValueMemberL{Value: l}
	}
	return &types.AttributeValueMemberNULL{Value: true}
}

// bytesOf is the size of a kept value by the rules of package table.
func bytesOf(v types.AttributeValue) int {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return number(v).bytes()
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberM:
		size := collectionBytes
		for name, element := range v.Value {
			size += len(name) + bytesOf(element) + elementBytes
		}
		return size
	case *types.AttributeValueMemberL:
		size := collectionBytes
		for _, element := range v.Value {
			size += bytesOf(element) + elementBytes
		}
		return size
	}
	return 1 // a boolean or null
}

// number reads a kept number.
func number(v *types.AttributeValueMemberN) decimal {
	d, _ := parseDecimal(v.Value) // it was kept
	return d
}

// equal tells whether two kept values, or nils, are the same.
func equal(a, b types.AttributeValue) bool {
	switch a := a.(type) {
	case *types.AttributeValueMemberBOOL:
		b, ok := b.(*types.AttributeValueMemberBOOL)
		return ok && a.Value == b.Value
	case *types.AttributeValueMemberNULL:
		_, ok := b.(*types.AttributeValueMemberNULL)
		return ok
	case *types.AttributeValueMemberM:
		b, ok := b.(*types.AttributeValueMemberM)
		if !ok || len(a.Value) != len(b.Value) {
			return false
		}
		for name, element := range a.Value {
			if other, ok := b.Value[name]; !ok || !equal(element, other) {
				return false
			}
		}
		return true
	case *types.AttributeValueMemberL:
		b, ok := b.(*types.AttributeValueMemberL)
		return ok && slices.EqualFunc(a.Value, b.Value, equal)
	}
	order, ok := compare(a, b)
	return ok && order == 0
}

// compare orders two kept values; ok is false unless they are of one type that has an order.
func compare(a, b types.AttributeValue) (order int, ok bool) {
	switch a := a.(type) {
	case *types.AttributeValueMemberS:
		if b, ok := b.(*types.AttributeValueMemberS); ok {
			return strings.Compare(a.Value, b.Value), true
		}
	case *types.AttributeValueMemberN:
		if b, ok := b.(*types.AttributeValueMemberN); ok {
			return number(a).compare(number(b)), true
		}
	case *types.AttributeValueMemberB:
		if b, ok := b.(*types.AttributeValueMemberB); ok {
			return bytes.Compare(a.Value, b.Value), true
		}
	}
	return 0, false
}

// typeOf is the name of a value's type in AWS's messages.
func typeOf(v types.AttributeValue) string {
	switch v.(type) {
	case *types.AttributeValueMemberS:
		return "S"
	case *types.AttributeValueMemberN:
		return "N"
	case *types.AttributeValueMemberB:
		return "B"
	case *types.AttributeValueMemberBOOL:
		return "BOOL"
	case *types.AttributeValueMemberNULL:
		return "NULL"
	case *types.AttributeValueMemberM:
		return "M"
	case *types.AttributeValueMemberL:
		return "L"
	}
	return "?"
}

// An item is what the store keeps: attributes by name, in order. It never changes once made; nil is one that isn't there.
type item []attribute

type attribute struct {
	name  string
	value types.AttributeValue
}

// keptItem returns a copy of a request's item as it is kept, but for the names of its attributes, which are those of the
// program. The error is a ValidationException.
func keptItem(given wire.Item) (item, error) {
	i, c := make(item, 0, len(given)), copiesOf(given)
	for name, v := range given {
		i = append(i, attribute{name, v})
	}
	slices.SortFunc(i, func(a, b attribute) int { return cmp.Compare(a.name, b.name) })
	for n := range i {
		if i[n].name == "" {
			return nil, errNameless
		}
		var err error
		if i[n].value, err = c.kept(i[n].value, 1); err != nil {
			return nil, err
		}
	}
	return i, nil
}

// get returns an attribute's value, nil when it is absent.
func (i item) get(name string) types.AttributeValue {
	at, ok := i.find(name)
	if !ok {
		return nil
	}
	return i[at].value
}

func (i item) find(name string) (int, bool) {
	return slices.BinarySearchFunc(i, name, func(a attribute, name string) int { return strings.Compare(a.name, name) })
}

// text returns the value of an attribute that is a string, and whether it is one.
func (i item) text(name string) (string, bool) {
	s, ok := i.get(name).(*types.AttributeValueMemberS)
	if !ok {
		return "", false
	}
	return s.Value, true
}

// with returns a copy of i in which the attribute has that kept value.
func (i item) with(name string, v types.AttributeValue) item {
	at, ok := i.find(name)
	changed := slices.Clone(i)
	if ok {
		changed[at].value = v
		return changed
	}
	return slices.Insert(changed, at, attribute{name, v})
}

// only returns a copy of i without the attributes that are not among names; nil names keep all.
func (i item) only(names map[string]bool) item {
	if names == nil || i == nil {
		return i
	}
	part := make(item, 0, min(len(i), len(names)))
	for _, a := range i {
		if names[a.name] {
			part = append(part, a)
		}
	}
	return part
}

// lent returns a copy for a caller; nil for an item that isn't there.
func (i item) lent() wire.Item {
	if i == nil {
		return nil
	}
	var n counts
	for _, a := range i {
		n.add(a.value)
	}
	m, c := make(wire.Item, len(i)), newCopies(n)
	for _, a := range i {
		m[a.name] = c.lent(a.value)
	}
	return m
}

// bytes is the item's size, names and values.
func (i item) bytes() int {
	size := 0
	for _, a := range i {
		size += len(a.name) + bytesOf(a.value)
	}
	return size
}

func (i item) equal(j item) bool {
	return (i == nil) == (j == nil) && slices.EqualFunc(i, j, func(a, b attribute) bool {
		return a.name == b.name && equal(a.value, b.value)
	})
}
