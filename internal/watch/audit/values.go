package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/table"
)

// rule says which values an attribute may have. parse returns the value that a text or a number stands for. It is nil
// for maps and lists.
type rule struct {
	typ    string
	wanted string // describes a right value
	parse  func(string) (value any, ok bool)
}

// fits reports whether a text fits the rule.
func (is rule) fits(text string) bool {
	_, ok := is.parse(text)
	return ok
}

const aString, aNumber, aFlag, aMap, aList = "a string", "a number", "a boolean", "a map", "a list"

// scalar returns the text of a value of the type that typ names, "" of any other.
func scalar(v types.AttributeValue, typ string) (text string, ok bool) {
	is := ""
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		text, is = v.Value, aString
	case *types.AttributeValueMemberN:
		text, is = v.Value, aNumber
	case *types.AttributeValueMemberBOOL:
		text, is = strconv.FormatBool(v.Value), aFlag
	}
	if is != typ {
		return "", false
	}
	return text, true
}

const instants = "a time in UTC with six decimals"

// rules are the rules by name.
var rules = map[string]rule{
	"map": {typ: aMap}, "list": {typ: aList},

	"text":   valid("a string", func(string) bool { return true }),
	"id":     valid("an id", isID),
	"expiry": valid(instants, isInstant),
	"ksuid": valid("a KSUID of the ledger", func(s string) bool { // one that the ledger can have minted
		_, ok := instantOf(s)
		return ok
	}),
	"instant": {aString, instants, func(s string) (any, bool) {
		at, _ := time.Parse(instantForm, s)
		return at, isInstant(s)
	}},
	"event": {aString, "the key of an event of the journal", func(s string) (any, bool) {
		k, ok := table.ParseJournaled(s)
		return k, ok
	}},
	"position": valid("a position in the journal", isPosition),
	"profile":  valid("a compact, non-empty JSON object of at most 4,096 bytes, with at most 10 addresses", isProfile),

	"name":  ofLength(1, 256),
	"note":  ofLength(0, 256),
	"actor": ofLength(1, 2048),

	"role":      oneOf("viewer", "operator", "owner"),
	"kind":      oneOf(transaction, transfer, trade, reversal),
	"phase":     oneOf(placed, captured, released, expired),
	"state":     oneOf("open", frozen, closed),
	"per":       oneOf("day", "week", "month"),
	"zone":      valid("the name of a time zone", isZone),
	"counted":   valid("names of rates in increasing order, such as day@Europe/Berlin", isCounted),
	"unlimited": oneOf("unlimited"),
	// An optional boolean: false must not be stored.
	"flag": {aFlag, "true, or no such attribute", func(s string) (any, bool) { return s == "true", s == "true" }},

	"amount":     whole(postedDigits, true),
	"limit":      whole(postedDigits, false),
	"sum":        whole(foldedDigits, false),
	"signed sum": whole(foldedDigits, true),

	"form":     integer(1, 1),
	"scale":    integer(0, 18),
	"slot":     integer(1, 99_991_231), // a day or a month as a number
	"lanes":    integer(2, 256),
	"count":    integer(0, math.MaxInt64),
	"number":   integer(1, numbersMax),
	"change":   integer(2, numbersMax),
	"reversal": integer(1, reversalsMax),
	"shown":    integer(0, numbersMax), // 0: a rebuild found no event; it deletes no items
	"entry":    integer(voidVersion, endedVersion),
	"version":  integer(1, table.VersionMax), // of a projection; it increases with every write
	"writes":   integer(1, math.MaxInt64),
}

// valid is a rule for strings that pass.
func valid(wanted string, passes func(string) bool) rule {
	return rule{aString, wanted, func(s string) (any, bool) { return s, passes(s) }}
}

// ofLength is a string of least to most characters.
func ofLength(least, most int) rule {
	return valid(fmt.Sprintf("text of %d to %d characters", least, most),
		func(s string) bool { return isText(s, least, most) })
}

// oneOf is one of some texts.
func oneOf(texts ...string) rule {
	return valid(strings.Join(texts, ", "), func(s string) bool { return slices.Contains(texts, s) })
}

// whole is a whole number of at most digits digits.
func whole(digits int, isSigned bool) rule {
	wanted := fmt.Sprintf("a whole number of at most %d digits", digits)
	if !isSigned {
		wanted += ", not negative"
	}
	return rule{aNumber, wanted, func(s string) (any, bool) {
		n, ok := wholeNumber(s, digits)
		return n, ok && (isSigned || n.Sign() >= 0)
	}}
}

// integer is a whole number from least to most.
func integer(least, most int64) rule {
	return rule{aNumber, fmt.Sprintf("a whole number from %d to %d", least, most), func(s string) (any, bool) {
		n, _ := strconv.ParseInt(s, 10, 64)
		return n, strconv.FormatInt(n, 10) == s && least <= n && n <= most
	}}
}

