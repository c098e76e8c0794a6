package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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
	p := parser{text: string(text)}
	p.space()
	if valueKind(p.text[p.at]) != anObject {
		return nil, nil, errObject
	}
	n, err := p.value(0)
	if err != nil {
		return nil, nil, err
	}
	if p.repeats {
		var r repeats
		r.look(&n)
		twice = r.twice
	}
	return &n, twice, nil
}

// A parser takes apart a text that is JSON.
type parser struct {
	text    string
	at      int
	repeats bool // a key came twice
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
	end, escaped := p.behind(from)
	p.at = end
	if source := p.text[from:end]; escaped {
		return p.unescaped(source)
	}
	return p.text[from+1 : end-1], nil
}

// behind returns the byte after the text that begins at a byte, and whether it has escapes.
func (p *parser) behind(at int) (end int, escaped bool) {
	for at++; p.text[at] != '"'; at++ {
		if p.text[at] == '\\' {
			escaped = true
			at++ // what is escaped ends no text
		}
	}
	return at + 1, escaped
}

// count returns how many members or items stand before the next closing bracket: so that room is made for them once, and for
// no more. No value is within more than DepthMax others, so each byte is looked at that often at most.
func (p *parser) count() int {
	p.space()
	if c := p.text[p.at]; c == '}' || c == ']' {
		return 0
	}
	n := 1
	for at, depth := p.at, 0; ; at++ {
		switch p.text[at] {
		case '"':
			end, _ := p.behind(at)
			at = end - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return n
			}
			depth--
		case ',':
			if depth == 0 {
				n++
			}
		}
	}
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
	items := make([]node, 0, p.count())
	for p.more(']') {
		item, err := p.value(depth)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

func (p *parser) object(depth int) ([]member, error) {
	members := make([]member, 0, p.count())
	seen := newKeys(cap(members))
	for p.more('}') {
		key, err := p.quoted()
		if err != nil {
			return nil, err
		}
		p.repeats = seen.came(members, key) || p.repeats
		p.space()
		p.at++ // the colon
		value, err := p.value(depth)
		if err != nil {
			return nil, err
		}
		members = append(members, member{key: key, value: value})
	}
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

// keys are those of an object that came so far; nil while it is searched from the front.
type keys map[string]bool

// newKeys returns room for the keys of an object of n members.
func newKeys(n int) keys {
	if n <= fewMembers {
		return nil
	}
	return make(keys, n)
}

// came tells whether a key came before, as one of members, and notes it.
func (k keys) came(members []member, key string) bool {
	if k == nil {
		return find(members, key) != nil
	}
	before := k[key]
	k[key] = true
	return before
}

// repeats looks for the fields that come twice or more, in the order of the text: as many of them, and as much of their
// names, as a problem shows.
type repeats struct {
	path  []byte // to the value that is looked at: of each member a dot and its key, of each item its index in brackets
	twice []ledger.FieldError
}

func (r *repeats) look(n *node) {
	above, seen := len(r.path), newKeys(len(n.members))
	for i := range n.members {
		m := &n.members[i]
		r.path = append(append(r.path, '.'), m.key...)
		if seen.came(n.members[:i], m.key) && len(r.twice) < errorsMax {
			const most = (briefChars + 1) * utf8.UTFMax
			field := string(r.path[1:min(len(r.path), 1+most)])
			r.twice = append(r.twice, ledger.FieldError{Field: brief(field), Rule: ruleOnce})
		}
		r.look(&m.value)
		r.path = r.path[:above]
	}
	for i := range n.items {
		r.path = append(strconv.AppendInt(append(r.path, '['), int64(i), 10), ']')
		r.look(&n.items[i])
		r.path = r.path[:above]
	}
}

// member returns the value of key, nil when there is none.
func (n *node) member(key string) *node { return find(n.members, key) }

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
