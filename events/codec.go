package events

import "errors"

// Fields is an event in its stored form: attribute names (CamelCase) to values, free of any SDK. A value is a string, a Number,
// a bool, a List or a Fields. An absent optional attribute stands for its zero value.
type Fields map[string]any

// Number is a whole number in canonical decimal form, stored as a number and never seen as a float.
type Number string

// List is an ordered list of values.
type List []any

// ErrUnknownEvent is returned for a name or version that this code does not know, ErrMalformedEvent for a known one whose fields are
// missing, unknown, of the wrong type or out of range. Neither ever panics.
var (
	ErrUnknownEvent   = errors.New("unknown event")
	ErrMalformedEvent = errors.New("malformed event")
)

// Encode returns the stored form of e. The table's adapter adds keys, name and version.
func Encode(e Event) Fields { panic("todo") }

// Decode reads a stored form. It is strict: every field is checked, an unknown one is an error. The one switch over names and versions.
func Decode(name string, version int, f Fields) (Event, error) { panic("todo") }
