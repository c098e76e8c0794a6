package events

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// The canonical form of an event can be computed by any program from what is stored, with a library for RFC 8785 (JCS):
//
//   - It is the JSON object of the event's fields as they are stored, with its name as Type and its version as V.
//     Absent fields are absent. The keys in the table are not included: they follow from the fields.
//   - A number is a JSON string of its digits, because a JSON number is a double. A flag is true.
//   - Members are in the order of the UTF-16 code units of their names, without white space. In texts, only quotation
//     marks, backslashes and control characters are escaped.
//
// The checksum of an event is the first 16 bytes of the SHA-256 of its canonical form, in base64 for URLs (RFC 4648)
// without padding: 22 characters. With it every reader detects an alteration.
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

// AppendCanonical appends the canonical form of e to b.
func AppendCanonical(b []byte, e Event) []byte {
	f, _ := new(Encoder).Encode(e)
	return appendCanonical(b, e.EventName(), f)
}

// Checksum returns the checksum that is stored with e.
func Checksum(e Event) string {
	_, checksum := new(Encoder).Encode(e)
	return checksum
}

// appendChecksum appends the checksum of the sorted fields of the named event to b. It allocates nothing else.
func appendChecksum(b []byte, name string, f Fields) []byte {
	form := forms.Get().(*[]byte)
	defer forms.Put(form)
	*form = appendCanonical((*form)[:0], name, f)
	hash := sha256.Sum256(*form)
	return base64.RawURLEncoding.AppendEncode(b, hash[:checksumBytes])
}

// forms has arrays for canonical forms.
var forms = sync.Pool{New: func() any {
	form := make([]byte, 0, 1024)
	return &form
}}

// compareChecksum returns ErrChecksum unless the checksum is that of the sorted fields of the named event.
func compareChecksum(name string, f Fields, checksum string) error {
	var room [ChecksumChars]byte
	if string(appendChecksum(room[:0], name, f)) != checksum {
		return fmt.Errorf("%w: %s", ErrChecksum, name)
	}
	return nil
}

// The names of the members that are not fields. The names of all fields are before memberVersion.
const (
	memberType    = "Type"
	memberVersion = "V"
)

func appendCanonical(b []byte, name string, f Fields) []byte {
	b = append(b, '{')
	before := 0
	for before < len(f) && f[before].Name < memberType {
		before++
	}
	b = appendMembers(b, f[:before])
	b = appendQuoted(appendName(b, memberType), name)
	b = appendMembers(b, f[before:])
	b = append(appendName(b, memberVersion), '"')
	return append(strconv.AppendInt(b, Form, 10), '"', '}')
}

func appendMembers(b []byte, f Fields) []byte {
	for i := range f {
		b = appendValue(appendName(b, f[i].Name), &f[i])
	}
	return b
}

// appendName appends the name of a member, after a comma if it is not the first one of its object.
func appendName(b []byte, name string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	return append(appendQuoted(b, name), ':')
}

func appendValue(b []byte, f *Field) []byte {
	switch f.Type {
	case TextField, NumberField:
		return appendQuoted(b, f.Text)
	case MapField:
		return append(appendMembers(append(b, '{'), f.Of), '}')
	case ListField:
		b = append(b, '[')
		for i := range f.Of {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(b, &f.Of[i])
		}
		return append(b, ']')
	}
	return append(b, f.Text...) // true
}

// appendQuoted appends a JSON string. Most texts need no escapes. One that is not UTF-8 is refused by its field's rule.
func appendQuoted(b []byte, s string) []byte {
	for i := range len(s) {
		if s[i] < ' ' || s[i] == '"' || s[i] == '\\' {
			b, _ = jsontext.AppendQuote(b, s)
			return b
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// compareUTF16 compares two texts in UTF-8 by their UTF-16 code units. This is the order of their bytes but for
// characters beyond U+FFFF (first byte from F0), whose surrogates are before U+E000 to U+FFFF (EE and EF).
func compareUTF16(a, b string) int {
	for i := range min(len(a), len(b)) {
		x, y := a[i], b[i]
		switch {
		case x == y:
		case min(x, y) >= 0xEE && (x >= 0xF0) != (y >= 0xF0):
			return cmp.Compare(y, x)
		default:
			return cmp.Compare(x, y)
		}
	}
	return cmp.Compare(len(a), len(b))
}
