package events

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"sync"
)

// An event has a checksum over its canonical form, so that every reader detects an alteration.
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

// AppendChecksum appends the checksum that is stored with e to b: the first 16 bytes of the SHA-256 of its canonical
// form, in base64 for URLs (RFC 4648) without padding, 22 characters. It allocates nothing else.
func AppendChecksum(b []byte, e Event) []byte {
	c := newCanonical(e.EventName())
	defer c.free()
	e.write(c)
	return c.appendChecksum(b)
}

// AppendCanonical appends the canonical form of e to b: see canonical.go.
func AppendCanonical(b []byte, e Event) []byte {
	c := newCanonical(e.EventName())
	defer c.free()
	e.write(c)
	return append(b, c.finish()...)
}

var canonicals = sync.Pool{New: func() any { return &canonical{text: make([]byte, 0, 1024)} }}

// newCanonical begins the canonical form of an event. Free it after use.
func newCanonical(name string) *canonical {
	c := canonicals.Get().(*canonical)
	c.begin(name)
	return c
}

func (c *canonical) free() { canonicals.Put(c) }

// appendChecksum ends the canonical form and appends its checksum to b.
func (c *canonical) appendChecksum(b []byte) []byte {
	hash := sha256.Sum256(c.finish())
	return base64.RawURLEncoding.AppendEncode(b, hash[:checksumBytes])
}

// compare ends the canonical form of a stored event. It returns ErrChecksum if the stored checksum differs.
func (c *canonical) compare(event, stored string) error {
	var room [ChecksumChars]byte
	if string(c.appendChecksum(room[:0])) != stored {
		return fmt.Errorf("%w: %s", ErrChecksum, event)
	}
	return nil
}