// isProfile reports whether s is a JSON object that is compact and not empty.
func isProfile(s string) bool {
	const mostBytes, mostAddresses = 4096, 10
	var compact bytes.Buffer
	var content struct {
		Addresses []map[string]json.RawMessage `json:"addresses"`
	}
	return len(s) <= mostBytes && isText(s, len(`{"":0}`), mostBytes) && s[0] == '{' &&
		json.Compact(&compact, []byte(s)) == nil && compact.String() == s &&
		json.Unmarshal([]byte(s), &content) == nil && len(content.Addresses) <= mostAddresses
}

// isPosition reports whether s is a page of the journal, and how many of its entries were read if not all; or > and the
// KSUID of a time.
func isPosition(s string) bool {
	id, isTime := strings.CutPrefix(s, ">")
	page, read, isCut := strings.Cut(id, "#")
	_, isKSUID := instantOf(page)
	n, err := strconv.Atoi(read)
	return isKSUID && (!isCut || !isTime && err == nil && 1 <= n && n < entriesMax)
}

// Limits from docs/api.md.
const (
	postedDigits = 28 // of an amount
	foldedDigits = 38 // of a sum
	instantForm  = "2006-01-02T15:04:05.000000Z"
)

// wholeNumber parses a whole number of at most digits digits. ok is false if it is not in canonical decimal form.
func wholeNumber(s string, digits int) (*big.Int, bool) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && strconv.FormatInt(n, 10) == s {
		return big.NewInt(n), true // quicker
	}
	figures := strings.TrimPrefix(s, "-")
	if figures == "" || len(figures) > digits || figures[0] == '0' && s != "0" ||
		strings.Trim(figures, "0123456789") != "" {
		return nil, false
	}
	return new(big.Int).SetString(s, 10)
}

// Ids have 1 to 64 of the characters A-Z a-z 0-9 . _ : @ - and begin with a letter or a digit.
var idForm = regexp.MustCompile(`\A[A-Za-z0-9][A-Za-z0-9._:@-]{0,63}\z`)

func isID(s string) bool { return idForm.MatchString(s) }

// isText reports whether s is UTF-8 of least to most characters, without NUL.
func isText(s string, least, most int) bool {
	n := utf8.RuneCountInString(s)
	return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 && least <= n && n <= most
}

// isInstant reports whether s is RFC 3339 in UTC with six decimals.
func isInstant(s string) bool {
	t, err := time.Parse(instantForm, s)
	return err == nil && t.Format(instantForm) == s
}

// A KSUID has 20 bytes: 4 bytes of seconds since the KSUID epoch and 16 bytes of payload. The ledger stores the
// microseconds of the second in the first 3 bytes of the payload. The text is the number in base 62 with 27 digits.
const (
	ksuidChars  = 27
	ksuidTail   = 104 // bits
	ksuidMicros = 24  // bits
	ksuidEpoch  = 1_400_000_000
	ksuidDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// instantOf returns the time in a KSUID. ok is false if the ledger cannot have minted the KSUID.
func instantOf(ksuid string) (t time.Time, ok bool) {
	if len(ksuid) != ksuidChars {
		return t, false
	}
	var n [3]uint64 // the number, its lowest 64 bits first
	for i := range ksuid {
		digit := strings.IndexByte(ksuidDigits, ksuid[i])
		if digit < 0 {
			return t, false
		}
		carry := uint64(digit)
		for j := range n {
			high, low := bits.Mul64(n[j], uint64(len(ksuidDigits)))
			n[j], carry = bits.Add64(low, carry, 0)
			carry += high
		}
	}
	seconds, micros := int64(n[2]), int64(n[1]>>(64-ksuidMicros))
	return time.Unix(ksuidEpoch+seconds, micros*1000).UTC(), seconds <= math.MaxUint32 && micros < 1e6
}

// ksuidBefore returns the lowest possible KSUID of time t.
func ksuidBefore(t time.Time) string {
	n := big.NewInt(max(0, t.Unix()-ksuidEpoch))
	n.Lsh(n, ksuidMicros).Add(n, big.NewInt(int64(t.Nanosecond()/1000))).Lsh(n, ksuidTail)
	text := strings.Map(swapCase, n.Text(len(ksuidDigits)))
	return strings.Repeat("0", ksuidChars-len(text)) + text
}

// swapCase converts a base-62 digit between KSUIDs and package big, which puts lower-case letters first.
func swapCase(r rune) rune {
	if unicode.IsUpper(r) {
		return unicode.ToLower(r)
	}
	return unicode.ToUpper(r)
}

// truncated bounds the length of a value in a finding.
func truncated(s string) string {
	const mostChars = 200
	if runes := []rune(s); len(runes) > mostChars {
		return string(runes[:mostChars]) + "…"
	}
	return s
}

// formatValue returns a value as text for an operator.
func formatValue(v types.AttributeValue) string {
	if n, ok := scalar(v, aNumber); ok {
		return n
	}
	return string(appendJSON(nil, v))
}
