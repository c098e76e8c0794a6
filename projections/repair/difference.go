package repair

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"ledger.example/internal/store"
)

// Difference is an item of a projection that differs from the result of its events.
type Difference struct {
	Key    store.Key
	Absent bool    // the item is missing
	Fault  string  // see Stored; "": none
	Fields []Field // that differ
	Behind bool    // not an error: the item lacks only recent postings, which the projector has not counted yet

	// CountsMore is set if a balance, or a segment with the correct After, counts more postings than exist.
	CountsMore bool
}

// Field is one field of an item, as text.
type Field struct {
	Name    string `json:"name"`
	Stored  string `json:"stored"`
	Becomes string `json:"becomes"`
}

// Stray is an item under a projection's key that should not exist. No rebuild can repair it, as nothing is ever
// deleted.
type Stray struct {
	Key store.Key
	Why string
}

// differenceOf compares the stored item with its correct value, field by field.
func differenceOf[T any](key store.Key, found Stored[T], becomes T) Difference {
	d := Difference{Key: key, Absent: !found.Exists}
	if found.Fault != nil {
		d.Fault = found.Fault.Error()
	}
	d.compare("", reflect.ValueOf(any(found.Value)), reflect.ValueOf(any(becomes)))
	return d
}

var words = regexp.MustCompile("([a-z])([A-Z])")

// compare adds the fields in which two structs differ, except key fields and the version. Fields of a nested struct get
// its name as a prefix, as in "head.pending_debits", unless it is embedded.
func (d *Difference) compare(prefix string, stored, becomes reflect.Value) {
	if stored.Kind() != reflect.Struct {
		return
	}
	for i := range stored.NumField() {
		field := stored.Type().Field(i)
		name := prefix + strings.ToLower(words.ReplaceAllString(field.Name, "${1}_$2"))
		was, is := stored.Field(i).Interface(), becomes.Field(i).Interface()
		_, text := was.(fmt.Stringer)
		switch {
		case slices.Contains([]string{"pair", "account", "group", "user", "version"}, name):
		case field.Anonymous:
			d.compare(prefix, stored.Field(i), becomes.Field(i))
		case field.Type.Kind() == reflect.Struct && !text:
			d.compare(name+".", stored.Field(i), becomes.Field(i))
		case was != is:
			d.Fields = append(d.Fields, Field{Name: name, Stored: fmt.Sprint(was), Becomes: fmt.Sprint(is)})
		}
	}
}

// allBehind reports whether every difference is Behind.
func allBehind(differences []Difference) bool {
	return !slices.ContainsFunc(differences, func(d Difference) bool { return !d.Behind })
}
