package audit

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/table"
)

// column is an attribute of a type: a field with the attribute's name and a tag `is` with the name of a rule. A suffix
// or a prefix of the rule says more:
//
//	id?  the attribute need not be there
//	+id  the attribute is there if it is a part of the key
//	-id  it is only a part of the key
//
// A tag `when` says in which items the attribute is there: with another attribute (A), without one (!A), or with a text
// in another attribute (A=text). "|" stands for or. A field with the tag `is:"*"` is a struct with further columns, as
// an embedded one.
type column struct {
	name                       string
	index                      []int
	rule                       rule
	isOptional, ifKeyed, isKey bool
	when                       []string
}

var columnsByType sync.Map // by reflect.Type

// columnsOf returns the columns of a struct.
func columnsOf(t reflect.Type) []column {
	if known, ok := columnsByType.Load(t); ok {
		return known.([]column)
	}
	var all []column
	for i := range t.NumField() {
		f := t.Field(i)
		is, isColumn := f.Tag.Lookup("is")
		switch {
		case is == "*", f.Anonymous:
			for _, c := range columnsOf(f.Type) {
				c.index = append([]int{i}, c.index...)
				all = append(all, c)
			}
		case isColumn:
			c := column{name: f.Name, index: f.Index}
			is, c.isOptional = strings.CutSuffix(is, "?")
			is, c.ifKeyed = strings.CutPrefix(is, "+")
			is, c.isKey = strings.CutPrefix(is, "-")
			if when := f.Tag.Get("when"); when != "" {
				c.when = strings.Split(when, "|")
			}
			if c.rule = rules[is]; c.rule.typ == "" {
				panic("audit: no rule " + is)
			}
			all = append(all, c)
		}
	}
	columnsByType.Store(t, all)
	return all
}

// compound is a field that is a map or a list, and reads it. ok is false if v has another type.
type compound interface {
	read(r *reader, name string, v types.AttributeValue) (ok bool)
}

// reader reads an item by the columns of its type, and collects the item's faults. The readers of an item and of the
// maps in it share their faults.
type reader struct {
	item  attributes
	parts map[string]string // of the key, by name; nil in a map
	taken []string          // names of the attributes that were read
	path  string            // prefix of attribute names in findings, such as "Head."
	*faults
}

// faults are the defects of one item.
type faults struct {
	key    table.Key
	found  []Finding
	broken bool // some value is unusable
}

func newReader(key table.Key, item attributes) *reader {
	return &reader{item: item, taken: make([]string, 0, len(item)), faults: &faults{key: key}}
}

// inner reads a map in the item.
func (r *reader) inner(at string, m attributes, read func(inner *reader)) {
	inner := &reader{item: m, path: r.path + at + ".", faults: r.faults}
	read(inner)
	inner.finish()
}

const absent = "nothing"

// fault adds a finding about an attribute. wanted describes a correct value.
func (r *reader) fault(code Code, name, wanted string) {
	stored := absent
	if v, ok := r.item[name]; ok {
		stored = truncated(formatValue(v))
	}
	r.found = append(r.found, Finding{code, r.key, r.path + name, stored, wanted})
	switch code {
	case MissingAttribute, WrongType, WrongValue, HoldEntryWrong:
		r.broken = true
	}
}

// has reports whether the item has an attribute.
func (r *reader) has(name string) bool { return r.item[name] != nil }

// isTrue evaluates one condition of a tag `when`.
func (r *reader) isTrue(condition string) bool {
	if name, text, ok := strings.Cut(condition, "="); ok {
		return textOf(r.item[name]) == text
	}
	name, isNot := strings.CutPrefix(condition, "!")
	return r.has(name) != isNot
}

// fill reads the columns of a struct, to which `to` points.
func (r *reader) fill(to any) {
	v := reflect.ValueOf(to).Elem()
	for _, c := range columnsOf(v.Type()) {
		field := v.FieldByIndex(c.index)
		part, isKeyed := r.parts[c.name]
		switch {
		case c.isKey:
			field.SetString(part)
		case c.ifKeyed && !isKeyed, c.when != nil && !slices.ContainsFunc(c.when, r.isTrue):
		default:
			r.read(c, field)
			if isKeyed {
				r.compareKey(c, field, part)
			}
		}
	}
}

