package events

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A plan is how a struct is stored: its fields in the order of their names. It follows from the struct's tags, which
// every field must have:
//
//	Name string `stored:"name,optional"`
//
// A field is stored under its own name. The tag has its rule, one of rules, and options after commas:
//
//   - optional: it is absent if it is empty. A flag always is.
//   - with X: it is stored if and only if the field X is.
//   - unlisted: lists do not have it.
//
// The tag "-" is that of a field that follows from the event's stored name.
type plan []field

// field is a stored field of a struct, or what the elements of a list or a map have in common.
type field struct {
	rule
	form
	name     string
	index    []int
	with     reflect.StructField // the field that decides whether it is stored; without a name if none does
	optional bool
	unlisted bool
	element  *field // of a list or a map
	plan     plan   // of a struct
}

// compile returns the plan of a struct. It panics if a tag is missing or wrong, when the program starts.
func compile(t reflect.Type) plan {
	var p plan
	for _, s := range reflect.VisibleFields(t) {
		tag := s.Tag.Get("stored")
		if tag == "-" || s.Anonymous {
			continue
		}
		options := strings.Split(tag, ",")
		r, known := rules[options[0]]
		if !known {
			panic(fmt.Sprintf("events: %s.%s has no rule in its tag %q", t, s.Name, tag))
		}
		f := fieldOf(s.Type, r)
		f.name, f.index = s.Name, s.Index
		for _, option := range options[1:] {
			with, isWith := strings.CutPrefix(option, "with ")
			other, exists := t.FieldByName(with)
			switch {
			case isWith && exists:
				f.with = other
			case option == "optional":
				f.optional = true
			case option == "unlisted":
				f.unlisted = true
			default:
				panic(fmt.Sprintf("events: %s.%s has the option %q", t, s.Name, option))
			}
		}
		p = append(p, *f)
	}
	slices.SortFunc(p, func(a, b field) int { return cmp.Compare(a.name, b.name) })
	return p
}

// fieldOf returns a field of a type. Elements obey the rule of their list or map.
func fieldOf(t reflect.Type, r rule) *field {
	f := &field{rule: r, optional: t.Kind() == reflect.Bool}
	var elements reflect.Type
	if f.form, elements = formOf(t); elements != nil {
		f.element = fieldOf(elements, r)
	} else if f.form.stored == MapField {
		f.plan = compile(t)
	}
	return f
}

// isListed reports whether the event is in a list, which has a part of its fields.
func (p plan) isListed() bool {
	return slices.ContainsFunc(p, func(f field) bool { return f.unlisted })
}

// encode returns the stored fields of a struct.
func (p plan) encode(c *Encoder, v reflect.Value) Fields {
	all := c.fields(len(p))
	for i := range p {
		f := &p[i]
		if f.with.Name != "" && v.FieldByIndex(f.with.Index).IsZero() {
			continue
		}
		if stored := f.encode(c, f, v.FieldByIndex(f.index)); stored.Type != 0 {
			stored.Name = f.name
			all = append(all, stored)
		}
	}
	return all
}

// decode sets the fields of a struct to those in stored, which is sorted. It returns the first invalid field, such as
// "Legs[1].ID", and the rule that it breaks; both are empty if all are valid. An unknown field is reported last. listed
// leaves unlisted fields empty.
func (p plan) decode(stored Fields, v reflect.Value, listed bool) (broken, rule string) {
	unknown, rest := "", stored
	for i := range p {
		f := &p[i]
		for len(rest) > 0 && rest[0].Name < f.name {
			unknown = cmp.Or(unknown, strconv.Quote(rest[0].Name))
			rest = rest[1:]
		}
		to, isRequired, isAllowed := v.FieldByIndex(f.index), !f.optional && !(listed && f.unlisted), true
		if f.with.Name != "" {
			isRequired = stored.has(f.with.Name)
			isAllowed = isRequired
		}
		switch isStored := len(rest) > 0 && rest[0].Name == f.name; {
		case isStored && isAllowed:
			if where, rule := f.read(&rest[0], to); rule != "" {
				return f.name + where, rule
			}
			rest = rest[1:]
		case isRequired:
			return f.name, ruleMissing
		default:
			f.clear(to)
		}
		if listed && f.unlisted {
			to.SetZero()
		}
	}
	if len(rest) > 0 {
		unknown = cmp.Or(unknown, strconv.Quote(rest[0].Name))
	}
	if unknown != "" {
		return unknown, ruleNoSuchField
	}
	return "", ""
}

// read sets v to a stored value. It returns the rule that the value breaks, or that its part at where breaks.
func (f *field) read(s *Field, v reflect.Value) (where, rule string) {
	if f.stored != 0 && s.Type != f.stored {
		return "", ruleType
	}
	return f.decode(f, s, v)
}

// clear sets v to the value of an absent field.
func (f *field) clear(v reflect.Value) {
	switch {
	case f.absent != "":
		v.SetString(f.absent)
	case f.neverNil:
		v.Set(reflect.MakeMap(v.Type()))
	default:
		v.SetZero()
	}
}
