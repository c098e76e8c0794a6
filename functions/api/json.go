package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"

	"ledger.example/ledger"
)

// A node is one value of a JSON text: the text says everything, also which of two equal keys came second.
type node struct {
	kind    valueKind
	text    string   // of a text what it says, of a number or a truth value how it is written
	members []member // of an object, in the order of the text
	items   []node   // of an array
	at      int      // where it begins: tells which of two values came first
	end     int      // the byte after it
}

type member struct {
	key   string
	value node
	taken bool // somebody has asked for it
}

// valueKind is what a value is: the byte that it begins with, but for numbers and truth values, which have several.
type valueKind byte

const (
	aText    valueKind = '"'
	aNumber  valueKind = '0'
	aTruth   valueKind = 't'
	aNull    valueKind = 'n'
	anArray  valueKind = '['
	anObject valueKind = '{'
)

// DepthMax is the most objects and arrays within one another in a body: a profile needs a few.
const DepthMax = 32

// parse reads one JSON object that fills text. It refuses what encoding/json lets pass: bytes that are not UTF-8, halves
// of surrogate pairs, anything after the object, and keys that come twice, all of which it returns. Its errors are for
// callers, and go on after "The body".
//
// That text is JSON is for encoding/json to say. What is known to be JSON is taken apart here, as its decoder makes many
// small things of every token.
func parse(text []byte) (root *node, twice []ledger.FieldError, err error) {
	if !utf8.Valid(text) {
		return nil, nil, errors.New("is not UTF-8")
	}
	if !json.Valid(text) {
		return nil, nil, malformed(text)
	}
	p := parser{text: string(text), members: make([]member, 0, fewMembers)}
	p.space()
	if valueKind(p.text[p.at]) != anObject {
		return nil, nil, errObject
	}
	n, err := p.value(0)
	if err != nil {
		return nil, nil, err
	}
	if p.repeats {
		twice = n.repeated(nil, "")
	}
	return &n, twice, nil
}

var errObject = errors.New("is not a JSON object")

// malformed says what is wrong with a text that is not JSON.
func malformed(text []byte) error {
	if at := tooDeep(text); at > 0 {
		return nestedError(at)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	var first json.RawMessage
	err := d.Decode(&first)
	switch {
	case err == io.EOF:
		return errors.New("is empty: send a JSON object")
	case err == io.ErrUnexpectedEOF:
		return errors.New("ends within its JSON object")
	case err != nil:
		at := d.InputOffset()
		if e, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = max(at, e.Offset)
		}
		return fmt.Errorf("is not JSON: %w, near byte %d", err, at)
	case valueKind(first[0]) != anObject:
		return errObject
	}
	return fmt.Errorf("goes on after its JSON object, which ends at byte %d", d.InputOffset())
}

func nestedError(at int) error {
	return fmt.Errorf("is nested more than %d deep at byte %d", DepthMax, at)
}

// tooDeep returns the byte after the first bracket of a text that opens one too many, 0 when there is none.
func tooDeep(text []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case quoted:
		case c == '{', c == '[':
			if depth++; depth > DepthMax {
				return i + 1
			}
		case c == '}', c == ']':
			depth--
		}
	}
	return 0
}

// A parser takes apart a text that is JSON.
type parser struct {
	text    string
	at      int
	repeats bool // a key came twice

	// What was read of the objects and arrays around that value: those of the innermost come last.
	members []member
	items   []node
}

