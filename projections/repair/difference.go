package repair

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"ledger.example/internal/table"
)

// Difference is an item of a projection that is not what its events make of it.
type Difference struct {
	Key    table.Key
	Absent bool    // it is not there at all
	Fault  string  // why the item is not one that this code would have stored; "": it could be
	Fields []Field // that differ
	Behind bool    // nothing is wrong: postings came moments ago, and the projector has not counted them yet

	// CountsMore is set when a balance, or a segment that begins where it should, counts more postings than there are.
	CountsMore bool
}

// Field is one figure of an item, as text.
type Field struct {
	Name    string `json:"name"`
	Stored  string `json:"stored"`
	Becomes string `json:"becomes"`
}

// Stray is an item under a projection's key that no rebuild can make right, as nothing is ever deleted.
type Stray struct {
	Key table.Key
	Why string
}

// differenceOf compares what was found under key with what it becomes, figure by figure.
func differenceOf[T any](key table.Key, found Stored[T], becomes T) Difference {
	d := Difference{Key: key, Absent: !found.Exists}
	if found.Fault != nil {
		d.Fault = found.Fault.Error()
	}
	d.compare("", reflect.ValueOf(found.Value), reflect.ValueOf(becomes))
	return d
}

var words = regexp.MustCompile("([a-z])([A-Z])")

// compare adds the fields in which two structs of a projection differ, but for its key and version. Those of a struct
// within get its name as a prefix, unless it is embedded: "head.pending_debits".
func (d *Difference) compare(prefix string, stored, becomes reflect.Value) {
	for i := range stored.NumField() {
		field := stored.Type().Field(i)
		name := prefix + strings.ToLower(words.ReplaceAllString(field.Name, "${1}_$2"))
		was, is := stored.Field(i).Interface(), becomes.Field(i).Interface()
		_, text := was.(fmt.Stringer)
		switch {
		case slices.Contains([]string{"pair", "account", "user", "version"}, name):
		case field.Anonymous:
			d.compare(prefix, stored.Field(i), becomes.Field(i))
		case field.Type.Kind() == reflect.Struct && !text:
			d.compare(name+".", stored.Field(i), becomes.Field(i))
		case was != is:
			d.Fields = append(d.Fields, Field{Name: name, Stored: fmt.Sprint(was), Becomes: fmt.Sprint(is)})
		}
	}
}

// allBehind reports whether none of the differences is wrong.
func allBehind(differences []Difference) bool {
	return !slices.ContainsFunc(differences, func(d Difference) bool { return !d.Behind })
}
