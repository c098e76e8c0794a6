package events

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"sync"
)

// An event has a checksum over all its stored fields, so that every reader detects an alteration.
// Any program can compute it, with a library for bencode (BEP 3):
//
//   - The canonical form of an event is the bencoding of the list of its name, its version and a dictionary of all its
//     fields as they are stored. The keys in the table are not included: they follow from the fields.
//   - A text is the length of its UTF-8 in bytes, a colon, and these bytes: "4:jane". A number is its decimal digits
//     between i and e: "i-2500e". A flag is the number 1. A list is its elements between l and e. A map is between d
//     and e: each name, a text, and its value, in the byte order of the names. Absent fields are omitted.
//   - The checksum is the first 16 bytes of the SHA-256 of the canonical form, in base64 for URLs (RFC 4648) without
//     padding: 22 characters.
//
// 128 bits are enough: among 10^18 altered events none is expected to keep its checksum, and it is infeasible to find
// another event with a given checksum. More bits would not protect better, because the checksum has no key: anybody who
// can write to the table can compute it. A full SHA-256 would add 21 bytes to each event, and twice that to postings,
// which are also in an index.
const (
	checksumBytes = 16
	// ChecksumChars is the length of a checksum.
	ChecksumChars = 22
)

// Checksum returns the checksum that is stored with e.
func Checksum(e Event) string { return string(AppendChecksum(nil, e)) }

// AppendChecksum appends the checksum that is stored with e to b.
func AppendChecksum(b []byte, e Event) []byte {
	c := newCanonical(e.EventName())
	defer c.free()
	e.write(c)
	return c.appendChecksum(b)
}

// canonical is a FieldEncoder that builds the canonical form of an event.
type canonical struct{ text []byte }

var canonicals = sync.Pool{New: func() any { return &canonical{text: make([]byte, 0, 1024)} }}

// newCanonical begins a canonical form. Free it after use.
func newCanonical(name string) *canonical {
	c := canonicals.Get().(*canonical)
	c.text = append(c.text[:0], 'l')
	c.put(name)
	c.Number("", NewAmount(Form))
	c.BeginMap("", 0)
	return c
}

func (c *canonical) free() { canonicals.Put(c) }

// appendChecksum ends the canonical form and appends its checksum to b.
func (c *canonical) appendChecksum(b []byte) []byte {
	c.End() // of the fields
	c.End() // of the list
	hash := sha256.Sum256(c.text)
	return base64.RawURLEncoding.AppendEncode(b, hash[:checksumBytes])
}

// compare ends the canonical form of a stored event. It returns ErrChecksum if the stored checksum differs.
func (c *canonical) compare(name, stored string) error {
	var room [ChecksumChars]byte
	if string(c.appendChecksum(room[:0])) != stored {
		return fmt.Errorf("%w: %s", ErrChecksum, name)
	}
	return nil
}

// put appends a text.
func (c *canonical) put(text string) {
	c.text = append(strconv.AppendInt(c.text, int64(len(text)), 10), ':')
	c.text = append(c.text, text...)
}

// name appends the name of a field. Elements of a list have no name.
func (c *canonical) name(name string) {
	if name != "" {
		c.put(name)
	}
}

// Text implements FieldEncoder.
func (c *canonical) Text(name, text string) {
	c.name(name)
	c.put(text)
}

// Number implements FieldEncoder.
func (c *canonical) Number(name string, n Amount) {
	c.name(name)
	c.text = append(n.append(append(c.text, 'i')), 'e')
}

// Flag implements FieldEncoder.
func (c *canonical) Flag(name string) {
	c.name(name)
	c.text = append(c.text, "i1e"...)
}

// BeginMap implements FieldEncoder.
func (c *canonical) BeginMap(name string, _ int) {
	c.name(name)
	c.text = append(c.text, 'd')
}

// BeginList implements FieldEncoder.
func (c *canonical) BeginList(name string, _ int) {
	c.name(name)
	c.text = append(c.text, 'l')
}

// End implements FieldEncoder.
func (c *canonical) End() { c.text = append(c.text, 'e') }
