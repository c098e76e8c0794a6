package api

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/projections"
)

// A cursor is base64url of a version, a hash of its list, the position after which the next page begins, and a checksum
// of these. It needs no signature: a forged cursor shows only items that the caller can see in the list anyway. It is
// no secret: everybody can decode it, so it is checked like the rest of an answer. See request.mayKnow.
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
	// errCursorElsewhere is for positions in the journal and in statements.
	errCursorElsewhere = errors.New("is of another ledger, or of a ledger restored to before this position")
)

// Positions are the texts that can be positions in a list. Each has one of some forms, which are parts with "#" between
// them. Make them with positionsOf.
type positions struct{ forms [][]part }

// A part of a position. Either it is an id, or no id of the ledger's clients is valid.
type part struct {
	valid func(string) bool
	names client.Named // what it is the id of, "" if it is no id
}

// positionsOf returns the positions of some forms. It panics if a part may be an id, and does not say of what.
func positionsOf(forms ...[]part) positions {
	for _, form := range forms {
		for _, p := range form {
			if p.names == "" && (p.valid("jane") || p.valid("a-1")) {
				panic(fmt.Sprintf("a part of a position may be an id: %v", errUndeclared))
			}
		}
	}
	return positions{forms}
}

// idOf returns the part of positions that is an id.
func idOf(named client.Named) part { return part{events.ValidID, named} }

var (
	aKSUID  = part{valid: isKSUID}
	aTime   = part{valid: func(text string) bool { _, err := events.ParseTime(text); return err == nil }}
	nothing = part{valid: func(text string) bool { return text == "" }}

	anAccount     = idOf(client.NamesAccount)
	aGroup        = idOf(client.NamesGroup)
	aTransaction  = idOf(client.NamesTransaction)
	journalPlaces = part{valid: func(text string) bool { _, ok := projections.ParseJournalPosition(text); return ok }}
)

// The positions in lists.
var (
	byAsset   = positionsOf([]part{idOf(client.NamesAsset)})
	byAccount = positionsOf([]part{anAccount})
	byGroup   = positionsOf([]part{aGroup})
	byUser    = positionsOf([]part{idOf(client.NamesUser)})
	byNumber  = positionsOf([]part{{valid: isNumber}})
	byKSUID   = positionsOf([]part{aKSUID})
	byRate    = positionsOf([]part{idOf(client.NamesAsset), {valid: isRate}}) // see ledger.UsedRate
	byBalance = positionsOf([]part{anAccount}, []part{anAccount, idOf(client.NamesAsset)})
	// The accounts of a user: see projections.Lists.AccountsOf.
	byRole = positionsOf([]part{anAccount}, []part{nothing, nothing}, []part{nothing, aGroup},
		[]part{nothing, aGroup, anAccount})
	byPosting   = positionsOf([]part{aKSUID, aTransaction})
	byExpiry    = positionsOf([]part{aTime, aTransaction})
	inStatement = positionsOf([]part{{valid: isMark}})
	inJournal   = positionsOf([]part{journalPlaces})
)

// isRate reports whether a text is the name of a rate.
func isRate(text string) bool {
	_, _, ok := events.ParseRateName(text)
	return ok
}

// tell tells found what a position names. It reports whether the text can be a position.
func (at positions) tell(position string, found found) (valid bool) {
	for _, form := range at.forms {
		texts := []string{position}
		if len(form) > 1 {
			texts = strings.Split(position, "#")
		}
		if valid = len(texts) == len(form); valid {
			for i, p := range form {
				valid = valid && p.valid(texts[i])
			}
		}
		if !valid {
			continue
		}
		for i, p := range form {
			if p.names != "" {
				found(p.names, texts[i])
			}
		}
		return true
	}
	return false
}

// listed identifies a list of the API. Cursors are valid for one list only.
type listed struct {
	name string // the path and the filters, in canonical form
	at   positions
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
	if !l.tell(position, func(client.Named, string) {}) {
		return "", errCursorAltered
	}
	return position, nil
}

// tell tells found what a position in the list names. It reports whether the text can be a position. That of the first
// page is "".
func (l listed) tell(position string, found found) (valid bool) {
	return position == "" || l.at.tell(position, found)
}

// failCursor records a fault of the cursor in a parameter.
func (r *request) failCursor(name string, reason error) {
	before := len(r.faults)
	r.failOnce(name, reason.Error())
	r.badCursor = len(r.faults) > before // false if the parameter already has a fault
}
