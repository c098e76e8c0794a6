package audit

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/store"
)

// reader reads each attribute of an item once and collects the item's faults. The readers of an item and of the maps in
// it share their faults.
type reader struct {
	item       attributes
	taken      []string // names of the attributes that were read
	path       string   // prefix of attribute names in findings, such as "Head."
	isOptional bool     // the next attribute may be absent
	*faults
}

// faults are the defects of one item.
type faults struct {
	key    store.Key
	found  []Finding
	broken bool // some value is unusable
}

func newReader(key store.Key, item attributes) *reader {
	return &reader{item: item, taken: make([]string, 0, len(item)), faults: &faults{key: key}}
}

// inner returns a reader of a map in the item. The caller must finish it.
func (r *reader) inner(at string, m attributes) *reader {
	return &reader{item: m, path: r.path + at + ".", faults: r.faults}
}

// optional allows the next attribute to be absent. Reading an absent attribute returns the zero value.
func (r *reader) optional() *reader {
	r.isOptional = true
	return r
}

const absent = "nothing"

// fault adds a finding about an attribute. wanted describes a correct value.
func (r *reader) fault(code Code, name, wanted string) {
	stored := absent
	if v, ok := r.item[name]; ok {
		stored = truncated(formatValue(v))
	}
	r.found = append(r.found, Finding{code, r.key, r.path + name, stored, wanted})
	switch code {
	case MissingAttribute, WrongType, WrongValue, HoldEntryWrong:
		r.broken = true
	}
}

// has reports whether the item has an attribute.
func (r *reader) has(name string) bool { return r.item[name] != nil }

// take returns an attribute of type T. ok is false if it is absent, which is a fault unless the attribute is optional,
// or if it has another type, which is a fault.
func take[T types.AttributeValue](r *reader, name, typ string) (v T, ok bool) {
	isOptional := r.isOptional
	r.taken, r.isOptional = append(r.taken, name), false
	stored, exists := r.item[name]
	v, ok = stored.(T)
	switch {
	case !exists && !isOptional:
		r.fault(MissingAttribute, name, typ)
	case exists && !ok:
		r.fault(WrongType, name, typ)
	}
	return v, ok
}

// string returns a string; ok as for take.
func (r *reader) string(name string) (string, bool) {
	v, ok := take[*types.AttributeValueMemberS](r, name, "a string")
	if !ok {
		return "", false
	}
	return v.Value, true
}

// valid returns a string. It is a fault if passes rejects it.
func (r *reader) valid(name, wanted string, passes func(string) bool) string {
	s, ok := r.string(name)
	if ok && !passes(s) {
		r.fault(WrongValue, name, wanted)
	}
	return s
}

// text returns a string of least to most characters.
func (r *reader) text(name string, least, most int) string {
	return r.valid(name, fmt.Sprintf("text of %d to %d characters", least, most),
		func(s string) bool { return isText(s, least, most) })
}

// id returns an id.
func (r *reader) id(name string) string { return r.valid(name, "an id", isID) }

// ksuid returns a KSUID that the ledger can have minted.
func (r *reader) ksuid(name string) string {
	return r.valid(name, "a KSUID of the ledger", func(s string) bool {
		_, ok := instantOf(s)
		return ok
	})
}

// instant returns a time in UTC, stored with microseconds.
func (r *reader) instant(name string) time.Time {
	at, _ := time.Parse(instantForm, r.valid(name, "a time in UTC with six decimals", isInstant))
	return at
}

// oneOf returns a string that must be one of texts.
func (r *reader) oneOf(name string, texts ...string) string {
	return r.valid(name, strings.Join(texts, ", "), func(s string) bool { return slices.Contains(texts, s) })
}

// number returns a number as a string; ok as for take.
func (r *reader) number(name string) (string, bool) {
	v, ok := take[*types.AttributeValueMemberN](r, name, "a number")
	if !ok {
		return "", false
	}
	return v.Value, true
}

