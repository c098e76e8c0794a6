package api

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"ledger.example/ledger"
)

// command is a request of the ledger.
type command interface {
	// Shape returns every field whose value alone is at fault.
	Shape() []ledger.FieldError
}

// decode reads r's body into c by read. It checks the syntax: which fields there are, their types, ids, amounts and
// sizes. The ledger checks the rest when it carries out c: see refusal. Only when there are faults already, the
// command is asked for its own, as a reply names all.
//
// Fields that come twice, or that the request does not know, are refused before anything else. The work grows with the
// body as that of parsing does: no fault is compared with all others.
func (r *request) decode(c command, read func(*object)) error {
	d := &decoder{malformed: r.twice}
	d.top = object{d: d, n: r.body}
	read(&d.top)
	d.top.finish()
	if len(d.malformed) > 0 {
		return malformedFields(d.malformed)
	}
	if len(d.wrong)+len(r.wrong) == 0 {
		return nil
	}
	d.add(r.body, slices.DeleteFunc(fieldErrors(c.Shape()), func(f fieldError) bool {
		name, _ := cutField(f.Field)
		return r.body.member(name) == nil // of the path, which was checked before
	}))
	return r.invalid(d)
}

// malformedFields is the problem of fields that come twice, or that nobody knows.
func malformedFields(fields []fieldError) *problem {
	return newProblem(codeMalformedBody, "The body has repeated or unknown fields; see errors.", fields...)
}

// refusal returns err or, when the ledger refuses the shape of a decoded request, the problem of that.
func (r *request) refusal(err error) error {
	e, ok := errors.AsType[*ledger.Error](err)
	if !ok || e.Code != ledger.CodeInvalidRequest || len(e.Fields) == 0 || r.body == nil {
		return err
	}
	d := &decoder{}
	d.add(r.body, fieldErrors(e.Fields))
	return r.invalid(d)
}

// invalid returns the problem of r's faults: those of path, query and headers, then those of d in the order of the
// body.
func (r *request) invalid(d *decoder) error {
	slices.SortStableFunc(d.wrong, func(a, b fault) int { return cmp.Compare(a.at, b.at) })
	for _, f := range d.wrong {
		r.wrong = append(r.wrong, f.fieldError)
	}
	return r.check()
}

// decoder gathers the faults of a body.
type decoder struct {
	top       object
	malformed []fieldError // fields that come twice, or that nobody knows
	wrong     []fault      // fields whose value is at fault
	enough    bool         // the current list has as many faults as a problem names: no more are recorded
}

// fault is a field at fault, and where it stands.
type fault struct {
	at int32 // where the field stands, or where its object ends when it is missing
	fieldError
}

// add records faults of the fields of body, each field once. It leaves out a field that the decoder could not read,
// and all that is within it.
func (d *decoder) add(body *node, faults []fieldError) {
	unread := make(map[string]bool, len(d.wrong)+len(faults)) // false: named, but read
	for _, f := range d.wrong {
		unread[f.Field] = true
	}
	for _, f := range faults {
		name, _ := cutField(f.Field)
		if _, named := unread[f.Field]; !named && !unread[name] {
			unread[f.Field] = false
			d.wrong = append(d.wrong, fault{body.find(f.Field), f})
		}
	}
}

// cutField cuts the name of a field of the body from what it names within that: ".key", where the key may have dots,
// or "[index]" and the field of that item.
func cutField(field string) (name, within string) {
	if i := strings.IndexAny(field, ".["); i >= 0 {
		return field[:i], field[i:]
	}
	return field, ""
}

// find returns where a field of the body stands, or where the object ends in which it is missing.
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
