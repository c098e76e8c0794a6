package events

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
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
	form     form
	stored   FieldType // of a policy: that of its limits
	name     string
	index    []int
	with     reflect.StructField // the field that decides whether it is stored; without a name if none does
	optional bool
	unlisted bool
	element  *field // of a list or a map
	plan     plan   // of a struct
}

// A form is how the values of some Go types are stored.
type form uint8

const (
	textForm form = iota
	integerForm
	flagForm
	amountForm
	timeForm
	structForm
	listForm
	mapForm
	policyForm
)

// formOf returns the form of a type, and the type of what is stored.
func formOf(t reflect.Type) (form, FieldType) {
	switch t {
	case reflect.TypeFor[Amount]():
		return amountForm, NumberField
	case reflect.TypeFor[time.Time]():
		return timeForm, TextField
	case reflect.TypeFor[Overdraft]():
		return policyForm, MapField
	}
	switch t.Kind() {
	case reflect.String:
		return textForm, TextField
	case reflect.Int, reflect.Int64:
		return integerForm, NumberField
	case reflect.Bool:
		return flagForm, FlagField
	case reflect.Struct:
		return structForm, MapField
	case reflect.Slice:
		return listForm, ListField
	case reflect.Map:
		return mapForm, MapField
	}
	panic(fmt.Sprintf("events: %s has no stored form", t))
}

// compile returns the plan of a struct. It panics if a tag is missing or wrong, when the program starts.
func compile(t reflect.Type) (p plan) {
	for _, s := range reflect.VisibleFields(t) {
		tag := s.Tag.Get("stored")
		if tag == "-" || s.Anonymous {
			continue
		}
		options := strings.Split(tag, ",")
		r, isKnown := rules[options[0]]
		f := fieldOf(s.Type, r)
		f.name, f.index = s.Name, s.Index
		for _, option := range options[1:] {
			with, isWith := strings.CutPrefix(option, "with ")
			f.optional = f.optional || option == "optional"
			f.unlisted = f.unlisted || option == "unlisted"
			if isWith {
				f.with, isWith = t.FieldByName(with)
			}
			isKnown = isKnown && (isWith || option == "optional" || option == "unlisted")
		}
		if !isKnown {
			panic(fmt.Sprintf("events: %s.%s has the tag %q", t, s.Name, tag))
		}
		p = append(p, *f)
	}
	slices.SortFunc(p, func(a, b field) int { return cmp.Compare(a.name, b.name) })
	return p
}

// fieldOf returns a field of a type. Elements obey the rule of their list or map.
func fieldOf(t reflect.Type, r rule) *field {
	f := &field{rule: r, optional: t.Kind() == reflect.Bool}
	switch f.form, f.stored = formOf(t); f.form {
	case structForm:
		f.plan = compile(t)
	case listForm, mapForm:
		f.element = fieldOf(t.Elem(), r)
	case policyForm:
		f.element = fieldOf(reflect.TypeFor[Amount](), r)
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
		if stored := f.encode(c, v.FieldByIndex(f.index)); stored.Type != 0 {
			stored.Name = f.name
			all = append(all, stored)
		}
	}
	return all
}

// decode sets the fields of a struct to those in stored, which is sorted. It returns the first invalid field, such as
// "Legs[1].ID", and the rule that it breaks; both are empty if all are valid. listed leaves unlisted fields empty.
func (p plan) decode(stored Fields, v reflect.Value, listed bool) (broken, rule string) {
	rest := stored
	for i := range p {
		f := &p[i]
		if len(rest) > 0 && rest[0].Name < f.name {
			break // it is unknown
		}
		to, isHidden := v.FieldByIndex(f.index), listed && f.unlisted
		isAllowed, isRequired := !isHidden, !isHidden && !f.optional
		if f.with.Name != "" {
			isRequired = stored.has(f.with.Name)
			isAllowed = isRequired
		}
		switch isStored := len(rest) > 0 && rest[0].Name == f.name; {
		case isStored && isAllowed:
			if where, rule := f.decode(&rest[0], to); rule != "" {
				return f.name + where, rule
			}
			rest = rest[1:]
		case isRequired:
			return f.name, ruleMissing
		case f.absent != "" && !isHidden:
			to.SetString(f.absent)
		case f.neverNil:
			to.Set(reflect.MakeMap(to.Type()))
		default:
			to.SetZero()
		}
	}
	if len(rest) > 0 {
		return strconv.Quote(rest[0].Name), "is an unknown field"
	}
	return "", ""
}
