package events

import (
	"errors"
	"fmt"
)

// An Event is one of the immutable facts of this package.
type Event interface {
	// EventName returns the stored name of the event, such as "PostingRecorded".
	EventName() string
	// write passes the stored fields to f. It is unexported so that no other package can add events.
	write(f FieldEncoder)
}

// Fields is an event in its stored form: attribute names (CamelCase) to values, free of any SDK. A value is a string, a
// Number, a bool, a List or a Fields. An optional attribute with its zero value is absent, so that an event has exactly
// one stored form.
type Fields map[string]any

// Number is a whole number in canonical decimal form. It is stored as a number, and never converted to a float.
type Number string

// List is an ordered list of values.
type List []any

// Form is the version of every stored form, stored with each event. Every reader refuses another one.
//
// During a release, and after a rollback, older code reads events that newer code wrote. It waits when it reads a newer
// version of a known name, and rejects every other unknown event as malformed. So a release that changes an event, or
// puts a new kind of event under an existing form of key (POSTING#, GRANT#), must raise the version of the existing
// name. New names are for new keys only.
const Form = 1

// Errors of decoding. ErrNewerEvent wraps ErrUnknownEvent, and ErrChecksum wraps ErrMalformedEvent.
var (
	// ErrUnknownEvent: the name or the version is unknown to this code.
	ErrUnknownEvent = errors.New("unknown event")
	// ErrNewerEvent: the name is known, and the version is newer than this code. Newer code can read the event.
	ErrNewerEvent = fmt.Errorf("%w: version is newer than this code", ErrUnknownEvent)
	// ErrMalformedEvent: fields are missing, unknown, of the wrong type or out of range. The message names one.
	ErrMalformedEvent = errors.New("malformed event")
	// ErrChecksum: the checksum does not match, so the event was altered after it was written.
	ErrChecksum = fmt.Errorf("%w: checksum does not match", ErrMalformedEvent)
)

// Decode decodes a stored form into the event's value type (never a pointer). It is strict: it checks every field and
// the checksum, and rejects unknown fields. It never panics, and retains only the texts of f.
// Errors: ErrUnknownEvent, ErrNewerEvent, ErrMalformedEvent, ErrChecksum.
func Decode(name string, version int, checksum string, f Fields) (Event, error) {
	e, err := decode(name, version, f)
	if err != nil {
		return nil, err
	}
	c := newCanonical(name)
	defer c.free()
	e.write(c)
	if err := c.compare(name, checksum); err != nil {
		return nil, err
	}
	return e, nil
}

// decode is Decode without the checksum. It is the one switch over names.
func decode(name string, version int, f Fields) (e Event, _ error) {
	c := coder{stored: f}
	switch name {
	case postingRecorded:
		var p PostingRecorded // the hot path of every refold: only the event is allocated
		p.fields(&c)
		e = p
	case transactionPosted, transactionHeld:
		var t TransactionPosted
		t.fields(&c)
		e = t
	case accountOpened:
		var a AccountOpened
		a.fields(&c)
		e = a
	case assetRegistered:
		var a AssetRegistered
		a.fields(&c)
		e = a
	case holdCaptured, holdReleased, holdExpired:
		h := HoldEnded{Outcome: outcomes[name]}
		h.fields(&c)
		e = h
	case transactionReversed:
		var r TransactionReversed
		r.fields(&c)
		e = r
	case accountChanged:
		var a AccountChanged
		a.fields(&c)
		e = a
	case groupRegistered:
		var g GroupRegistered
		g.fields(&c)
		e = g
	case accountGrouped:
		var a AccountGrouped
		a.fields(&c)
		e = a
	case memberGranted, memberRevoked:
		var m MemberGranted
		m.fields(&c)
		e = m
	default:
		return nil, fmt.Errorf("%w: %q, version %d", ErrUnknownEvent, name, version)
	}
	if err := checkVersion(name, version); err != nil {
		return nil, err
	}
	if err := c.err(name); err != nil {
		return nil, err
	}
	if written := e.EventName(); written != name {
		return nil, fmt.Errorf("%w: %s has the fields of %s", ErrMalformedEvent, name, written)
	}
	return e, nil
}

var outcomes = map[string]Outcome{
	holdCaptured: OutcomeCaptured, holdReleased: OutcomeReleased, holdExpired: OutcomeExpired,
}

// checkVersion returns ErrNewerEvent for a newer version, and ErrUnknownEvent for one that no code writes.
func checkVersion(name string, version int) error {
	switch {
	case version > Form:
		return fmt.Errorf("%w: %q, version %d", ErrNewerEvent, name, version)
	case version < Form:
		return fmt.Errorf("%w: %q, version %d", ErrUnknownEvent, name, version)
	}
	return nil
}
