package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// DepthMax is the deepest nesting of objects and arrays in a body.
const DepthMax = 32

var errDeep = fmt.Errorf("is nested more than %d deep", DepthMax)

// fewMembers is the number of members of an object whose names are compared one by one.
const fewMembers = 16

// A reader reads the JSON of a body in one pass. It records every unknown and repeated member, and every invalid value,
// in the order of the body. The work is linear in the size of the body.
type reader struct {
	body
	json  jsontext.Decoder
	text  string
	path  []byte   // of the current value: a dot and the name for each member, [index] for each item
	names []string // of the first members of the objects around the current value
	depth int      // the number of objects and lists around the current value
	lists int      // the number of lists around it
	quiet bool     // unknown and repeated members are not recorded

	isBatched bool // the text is a request of a batch

	unread bytes.Buffer // of json
	room   struct {     // enough for most bodies, in one allocation
		path   [64]byte
		names  [fewMembers]string
		places [8]place
	}
}

// readJSON reads a text that is one JSON object into the value of a wire type to which into points: see value. It
// rejects invalid UTF-8 and halves of surrogate pairs. Its error is for callers, and continues a sentence that begins
// with "The body". readJSON changes text.
func readJSON(text []byte, into any, isBatched bool) (*body, error) {
	r := newReader(text)
	r.isBatched = isBatched
	isObject := r.json.PeekKind() == '{'
	var err error
	if isObject {
		err = r.value(reflect.ValueOf(into).Elem(), false)
	} else {
		err = r.skip()
	}
	if err != nil {
		return &body{}, r.explain(err)
	}
	switch _, err = r.json.ReadToken(); {
	case err != io.EOF: // also nil: there is a second value
		return &body{}, r.explain(err)
	case !isObject:
		return &body{}, errors.New("is not one JSON object")
	}
	return &r.body, nil
}

// newReader returns a reader at the beginning of text. It changes text.
func newReader(text []byte) *reader {
	r := &reader{text: string(text), unread: *bytes.NewBuffer(text)}
	r.path, r.names, r.places = r.room.path[:0], r.room.names[:0], r.room.places[:0]
	r.json.Reset(&r.unread, options)
	return r
}

var options = jsontext.AllowDuplicateNames(true)

// explain returns the error of a text that cannot be read. Of several errors, it returns the one that comes first here.
func (r *reader) explain(err error) error {
	if !utf8.ValidString(r.text) {
		return errors.New("is not UTF-8")
	}
	// encoding/json explains errors better than jsontext.
	if e, ok := errors.AsType[*json.SyntaxError](json.Unmarshal([]byte(r.text), new(json.RawMessage))); ok {
		return fmt.Errorf("is not one JSON object: %w, at byte %d", e, e.Offset)
	}
	if errors.Is(err, errDeep) {
		return errDeep
	}
	// The text is JSON, so all that is left is an escape of half of a surrogate pair, in the next string.
	source := strings.TrimLeft(r.text[r.at():], delimiters)
	return fmt.Errorf("has half of a surrogate pair in the string %.40q", source[:quotedLength(source)])
}

// quotedLength returns the length of the quoted string that begins source.
func quotedLength(source string) int {
	for i := 1; i < len(source); i++ {
		switch source[i] {
		case '\\':
			i++ // skip the escaped byte, which may be a quote
		case '"':
			return i + 1
		}
	}
	return len(source)
}

// at returns the position of the value that is read next, behind what was read before. It serves for comparisons.
func (r *reader) at() int { return int(r.json.InputOffset()) }

// field returns the full name of the current value.
func (r *reader) field() string { return string(r.path[1:]) }

// fail records a fault of the current value, or of what is missing at a position.
func (r *reader) fail(at int, rule string) {
	if len(r.faults) < errorsMax {
		r.faults = append(r.faults, fault{at, fieldError{Field: r.field(), Rule: rule}})
	}
}

