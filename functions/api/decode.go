package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"ledger.example/events"
	"ledger.example/ledger"
)

// The rules that a decoder finds broken, in words for callers.
const (
	ruleRequired = "is required"
	ruleID       = "must be 1 to 64 of A-Z a-z 0-9 . _ : @ -, beginning with a letter or a digit"
	ruleText     = "must be a string"
	ruleObject   = "must be an object"
	ruleArray    = "must be an array"
	ruleInteger  = "must be a whole number"
	ruleBool     = "must be true or false"
	ruleAmount   = `must be a string holding a whole number, as "0|-?[1-9][0-9]{0,27}" has it`
	ruleDraft    = `must be "unlimited" or an object of amounts by asset`
	ruleKnown    = "is not a field of this request"
	ruleAgree    = "must be the same as the other of id and Idempotency-Key"
	ruleOnce     = "must be given once"
)

// decoder reads a request's body into a command, and gathers every fault on its way.
type decoder struct {
	root      *node
	malformed []ledger.FieldError // fields that come twice, or that nobody knows
	wrong     []fault             // fields whose value cannot be read
}

type fault struct {
	at int64 // where the field stands, or where its object ends when it is missing
	ledger.FieldError
}

// object is a decoder's place: one object of the body.
type object struct {
	d     *decoder
	n     *node
	path  string // what its fields' names begin with: "" or "postings[1]."
	taken []string
}

func (d *decoder) top() *object { return &object{d: d, n: d.root} }

func (d *decoder) fail(at int64, field, rule string) {
	d.wrong = append(d.wrong, fault{at, ledger.FieldError{Field: field, Rule: rule}})
}

// take returns the value of an optional field, nil when it is absent. A null is a value, and never a right one.
func (o *object) take(name string) *node {
	o.taken = append(o.taken, name)
	return o.n.member(name)
}

// require is take for a field that must be there.
func (o *object) require(name string) *node {
	v := o.take(name)
	if v == nil {
		o.d.fail(o.n.end, o.path+name, ruleRequired)
	}
	return v
}

// as returns v's value as a T, T's zero value and a fault when it is something else. A nil v is T's zero value.
func as[T any](o *object, name string, v *node, rule string) (t T) {
	if v == nil {
		return t
	}
	t, ok := v.value.(T)
	if !ok {
		o.d.fail(v.at, o.path+name, rule)
	}
	return t
}

// text reads an optional text, "" when it is absent.
func (o *object) text(name string) string {
	return as[string](o, name, o.take(name), ruleText)
}

// requiredText reads a text that must be there.
func (o *object) requiredText(name string) string {
	return as[string](o, name, o.require(name), ruleText)
}

// id reads an optional id, "" when it is absent: an empty text is an id, and a wrong one.
func (o *object) id(name string) string { return o.checkID(name, o.take(name)) }

// requiredID reads an id that must be there.
func (o *object) requiredID(name string) string { return o.checkID(name, o.require(name)) }

func (o *object) checkID(name string, v *node) string {
	id := as[string](o, name, v, ruleID)
	if v != nil && !events.ValidID(id) {
		if _, isText := v.value.(string); isText {
			o.d.fail(v.at, o.path+name, ruleID)
		}
	}
	return id
}

// flag reads an optional boolean, false when it is absent.
func (o *object) flag(name string) bool {
	return as[bool](o, name, o.take(name), ruleBool)
}

// integer reads a whole number, in JSON's own digits, that must be there.
func (o *object) integer(name string) int {
	v := o.require(name)
	number := as[json.Number](o, name, v, ruleInteger)
	if number == "" {
		return 0
	}
	i, err := strconv.ParseInt(number.String(), 10, 32)
	if err != nil || number == "-0" {
		o.d.fail(v.at, o.path+name, ruleInteger)
	}
	return int(i)
}

// amount reads an optional amount, 0 when it is absent.
func (o *object) amount(name string) events.Amount {
	return o.d.amount(o.path+name, o.take(name))
}

// requiredAmount reads an amount that must be there.
func (o *object) requiredAmount(name string) events.Amount {
	return o.d.amount(o.path+name, o.require(name))
}

func (d *decoder) amount(field string, v *node) events.Amount {
	if v == nil {
		return events.Amount{}
	}
	text, _ := v.value.(string)
	a, err := events.ParseAmount(text, events.PostedDigits)
	if err != nil {
		d.fail(v.at, field, ruleAmount)
	}
	return a
}

// is tells whether v is an object or an array, as want says; that it is something else is a fault. Nothing is neither.
func (o *object) is(want json.Delim, name string, v *node, rule string) bool {
	if v != nil && v.value != want {
		o.d.fail(v.at, o.path+name, rule)
	}
	return v != nil && v.value == want
}

