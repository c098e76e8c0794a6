package memory

import (
	"math/big"
	"strconv"
	"strings"

	"ledger.example/ledger/table"
)

// Magnitudes of a number that is not zero: from 1E-130 to below 1E+126 (AWS, "Naming rules and data types" of DynamoDB).
const exponentLeast, exponentMost = -129, 126

// A decimal is a number as DynamoDB keeps it, exactly: ±0.digits × 10^exponent, with neither leading nor trailing zeros.
// Zero has no digits and is not negative.
type decimal struct {
	negative bool
	digits   string
	exponent int
}

// parseDecimal reads a number as a request has it. The error is a ValidationException.
func parseDecimal(s string) (decimal, error) {
	text, negative := strings.CutPrefix(s, "-")
	if !negative {
		text = strings.TrimPrefix(text, "+")
	}
	exponent := 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		var err error
		if exponent, err = strconv.Atoi(text[i+1:]); err != nil {
			return decimal{}, validation("The parameter cannot be converted to a numeric value: %s", s)
		}
		text = text[:i]
	}
	whole, fraction, _ := strings.Cut(text, ".")
	digits := whole + fraction
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return decimal{}, validation("The parameter cannot be converted to a numeric value: %s", s)
	}
	return normalized(negative, digits, len(whole)+exponent)
}

// normalized returns ±0.digits × 10^exponent, or a ValidationException if DynamoDB cannot keep it.
func normalized(negative bool, digits string, exponent int) (decimal, error) {
	significant := strings.TrimLeft(digits, "0")
	exponent -= len(digits) - len(significant)
	significant = strings.TrimRight(significant, "0")
	switch {
	case significant == "":
		return decimal{}, nil
	case len(significant) > table.NumberDigits:
		return decimal{}, validation("Attempting to store more than %d significant digits in a Number", table.NumberDigits)
	case exponent > exponentMost:
		return decimal{}, validation("Number overflow. Attempting to store a number with magnitude larger than supported range")
	case exponent < exponentLeast:
		return decimal{}, validation("Number underflow. Attempting to store a number with magnitude smaller than supported range")
	}
	return decimal{negative, significant, exponent}, nil
}

// String returns the number without an exponent.
func (d decimal) String() string {
	if d.digits == "" {
		return "0"
	}
	sign := ""
	if d.negative {
		sign = "-"
	}
	switch n := len(d.digits); {
	case d.exponent <= 0:
		return sign + "0." + strings.Repeat("0", -d.exponent) + d.digits
	case d.exponent >= n:
		return sign + d.digits + strings.Repeat("0", d.exponent-n)
	}
	return sign + d.digits[:d.exponent] + "." + d.digits[d.exponent:]
}

// compare returns -1, 0 or 1 as d is less than, equal to or greater than e.
func (d decimal) compare(e decimal) int {
	if a, b := d.sign(), e.sign(); a != b || a == 0 {
		return signOf(a - b)
	}
	order := signOf(d.exponent - e.exponent)
	if order == 0 {
		order = strings.Compare(d.digits, e.digits)
	}
	return order * d.sign()
}

func (d decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	}
	return 1
}

func signOf(i int) int { return min(max(i, -1), 1) }

// add returns the exact sum, or a ValidationException if DynamoDB cannot keep it.
func (d decimal) add(e decimal) (decimal, error) {
	scale := max(len(d.digits)-d.exponent, len(e.digits)-e.exponent)
	sum := new(big.Int).Add(d.scaled(scale), e.scaled(scale))
	digits := new(big.Int).Abs(sum).String()
	return normalized(sum.Sign() < 0, digits, len(digits)-scale)
}

// scaled returns d × 10^scale, which must be whole.
func (d decimal) scaled(scale int) *big.Int {
	i, _ := new(big.Int).SetString(d.digits+strings.Repeat("0", scale-(len(d.digits)-d.exponent)), 10)
	if i == nil {
		return new(big.Int)
	}
	if d.negative {
		i.Neg(i)
	}
	return i
}

// bytes is the number's size by the rule of table.Number.
func (d decimal) bytes() int {
	size := (len(d.digits)+1)/2 + 1
	if d.negative {
		size++
	}
	return size
}
