package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A node is one value of a JSON text.
type node struct {
	key    string // of a member of an object
	text   string // of a string, its content; of a number, true, false or null, its source
	within []node // all values in an object or array, at any depth, in the order of the text
	at     int32  // offset of its first byte, in the text without white space
	end    int32  // offset after its last byte
	count  int32  // the number of members of an object, or of items of an array
	kind   valueKind
	taken  bool // the decoder has read this member
}

// valueKind is the type of a value, represented by its first byte. One byte represents all numbers, and one all
// booleans.
type valueKind byte

const (
	aText    valueKind = '"'
	aNumber  valueKind = '0'
	aBool    valueKind = 't'
	aNull    valueKind = 'n'
	anArray  valueKind = '['
	anObject valueKind = '{'
)

// kindFrom returns the type of a value of valid JSON by its first byte.
func kindFrom(first byte) valueKind {
	switch k := valueKind(first); {
	case k == '-', '0' <= k && k <= '9':
		return aNumber
	case k == 'f':
		return aBool
	default:
		return k
	}
}

// children yields the members of an object, or the items of an array, in the order of the text.
func (n *node) children() iter.Seq[*node] {
	return func(yield func(*node) bool) {
		for rest := n.within; len(rest) > 0 && yield(&rest[0]); {
			rest = rest[1+len(rest[0].within):]
		}
	}
}

// member returns the first member of an object with the key, nil if there is none.
func (n *node) member(key string) *node {
	for m := range n.children() {
		if m.key == key {
			return m
		}
	}
	return nil
}

// DepthMax is the deepest nesting of objects and arrays in a body.
const DepthMax = 32

// parse parses a text that is one JSON object. It also returns the paths of repeated keys, in the order of the text.
// Unlike encoding/json, it rejects invalid UTF-8 and halves of surrogate pairs. Its errors are for callers, and
// continue a sentence that begins with "The body".
//
// encoding/json decides whether text is JSON. parse does not use its Decoder to read the values, because that takes
// five times as long for the worst bodies of 256 KB, about 80 ms.
func parse(text []byte) (root *node, twice []fieldError, err error) {
	if !utf8.Valid(text) {
		return nil, nil, errors.New("is not UTF-8")
	}
	var compact bytes.Buffer
	compact.Grow(len(text))
	if json.Compact(&compact, text) != nil {
		err := json.Unmarshal(text, new(json.RawMessage)) // its error has the offset
		if e, ok := errors.AsType[*json.SyntaxError](err); ok {
			err = fmt.Errorf("is not one JSON object: %w, at byte %d", err, e.Offset)
		}
		return nil, nil, err
	}
	text = compact.Bytes()
	// Each value but the first follows a comma or an opening bracket, and takes at least two bytes with it.
	values := 1 + bytes.Count(text, []byte(",")) + bytes.Count(text, []byte("[")) + bytes.Count(text, []byte("{"))
	p := parser{text: string(text), nodes: make([]node, 0, min(values, 1+len(text)/2))}
	if root, err = p.value(""); err != nil {
		return nil, nil, err
	}
	if root.kind != anObject {
		return nil, nil, errors.New("is not one JSON object")
	}
	var r repeats
	r.find(root)
	return root, r.fields, nil
}

// A parser reads the values of a text that is JSON without white space.
type parser struct {
	text  string
	at    int
	depth int    // of the current value
	nodes []node // never reallocated, so pointers into it stay valid
}

// more moves to the next member or item and reports whether there is one. If not, it moves past the closing bracket.
func (p *parser) more() bool {
	c := p.text[p.at]
	if c == ',' || c == '}' || c == ']' {
		p.at++
	}
	return c != '}' && c != ']'
}

// value reads the next value and appends it and all values in it to the nodes.
func (p *parser) value(key string) (n *node, err error) {
	i := len(p.nodes)
	p.nodes = append(p.nodes, node{key: key, kind: kindFrom(p.text[p.at]), at: int32(p.at)})
	n = &p.nodes[i]
	switch n.kind {
	case anObject, anArray:
		p.at++
		err = p.children(n)
		n.within = p.nodes[i+1:]
	case aText:
		n.text, err = p.quoted()
	default:
		n.text = p.word()
	}
	n.end = int32(p.at)
	return n, err
}

// children reads the members or items of n and the closing bracket.
func (p *parser) children(n *node) (err error) {
	if p.depth++; p.depth > DepthMax {
		return fmt.Errorf("is nested more than %d deep", DepthMax)
	}
	for ; p.more(); n.count++ {
		key := ""
		if n.kind == anObject {
			if key, err = p.quoted(); err != nil {
				return err
			}
			p.at++ // the colon
		}
		if _, err = p.value(key); err != nil {
			return err
		}
	}
	p.depth--
	return nil
}

// word reads a number, true, false or null: it ends where another token begins.
func (p *parser) word() string {
	from := p.at
	if length := strings.IndexAny(p.text[from:], ",]}"); length >= 0 {
		p.at += length
	} else {
		p.at = len(p.text)
	}
	return p.text[from:p.at]
}

// quoted reads a string.
func (p *parser) quoted() (string, error) {
	from, escaped := p.at, false
	for p.at++; p.text[p.at] != '"'; p.at++ {
		if p.text[p.at] == '\\' {
			escaped = true
			p.at++ // skip the escaped byte, which may be a quote
		}
	}
	p.at++
	source := p.text[from:p.at]
	if !escaped {
		return source[1 : len(source)-1], nil
	}
	var s string
	err := json.Unmarshal([]byte(source), &s)
	if err == nil && strings.Count(s, "\uFFFD") != replacements(source) {
		err = fmt.Errorf("has half of a surrogate pair in the string %.40q", source)
	}
	return s, err
}

// replacements counts U+FFFD in the source of a JSON string, literal or escaped. Unmarshal adds one for each half of a
// surrogate pair.
func replacements(source string) int {
	escapes := strings.ToLower(strings.ReplaceAll(source, `\\`, ""))
	return strings.Count(source, "\uFFFD") + strings.Count(escapes, `\ufffd`)
}

// repeats finds repeated keys of objects. It collects at most errorsMax of them, with the beginning of their paths.
type repeats struct {
	path   []byte // of the current value: a dot and the key for each member, [index] for each item
	fields []fieldError
}

// fewMembers is the most members of an object for which find does not need a map.
const fewMembers = 16

// find finds repeated keys in n and in all values in it.
func (r *repeats) find(n *node) {
	var seen map[string]bool
	if n.kind == anObject && n.count > fewMembers {
		seen = make(map[string]bool, n.count)
	}
	above, i := len(r.path), 0
	for child := range n.children() {
		if n.kind == anObject {
			r.path = append(append(r.path, '.'), child.key...)
			again := seen[child.key]
			if seen == nil {
				again = n.member(child.key) != child
			} else {
				seen[child.key] = true
			}
			if again && len(r.fields) < errorsMax {
				const most = (fieldChars + 1) * utf8.UTFMax
				field := string(r.path[1:min(len(r.path), 1+most)])
				r.fields = append(r.fields, fieldError{Field: truncate(field), Rule: ruleOnce})
			}
		} else {
			r.path = append(strconv.AppendInt(append(r.path, '['), int64(i), 10), ']')
			i++
		}
		r.find(child)
		r.path = r.path[:above]
	}
}
