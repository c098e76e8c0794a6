package api

import (
	"cmp"
	"strconv"

	"ledger.example/events"
	"ledger.example/ledger"
)

// The rules of syntax, for callers. The rules of the domain are in package ledger.
const (
	ruleRequired = "is required"
	ruleID       = events.IDRule
	ruleText     = "must be a string"
	ruleObject   = "must be an object"
	ruleArray    = "must be an array"
	ruleInteger  = "must be a whole number"
	ruleBool     = "must be true or false"
	ruleAmount   = `must be a whole number in a string, such as "2500": at most 28 digits, no leading zeros, no plus`
	ruleDraft    = `must be "unlimited" or an object of amounts by asset`
	ruleKnown    = "is not a field of this request"
	ruleAgree    = "must be the same in id and Idempotency-Key"
	ruleOnce     = "must be given once"
)

// object is one object of the body that is being read.
type object struct {
	d      *decoder
	n      *node
	name   string // the field that has the object, or a list with the object as an item; "" for the body
	isItem bool
	index  int // in the list
}

// field returns the full name of a field of o. It is called for faults only.
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
	if !o.d.isFull {
		o.d.faults = append(o.d.faults, fault{at, fieldError{Field: o.field(name), Rule: rule}})
	}
}

// presence says whether a field is required.
type presence bool

const (
	optional presence = false
	required presence = true
)

// take returns the value of a field and marks the field as known. If the field is absent, take returns nil, and records
// a fault if it is required. A null is a value, and never a valid one.
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

// hasKind reports whether v is of a kind. It records a fault if v is of another kind. It returns false if v is nil.
func (o *object) hasKind(kind valueKind, name string, v *node, rule string) bool {
	if v != nil && v.kind != kind {
		o.fail(v.at, name, rule)
	}
	return v != nil && v.kind == kind
}

// text reads a string, "" if it is absent.
func (o *object) text(name string, p presence) string {
	v := o.take(name, p)
	if !o.hasKind(aText, name, v, ruleText) {
		return ""
	}
	return v.text
}

// id reads an id, "" if it is absent. An empty string is invalid.
func (o *object) id(name string, p presence) string {
	v := o.take(name, p)
	if !o.hasKind(aText, name, v, ruleID) {
		return ""
	}
	if !events.ValidID(v.text) {
		o.fail(v.at, name, ruleID)
	}
	return v.text
}

// flag reads an optional boolean, false if it is absent.
func (o *object) flag(name string) bool {
	v := o.take(name, optional)
	return o.hasKind(aBool, name, v, ruleBool) && v.text == "true"
}

// integer reads a required whole number.
func (o *object) integer(name string) int {
	v := o.take(name, required)
	if !o.hasKind(aNumber, name, v, ruleInteger) {
		return 0
	}
	i, err := strconv.ParseInt(v.text, 10, 32)
	if err != nil || v.text == "-0" {
		o.fail(v.at, name, ruleInteger)
	}
	return int(i)
}

// amount reads an amount, 0 if it is absent.
func (o *object) amount(name string, p presence) events.Amount {
	v := o.take(name, p)
	if v == nil {
		return events.Amount{}
	}
	return o.parseAmount(name, v)
}

// parseAmount reads an amount. If v is not an amount, it records a fault and returns 0.
func (o *object) parseAmount(name string, v *node) events.Amount {
	a, err := events.ParseAmount(v.text, events.PostedDigits)
	if v.kind != aText || err != nil {
		o.fail(v.at, name, ruleAmount)
		return events.Amount{}
	}
	return a
}

// pairs reads an optional object of strings, nil if it is absent. If it has too many members, pairs records a fault and
// returns nil.
func (o *object) pairs(name string) map[string]string {
	v := o.take(name, optional)
	if !o.hasKind(anObject, name, v, ruleObject) {
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

// each reads the items of a required list of objects. The ledger checks the number of items after the syntax of each
// item. So each reads all items, but records at most errorsMax faults.
func (o *object) each(name string, read func(item *object)) {
	v := o.take(name, required)
	if !o.hasKind(anArray, name, v, ruleArray) {
		return
	}
	before := len(o.d.faults)
	item := object{d: o.d, name: name, isItem: true}
	for n := range v.children() {
		o.d.isFull = len(o.d.faults)-before >= errorsMax
		item.n = n
		switch {
		case n.kind == anObject:
			read(&item)
			item.rejectUnknown()
		case !o.d.isFull:
			o.fail(n.at, item.item(), ruleObject)
		}
		item.index++
	}
	o.d.isFull = false
}

// profile reads an optional object with any members as compact JSON, "" if it is absent or too large.
func (o *object) profile(name string) string {
	v := o.take(name, optional)
	if !o.hasKind(anObject, name, v, ruleObject) {
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

// isAddresses reports whether n is a valid list of addresses.
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

// overdraft reads an optional overdraft policy, the zero policy if it is absent or has too many amounts.
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

// rejectUnknown records the fields of o that were not taken, at most errorsMax.
func (o *object) rejectUnknown() {
	for m := range o.n.children() {
		if !m.taken && len(o.d.malformed) < errorsMax {
			o.d.malformed = append(o.d.malformed, fieldError{Field: o.field(m.key), Rule: ruleKnown})
		}
	}
}