// space skips white space.
func (p *parser) space() {
	for p.at < len(p.text) && isSpace(p.text[p.at]) {
		p.at++
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// more goes on to the next member or item, and tells whether there is one before the closing bracket, which it skips.
func (p *parser) more(closing byte) bool {
	p.space()
	if p.text[p.at] == ',' {
		p.at++
		p.space()
	}
	if p.text[p.at] != closing {
		return true
	}
	p.at++
	return false
}

// value reads the next value, within depth others.
func (p *parser) value(depth int) (n node, err error) {
	p.space()
	n.at = p.at
	switch c := p.text[p.at]; c {
	case '{', '[':
		if depth == DepthMax {
			return n, nestedError(p.at + 1)
		}
		p.at++
		if n.kind = valueKind(c); n.kind == anObject {
			n.members, err = p.object(depth + 1)
		} else {
			n.items, err = p.array(depth + 1)
		}
	case '"':
		n.kind = aText
		n.text, err = p.quoted()
	case 't', 'f':
		n.kind, n.text = aTruth, p.word()
	case 'n':
		n.kind, n.text = aNull, p.word()
	default:
		n.kind, n.text = aNumber, p.word()
	}
	n.end = p.at
	return n, err
}

// word reads what ends where another token begins.
func (p *parser) word() string {
	from := p.at
	for p.at < len(p.text) && !isSpace(p.text[p.at]) && p.text[p.at] != ',' && p.text[p.at] != '}' && p.text[p.at] != ']' {
		p.at++
	}
	return p.text[from:p.at]
}

// quoted reads a text.
func (p *parser) quoted() (string, error) {
	from := p.at
	p.at++
	escaped := false
	for ; p.text[p.at] != '"'; p.at++ {
		if p.text[p.at] == '\\' {
			escaped = true
			p.at++ // what is escaped ends no text
		}
	}
	p.at++
	source := p.text[from:p.at]
	if !escaped {
		return source[1 : len(source)-1], nil
	}
	return p.unescaped(source)
}

// unescaped reads a text with escapes from its source, behind which the parser stands.
func (p *parser) unescaped(source string) (string, error) {
	if halfSurrogate(source) { // which Unmarshal would silently replace
		return "", fmt.Errorf("has half of a surrogate pair in the text that ends at byte %d", p.at)
	}
	var s string
	err := json.Unmarshal([]byte(source), &s)
	return s, err
}

func (p *parser) array(depth int) ([]node, error) {
	begin := len(p.items)
	for p.more(']') {
		item, err := p.value(depth)
		if err != nil {
			return nil, err
		}
		p.items = append(p.items, item)
	}
	items := slices.Clone(p.items[begin:])
	p.items = p.items[:begin]
	return items, nil
}

func (p *parser) object(depth int) ([]member, error) {
	begin := len(p.members)
	var seen map[string]bool // once there are many
	for p.more('}') {
		key, err := p.quoted()
		if err != nil {
			return nil, err
		}
		before := p.members[begin:]
		if len(before) == fewMembers {
			seen = make(map[string]bool, 2*fewMembers)
			for _, m := range before {
				seen[m.key] = true
			}
		}
		p.repeats = p.repeats || seen == nil && find(before, key) != nil || seen[key]
		p.space()
		p.at++ // the colon
		value, err := p.value(depth)
		if err != nil {
			return nil, err
		}
		p.members = append(p.members, member{key: key, value: value})
		if seen != nil {
			seen[key] = true
		}
	}
	if depth == 1 {
		return p.members, nil // nobody needs the space any more
	}
	members := slices.Clone(p.members[begin:])
	p.members = p.members[:begin]
	return members, nil
}

// fewMembers is up to how many members an object is searched from the front.
const fewMembers = 16

// find returns the first value of key, nil when there is none.
func find(members []member, key string) *node {
	for i := range members {
		if members[i].key == key {
			return &members[i].value
		}
	}
	return nil
}

// repeated appends the fields in n, whose name is that, that come twice or more, in the order of the text.
func (n *node) repeated(twice []ledger.FieldError, name string) []ledger.FieldError {
	seen := make(map[string]bool, len(n.members))
	for i := range n.members {
		m := &n.members[i]
		field := m.key
		if name != "" {
			field = name + "." + m.key
		}
		if seen[m.key] {
			twice = append(twice, ledger.FieldError{Field: field, Rule: ruleOnce})
		}
		seen[m.key] = true
		twice = m.value.repeated(twice, field)
	}
	for i := range n.items {
		twice = n.items[i].repeated(twice, name+"["+strconv.Itoa(i)+"]")
	}
	return twice
}

// member returns the value of key, nil when there is none.
func (n *node) member(key string) *node { return find(n.members, key) }

// halfSurrogate tells whether a JSON string's source holds a \u escape of half a surrogate pair.
func halfSurrogate(source string) bool {
	for i := 0; i+1 < len(source); i++ {
		if source[i] != '\\' {
			continue
		}
		i++
		if source[i] != 'u' {
			continue
		}
		high := hex4(source, i+1)
		i += 4
		switch {
		case high < 0xd800 || high > 0xdfff:
		case high > 0xdbff, i+2 >= len(source), source[i+1] != '\\', source[i+2] != 'u':
			return true
		default:
			if low := hex4(source, i+3); low < 0xdc00 || low > 0xdfff {
				return true
			}
			i += 6
		}
	}
	return false
}

// hex4 reads the four hexadecimal digits at i.
func hex4(source string, i int) uint64 {
	n, _ := strconv.ParseUint(source[i:i+4], 16, 16) // it is JSON: they are there
	return n
}

// compact appends n as compact JSON to b: texts escaped in one way only, numbers as they were written, members in their
// order.
func (n *node) compact(b *bytes.Buffer) {
	switch n.kind {
	case anObject:
		b.WriteByte('{')
		for i := range n.members {
			if i > 0 {
				b.WriteByte(',')
			}
			compactText(b, n.members[i].key)
			b.WriteByte(':')
			n.members[i].value.compact(b)
		}
		b.WriteByte('}')
	case anArray:
		b.WriteByte('[')
		for i := range n.items {
			if i > 0 {
				b.WriteByte(',')
			}
			n.items[i].compact(b)
		}
		b.WriteByte(']')
	case aText:
		compactText(b, n.text)
	default:
		b.WriteString(n.text)
	}
}

func compactText(b *bytes.Buffer, s string) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s)         // into memory, of valid UTF-8: cannot fail
	b.Truncate(b.Len() - 1) // Encode ends the line
}
