package api

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"ledger.example/ledger"
)

// body is what was found in the body of a request, besides the values.
type body struct {
	err       error        // why it was not read, nil if it was
	malformed []fieldError // repeated and unknown fields, in their order
	missing   []fieldError // fields that are missing in objects with unknown ones
	faults    []fault      // fields with invalid values
	places    []place      // of the known fields outside lists, in their order
	same      []sameField  // those of the known fields that the ledger sets
	checked   bool         // checkBody was called
}

// A fault is a field at fault and its position in the body: that of the field or, if it is missing, of the end of its
// object.
type fault struct {
	at int
	fieldError
}

// place is the position of a field in the body.
type place struct {
	field string
	at    int
}

// sameField is a field that the ledger sets, with the text in the body.
type sameField struct{ name, text string }

// has reports whether the body has a field.
func (b *body) has(field string) bool {
	return slices.ContainsFunc(b.places, func(p place) bool { return p.field == field })
}

// time returns a time that was read from a field, nil if the field is absent.
func (b *body) time(field string, t time.Time) *time.Time {
	if !b.has(field) {
		return nil
	}
	return &t
}

// readBody reads r's body, if it has one, into a value of a wire type. checkBody reports what is wrong with it.
func (r *request) readBody(into any) {
	if r.route != nil && !r.route.HasBody() {
		return
	}
	found, err := readJSON(r.text, into, r.isBatched)
	if err != nil {
		found.err = newProblem(codeMalformedBody, "The body "+err.Error()+".")
	}
	r.body = found
}

// checkBody returns the problem of all faults of r: of its path, query, headers and body. c is the command that was
// made of the body. The ledger checks the rules of single fields when it executes c: see refusal. If there are other
// faults, checkBody also asks c for its faults, because a reply lists all of them.
//
// Repeated and unknown fields are refused before anything else. Of an object with an unknown field, the problem also
// lists what is missing: quantity beside amount.
func (r *request) checkBody(c command) error {
	b := r.body
	if b == nil {
		return r.check()
	}
	b.checked = true
	switch {
	case b.err != nil:
		return b.err
	case len(b.malformed) > 0:
		return malformedFields(append(b.malformed, b.missing...))
	case len(b.faults)+len(r.faults) == 0:
		return nil
	}
	return r.invalid(slices.DeleteFunc(fieldErrors(c.Shape()), func(f fieldError) bool {
		name, _ := cutField(f.Field)
		return !b.has(name) // a fault of the path, which is already recorded
	}))
}

// malformedFields returns the problem of repeated or unknown fields, and of those that are missing.
func malformedFields(fields []fieldError) *problem {
	return newProblem(codeMalformedBody, "The body has repeated or unknown fields; see errors.", fields...)
}

// refusal returns the error of a command. If the ledger refused single fields, their order becomes that of the body.
func (r *request) refusal(err error) error {
	e, ok := errors.AsType[*ledger.Error](err)
	if !ok || e.Code != ledger.CodeInvalidRequest || len(e.Fields) == 0 || r.body == nil {
		return err
	}
	return r.invalid(fieldErrors(e.Fields))
}

// invalid returns the problem of r's faults, followed by those of its body and of more fields, in the order of the
// body.
func (r *request) invalid(more []fieldError) error {
	r.body.add(more...)
	slices.SortStableFunc(r.body.faults, func(a, b fault) int { return cmp.Compare(a.at, b.at) })
	for _, f := range r.body.faults {
		r.faults = append(r.faults, f.fieldError)
	}
	return r.check()
}

// add records faults of fields, at most one for each field. It skips fields that already have a fault, and their
// members.
func (b *body) add(faults ...fieldError) {
	unread := make(map[string]bool, len(b.faults)+len(faults)) // false: named, but read
	for _, f := range b.faults {
		unread[f.Field] = true
	}
	for _, f := range faults {
		name, _ := cutField(f.Field)
		item := f.Field[:strings.IndexByte(f.Field, ']')+1] // "" outside a list
		if _, named := unread[f.Field]; !named && !unread[name] && !unread[item] {
			unread[f.Field] = false
			b.faults = append(b.faults, fault{b.position(f.Field), f})
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

// position returns the position of a field: of its list if it is in one, and the end of the body if it is missing.
func (b *body) position(field string) int {
	name, _ := cutField(field)
	at := BatchBytes
	for _, p := range b.places {
		switch p.field {
		case field:
			return p.at
		case name:
			at = p.at
		}
	}
	return at
}

// BodyBytes is the most bytes of a request's body. The largest valid transaction has about 14 KB.
const BodyBytes = 256 << 10

// BatchBytes is the most bytes of the body of a batch.
const BatchBytes = 1 << 20

// readBody returns the body of a request, which may have at most the given number of bytes.
func readBody(w http.ResponseWriter, r *http.Request, most int64) ([]byte, error) {
	if !isJSON(r.Header) {
		return nil, newProblem(codeUnsupportedMedia,
			"The header Content-Type must be application/json, in UTF-8. The body must not be compressed.")
	}
	if r.ContentLength > most {
		return nil, tooLarge(most)
	}
	var body bytes.Buffer
	body.Grow(int(max(r.ContentLength, 0)) + bytes.MinRead) // with less free space, ReadFrom would reallocate
	from := r.Body
	if r.ContentLength < 0 {
		from = http.MaxBytesReader(w, from, most)
	}
	_, err := body.ReadFrom(from)
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge(most)
	}
	if err != nil {
		p := newProblem(codeMalformedBody, "The body ended before it was complete.")
		p.cause = err
		return nil, p
	}
	return body.Bytes(), nil
}

// isJSON reports whether the headers declare uncompressed JSON in UTF-8.
func isJSON(h http.Header) bool {
	for _, coding := range h.Values("Content-Encoding") {
		if coding != "" && !strings.EqualFold(coding, "identity") {
			return false
		}
	}
	content := h.Get("Content-Type")
	if content == jsonType {
		return true
	}
	media, params, err := mime.ParseMediaType(content)
	charset, given := params["charset"]
	isUTF8 := !given || strings.EqualFold(charset, "utf-8") || strings.EqualFold(charset, "utf8")
	return err == nil && media == jsonType && isUTF8
}

// tooLarge returns the problem of a body with more bytes than most.
func tooLarge(most int64) *problem {
	return newProblem(codeBodyTooLarge, fmt.Sprintf("The body may have at most %d bytes.", most))
}
