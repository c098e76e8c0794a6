package api

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"strings"
)

// A cursor is base64url of a version, a hash of its list, the position after which the next page begins, and a checksum
// of these. It needs no signature: a forged cursor shows only items that the caller can see in the list anyway.
const (
	cursorVersion  = 1
	cursorListSize = 8
	cursorSumSize  = 4
	cursorChars    = 1000 // cursors are shorter; the API promises this
)

// The reasons to refuse a cursor. Their texts are for callers, and continue a sentence that begins with "The cursor".
var (
	errCursorAltered = errors.New("was altered, or was not issued by this API")
	errCursorForeign = errors.New("belongs to another list or to other filters")
)

// listed identifies a list of the API. Cursors are valid for one list only.
type listed struct {
	name  string                     // the path and the filters, in canonical form
	valid func(position string) bool // reports whether a string can be a position in the list
}

// hash returns the hash of l for its cursors.
func (l listed) hash() []byte {
	sum := sha256.Sum256([]byte(l.name))
	return sum[:cursorListSize]
}

// cursor returns the cursor of the page after position, which is "" for the first page.
func (l listed) cursor(position string) string {
	b := make([]byte, 0, 1+cursorListSize+len(position)+cursorSumSize)
	b = append(b, cursorVersion)
	b = append(b, l.hash()...)
	b = append(b, position...)
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	return base64.RawURLEncoding.EncodeToString(b)
}

// position returns the position of a cursor. Errors: errCursorAltered, errCursorForeign.
func (l listed) position(cursor string) (string, error) {
	if len(cursor) >= cursorChars {
		return "", errCursorAltered
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	// The decoder ignores line ends.
	if err != nil || strings.ContainsAny(cursor, "\r\n") ||
		len(b) < 1+cursorListSize+cursorSumSize || b[0] != cursorVersion {
		return "", errCursorAltered
	}
	content, sum := b[:len(b)-cursorSumSize], b[len(b)-cursorSumSize:]
	if binary.BigEndian.Uint32(sum) != crc32.ChecksumIEEE(content) {
		return "", errCursorAltered
	}
	if string(content[1:1+cursorListSize]) != string(l.hash()) {
		return "", errCursorForeign
	}
	position := string(content[1+cursorListSize:])
	if position != "" && !l.valid(position) {
		return "", errCursorAltered
	}
	return position, nil
}
