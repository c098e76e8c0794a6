package table

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
)

// A Key names one item.
type Key struct{ PK, SK string }

// ID is the key as one text: the PK and the SK with a slash between. No PK of an event has a slash.
func (k Key) ID() string { return k.PK + "/" + k.SK }

// ParseKey parses the ID of a key.
func ParseKey(id string) (k Key, ok bool) {
	k.PK, k.SK, ok = strings.Cut(id, "/")
	return k, ok && k.PK != "" && k.SK != ""
}

// numberDigits is the width of the number of a numbered event. Such keys sort by number.
const numberDigits = 12

// Number is a number, from 1 to 999,999,999,999, as keys have it.
func Number(n int64) string { return fmt.Sprintf("%0*d", numberDigits, n) }

// A text is a compiled pattern of one key: a fixed text, then at most three parts with '#' between them.
type text struct {
	fixed    string
	parts    int
	numbered bool // {number}: the last part is a Number
	laned    bool // {lane}: the first part is a lane
	free     bool // {x...}: the last part may be any text
}

func compile(pattern string) text {
	fixed, _, _ := strings.Cut(pattern, "{")
	ends := func(last string) bool { return strings.HasSuffix(pattern, last) }
	return text{fixed, strings.Count(pattern, "{"), ends("{number}"), strings.Contains(pattern, "{lane}"), ends("...}")}
}

// build is a key of its parts. If a free part is too long for a key, its hash is used instead. Another text could
// equal that hash, so readers compare what the item is about.
func (t text) build(parts ...string) string {
	switch {
	case len(parts) != t.parts:
		panic("store: a key that begins with " + t.fixed + " has another number of parts")
	case t.parts == 0:
		return t.fixed
	case t.parts == 1:
		return t.fixed + parts[0]
	}
	if t.parts == 2 {
		return t.fixed + parts[0] + "#" + parts[1]
	}
	s := t.fixed + parts[0] + "#" + parts[1] + "#" + parts[2]
	if t.free && len(s) > IndexKeyBytes {
		s = fmt.Sprintf("%s%s#%s#sha256:%x", t.fixed, parts[0], parts[1], sha256.Sum256([]byte(parts[2])))
	}
	return s
}

// parse reads the parts of s, and reports whether they build s.
func (t text) parse(s string, parts []string) bool {
	s, ok := strings.CutPrefix(s, t.fixed)
	if !ok || t.parts == 0 {
		return ok && s == ""
	}
	whole := len(t.fixed) + len(s)
	for i := range t.parts - 1 {
		if parts[i], s, ok = strings.Cut(s, "#"); !ok || parts[i] == "" {
			return false
		}
	}
	parts[t.parts-1] = s
	if t.laned && !isLane(parts[0]) {
		return false
	}
	switch {
	case t.free:
		return whole <= IndexKeyBytes
	case t.numbered:
		n, err := strconv.ParseUint(s, 10, 63)
		return err == nil && n > 0 && len(s) == numberDigits
	}
	return s != "" && strings.IndexByte(s, '#') < 0
}

// A Pattern is what the keys of all kinds of items have in common. One, Two, Three and Five build and parse them.
type Pattern struct {
	ItemType
	parts            int
	pk, sk, sk2, pk2 text
	rooted           bool // SK equals PK
}

var patterns []*Pattern // in the order of their declarations

// declare compiles an item whose key has that many parts.
func declare(i ItemType, parts int) *Pattern {
	p := &Pattern{i, parts, compile(i.PK), compile(i.SK), compile(i.SK2), compile(i.PK2), i.PK == i.SK}
	patterns = append(patterns, p)
	return p
}

func (p *Pattern) build(parts ...string) Key {
	pk := p.PK(parts[:p.pk.parts]...)
	if p.rooted {
		return Key{pk, pk}
	}
	return Key{pk, p.SK(parts[p.pk.parts:]...)}
}

func (p *Pattern) parse(k Key) (parts [5]string, ok bool) {
	ok = p.pk.parse(k.PK, parts[:])
	if p.rooted {
		ok = ok && k.SK == k.PK
	} else {
		ok = ok && p.sk.parse(k.SK, parts[p.pk.parts:])
	}
	if !ok {
		return [5]string{}, false
	}
	return parts, true
}

// Parts returns the parts of a key, in the order of the pattern. ok is true if the key is one of these items.
func (p *Pattern) Parts(k Key) (parts []string, ok bool) {
	all, ok := p.parse(k)
	return all[:p.parts], ok
}

// PK is the partition key of items. Its parts are those in braces in the declaration; so are those of SK, SK2 and PK2.
// Another number of parts is a fault of the program: these functions panic.
func (p *Pattern) PK(parts ...string) string { return p.pk.build(parts...) }

// SK is an item's sort key.
func (p *Pattern) SK(parts ...string) string { return p.sk.build(parts...) }

// SK2 is an item's sort key in IndexHistory.
func (p *Pattern) SK2(parts ...string) string { return p.sk2.build(parts...) }

// PK2 is a partition of IndexInverse that lists items.
func (p *Pattern) PK2(parts ...string) string { return p.pk2.build(parts...) }

// Prefix is the text before the first part of an SK.
func (p *Pattern) Prefix() string { return p.sk.fixed }

// Is reports whether an SK begins as those of these items do.
func (p *Pattern) Is(sk string) bool { return strings.HasPrefix(sk, p.sk.fixed) }

// One, Two, Three and Five are declarations of items whose keys have that many parts. The last part L is a text, or a
// number. Parse accepts any key; ok is true if Key builds it.
type (
	One                     struct{ *Pattern }
	Two[L string | int64]   struct{ *Pattern }
	Three[L string | int64] struct{ *Pattern }
	Five                    struct{ *Pattern }
)

// Key builds a key.
func (p One) Key(id string) Key { return p.build(id) }

// Parse parses a key.
func (p One) Parse(k Key) (id string, ok bool) {
	parts, ok := p.parse(k)
	return parts[0], ok
}

// Owner returns the id of a partition whose PK is that of these items, of whatever item the key is.
func (p One) Owner(k Key) (id string, ok bool) { return p.Parse(Key{k.PK, k.PK}) }

// Key builds a key.
func (p Two[L]) Key(first string, last L) Key { return p.build(first, written(last)) }

// Parse parses a key.
func (p Two[L]) Parse(k Key) (first string, last L, ok bool) {
	parts, ok := p.parse(k)
	return parts[0], read[L](parts[1]), ok
}

// Key builds a key.
func (p Three[L]) Key(first, second string, last L) Key { return p.build(first, second, written(last)) }

// Parse parses a key.
func (p Three[L]) Parse(k Key) (first, second string, last L, ok bool) {
	parts, ok := p.parse(k)
	return parts[0], parts[1], read[L](parts[2]), ok
}

// Key builds a key.
func (p Five) Key(first, second, third, fourth, last string) Key {
	return p.build(first, second, third, fourth, last)
}

// Parse parses a key.
func (p Five) Parse(k Key) (parts [5]string, ok bool) { return p.parse(k) }

func written[L string | int64](part L) string {
	if n, ok := any(part).(int64); ok {
		return Number(n)
	}
	return any(part).(string)
}

// read reads a part that was parsed; "" is 0.
func read[L string | int64](part string) (l L) {
	if n, ok := any(&l).(*int64); ok {
		*n, _ = strconv.ParseInt(part, 10, 64)
	} else {
		*any(&l).(*string) = part
	}
	return l
}
