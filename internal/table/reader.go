package table

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

// value returns the value of an attribute of kind T, which errors call by its name.
func value[T any, P interface {
	*T
	types.AttributeValue
}](r *Reader, name, kind string) (v T) {
	if p, ok := r.item[name].(P); ok {
		return *p
	}
	r.Fail(name, kind)
	return v
}

// optional returns what get does, or zero if the attribute is absent.
func optional[T any](r *Reader, name string, get func(r *Reader, name string) T) (absent T) {
	if r.Has(name) {
		return get(r, name)
	}
	return absent
}

// Text returns a string.
func (r *Reader) Text(name string) string {
	return value[types.AttributeValueMemberS](r, name, "is not a string").Value
}

// OptionalText returns a string, "" if it is absent.
func (r *Reader) OptionalText(name string) string { return optional(r, name, (*Reader).Text) }

func (r *Reader) digits(name string) string {
	return value[types.AttributeValueMemberN](r, name, "is not a number").Value
}

// Amount returns a whole number of at most events.FoldedDigits digits.
func (r *Reader) Amount(name string) events.Amount {
	a, err := events.ParseAmount(r.digits(name), events.FoldedDigits)
	if err != nil {
		r.Fail(name, err.Error())
	}
	return a
}

// OptionalAmount is Amount, or zero if the attribute is absent.
func (r *Reader) OptionalAmount(name string) events.Amount {
	return optional(r, name, (*Reader).Amount)
}

// Integer returns a nonnegative whole number in canonical form.
func (r *Reader) Integer(name string) int64 {
	digits := r.digits(name)
	i, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || i < 0 || strconv.FormatInt(i, 10) != digits {
		r.Fail(name, "is not a whole number of this size")
	}
	return i
}

// OptionalFlag returns a boolean, false if it is absent.
func (r *Reader) OptionalFlag(name string) bool {
	return r.Has(name) && value[types.AttributeValueMemberBOOL](r, name, "is not a boolean").Value
}

// Map returns a map.
func (r *Reader) Map(name string) Item {
	return value[types.AttributeValueMemberM](r, name, "is not a map").Value
}

// Maps returns a list of maps. An element of another type is a nil map.
func (r *Reader) Maps(name string) []Item {
	list := value[types.AttributeValueMemberL](r, name, "is not a list").Value
	all := make([]Item, len(list))
	for i, element := range list {
		if m, ok := element.(*types.AttributeValueMemberM); ok {
			all[i] = m.Value
		}
	}
	return all
}
