package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"ledger.example/ledger"
)

// A node is one value of a JSON text: the text says everything, also which of two equal keys came second.
type node struct {
	value   any      // string, json.Number, bool, nil, or the json.Delim '{' or '['
	members []member // of an object, in the order of the text
	items   []*node  // of an array
	at      int64    // the byte after its first token: tells which of two values came first
	end     int64    // the byte after it
}

type member struct {
	key   string
	value *node
}

// DepthMax is the most objects and arrays within one another in a body: a profile needs a few.
const DepthMax = 32

// parse reads one JSON object that fills text. It refuses what encoding/json lets pass: bytes that are not UTF-8, halves
// of surrogate pairs, anything after the object, and keys that come twice, all of which it returns. Its errors are for
// callers, and go on after "The body".
func parse(text []byte) (root *node, twice []ledger.FieldError, err error) {
	if !utf8.Valid(text) {
		return nil, nil, errors.New("is not UTF-8")
	}
	p := parser{text: text, tokens: json.NewDecoder(bytes.NewReader(text))}
	p.tokens.UseNumber()
	root, err = p.value(0)
	switch {
	case err == io.EOF:
		return nil, nil, errors.New("is empty: send a JSON object")
	case err == nil && root.value != json.Delim('{'):
		return nil, nil, errors.New("is not a JSON object")
	case err == nil:
		if _, err = p.token(); err == io.EOF {
			return root, p.twice, nil
		}
		if _, bad := errors.AsType[*json.SyntaxError](err); err == nil || bad {
			return nil, nil, fmt.Errorf("goes on after its JSON object, which ends at byte %d", root.end)
		}
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		err = fmt.Errorf("is not JSON: %s, near byte %d", e.Error(), max(e.Offset, p.tokens.InputOffset()))
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("ends within its JSON object")
	}
	return nil, nil, err
}

type parser struct {
	text   []byte
	tokens *json.Decoder
	path   []step // to the value that is being read
	twice  []ledger.FieldError
}

// step is one step down: to the member of a key, or, when index is not negative, to an item.
type step struct {
	key   string
	index int
}

// field returns the name of the field that the parser is at.
func (p *parser) field() string {
	var b strings.Builder
	for i, s := range p.path {
		switch {
		case s.index >= 0:
			fmt.Fprintf(&b, "[%d]", s.index)
		case i > 0:
			b.WriteString("." + s.key)
		default:
			b.WriteString(s.key)
		}
	}
	return b.String()
}

// token reads the next token.
func (p *parser) token() (json.Token, error) {
	before := p.tokens.InputOffset()
	t, err := p.tokens.Token()
	if err != nil {
		return nil, err
	}
	if _, ok := t.(string); ok && halfSurrogate(p.text[before:p.tokens.InputOffset()]) {
		return nil, fmt.Errorf("has half of a surrogate pair in the text that ends at byte %d", p.tokens.InputOffset())
	}
	return t, nil
}

// value reads the next value, within depth others. At the end of the text its error is io.EOF.
func (p *parser) value(depth int) (*node, error) {
	t, err := p.token()
	if err != nil {
		return nil, err
	}
	n := &node{value: t, at: p.tokens.InputOffset()}
	if _, nested := t.(json.Delim); nested {
		if depth == DepthMax {
			return nil, fmt.Errorf("is nested more than %d deep at byte %d", DepthMax, n.at)
		}
		if t == json.Delim('{') {
			err = p.object(n, depth+1)
		} else {
			err = p.array(n, depth+1)
		}
		if err == nil {
			_, err = p.token() // the closing one
		}
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
	}
	n.end = p.tokens.InputOffset()
	return n, err
}

func (p *parser) array(n *node, depth int) error {
	for p.tokens.More() {
		p.path = append(p.path, step{index: len(n.items)})
		item, err := p.value(depth)
		if err != nil {
			return err
		}
		p.path = p.path[:len(p.path)-1]
		n.items = append(n.items, item)
	}
	return nil
}

func (p *parser) object(n *node, depth int) error {
	var seen map[string]bool // once there are many
	for p.tokens.More() {
		t, err := p.token()
		if err != nil {
			return err
		}
		key, isText := t.(string)
		if !isText { // the decoder lets no other token be a key
			return fmt.Errorf("has a key that is no text at byte %d", p.tokens.InputOffset())
		}
		if len(n.members) == fewMembers {
			seen = make(map[string]bool, 2*fewMembers)
			for _, m := range n.members {
				seen[m.key] = true
			}
		}
		p.path = append(p.path, step{key, -1})
		if seen == nil && n.member(key) != nil || seen[key] {
			p.twice = append(p.twice, ledger.FieldError{Field: p.field(), Rule: ruleOnce})
		}
		value, err := p.value(depth)
		if err != nil {
			return err
		}
		p.path = p.path[:len(p.path)-1]
		n.members = append(n.members, member{key, value})
		if seen != nil {
			seen[key] = true
		}
	}
	return nil
}

// fewMembers is up to how many members an object is searched from the front.
const fewMembers = 16

// member returns the value of key, nil when there is none.
func (n *node) member(key string) *node {
	for _, m := range n.members {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// halfSurrogate tells whether a JSON string's source holds a \u escape of half a surrogate pair, which the decoder would
// silently replace.
func halfSurrogate(source []byte) bool {
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

// hex4 reads the four hexadecimal digits at i, -1 when they are not there.
func hex4(source []byte, i int) int {
	if i+4 > len(source) {
		return -1
	}
	n := 0
	for _, c := range source[i : i+4] {
		n <<= 4
		switch {
		case '0' <= c && c <= '9':
			n |= int(c - '0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			n |= int(c|0x20-'a') + 10
		default:
			return -1
		}
	}
	return n
}

// compact appends n as compact JSON to b: texts escaped in one way only, numbers as they were written, members in their
// order.
func (n *node) compact(b *bytes.Buffer) {
	switch v := n.value.(type) {
	case json.Delim:
		b.WriteByte(byte(v))
		for i, m := range n.members {
			if i > 0 {
				b.WriteByte(',')
			}
			compactText(b, m.key)
			b.WriteByte(':')
			m.value.compact(b)
		}
		for i, item := range n.items {
			if i > 0 {
				b.WriteByte(',')
			}
			item.compact(b)
		}
		b.WriteByte(byte(v) + 2) // '}' and ']' stand two after '{' and '['
	case string:
		compactText(b, v)
	case json.Number:
		b.WriteString(v.String())
	case bool:
		fmt.Fprint(b, v)
	default:
		b.WriteString("null")
	}
}

func compactText(b *bytes.Buffer, s string) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s)         // into memory, of valid UTF-8: cannot fail
	b.Truncate(b.Len() - 1) // Encode ends the line
}
