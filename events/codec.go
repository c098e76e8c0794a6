package events

import (
	"errors"
	"fmt"
)

// An Event is one of the immutable facts of this package.
type Event interface {
	// EventName returns the name and the version under which the fact is stored, such as "PostingRecorded", 1.
	EventName() (name string, version int)
	// write tells f the stored form. Being unexported, it keeps the set of events closed.
	write(f Form)
}

// All events. A kind that is missing here, in Decode or among the golden files fails a test.
var _ = [...]Event{AssetRegistered{}, AccountOpened{}, TransactionPosted{}, PostingRecorded{}, MemberGranted{}, MemberRevoked{}}

// Fields is an event in its stored form: attribute names (CamelCase) to values, free of any SDK. A value is a string, a
// Number, a bool, a List or a Fields. An optional attribute is absent when it is empty, and absence stands for its zero
// value, so that an event has exactly one stored form.
type Fields map[string]any

// Number is a whole number in canonical decimal form, stored as a number and never seen as a float.
type Number string

// List is an ordered list of values.
type List []any

// ErrUnknownEvent is returned for a name or version that this code does not know, ErrMalformedEvent for a known one
// whose fields are missing, unknown, of the wrong type or out of range. The message names the field.
var (
	ErrUnknownEvent   = errors.New("unknown event")
	ErrMalformedEvent = errors.New("malformed event")
)

// Encode returns the stored form of e, which is what Write tells as Fields.
func Encode(e Event) Fields {
	f := fieldsForm{open: []opened{{fields: Fields{}}}}
	Write(e, &f)
	return f.open[0].fields
}

// Decode reads a stored form into the event's value type (never a pointer). It is strict: every field is checked, an
// unknown one is an error. It never panics and keeps nothing of f but its texts. It is the one switch over names and
// versions: an old version is brought up to date here. Errors: ErrUnknownEvent, ErrMalformedEvent.
func Decode(name string, version int, f Fields) (Event, error) {
	switch name {
	case postingRecorded:
		if version == 1 {
			return decoded(decodePostingRecorded(f))
		}
	case transactionPosted:
		if version == 1 {
			return decoded(decodeTransactionPosted(f))
		}
	case accountOpened:
		if version == 1 {
			return decoded(decodeAccountOpened(f))
		}
	case assetRegistered:
		if version == 1 {
			return decoded(decodeAssetRegistered(f))
		}
	case memberGranted:
		if version == 1 {
			return decoded(decodeMemberGranted(f))
		}
	case memberRevoked:
		if version == 1 {
			return decoded(decodeMemberRevoked(f))
		}
	}
	return nil, fmt.Errorf("%w: %q, version %d", ErrUnknownEvent, name, version)
}

// decoded makes sure that an error comes with no event.
func decoded[E Event](e E, err error) (Event, error) {
	if err != nil {
		return nil, err
	}
	return e, nil
}