// refuse records that the current member must not be where it is.
func (r *reader) refuse(rule string) {
	if !r.quiet && len(r.malformed) < errorsMax {
		const most = 1 + (fieldChars+1)*utf8.UTFMax // bytes that are shown
		field := truncate(string(r.path[1:min(len(r.path), most)]))
		r.malformed = append(r.malformed, fieldError{Field: field, Rule: rule})
	}
}

// open reads the beginning of an object or a list.
func (r *reader) open() error {
	if r.depth++; r.depth > DepthMax {
		return errDeep
	}
	_, err := r.json.ReadToken()
	return err
}

// close reads the end of an object or a list.
func (r *reader) close() error {
	r.depth--
	_, err := r.json.ReadToken()
	return err
}

// object reads an object. It skips repeated members. member reads the value of any other member.
func (r *reader) object(member func(name string) error) error {
	if err := r.open(); err != nil {
		return err
	}
	outer, first := len(r.path), len(r.names)
	var more map[string]bool // names that are not in r.names
	for r.json.PeekKind() != '}' {
		quoted, err := r.json.ReadValue()
		if err != nil {
			return err
		}
		name := r.content(quoted)
		again := slices.Contains(r.names[first:], name) || more[name]
		switch {
		case len(r.names)-first < fewMembers:
			r.names = append(r.names, name)
		case more == nil:
			more = map[string]bool{name: true}
		default:
			more[name] = true
		}
		r.path = append(append(r.path, '.'), name...)
		if again {
			r.refuse(ruleOnce)
			err = r.skip()
		} else {
			err = member(name)
		}
		if err != nil {
			return err
		}
		r.path = r.path[:outer]
	}
	r.names = r.names[:first]
	return r.close()
}

// list reads a list. item reads the value of each item.
func (r *reader) list(item func(i int) error) error {
	if err := r.open(); err != nil {
		return err
	}
	outer := len(r.path)
	r.lists++
	for i := 0; r.json.PeekKind() != ']'; i++ {
		r.path = append(strconv.AppendInt(append(r.path, '['), int64(i), 10), ']')
		if err := item(i); err != nil {
			return err
		}
		r.path = r.path[:outer]
	}
	r.lists--
	return r.close()
}

// skip reads a value of any kind, and all values in it. It records repeated members.
func (r *reader) skip() error {
	switch r.json.PeekKind() {
	case '{':
		return r.object(func(string) error { return r.skip() })
	case '[':
		return r.list(func(int) error { return r.skip() })
	}
	_, err := r.json.ReadValue()
	return err
}

// skipQuietly is skip, but it records nothing.
func (r *reader) skipQuietly() error {
	r.quiet = true
	err := r.skip()
	r.quiet = false
	return err
}

// scalar reads a value of any kind. It returns the content of a string, and the source of a number, true, false or
// null.
func (r *reader) scalar() (kind jsontext.Kind, text string, err error) {
	if kind = r.json.PeekKind(); kind == '{' || kind == '[' {
		return kind, "", r.skip()
	}
	value, err := r.json.ReadValue()
	switch {
	case err != nil:
		return kind, "", err
	case kind == '"':
		return kind, r.content(value), nil
	}
	return kind, r.source(value), nil
}

// since returns the text of the value at a position, which was just read.
func (r *reader) since(at int) string { return strings.TrimLeft(r.text[at:r.at()], delimiters) }

// delimiters may stand between the position of a value and the value.
const delimiters = " \t\r\n,:"

// source returns the text of the value that was just read.
func (r *reader) source(value jsontext.Value) string { return r.text[r.at()-len(value) : r.at()] }

// content returns the content of the string that was just read.
func (r *reader) content(quoted jsontext.Value) string {
	source := r.source(quoted)
	if strings.IndexByte(source, '\\') < 0 {
		return source[1 : len(source)-1]
	}
	content, _ := jsontext.AppendUnquote(nil, source) // the decoder has checked it
	return string(content)
}
