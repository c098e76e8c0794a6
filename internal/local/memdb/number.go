package memdb

import (
	"cmp"
	"math/big"
	"strconv"
	"strings"

	"ledger.example/internal/table"
)

// wholeDigits and fractionDigits are the maximum numbers of digits before and after the decimal point: numbers are
// below 1E+126 and at least 1E-130 (AWS, "Supported data types and naming rules in Amazon DynamoDB").
const wholeDigits, fractionDigits = 126, 130

// parseNumber returns a number as DynamoDB stores it, without leading and trailing zeros, so that equal numbers are
// equal strings. It does not support exponents. The error is a ValidationException.
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

// rational parses a stored number.
func rational(kept string) *big.Rat {
	r, _ := new(big.Rat).SetString(kept)
	return r
}

// digits64 is the length from which numbers, or the sum of two, may exceed 64 bits.
const digits64 = 19

// add returns the sum of two stored numbers, or a ValidationException if DynamoDB cannot store it.
func add(a, b string) (string, error) {
	if len(a) < digits64 && len(b) < digits64 { // the fast path
		x, err1 := strconv.ParseInt(a, 10, 64)
		y, err2 := strconv.ParseInt(b, 10, 64)
		if err1 == nil && err2 == nil {
			return strconv.FormatInt(x+y, 10), nil
		}
	}
	return parseNumber(new(big.Rat).Add(rational(a), rational(b)).FloatString(fractionDigits))
}
