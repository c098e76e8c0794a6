package events

import (
	"reflect"
	"slices"
)

// A Field is a value of an event in its stored form, free of any SDK. An optional field with its zero value is absent,
// so that an event has exactly one stored form.
type Field struct {
	Name string // CamelCase, or a key of the caller's; "" for an element of a list
	Type FieldType
	Text string // a text, the digits of a number, or "true"
	Of   Fields // the fields of a map, or the elements of a list
}

// Fields are those of a map, or the elements of a list. Those of a map have distinct names, and are in the order of the
// UTF-16 code units of these.
type Fields []Field

// FieldType is the type of a stored value.
type FieldType uint8

// The types. The zero value is none that events have.
const (
	TextField FieldType = iota + 1
	NumberField
	FlagField
	MapField
	ListField
)

// sort puts the fields of a map in order, and those of the maps in it.
func (f Fields) sort() {
	slices.SortFunc(f, func(a, b Field) int { return compareUTF16(a.Name, b.Name) })
	f.sortWithin()
}

func (f Fields) sortWithin() {
	for i := range f {
		if f[i].Type == MapField {
			f[i].Of.sort()
		} else {
			f[i].Of.sortWithin()
		}
	}
}

func (f Fields) has(name string) bool {
	return slices.ContainsFunc(f, func(one Field) bool { return one.Name == name })
}

// An Encoder encodes events into a few arrays, because separate allocations would be most of the cost of an event. It
// is not safe for concurrent use, and must not be copied after its first use.
type Encoder struct {
	Decimals                    // backs all numbers and checksums
	room     Fields             // backs the fields of one event
	first    [fieldsFirst]Field // backs room, unless an event has more
}

// Encode returns the stored fields of e, which are valid until the next call, and its checksum. A posting may be passed
// as a pointer. It checks nothing: Decode refuses the stored form of an event that breaks the rules of its fields.
func (c *Encoder) Encode(e Event) (f Fields, checksum string) {
	name, v := e.EventName(), reflect.Indirect(reflect.ValueOf(e))
	k := kinds[name]
	if !v.CanAddr() {
		v = k.room(v)
		defer k.free(v)
	}
	if c.room = c.room[:0]; cap(c.room) == 0 {
		c.room = c.first[:0]
	}
	f = k.plan.encode(c, v)
	var room [ChecksumChars]byte
	return f, c.keep(appendChecksum(room[:0], name, f))
}

// fields returns an empty slice with room for n fields.
func (c *Encoder) fields(n int) Fields {
	if from := len(c.room); from+n <= cap(c.room) {
		c.room = c.room[:from+n]
		return c.room[from : from : from+n]
	}
	c.room = make(Fields, n, max(n, 2*cap(c.room)))
	return c.room[0:0:n]
}

// fieldsFirst is the room of an encoder. The header of a settled trade takes 10, and for each of 4 legs 6.
const fieldsFirst = 40