// read reads the attribute of a column.
func (r *reader) read(c column, field reflect.Value) {
	r.taken = append(r.taken, c.name)
	v := r.item[c.name]
	if v == nil {
		if !c.isOptional {
			r.fault(MissingAttribute, c.name, c.rule.typ)
		}
		return
	}
	if c.rule.parse != nil {
		if value := r.scalar(c.name, c.rule); value != nil {
			field.Set(reflect.ValueOf(value))
		}
	} else if !field.Addr().Interface().(compound).read(r, c.name, v) {
		r.fault(WrongType, c.name, c.rule.typ)
	}
}

// scalar reads a text, a number or a boolean. value is nil if it is wrong. What is a part of the key need only have the
// right type: compareKey compares it with one that fits the rule.
func (r *reader) scalar(name string, is rule) (value any) {
	text, ok := scalar(r.item[name], is.typ)
	if !ok {
		r.fault(WrongType, name, is.typ)
		return nil
	}
	if _, isKeyed := r.parts[name]; isKeyed && is.typ == aString {
		return text
	}
	if value, ok = is.parse(text); !ok {
		r.fault(WrongValue, name, is.wanted)
		return nil
	}
	return value
}

// compareKey compares an attribute with the part of the key that it repeats. The key counts.
func (r *reader) compareKey(c column, field reflect.Value, part string) {
	inKey := reflect.ValueOf(part)
	if c.rule.typ == aNumber {
		n, _ := strconv.ParseInt(part, 10, 64)
		part, inKey = strconv.FormatInt(n, 10), reflect.ValueOf(n)
	}
	text, ok := scalar(r.item[c.name], c.rule.typ)
	if ok && text != part && (c.rule.typ == aString || !r.broken) {
		r.fault(WrongKey, c.name, fmt.Sprintf("%#v", inKey))
	}
	field.Set(inKey)
}

// indexKeys checks the index keys; an empty one must be absent.
func (r *reader) indexKeys(sk2, pk2 string) {
	r.taken = append(r.taken, table.AttrPK, table.AttrSK, table.AttrType, table.AttrSK2, table.AttrPK2)
	for name, want := range map[string]string{table.AttrSK2: sk2, table.AttrPK2: pk2} {
		if want == "" && r.has(name) {
			r.fault(WrongKey, name, absent)
		} else if textOf(r.item[name]) != want {
			r.fault(WrongKey, name, strconv.Quote(want))
		}
	}
}

// finish reports the attributes that were not read.
func (r *reader) finish() {
	for name := range r.item {
		if !slices.Contains(r.taken, name) {
			r.fault(UnknownAttribute, name, absent)
		}
	}
}

// dictionary reads a map of values of one kind. wanted describes the right names and the right map.
func dictionary[T any](r *reader, name string, v types.AttributeValue, is rule, isName func(string) bool,
	isRight func(map[string]T) bool, wanted string,
) (all map[string]T, ok bool) {
	m, ok := v.(*types.AttributeValueMemberM)
	if !ok {
		return nil, false
	}
	all = make(map[string]T, len(m.Value))
	r.inner(name, m.Value, func(inner *reader) {
		for key := range m.Value {
			inner.taken = append(inner.taken, key)
			if all[key], _ = inner.scalar(key, is).(T); !isName(key) {
				inner.fault(WrongValue, key, wanted)
			}
		}
	})
	if !r.broken && (len(all) == 0 || !isRight(all)) {
		r.fault(WrongValue, name, wanted)
	}
	return all, true
}

// list reads a list of least to most maps. what names the maps in a finding.
func (r *reader) list(name string, v types.AttributeValue, what string, least, most int, read func(one *reader)) bool {
	all, ok := v.(*types.AttributeValueMemberL)
	if !ok {
		return false
	}
	if n := len(all.Value); n < least || n > most {
		r.fault(WrongValue, name, fmt.Sprintf("%d to %d %s", least, most, what))
	}
	for i, element := range all.Value {
		m, ok := element.(*types.AttributeValueMemberM)
		if !ok {
			r.fault(WrongType, name, "a list of maps")
			break
		}
		r.inner(name+"["+strconv.Itoa(i)+"]", m.Value, read)
	}
	return true
}