// amount returns a whole number of at most digits digits.
func (r *reader) amount(name string, digits int) *big.Int {
	s, ok := r.number(name)
	n, isWhole := wholeNumber(s, digits)
	if isWhole {
		return n
	}
	if ok {
		r.fault(WrongValue, name, fmt.Sprintf("a whole number of at most %d digits", digits))
	}
	return new(big.Int)
}

// sum returns a sum of amounts.
func (r *reader) sum(name string, isSigned bool) *big.Int {
	n := r.amount(name, foldedDigits)
	if n.Sign() < 0 && !isSigned {
		r.fault(WrongValue, name, "a number that is not negative")
	}
	return n
}

// integer returns a whole number of least to most.
func (r *reader) integer(name string, least, most int64) int64 {
	s, ok := r.number(name)
	n, _ := strconv.ParseInt(s, 10, 64)
	if ok && (strconv.FormatInt(n, 10) != s || n < least || n > most) {
		r.fault(WrongValue, name, fmt.Sprintf("a whole number from %d to %d", least, most))
	}
	return n
}

// flag returns an optional boolean. It is a fault if false is stored.
func (r *reader) flag(name string) bool {
	v, ok := take[*types.AttributeValueMemberBOOL](r.optional(), name, "a boolean")
	if ok && !v.Value {
		r.fault(WrongValue, name, "true, or no such attribute")
	}
	return ok && v.Value
}

// nested returns a reader of a map. The caller must finish it.
func (r *reader) nested(name string) (*reader, bool) {
	v, ok := take[*types.AttributeValueMemberM](r, name, "a map")
	if !ok {
		return nil, false
	}
	return r.inner(name, v.Value), true
}

// maps reads a list of least to most maps. It calls read for each and finishes it. what names the maps in a finding.
func (r *reader) maps(name, what string, least, most int, read func(one *reader)) {
	list, ok := take[*types.AttributeValueMemberL](r, name, "a list")
	if !ok {
		return
	}
	if n := len(list.Value); n < least || n > most {
		r.fault(WrongValue, name, fmt.Sprintf("%d to %d %s", least, most, what))
	}
	for i, v := range list.Value {
		m, ok := v.(*types.AttributeValueMemberM)
		if !ok {
			r.fault(WrongType, name, "a list of maps")
			return
		}
		one := r.inner(name+"["+strconv.Itoa(i)+"]", m.Value)
		read(one)
		one.finish()
	}
}

// same checks an attribute whose value is also a part of the key.
func (r *reader) same(name, want string) {
	if s, ok := r.string(name); ok && s != want {
		r.fault(WrongKey, name, strconv.Quote(want))
	}
}

// keys checks the version of the form and the index keys; an empty one must be absent. decode has checked the primary
// key and the type.
func (r *reader) keys(sk2, pk2 string) {
	r.integer(store.AttrForm, form, form)
	r.taken = append(r.taken, store.AttrPK, store.AttrSK, store.AttrType, store.AttrSK2, store.AttrPK2)
	for _, secondary := range [...]struct{ name, want string }{{store.AttrSK2, sk2}, {store.AttrPK2, pk2}} {
		if secondary.want == "" && r.has(secondary.name) {
			r.fault(WrongKey, secondary.name, absent)
		} else if textOf(r.item[secondary.name]) != secondary.want {
			r.fault(WrongKey, secondary.name, strconv.Quote(secondary.want))
		}
	}
}

// checkIDs checks the ids in the key.
func (r *reader) checkIDs(ids ...string) {
	for _, id := range ids {
		if !isID(id) {
			r.fault(WrongKey, store.AttrSK, "a valid id instead of "+strconv.Quote(id))
			return
		}
	}
}

// finish reports the attributes that were not read.
func (r *reader) finish() {
	for name := range r.item {
		if !slices.Contains(r.taken, name) {
			r.fault(UnknownAttribute, name, absent)
		}
	}
}
