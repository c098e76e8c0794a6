package audit

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/table"
)

// reader reads the attributes of an item, each once, and collects faults. A reader of a map in an item adds to the
// item's.
type reader struct {
	item    attributes
	taken   []string // names of the attributes that were read
	at      string   // prefix of attributes' names in findings, such as "Head."
	mayLack bool     // the next attribute to be taken may be absent
	*faults
}

// faults are the defects of one item by itself.
type faults struct {
	key     table.Key
	found   []Finding
	broken  bool  // some value is unusable
	version int64 // of an event; 0 if it cannot be read
}

func newReader(key table.Key, item attributes) *reader {
	return &reader{item: item, taken: make([]string, 0, len(item)), faults: &faults{key: key}}
}

// inner returns a reader of a map in the item. The caller must finish it.
func (r *reader) inner(at string, m attributes) *reader {
	return &reader{item: m, at: r.at + at + ".", faults: r.faults}
}

// optional makes the next attribute one that may be absent, and then has the zero value. It returns r.
func (r *reader) optional() *reader {
	r.mayLack = true
	return r
}

const absent = "nothing"

// fault adds a finding about an attribute. It says what was wanted instead of the stored value.
func (r *reader) fault(code Code, name, wanted string) {
	stored := absent
	if v, ok := r.item[name]; ok {
		stored = shortened(shown(v))
	}
	r.found = append(r.found, Finding{code, r.key, r.at + name, stored, wanted})
	switch code {
	case MissingAttribute, WrongType, WrongValue, HoldEntryWrong:
		r.broken = true
	}
}

// has reports whether there is such an attribute.
func (r *reader) has(name string) bool { return r.item[name] != nil }

// take returns an attribute of type T. ok is false if there is none, which is a fault unless it is optional.
func take[T types.AttributeValue](r *reader, name, typ string) (v T, ok bool) {
	mayLack := r.mayLack
	r.taken, r.mayLack = append(r.taken, name), false
	stored, there := r.item[name]
	v, ok = stored.(T)
	switch {
	case !there && !mayLack:
		r.fault(MissingAttribute, name, typ)
	case there && !ok:
		r.fault(WrongType, name, typ)
	}
	return v, ok
}

// string returns a text. ok is false if there is none, which is a fault unless it is optional.
func (r *reader) string(name string) (string, bool) {
	v, ok := take[*types.AttributeValueMemberS](r, name, "a string")
	if !ok {
		return "", false
	}
	return v.Value, true
}

// valid returns a string, and faults one that does not pass.
func (r *reader) valid(name, wanted string, passes func(string) bool) string {
	s, ok := r.string(name)
	if ok && !passes(s) {
		r.fault(WrongValue, name, wanted)
	}
	return s
}

// text returns a text of least to most characters.
func (r *reader) text(name string, least, most int) string {
	return r.valid(name, fmt.Sprintf("text of %d to %d characters", least, most),
		func(s string) bool { return isText(s, least, most) })
}

func (r *reader) id(name string) string { return r.valid(name, "an id", isID) }

// ksuid returns a KSUID that the ledger can have created.
func (r *reader) ksuid(name string) string {
	return r.valid(name, "a KSUID", func(s string) bool {
		_, ok := instantOf(s)
		return ok
	})
}

// instant returns a time in UTC, stored with microseconds.
func (r *reader) instant(name string) time.Time {
	at, _ := time.Parse(instantForm, r.valid(name, "a time in UTC with six decimals", isInstant))
	return at
}

// posted returns an amount that was posted.
func (r *reader) posted(name string) *big.Int { return r.amount(name, postedDigits) }

// oneOf returns one of the given texts.
func (r *reader) oneOf(name string, texts ...string) string {
	return r.valid(name, strings.Join(texts, ", "), func(s string) bool { return slices.Contains(texts, s) })
}

// number returns the text of a number.
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
		r.fault(WrongValue, name, fmt.Sprintf("a whole number of %d to %d", least, most))
	}
	return n
}

// flag returns an optional boolean; false must be absent.
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

// maps reads a list of least to most maps, which are named by what in a finding, and finishes each after read.
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

// same checks an attribute that repeats a part of the key.
func (r *reader) same(name, want string) {
	if s, ok := r.string(name); ok && s != want {
		r.fault(WrongKey, name, strconv.Quote(want))
	}
}

// keys checks the secondary keys, of which empty ones must be absent. decode checked the primary ones, and the type.
func (r *reader) keys(sk2, pk2 string) {
	r.taken = append(r.taken, table.AttrPK, table.AttrSK, table.AttrType, table.AttrSK2, table.AttrPK2)
	for _, secondary := range [...]struct{ name, want string }{{table.AttrSK2, sk2}, {table.AttrPK2, pk2}} {
		if secondary.want == "" && r.has(secondary.name) {
			r.fault(WrongKey, secondary.name, absent)
		} else if textOf(r.item[secondary.name]) != secondary.want {
			r.fault(WrongKey, secondary.name, strconv.Quote(secondary.want))
		}
	}
}

// checkIDs checks ids that stand in the key.
func (r *reader) checkIDs(ids ...string) {
	for _, id := range ids {
		if !isID(id) {
			r.fault(WrongKey, table.AttrSK, "an id where "+strconv.Quote(id)+" stands")
			return
		}
	}
}

// finish faults the attributes that were not read.
func (r *reader) finish() {
	for name := range r.item {
		if !slices.Contains(r.taken, name) {
			r.fault(UnknownAttribute, name, absent)
		}
	}
}
