package api

import (
	"cmp"
	"strconv"

	"ledger.example/events"
	"ledger.example/ledger"
)

// The rules of syntax, in words for callers. The rules of the domain are in package ledger.
const (
	ruleRequired = "is required"
	ruleID       = events.IDRule
	ruleText     = "must be a string"
	ruleObject   = "must be an object"
	ruleArray    = "must be an array"
	ruleInteger  = "must be a whole number"
	ruleBool     = "must be true or false"
	ruleAmount   = `must be a string of a whole number: "0" or "-?[1-9][0-9]{0,27}"`
	ruleDraft    = `must be "unlimited" or an object of amounts by asset`
	ruleKnown    = "is not a field of this request"
	ruleAgree    = "must be the same in id and Idempotency-Key"
	ruleOnce     = "must be given once"
)

// object is one object of the body that is being read.
type object struct {
	d      *decoder
	n      *node
	name   string // the field that it is, or whose item it is; "" for the whole body
	isItem bool
	index  int // in the list
}

// field returns the full name of a field of o. Names are made for faults only.
func (o *object) field(name string) string {
	switch {
	case o.isItem:
		return o.item() + "." + name
	case o.name != "":
		return o.name + "." + name
	}
	return name
}

// item returns the name of o, which is an item of a list.
func (o *object) item() string { return o.name + "[" + strconv.Itoa(o.index) + "]" }

// fail records a fault of a field of o.
func (o *object) fail(at int32, name, rule string) {
	if !o.d.enough {
		o.d.wrong = append(o.d.wrong, fault{at, fieldError{Field: o.field(name), Rule: rule}})
	}
}

// presence says whether a field must be there.
type presence bool

const (
	optional presence = false
	required presence = true
)

// take returns the value of a field. When it is absent, take returns nil, and records a fault if it is required. A
// null is a value, and never a valid one.
func (o *object) take(name string, p presence) (v *node) {
	for m := range o.n.children() {
		if m.key == name {
			m.taken = true
			v = cmp.Or(v, m)
		}
	}
	if v == nil && p == required {
		o.fail(o.n.end, name, ruleRequired)
	}
	return v
}

// is reports whether v is of a kind. When it is of another, it records a fault; an absent v is of none.
func (o *object) is(kind valueKind, name string, v *node, rule string) bool {
	if v != nil && v.kind != kind {
		o.fail(v.at, name, rule)
	}
	return v != nil && v.kind == kind
}

// text reads a string, "" when it is absent.
func (o *object) text(name string, p presence) string {
	v := o.take(name, p)
	if !o.is(aText, name, v, ruleText) {
		return ""
	}
	return v.text
}

// id reads an id, "" when it is absent. An empty string is not absent, but invalid.
func (o *object) id(name string, p presence) string {
	v := o.take(name, p)
	if !o.is(aText, name, v, ruleID) {
		return ""
	}
	if !events.ValidID(v.text) {
		o.fail(v.at, name, ruleID)
	}
	return v.text
}

// flag reads an optional boolean, false when it is absent.
func (o *object) flag(name string) bool {
	v := o.take(name, optional)
	return o.is(aBool, name, v, ruleBool) && v.text == "true"
}

// integer reads a whole number that must be there.
func (o *object) integer(name string) int {
	v := o.take(name, required)
	if !o.is(aNumber, name, v, ruleInteger) {
		return 0
	}
	i, err := strconv.ParseInt(v.text, 10, 32)
	if err != nil || v.text == "-0" {
		o.fail(v.at, name, ruleInteger)
	}
	return int(i)
}

// amount reads an amount, 0 when it is absent.
func (o *object) amount(name string, p presence) events.Amount {
	v := o.take(name, p)
	if v == nil {
		return events.Amount{}
	}
	return o.parseAmount(name, v)
}

// parseAmount reads an amount, 0 and a fault if v is none.
func (o *object) parseAmount(name string, v *node) events.Amount {
	a, err := events.ParseAmount(v.text, events.PostedDigits)
	if v.kind != aText || err != nil {
		o.fail(v.at, name, ruleAmount)
		return events.Amount{}
	}
	return a
}

// pairs reads an optional object of strings, nil when it is absent. If there are too many, it reads none.
func (o *object) pairs(name string) map[string]string {
	v := o.take(name, optional)
	if !o.is(anObject, name, v, ruleObject) {
		return nil
	}
	if v.count > events.MetadataPairs {
		o.fail(v.at, name, ledger.RuleMetadata)
		return nil
	}
	pairs := make(map[string]string, v.count)
	for m := range v.children() {
		if m.kind != aText {
			o.fail(m.at, name+"."+m.key, ruleText)
		}
		pairs[m.key] = m.text
	}
	return pairs
}

// each reads the items of a list that must be there, which must be objects. How many they may be is a rule of the
// ledger, checked after the shape of each: so it reads all, but records no more faults than a problem names.
func (o *object) each(name string, read func(item *object)) {
	v := o.take(name, required)
	if !o.is(anArray, name, v, ruleArray) {
		return
	}
	before := len(o.d.wrong)
	item := object{d: o.d, name: name, isItem: true}
	for n := range v.children() {
		o.d.enough = len(o.d.wrong)-before >= errorsMax
		item.n = n
		switch {
		case n.kind == anObject:
			read(&item)
			item.finish()
		case !o.d.enough:
			o.fail(n.at, item.item(), ruleObject)
		}
		item.index++
	}
	o.d.enough = false
}

// profile reads an optional object of any content as compact JSON, "" when it is absent or too large.
func (o *object) profile(name string) string {
	v := o.take(name, optional)
	if !o.is(anObject, name, v, ruleObject) {
		return ""
	}
	compact := v.compact(nil)
	if len(compact) <= events.ProfileBytes {
		return string(compact)
	}
	o.fail(v.at, name, ledger.RuleProfile)
	if a := v.member("addresses"); a != nil && !a.isAddresses() {
		o.fail(a.at, name+".addresses", ledger.RuleAddresses)
	}
	return ""
}

// isAddresses reports whether n is what a profile's addresses may be.
func (n *node) isAddresses() bool {
	if n.kind != anArray || n.count > events.AddressesMax {
		return false
	}
	for item := range n.children() {
		if item.kind != anObject {
			return false
		}
	}
	return true
}

// overdraft reads an optional overdraft policy, none when it is absent. If there are too many amounts, it reads none.
func (o *object) overdraft(name string) events.Overdraft {
	v := o.take(name, optional)
	switch {
	case v == nil:
	case v.kind == aText && v.text == "unlimited":
		return events.Overdraft{Unlimited: true}
	case v.kind != anObject:
		o.fail(v.at, name, ruleDraft)
	case v.count > events.OverdraftAssets:
		o.fail(v.at, name, ledger.RuleOverdraft)
	case v.count > 0:
		limits := make(map[string]events.Amount, v.count)
		for m := range v.children() {
			limits[m.key] = o.parseAmount(name+"."+m.key, m)
		}
		return events.Overdraft{Limits: limits}
	}
	return events.Overdraft{}
}

// finish records the fields of o that nobody took, as many as a problem names.
func (o *object) finish() {
	for m := range o.n.children() {
		if !m.taken && len(o.d.malformed) < errorsMax {
			o.d.malformed = append(o.d.malformed, fieldError{Field: o.field(m.key), Rule: ruleKnown})
		}
	}
}
