package audit

import (
	"fmt"
	"maps"
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
)

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
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return strconv.Quote(v.Value)
	case *types.AttributeValueMemberN:
		return v.Value
	case *types.AttributeValueMemberBOOL:
		return strconv.FormatBool(v.Value)
	case *types.AttributeValueMemberNULL:
		return "null"
	case *types.AttributeValueMemberM:
		parts := make([]string, 0, len(v.Value))
		for _, name := range slices.Sorted(maps.Keys(v.Value)) {
			parts = append(parts, name+": "+formatValue(v.Value[name]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case *types.AttributeValueMemberL:
		parts := make([]string, len(v.Value))
		for i, element := range v.Value {
			parts[i] = formatValue(element)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", v), "*types.AttributeValueMember")
}
