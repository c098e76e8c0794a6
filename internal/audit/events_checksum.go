package audit

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/store"
)

// sumBytes is the length of a checksum: a prefix of the hash.
const sumBytes = 16

// outsideChecksum are the attributes of an event's item that its checksum does not cover.
var outsideChecksum = []string{store.AttrPK, store.AttrSK, store.AttrSK2, store.AttrPK2, store.AttrChecksum}

// checksumOf computes an event's checksum from its item: the first 16 bytes of SHA-256 over the canonical form of all
// its attributes but the keys and the checksum, including unknown ones.
func checksumOf(item attributes) string {
	var buffer [1024]byte
	hash := sha256.Sum256(appendObject(buffer[:0], item, outsideChecksum))
	return base64.RawURLEncoding.EncodeToString(hash[:sumBytes])
}

// appendJSON appends the canonical form of a value to b: RFC 8785, with the digits of a number as a string.
func appendJSON(b []byte, v types.AttributeValue) []byte {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return appendString(b, v.Value)
	case *types.AttributeValueMemberN:
		return appendString(b, v.Value)
	case *types.AttributeValueMemberBOOL:
		return strconv.AppendBool(b, v.Value)
	case *types.AttributeValueMemberM:
		return appendObject(b, v.Value, nil)
	case *types.AttributeValueMemberL:
		b = append(b, '[')
		for i, element := range v.Value {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, element)
		}
		return append(b, ']')
	}
	return fmt.Appendf(b, "%T", v) // events have no values of other types
}

// appendObject appends a map without some names.
func appendObject(b []byte, m attributes, without []string) []byte {
	var room [32]string // more than most items have
	names := slices.AppendSeq(room[:0], maps.Keys(m))
	slices.SortFunc(names, byUnits)
	before := byte('{')
	for _, name := range names {
		if !slices.Contains(without, name) {
			b = append(appendString(append(b, before), name), ':')
			b, before = appendJSON(b, m[name]), ','
		}
	}
	if before == '{' {
		b = append(b, before)
	}
	return append(b, '}')
}

// byUnits compares texts by their UTF-16 code units.
func byUnits(a, b string) int {
	for a != "" && b != "" {
		x, ofA := utf8.DecodeRuneInString(a)
		y, ofB := utf8.DecodeRuneInString(b)
		if x != y {
			return cmp.Or(cmp.Compare(firstUnit(x), firstUnit(y)), cmp.Compare(x, y))
		}
		a, b = a[ofA:], b[ofB:]
	}
	return cmp.Compare(len(a), len(b))
}

// firstUnit returns the first UTF-16 code unit of a character.
func firstUnit(r rune) rune {
	if utf16.RuneLen(r) > 1 {
		r, _ = utf16.EncodeRune(r)
	}
	return r
}

// appendString appends a JSON string. Only what must be escaped is.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for s != "" {
		plain := strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' })
		if plain < 0 {
			b = append(b, s...)
			break
		}
		b = append(b, s[:plain]...)
		if short, ok := escapes[s[plain]]; ok {
			b = append(b, short...)
		} else {
			b = fmt.Appendf(b, `\u%04x`, s[plain])
		}
		s = s[plain+1:]
	}
	return append(b, '"')
}

// escapes are the characters that have a short escape.
var escapes = map[byte]string{
	'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`,
}

// finishEvent is finish for an event. It compares the checksum only if the item has no other fault: another fault says
// more.
func (r *reader) finishEvent() {
	sum := ""
	r.read(must(store.AttrChecksum, anyText, &sum))
	if r.finish(); len(r.found) > 0 {
		return
	}
	if right := checksumOf(r.item); sum != right {
		r.found = append(r.found,
			Finding{ChecksumDiffers, r.key, store.AttrChecksum, strconv.Quote(sum), strconv.Quote(right)})
	}
}
