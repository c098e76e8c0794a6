package api

import (
	"bytes"
	"cmp"
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
	top       object              // the whole body
	malformed []ledger.FieldError // fields that come twice, or that nobody knows
	wrong     []fault             // fields whose value cannot be read
}

type fault struct {
	at int // where the field stands, or where its object ends when it is missing
	ledger.FieldError
}

// object is a decoder's place: one object of the body.
type object struct {
	d     *decoder
	n     *node
	list  string // the field whose item it is; "" for the whole body
	index int    // in that list
}

// field returns the whole name of a field of o. It is made for faults only.
func (o *object) field(name string) string {
	if o.list == "" {
		return name
	}
	return o.list + "[" + strconv.Itoa(o.index) + "]." + name
}

// fail records a fault of a field of o.
func (o *object) fail(at int, name, rule string) {
	o.d.wrong = append(o.d.wrong, fault{at, ledger.FieldError{Field: o.field(name), Rule: rule}})
}

// take returns the value of an optional field, nil when it is absent. A null is a value, and never a right one.
func (o *object) take(name string) (v *node) {
	for i := range o.n.members {
		m := &o.n.members[i]
		if m.key != name {
			continue
		}
		if m.taken = true; v == nil {
			v = &m.value
		}
	}
	return v
}

// require is take for a field that must be there.
func (o *object) require(name string) *node {
	v := o.take(name)
	if v == nil {
		o.fail(o.n.end, name, ruleRequired)
	}
	return v
}

// is tells whether v is of the kind that is wanted; that it is something else is a fault. Nothing is of no kind.
func (o *object) is(want valueKind, name string, v *node, rule string) bool {
	if v != nil && v.kind != want {
		o.fail(v.at, name, rule)
	}
	return v != nil && v.kind == want
}

// as returns v's text if it is of the kind that is wanted, else "" and a fault. A nil v is "".
func (o *object) as(want valueKind, name string, v *node, rule string) string {
	if !o.is(want, name, v, rule) {
		return ""
	}
	return v.text
}

// text reads an optional text, "" when it is absent.
func (o *object) text(name string) string { return o.as(aText, name, o.take(name), ruleText) }

// requiredText reads a text that must be there.
func (o *object) requiredText(name string) string {
	return o.as(aText, name, o.require(name), ruleText)
}

// id reads an optional id, "" when it is absent: an empty text is an id, and a wrong one.
func (o *object) id(name string) string { return o.checkID(name, o.take(name)) }

// requiredID reads an id that must be there.
func (o *object) requiredID(name string) string { return o.checkID(name, o.require(name)) }

func (o *object) checkID(name string, v *node) string {
	id := o.as(aText, name, v, ruleID)
	if v != nil && v.kind == aText && !events.ValidID(id) {
		o.fail(v.at, name, ruleID)
	}
	return id
}

// flag reads an optional boolean, false when it is absent.
func (o *object) flag(name string) bool {
	return o.as(aTruth, name, o.take(name), ruleBool) == "true"
}

// integer reads a whole number, in JSON's own digits, that must be there.
func (o *object) integer(name string) int {
	v := o.require(name)
	number := o.as(aNumber, name, v, ruleInteger)
	if number == "" {
		return 0
	}
	i, err := strconv.ParseInt(number, 10, 32)
	if err != nil || number == "-0" {
		o.fail(v.at, name, ruleInteger)
	}
	return int(i)
}

// amount reads an optional amount, 0 when it is absent.
func (o *object) amount(name string) events.Amount { return o.checkAmount(name, o.take(name)) }

// requiredAmount reads an amount that must be there.
func (o *object) requiredAmount(name string) events.Amount {
	return o.checkAmount(name, o.require(name))
}

func (o *object) checkAmount(name string, v *node) events.Amount {
	if v == nil {
		return events.Amount{}
	}
	a, err := events.ParseAmount(v.text, events.PostedDigits)
	if v.kind != aText || err != nil {
		o.fail(v.at, name, ruleAmount)
		return events.Amount{}
	}
	return a
}

// pairs reads an optional object of texts, nil when it is absent.
func (o *object) pairs(name string) map[string]string {
	v := o.take(name)
	if !o.is(anObject, name, v, ruleObject) {
		return nil
	}
	pairs := make(map[string]string, len(v.members))
	for i := range v.members {
		m := &v.members[i]
		if m.value.kind != aText {
			o.fail(m.value.at, name+"."+m.key, ruleText)
			pairs[m.key] = ""
			continue
		}
		pairs[m.key] = m.value.text
	}
	return pairs
}

// objects reads an array of objects that must be there. An item that is no object has no node here, and is a fault.
func (o *object) objects(name string) []object {
	v := o.require(name)
	if !o.is(anArray, name, v, ruleArray) {
		return nil
	}
	items := make([]object, len(v.items))
	for i := range v.items {
		item := &v.items[i]
		if item.kind != anObject {
			o.fail(item.at, name+"["+strconv.Itoa(i)+"]", ruleObject)
			continue
		}
		items[i] = object{d: o.d, n: item, list: name, index: i}
	}
	return items
}

// profile reads an optional object of any content as compact JSON, "" when it is absent.
func (o *object) profile(name string) string {
	v := o.take(name)
	if !o.is(anObject, name, v, ruleObject) {
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
	case v.kind == aText && v.text == "unlimited":
		return events.Overdraft{Unlimited: true}
	case v.kind != anObject:
		o.fail(v.at, name, ruleDraft)
	case len(v.members) > 0:
		limits := make(map[string]events.Amount, len(v.members))
		for i := range v.members {
			m := &v.members[i]
			limits[m.key] = o.checkAmount(name+"."+m.key, &m.value)
		}
		return events.Overdraft{Limits: limits}
	}
	return events.Overdraft{}
}

// finish records the fields of o that nobody took.
func (o *object) finish() {
	for i := range o.n.members {
		if m := &o.n.members[i]; !m.taken {
			o.d.malformed = append(o.d.malformed, ledger.FieldError{Field: o.field(m.key), Rule: ruleKnown})
		}
	}
}

// decode reads r's body by read, and adds what is wrong with it to r, with what shape says of the command that was read:
// each field once, in the order of the body. It returns nil when all is well; fields that come twice, or that nobody knows, go
// before the rest.
func (r *request) decode(read func(*object), shape func() []ledger.FieldError) error {
	d := &decoder{malformed: r.twice}
	d.top = object{d: d, n: r.body}
	read(&d.top)
	d.top.finish()
	if len(d.malformed) > 0 {
		return newProblem(codeMalformedBody, "The body has fields that come twice, or that this request does not know; see errors.", d.malformed...)
	}
	unread := len(d.wrong)
	for _, f := range shape() {
		if !named(d.wrong[:unread], f.Field, true) && !named(d.wrong[unread:], f.Field, false) {
			d.wrong = append(d.wrong, fault{r.body.find(f.Field), f})
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
func (n *node) find(path string) int {
	if v := n.member(path); v != nil {
		return v.at
	}
	for i := range n.members {
		m := &n.members[i]
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