// pairs reads an optional object of texts, nil when it is absent.
func (o *object) pairs(name string) map[string]string {
	v := o.take(name)
	if !o.is('{', name, v, ruleObject) {
		return nil
	}
	pairs := make(map[string]string, len(v.members))
	for _, m := range v.members {
		text, isText := m.value.value.(string)
		if !isText {
			o.d.fail(m.value.at, o.path+name+"."+m.key, ruleText)
		}
		pairs[m.key] = text
	}
	return pairs
}

// objects reads an array of objects that must be there. An item that is no object is nil here, and a fault.
func (o *object) objects(name string) []*object {
	v := o.require(name)
	if !o.is('[', name, v, ruleArray) {
		return nil
	}
	items := make([]*object, len(v.items))
	for i, item := range v.items {
		field := name + "[" + strconv.Itoa(i) + "]"
		if o.is('{', field, item, ruleObject) {
			items[i] = &object{d: o.d, n: item, path: o.path + field + "."}
		}
	}
	return items
}

// profile reads an optional object of any content as compact JSON, "" when it is absent.
func (o *object) profile(name string) string {
	v := o.take(name)
	if !o.is('{', name, v, ruleObject) {
		return ""
	}
	var b bytes.Buffer
	v.compact(&b)
	return b.String()
}

// overdraft reads an optional overdraft policy, none when it is absent.
func (o *object) overdraft(name string) events.Overdraft {
	v := o.take(name)
	switch {
	case v == nil:
	case v.value == "unlimited":
		return events.Overdraft{Unlimited: true}
	case v.value != json.Delim('{'):
		o.d.fail(v.at, o.path+name, ruleDraft)
	case len(v.members) > 0:
		limits := make(map[string]events.Amount, len(v.members))
		for _, m := range v.members {
			limits[m.key] = o.d.amount(o.path+name+"."+m.key, m.value)
		}
		return events.Overdraft{Limits: limits}
	}
	return events.Overdraft{}
}

// finish records the fields of o that nobody took.
func (o *object) finish() {
	for _, m := range o.n.members {
		if !slices.Contains(o.taken, m.key) {
			o.d.malformed = append(o.d.malformed, ledger.FieldError{Field: o.path + m.key, Rule: ruleKnown})
		}
	}
}

// decode reads r's body by read, and adds what is wrong with it to r, with what shape says of the command that was read:
// each field once, in the order of the body. It returns nil when all is well; fields that come twice, or that nobody knows, go
// before the rest.
func (r *request) decode(read func(*object), shape func() []ledger.FieldError) error {
	d := &decoder{root: r.body, malformed: r.twice}
	top := d.top()
	read(top)
	top.finish()
	if len(d.malformed) > 0 {
		return newProblem(codeMalformedBody, "The body has fields that come twice, or that this request does not know; see errors.", d.malformed...)
	}
	unread := len(d.wrong)
	for _, f := range shape() {
		if !named(d.wrong[:unread], f.Field, true) && !named(d.wrong[unread:], f.Field, false) {
			d.wrong = append(d.wrong, fault{d.root.find(f.Field), f})
		}
	}
	slices.SortStableFunc(d.wrong, func(a, b fault) int { return cmp.Compare(a.at, b.at) })
	for _, f := range d.wrong {
		r.wrong = append(r.wrong, f.FieldError)
	}
	return r.check()
}

// named tells whether field has a fault already, or, if within is set, what it is part of: of what could not be read
// nothing else that is said means anything.
func named(faults []fault, field string, within bool) bool {
	return slices.ContainsFunc(faults, func(f fault) bool {
		rest, ok := strings.CutPrefix(field, f.Field)
		return ok && (rest == "" || within && (rest[0] == '.' || rest[0] == '['))
	})
}

// find returns where the field of a path such as "postings[1].quantity" stands, or where the innermost thing that is
// there ends.
func (n *node) find(path string) int64 {
	if v := n.member(path); v != nil {
		return v.at
	}
	for _, m := range n.members {
		rest, ok := strings.CutPrefix(path, m.key)
		switch {
		case ok && strings.HasPrefix(rest, "."):
			return m.value.find(rest[1:])
		case ok && strings.HasPrefix(rest, "["):
			return m.value.find(rest)
		}
	}
	index, rest, ok := strings.Cut(strings.TrimPrefix(path, "["), "]")
	if i, err := strconv.Atoi(index); ok && err == nil && i >= 0 && i < len(n.items) {
		if rest == "" {
			return n.items[i].at
		}
		return n.items[i].find(strings.TrimPrefix(rest, "."))
	}
	return n.end
}
