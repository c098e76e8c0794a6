package audit

import (
	"math/big"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of what is stored, as the ledger's documents publish them.
const (
	postedDigits = 28 // of one amount
	foldedDigits = 38 // of a sum
	idChars      = 64
	instantForm  = "2006-01-02T15:04:05.000000Z"
)

// wholeNumber reads a whole number of at most digits digits in its one canonical decimal form.
func wholeNumber(s string, digits int) (*big.Int, bool) {
	figures := strings.TrimPrefix(s, "-")
	if figures == "" || len(figures) > digits || figures[0] == '0' && s != "0" || strings.Trim(figures, "0123456789") != "" {
		return nil, false
	}
	return new(big.Int).SetString(s, 10)
}

// isID tells whether s may be an id: 1 to 64 of A-Z a-z 0-9 . _ : @ -, of which the first is a letter or a digit.
func isID(s string) bool {
	if s == "" || len(s) > idChars || strings.IndexByte("._:@-", s[0]) >= 0 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; digitOf(c) < 0 && strings.IndexByte("._:@-", c) < 0 {
			return false
		}
	}
	return true
}

// isText tells whether s is UTF-8 without NUL, of least to most characters.
func isText(s string, least, most int) bool {
	n := utf8.RuneCountInString(s)
	return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 && least <= n && n <= most
}

// isInstant tells whether s is RFC 3339 in UTC with six decimals.
func isInstant(s string) bool {
	t, err := time.Parse(instantForm, s)
	return err == nil && t.Format(instantForm) == s
}

// A KSUID is 20 bytes: the seconds since its epoch in four, here the microseconds of that second in three, and a tail. Its
// text is their number in base 62, 27 digits, whose order is that of the numbers.
const (
	ksuidChars = 27
	ksuidEpoch = 1_400_000_000
	ksuidWords = 5 // of 32 bits
)

// digitOf is the value of a digit of base 62, -1 of anything else.
func digitOf(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'A' <= c && c <= 'Z':
		return int(c-'A') + 10
	case 'a' <= c && c <= 'z':
		return int(c-'a') + 36
	}
	return -1
}

// instantOf reads a KSUID and the instant in it. ok is false of what the ledger cannot have minted.
func instantOf(ksuid string) (t time.Time, ok bool) {
	if len(ksuid) != ksuidChars {
		return t, false
	}
	var words [ksuidWords]uint32 // the greatest first
	for i := range ksuidChars {
		digit := digitOf(ksuid[i])
		if digit < 0 {
			return t, false
		}
		carry := uint64(digit)
		for w := ksuidWords - 1; w >= 0; w-- {
			carry += uint64(words[w]) * 62
			words[w], carry = uint32(carry), carry>>32
		}
		if carry != 0 {
			return t, false
		}
	}
	micros := int64(words[1] >> 8)
	return time.Unix(ksuidEpoch+int64(words[0]), micros*1000).UTC(), micros < 1e6
}
