package events

import (
	"errors"
	"fmt"
)

// An Event is one of the immutable facts of this package.
type Event interface {
	// EventName returns the name and the version under which the fact is stored, such as "PostingRecorded", 1.
	EventName() (name string, version int)
	// write passes the stored fields to f. Being unexported, it keeps the set of events closed.
	write(f FieldEncoder)
}

// Fields is an event in its stored form: attribute names (CamelCase) to values, free of any SDK. A value is a string, a
// Number, a bool, a List or a Fields. An optional attribute is absent when it is empty, and absence stands for its zero
// value, so that an event has exactly one stored form.
type Fields map[string]any

// Number is a whole number in canonical decimal form, stored as a number and never seen as a float.
type Number string

// List is an ordered list of values.
type List []any

// The versions of stored forms. Everything that could be written before holds, reversals, changes of accounts and
// groups is still written as it was then, so that older code can read it. An event of version 1 has the fields of
// plainVersion and no checksum.
//
// During a release, and after a rollback, older code reads events that newer code wrote. It waits for those, and takes
// everything else that it does not know for malformed. So a release that changes an event, or puts a new kind of event
// under a key of today's form (POSTING#, GRANT#), raises the version of the name that is stored there now. A new name
// is for new keys only.
const (
	plainVersion = 2
	lifeVersion  = 3 // holds and their ends, reversals, changes of accounts, groups, effective dates
)

// The stored forms that a ledger may be told to write. Older code than that of this release reads OlderForm alone.
const (
	OlderForm  = plainVersion
	NewestForm = lifeVersion
)

// newestVersion returns the newest version of a known name.
func newestVersion(name string) int {
	switch name {
	case assetRegistered, accountOpened:
		return plainVersion
	}
	return lifeVersion
}

// The errors of decoding. ErrNewerEvent is an ErrUnknownEvent, and ErrChecksum an ErrMalformedEvent.
var (
	// ErrUnknownEvent: the name or the version is unknown to this code.
	ErrUnknownEvent = errors.New("unknown event")
	// ErrNewerEvent: the name is known and the version is above those that this code knows. Newer code can read it.
	ErrNewerEvent = fmt.Errorf("%w: its version is newer than this code", ErrUnknownEvent)
	// ErrMalformedEvent: fields are missing, unknown, of the wrong type or out of range. The message names one.
	ErrMalformedEvent = errors.New("malformed event")
	// ErrChecksum: the checksum is not that of the event, which was altered after it was written.
	ErrChecksum = fmt.Errorf("%w: its checksum is that of another", ErrMalformedEvent)
)

// Decode reads a stored form into the event's value type (never a pointer). It is strict: every field is checked, an
// unknown one is an error, and so is a checksum that is not the event's. Version 1 has none: pass "". It never panics,
// and keeps nothing of f but its texts. An old version is converted to the newest here.
// Errors: ErrUnknownEvent, ErrNewerEvent, ErrMalformedEvent, ErrChecksum.
func Decode(name string, version int, checksum string, f Fields) (Event, error) {
	e, err := decode(name, version, f)
	if err != nil {
		return nil, err
	}
	c := newCanonical(name, version)
	defer c.free()
	e.write(c)
	if err := c.compare(name, version, checksum); err != nil {
		return nil, err
	}
	return e, nil
}

// decode is Decode without the checksum. It is the one switch over names.
func decode(name string, version int, f Fields) (e Event, _ error) {
	c := coder{stored: f}
	switch name {
	case postingRecorded:
		var p PostingRecorded // the hot path of every refold: nothing is allocated but the event
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
	if err := checkForm(e, name, version); err != nil {
		return nil, err
	}
	return e, nil
}

var outcomes = map[string]Outcome{
	holdCaptured: OutcomeCaptured, holdReleased: OutcomeReleased, holdExpired: OutcomeExpired,
}

// checkForm returns an error unless e is stored under the name and version that it is written under, or as version 1
// of it.
func checkForm(e Event, name string, version int) error {
	if written, form := e.EventName(); written != name || version != form && (version != 1 || form != plainVersion) {
		return wrongForm(name, version, written, form)
	}
	return nil
}

func wrongForm(name string, version int, written string, form int) error {
	return fmt.Errorf("%w: %s V=%d has the fields of %s V=%d", ErrMalformedEvent, name, version, written, form)
}

// checkVersion returns nil, ErrNewerEvent or, for what newer code does not write either, ErrUnknownEvent.
func checkVersion(name string, version int) error {
	switch {
	case version > newestVersion(name):
		return fmt.Errorf("%w: %q, version %d", ErrNewerEvent, name, version)
	case version < 1:
		return fmt.Errorf("%w: %q, version %d", ErrUnknownEvent, name, version)
	}
	return nil
}
