package memdb

import (
	"cmp"
	"math/big"
	"strconv"
	"strings"

	"ledger.example/internal/table"
)

// wholeDigits and fractionDigits are how many digits a number may have before and behind the point: it is below 1E+126,
// and at least 1E-130 (AWS, "Naming rules and data types" of DynamoDB).
const wholeDigits, fractionDigits = 126, 130

// parseNumber returns a number as DynamoDB keeps it, without superfluous zeros: equal numbers are equal texts.
// Exponents are not supported. The error is a ValidationException.
func parseNumber(s string) (string, error) {
	text := strings.TrimPrefix(s, "-")
	sign := s[:len(s)-len(text)]
	whole, fraction, _ := strings.Cut(text, ".")
	if whole == "" || strings.Trim(whole+fraction, "0123456789") != "" {
		return "", validation("The parameter cannot be converted to a numeric value: %s", s)
	}
	whole, fraction = strings.TrimLeft(whole, "0"), strings.TrimRight(fraction, "0")
	switch significant := len(strings.Trim(whole+fraction, "0")); {
	case significant == 0:
		return "0", nil
	case significant > table.NumberDigits:
		return "", validation("A Number has more than %d significant digits", table.NumberDigits)
	case len(whole) > wholeDigits || len(fraction) > fractionDigits:
		return "", validation("Number overflow or underflow: the magnitude is outside the supported range")
	case fraction != "":
		return sign + cmp.Or(whole, "0") + "." + fraction, nil
	}
	return sign + whole, nil
}

// rational returns a kept number as one to reckon with.
func rational(kept string) *big.Rat {
	r, _ := new(big.Rat).SetString(kept)
	return r
}

// digits64 is the length of texts that may be too large for 64 bits, or whose sum may.
const digits64 = 19

// add returns the sum of two kept numbers, or a ValidationException if DynamoDB cannot keep it.
func add(a, b string) (string, error) {
	if len(a) < digits64 && len(b) < digits64 { // the usual ones, which need no big numbers
		x, err1 := strconv.ParseInt(a, 10, 64)
		y, err2 := strconv.ParseInt(b, 10, 64)
		if err1 == nil && err2 == nil {
			return strconv.FormatInt(x+y, 10), nil
		}
	}
	return parseNumber(new(big.Rat).Add(rational(a), rational(b)).FloatString(fractionDigits))
}
