package api

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"ledger.example/ledger"
)

// command is a request to the ledger.
type command interface {
	// Shape returns all fields with invalid values. It does not compare fields with each other.
	Shape() []ledger.FieldError
}

// decode decodes r's body into c with read. It checks the syntax: field names, types, ids, amounts and sizes. The
// ledger checks the other rules of single fields when it executes c: see refusal. If decode finds faults, it also asks
// c for its faults, because a reply lists all of them.
//
// Repeated and unknown fields are refused before anything else. The work is linear in the size of the body.
func (r *request) decode(c command, read func(*object)) error {
	d := &decoder{malformed: r.repeated}
	d.top = object{d: d, n: r.body}
	read(&d.top)
	d.top.rejectUnknown()
	if len(d.malformed) > 0 {
		return malformedFields(d.malformed)
	}
	if len(d.faults)+len(r.faults) == 0 {
		return nil
	}
	d.add(r.body, slices.DeleteFunc(fieldErrors(c.Shape()), func(f fieldError) bool {
		name, _ := cutField(f.Field)
		return r.body.member(name) == nil // a fault of the path, which is already recorded
	}))
	return r.invalid(d)
}

// malformedFields returns the problem of repeated or unknown fields.
func malformedFields(fields []fieldError) *problem {
	return newProblem(codeMalformedBody, "The body has repeated or unknown fields; see errors.", fields...)
}

// refusal returns the error of a command. If the ledger refused single fields, their order becomes that of the body.
func (r *request) refusal(err error) error {
	e, ok := errors.AsType[*ledger.Error](err)
	if !ok || e.Code != ledger.CodeInvalidRequest || len(e.Fields) == 0 || r.body == nil {
		return err
	}
	d := &decoder{}
	d.add(r.body, fieldErrors(e.Fields))
	return r.invalid(d)
}

// invalid returns the problem of r's faults, followed by the faults of d in the order of the body.
func (r *request) invalid(d *decoder) error {
	slices.SortStableFunc(d.faults, func(a, b fault) int { return cmp.Compare(a.at, b.at) })
	for _, f := range d.faults {
		r.faults = append(r.faults, f.fieldError)
	}
	return r.check()
}

// decoder collects the faults of a body.
type decoder struct {
	top       object
	malformed []fieldError // repeated or unknown fields
	faults    []fault      // fields with invalid values
	isFull    bool         // the current list has errorsMax faults, so no more are recorded
}

// fault is a field at fault and its position in the body.
type fault struct {
	at int32 // of the field or, if the field is missing, of the end of its object
	fieldError
}

// add records faults of fields of body, at most one for each field. It skips fields that already have a fault, and
// their members.
func (d *decoder) add(body *node, faults []fieldError) {
	unread := make(map[string]bool, len(d.faults)+len(faults)) // false: named, but read
	for _, f := range d.faults {
		unread[f.Field] = true
	}
	for _, f := range faults {
		name, _ := cutField(f.Field)
		if _, named := unread[f.Field]; !named && !unread[name] {
			unread[f.Field] = false
			d.faults = append(d.faults, fault{body.find(f.Field), f})
		}
	}
}

// cutField splits the full name of a field after the name of the top-level field. within begins with ".key", where the
// key may have dots, or with "[index]".
func cutField(field string) (name, within string) {
	if i := strings.IndexAny(field, ".["); i >= 0 {
		return field[:i], field[i:]
	}
	return field, ""
}

// find returns the position of a field or, if it is missing, of the end of its object.
func (n *node) find(field string) int32 {
	name, within := cutField(field)
	v := n.member(name)
	if v == nil {
		return n.end
	}
	key, isKey := strings.CutPrefix(within, ".")
	if !isKey {
		return v.at
	}
	if m := v.member(key); m != nil {
		return m.at
	}
	return v.end
}
