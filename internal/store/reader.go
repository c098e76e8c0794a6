package store

import (
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
)

// A Reader reads the attributes of a guard or a projection. It keeps the first error: a missing attribute or one of the
// wrong type. Check Err before using any value. A Reader is not safe for concurrent use.
type Reader struct {
	item Item
	err  error
}

// Read returns a reader of i.
func Read(i Item) *Reader { return &Reader{item: i} }

// Open returns a reader of a guard or a projection of the given kind. It fails if i has another type, and with
// ErrNewerForm if newer code wrote i.
func Open(i Item, kind string) *Reader {
	r := Read(i)
	if r.Text(AttrType) != kind {
		r.Fail(AttrType, "is not "+kind)
	}
	switch form := r.Integer(AttrForm); {
	case r.err != nil || form == events.Form:
	case form > events.Form:
		r.err = fmt.Errorf("%w: %s of version %d", ErrNewerForm, kind, form)
	default:
		r.Fail(AttrForm, "is a version that does not exist")
	}
	return r
}

// Err returns the first error, a ErrMalformedItem or from Open ErrNewerForm, or nil.
func (r *Reader) Err() error { return r.err }

// Fail records that the named attribute breaks a rule, unless an error is recorded already.
func (r *Reader) Fail(name, rule string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s %s", ErrMalformedItem, name, rule)
	}
}

// Has reports whether the attribute is present.
func (r *Reader) Has(name string) bool {
	_, ok := r.item[name]
	return ok
}

// Text returns a string.
func (r *Reader) Text(name string) string {
	s, ok := r.item[name].(*types.AttributeValueMemberS)
	if !ok {
		r.Fail(name, "is not a string")
		return ""
	}
	return s.Value
}

// OptionalText returns a string, "" if it is absent.
func (r *Reader) OptionalText(name string) string {
	if !r.Has(name) {
		return ""
	}
	return r.Text(name)
}

// Amount returns a whole number of at most events.FoldedDigits digits.
func (r *Reader) Amount(name string) events.Amount {
	n, ok := r.item[name].(*types.AttributeValueMemberN)
	if !ok {
		r.Fail(name, "is not a number")
		return events.Amount{}
	}
	a, err := events.ParseAmount(n.Value, events.FoldedDigits)
	if err != nil {
		r.Fail(name, err.Error())
	}
	return a
}

// OptionalAmount is Amount, or zero if the attribute is absent.
func (r *Reader) OptionalAmount(name string) events.Amount {
	if !r.Has(name) {
		return events.Amount{}
	}
	return r.Amount(name)
}

// Integer returns a nonnegative whole number in canonical form.
func (r *Reader) Integer(name string) int64 {
	n, ok := r.item[name].(*types.AttributeValueMemberN)
	if !ok {
		r.Fail(name, "is not a number")
		return 0
	}
	i, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil || i < 0 || strconv.FormatInt(i, 10) != n.Value {
		r.Fail(name, "is not a whole number of this size")
	}
	return i
}

// OptionalFlag returns a boolean, false if it is absent.
func (r *Reader) OptionalFlag(name string) bool {
	if !r.Has(name) {
		return false
	}
	b, ok := r.item[name].(*types.AttributeValueMemberBOOL)
	if !ok {
		r.Fail(name, "is not a boolean")
		return false
	}
	return b.Value
}

// Map returns a map.
func (r *Reader) Map(name string) Item {
	m, ok := r.item[name].(*types.AttributeValueMemberM)
	if !ok {
		r.Fail(name, "is not a map")
		return nil
	}
	return m.Value
}
