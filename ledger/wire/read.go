package wire

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
)

// ErrMalformedItem is returned for an item that this code would not have stored.
var ErrMalformedItem = errors.New("malformed item")

// A Reader takes attributes out of a guard or a projection and remembers the first that is missing or has the wrong
// type. After that, what it returns means nothing.
type Reader struct {
	item Item
	err  error
}

// Read returns a reader of i.
func Read(i Item) *Reader { return &Reader{item: i} }

// Err returns the first fault as an ErrMalformedItem.
func (r *Reader) Err() error { return r.err }

// Fail makes rule, broken by the named attribute, the reader's fault, unless it has one already.
func (r *Reader) Fail(name, rule string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s %s", ErrMalformedItem, name, rule)
	}
}

// Has tells whether there is such an attribute.
func (r *Reader) Has(name string) bool {
	_, ok := r.item[name]
	return ok
}

// Text takes a string.
func (r *Reader) Text(name string) string {
	s, ok := r.item[name].(*types.AttributeValueMemberS)
	if !ok {
		r.Fail(name, "is not a string")
		return ""
	}
	return s.Value
}

// OptionalText takes a string, "" when it is absent.
func (r *Reader) OptionalText(name string) string {
	if !r.Has(name) {
		return ""
	}
	return r.Text(name)
}

// Amount takes a whole number of at most events.FoldedDigits digits.
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

// Integer takes a whole number in canonical form that is not negative.
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

// OptionalFlag takes a boolean, false when it is absent.
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

// Map takes a map.
func (r *Reader) Map(name string) Item {
	m, ok := r.item[name].(*types.AttributeValueMemberM)
	if !ok {
		r.Fail(name, "is not a map")
		return nil
	}
	return m.Value
}
