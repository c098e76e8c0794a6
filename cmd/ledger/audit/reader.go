package audit

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/ledger/table"
)

// attributes are an item, or a map in it.
type attributes = map[string]types.AttributeValue

// reader takes attributes, each once, and finds fault with them. A reader of a map in an item finds fault in that item's
// name.
type reader struct {
	item  attributes
	at    string // what stands before the names of attributes: "Head."
	taken []string
	*faults
}

// faults are what is wrong with one item by itself.
type faults struct {
	key    table.Key
	found  []Finding
	broken bool // some value cannot be used
}

func read(key table.Key, item attributes) *reader {
	return &reader{item: item, taken: make([]string, 0, len(item)), faults: &faults{key: key}}
}

const absent = "nothing"

func (r *reader) fault(code Code, name, wanted string) {
	stored := absent
	if v, ok := r.item[name]; ok {
		stored = show(v)
	}
	r.found = append(r.found, Finding{Code: code, Key: r.key, Attribute: r.at + name, Stored: stored, Recomputed: wanted})
	if code == MissingAttribute || code == WrongType || code == WrongValue {
		r.broken = true
	}
}

// has tells whether there is such an attribute.
func (r *reader) has(name string) bool {
	_, ok := r.item[name]
	return ok
}

// take returns an attribute of type T, its zero value after a fault.
func take[T types.AttributeValue](r *reader, name, typ string) (v T, ok bool) {
	r.taken = append(r.taken, name)
	stored, there := r.item[name]
	if !there {
		r.fault(MissingAttribute, name, typ)
		return v, false
	}
	if v, ok = stored.(T); !ok {
		r.fault(WrongType, name, typ)
	}
	return v, ok
}

func (r *reader) string(name string) (string, bool) {
	v, ok := take[*types.AttributeValueMemberS](r, name, "a string")
	if !ok {
		return "", false
	}
	return v.Value, true
}

// text takes a text of least to most characters.
func (r *reader) text(name string, least, most int) string {
	s, ok := r.string(name)
	if ok && !isText(s, least, most) {
		r.fault(WrongValue, name, fmt.Sprintf("text of %d to %d characters", least, most))
	}
	return s
}

// optionalText takes a text of at most most characters, which is absent when it is empty.
func (r *reader) optionalText(name string, most int) string {
	if !r.has(name) {
		return ""
	}
	return r.text(name, 1, most)
}

func (r *reader) id(name string) string {
	s, ok := r.string(name)
	if ok && !isID(s) {
		r.fault(WrongValue, name, "an id")
	}
	return s
}

func (r *reader) ksuid(name string) string {
	s, ok := r.string(name)
	if !ok {
		return ""
	}
	if _, ok := instantOf(s); !ok {
		r.fault(WrongValue, name, "a KSUID")
	}
	return s
}

func (r *reader) optionalKSUID(name string) string {
	if !r.has(name) {
		return ""
	}
	return r.ksuid(name)
}

// instant takes a time, in the form whose order is that of time.
func (r *reader) instant(name string) string {
	s, ok := r.string(name)
	if ok && !isInstant(s) {
		r.fault(WrongValue, name, "a time in UTC with six decimals")
	}
	return s
}

// oneOf takes one of some texts.
func (r *reader) oneOf(name string, texts ...string) string {
	s, ok := r.string(name)
	if ok && !slices.Contains(texts, s) {
		r.fault(WrongValue, name, strings.Join(texts, ", "))
	}
	return s
}

// amount takes a whole number of at most digits digits.
func (r *reader) amount(name string, digits int) *big.Int {
	v, ok := take[*types.AttributeValueMemberN](r, name, "a number")
	if !ok {
		return new(big.Int)
	}
	n, ok := wholeNumber(v.Value, digits)
	if !ok {
		r.fault(WrongValue, name, fmt.Sprintf("a whole number of at most %d digits", digits))
		return new(big.Int)
	}
	return n
}

// natural takes an amount that is not negative.
func (r *reader) natural(name string) *big.Int {
	n := r.amount(name, foldedDigits)
	if n.Sign() < 0 {
		r.fault(WrongValue, name, "a number that is not negative")
	}
	return n
}

// integer takes a whole number of least to most.
func (r *reader) integer(name string, least, most int64) int64 {
	v, ok := take[*types.AttributeValueMemberN](r, name, "a number")
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(v.Value, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != v.Value || n < least || n > most {
		r.fault(WrongValue, name, fmt.Sprintf("a whole number of %d to %d", least, most))
	}
	return n
}

// optionalFlag takes a boolean that is absent when it is false.
func (r *reader) optionalFlag(name string) bool {
	if !r.has(name) {
		return false
	}
	v, ok := take[*types.AttributeValueMemberBOOL](r, name, "a boolean")
	if ok && !v.Value {
		r.fault(WrongValue, name, "true, or no such attribute")
	}
	return ok && v.Value
}

// nested takes a map, and returns a reader of it whose faults are r's. Finish it.
func (r *reader) nested(name string) (*reader, bool) {
	v, ok := take[*types.AttributeValueMemberM](r, name, "a map")
	if !ok {
		return nil, false
	}
	return &reader{item: v.Value, at: r.at + name + ".", faults: r.faults}, true
}

// is takes an attribute that must say what the item's own fields or its key say.
func (r *reader) is(name, want string) {
	if s, ok := r.string(name); ok && s != want {
		r.fault(WrongKey, name, strconv.Quote(want))
	}
}

// keys takes the keys and the type of an item; an empty secondary key must be absent.
func (r *reader) keys(kind, sk2, pk2 string) {
	r.taken = append(r.taken, table.AttrPK, table.AttrSK, table.AttrType) // seen before
	for _, secondary := range [...]struct{ name, want string }{{table.AttrSK2, sk2}, {table.AttrPK2, pk2}} {
		s, there := r.item[secondary.name].(*types.AttributeValueMemberS)
		switch {
		case secondary.want == "" && !r.has(secondary.name):
			continue
		case secondary.want == "":
			r.fault(WrongKey, secondary.name, absent)
		case !there || s.Value != secondary.want:
			r.fault(WrongKey, secondary.name, strconv.Quote(secondary.want))
		}
		r.taken = append(r.taken, secondary.name)
	}
	for _, id := range idsOf(r.key) {
		if !isID(id) {
			r.fault(WrongKey, table.AttrSK, "an id where "+strconv.Quote(id)+" stands")
			break
		}
	}
}

// finish finds the attributes that nobody took.
func (r *reader) finish() {
	if len(r.taken) == len(r.item) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(r.item)) {
		if !slices.Contains(r.taken, name) {
			r.fault(UnknownAttribute, name, absent)
		}
	}
}

// showChars is the most that is shown of one value.
const showChars = 200

// show tells people a value.
func show(v types.AttributeValue) string {
	s := shown(v)
	if runes := []rune(s); len(runes) > showChars {
		s = string(runes[:showChars]) + "…"
	}
	return s
}

func shown(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return strconv.Quote(v.Value)
	case *types.AttributeValueMemberN:
		return v.Value
	case *types.AttributeValueMemberBOOL:
		return strconv.FormatBool(v.Value)
	case *types.AttributeValueMemberNULL:
		return "null"
	case *types.AttributeValueMemberM:
		parts := make([]string, 0, len(v.Value))
		for _, name := range slices.Sorted(maps.Keys(v.Value)) {
			parts = append(parts, name+": "+shown(v.Value[name]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case *types.AttributeValueMemberL:
		parts := make([]string, len(v.Value))
		for i, element := range v.Value {
			parts[i] = shown(element)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", v), "*types.AttributeValueMember")
}
