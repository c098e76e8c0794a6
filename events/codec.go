package events

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
)

// An Event is one of the immutable facts of this package. Its tags say how it is stored: see plan.go.
type Event interface {
	// EventName returns the stored name of the event, such as "PostingRecorded".
	EventName() string
	// check returns the field that breaks a rule over several fields, and the rule; both are empty if none does. The
	// fields' own rules hold. It is unexported so that no other package can add events.
	check() (field, rule string)
}

// Form is the version of every stored form, stored with each event. Every reader refuses another one.
//
// During a release, and after a rollback, older code reads events that newer code wrote. It waits when it reads a newer
// version of a known name, and rejects every other unknown event as malformed. So a release that changes an event, or
// puts a new kind of event under an existing form of key (POSTING#, GRANT#), must raise Form. New names are for new
// keys only. Before the first release there is no older code, and Form stays 1.
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

// kinds has every event by its stored name.
var kinds = register(
	AssetRegistered{}, AccountOpened{}, AccountChanged{}, GroupRegistered{}, AccountGrouped{},
	MemberGranted{}, MemberGranted{Role: RoleOwner}, PeriodClosed{}, LanesGrown{}, PostingRecorded{},
	TransactionReversed{},
	TransactionPosted{}, TransactionPosted{ExpiresAt: Epoch()},
	HoldEnded{Outcome: OutcomeCaptured}, HoldEnded{Outcome: OutcomeReleased}, HoldEnded{Outcome: OutcomeExpired},
)

// kind is how an event of one name is stored.
type kind struct {
	sample reflect.Value // an event of that name: what is not stored follows from the name
	plan   plan
	rooms  sync.Pool // pointers to such events: fields can be set, and read without an allocation, only behind one
}

func register(samples ...Event) map[string]*kind {
	all := make(map[string]*kind, len(samples))
	for _, e := range samples {
		k := &kind{sample: reflect.ValueOf(e), plan: compile(reflect.TypeOf(e))}
		k.rooms.New = func() any { return reflect.New(k.sample.Type()).Interface() }
		all[e.EventName()] = k
	}
	return all
}

// room returns a copy of e behind a pointer. Free it after use.
func (k *kind) room(e reflect.Value) reflect.Value {
	v := reflect.ValueOf(k.rooms.Get()).Elem()
	v.Set(e)
	return v
}

func (k *kind) free(v reflect.Value) {
	v.SetZero()
	k.rooms.Put(v.Addr().Interface())
}

// Decode decodes a stored form into the event's value type (never a pointer). It is strict: it checks every field and
// the checksum, and rejects unknown fields. It never panics. It sorts f, and retains only its texts.
// Errors: ErrUnknownEvent, ErrNewerEvent, ErrMalformedEvent, ErrChecksum.
func Decode(name string, version int, checksum string, f Fields) (Event, error) {
	e, err := decode(name, version, f, false)
	if err == nil {
		err = compareChecksum(name, f, checksum)
	}
	if err != nil {
		return nil, err
	}
	return e, nil
}

// DecodeListed decodes an event with unlisted fields from the part of its stored form that an index has. The unlisted
// fields are missing there, and stay empty. The checksum covers them, so it cannot be checked. Everything else is as
// strict as Decode. Errors: those of Decode except ErrChecksum.
func DecodeListed(name string, version int, f Fields) (Event, error) {
	if k := kinds[name]; k == nil || !k.plan.isListed() {
		return nil, fmt.Errorf("%w: no list shows %q", ErrUnknownEvent, name)
	}
	return decode(name, version, f, true)
}

// decode is Decode without the checksum. listed leaves out the fields that lists do not have.
func decode(name string, version int, f Fields, listed bool) (Event, error) {
	k := kinds[name]
	if k == nil {
		return nil, fmt.Errorf("%w: %q, version %d", ErrUnknownEvent, name, version)
	}
	if err := checkVersion(name, version); err != nil {
		return nil, err
	}
	f.sort()
	v := k.room(k.sample)
	defer k.free(v)
	field, rule := k.plan.decode(f, v, listed)
	e := v.Interface().(Event)
	if rule == "" {
		field, rule = e.check()
	}
	if rule != "" {
		return nil, fmt.Errorf("%w: %s: %s %s", ErrMalformedEvent, name, field, rule)
	}
	if stored := e.EventName(); stored != name {
		return nil, fmt.Errorf("%w: %s has the fields of %s", ErrMalformedEvent, name, stored)
	}
	return e, nil
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
