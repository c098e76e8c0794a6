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
	within []node // every value inside an object or array, at any depth, in the order of the text
	at     int32  // the byte where it begins, in the text without white space
	end    int32  // the byte after it
	count  int32  // the number of members of an object, or of items of an array
	kind   valueKind
	taken  bool // the decoder read this member
}

// valueKind is the type of a value: the byte that it begins with. Numbers and booleans begin with one of several.
type valueKind byte

const (
	aText    valueKind = '"'
	aNumber  valueKind = '0'
	aBool    valueKind = 't'
	aNull    valueKind = 'n'
	anArray  valueKind = '['
	anObject valueKind = '{'
)

// kindFrom returns the type of the value that begins with a byte of valid JSON.
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

// member returns the first member of an object with this key, nil when there is none.
func (n *node) member(key string) *node {
	for m := range n.children() {
		if m.key == key {
			return m
		}
	}
	return nil
}

// DepthMax is the most objects and arrays within one another in a body: a profile needs a few.
const DepthMax = 32

// parse reads one JSON object that fills text. Of keys that come twice it returns the paths, in the order of the text.
// It refuses what encoding/json accepts: bytes that are not UTF-8 and halves of surrogate pairs. Its errors are for
// callers, and continue a sentence that begins with "The body".
//
// encoding/json decides whether text is JSON. Its Decoder could also take the text apart, but needs five times as long
// for the worst bodies of 256 KB, about 80 ms.
func parse(text []byte) (root *node, twice []fieldError, err error) {
	if !utf8.Valid(text) {
		return nil, nil, errors.New("is not UTF-8")
	}
	var compact bytes.Buffer
	compact.Grow(len(text))
	if json.Compact(&compact, text) != nil {
		err := json.Unmarshal(text, new(json.RawMessage)) // which knows where
		if e, ok := errors.AsType[*json.SyntaxError](err); ok {
			err = fmt.Errorf("is not one JSON object: %w, at byte %d", err, e.Offset)
		}
		return nil, nil, err
	}
	text = compact.Bytes()
	// Every value but the first follows a comma or a bracket, and takes two bytes with it.
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

// A parser takes apart a text that is JSON without white space.
type parser struct {
	text  string
	at    int
	depth int    // of the current value
	nodes []node // has room for every value of the text: pointers into it stay valid
}

// more goes on to the next member or item and reports whether there is one. If not, it skips the closing bracket.
func (p *parser) more() bool {
	c := p.text[p.at]
	if c == ',' || c == '}' || c == ']' {
		p.at++
	}
	return c != '}' && c != ']'
}

// value reads the next value, and appends it and all that is within it.
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

// children reads the members or items of n, and its closing bracket.
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
			p.at++ // an escaped quote ends no string
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

// replacements returns how often the source of a JSON string has U+FFFD, as itself or escaped. Unmarshal writes one
// more for each half of a surrogate pair.
func replacements(source string) int {
	escapes := strings.ToLower(strings.ReplaceAll(source, `\\`, ""))
	return strings.Count(source, "\uFFFD") + strings.Count(escapes, `\ufffd`)
}

// repeats finds the keys that come twice or more in one object: as many as a problem names, and as much of their paths
// as it shows.
type repeats struct {
	path   []byte // to the current value: of each member a dot and its key, of each item its index in brackets
	fields []fieldError
}

// fewMembers is the most members of an object in which repeated keys are searched for without a map.
const fewMembers = 16

// find looks for repeated keys in n and in all that is within it. A map of the keys is made for large objects only.
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
				const most = (briefChars + 1) * utf8.UTFMax
				field := string(r.path[1:min(len(r.path), 1+most)])
				r.fields = append(r.fields, fieldError{Field: brief(field), Rule: ruleOnce})
			}
		} else {
			r.path = append(strconv.AppendInt(append(r.path, '['), int64(i), 10), ']')
			i++
		}
		r.find(child)
		r.path = r.path[:above]
	}
}
