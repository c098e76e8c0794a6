package events

import (
	"cmp"
	"errors"
	"math/bits"
	"strconv"
	"strings"
)

// PostedDigits is the maximum number of digits of one posted amount, FoldedDigits that of a sum. DynamoDB's number has
// 38 digits, which is enough for the sum of 10^10 of the largest amounts.
const (
	PostedDigits = 28
	FoldedDigits = 38
)

var (
	// ErrAmount is returned for a text that is not a canonical whole number ("0|-?[1-9][0-9]*").
	ErrAmount = errors.New("not a whole number in canonical form")
	// ErrOverflow is returned for a canonical text of too many digits, and for a sum of more than FoldedDigits digits.
	ErrOverflow = errors.New("amount has too many digits")
)

// Amount is an exact signed whole number of an asset's smallest unit, of at most FoldedDigits digits. It is an
// immutable, comparable (==) value of 128 bits; its zero value is 0. Arithmetic allocates nothing.
type Amount struct {
	hi int64 // the upper half of a 128-bit number in two's complement
	lo uint64
}

// 10^38 − 1, the largest magnitude, in halves.
const (
	maxHi = 0x4b3b4ca85a86c47a
	maxLo = 0x098a223fffffffff
)

// 10^19 is the largest power of ten that 64 bits hold: a magnitude is two groups of at most 19 digits.
const (
	groupDigits = 19
	groupBase   = 10_000_000_000_000_000_000
)

// NewAmount returns the amount n.
func NewAmount(n int64) Amount { return Amount{hi: n >> 63, lo: uint64(n)} }

// MaxFolded returns the largest amount, of FoldedDigits nines. The least is its negation.
func MaxFolded() Amount { return Amount{hi: maxHi, lo: maxLo} }

// ParseAmount parses a canonical whole number of at most maxDigits digits, which is PostedDigits or FoldedDigits.
// Errors: ErrAmount for any other form (a plus sign, minus zero, a leading zero, white space, an exponent), ErrOverflow
// for a canonical text of more digits.
func ParseAmount(s string, maxDigits int) (Amount, error) {
	digits, negative := s, false
	if len(s) > 0 && s[0] == '-' {
		digits, negative = s[1:], true
	}
	if digits == "" || digits[0] == '0' && s != "0" {
		return Amount{}, ErrAmount
	}
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return Amount{}, ErrAmount
		}
	}
	if len(digits) > min(maxDigits, FoldedDigits) {
		return Amount{}, ErrOverflow
	}
	upper := max(len(digits)-groupDigits, 0)
	hi, lo := bits.Mul64(group(digits[:upper]), groupBase)
	lo, carry := bits.Add64(lo, group(digits[upper:]), 0)
	a := Amount{hi: int64(hi + carry), lo: lo}
	if negative {
		a = a.Neg()
	}
	return a, nil
}

// group reads at most groupDigits digits.
func group(digits string) (n uint64) {
	for i := range len(digits) {
		n = n*10 + uint64(digits[i]-'0')
	}
	return n
}

// Add returns a + b, or ErrOverflow.
func (a Amount) Add(b Amount) (Amount, error) {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	sum := Amount{hi: a.hi + b.hi + int64(carry), lo: lo}
	// Twice the largest amount is above 2^127, so a sum may wrap around. Then its magnitude is at least 2^128 −
	// 2·10^38, which is also out of range: one comparison detects both.
	if upper, lower := sum.magnitude(); upper > maxHi || upper == maxHi && lower > maxLo {
		return Amount{}, ErrOverflow
	}
	return sum, nil
}

// Sub returns a − b, or ErrOverflow.
func (a Amount) Sub(b Amount) (Amount, error) { return a.Add(b.Neg()) }

// Neg returns −a; it cannot overflow, as the range is symmetric.
func (a Amount) Neg() Amount {
	lo, borrow := bits.Sub64(0, a.lo, 0)
	return Amount{hi: -a.hi - int64(borrow), lo: lo}
}

// Abs returns the magnitude of a.
func (a Amount) Abs() Amount {
	if a.hi < 0 {
		return a.Neg()
	}
	return a
}

// magnitude returns the halves of |a|, also for sums outside the range.
func (a Amount) magnitude() (hi, lo uint64) {
	b := a.Abs()
	return uint64(b.hi), b.lo
}

// Sign returns -1, 0 or 1.
func (a Amount) Sign() int { return a.Cmp(Amount{}) }

// IsZero reports whether a is 0.
func (a Amount) IsZero() bool { return a == Amount{} }

// Cmp returns -1, 0 or 1 as a is less than, equal to or greater than b.
func (a Amount) Cmp(b Amount) int {
	if a.hi != b.hi {
		return cmp.Compare(a.hi, b.hi)
	}
	return cmp.Compare(a.lo, b.lo)
}

// String returns the canonical decimal form.
func (a Amount) String() string {
	var buf [FoldedDigits + 1]byte
	return string(a.append(buf[:0]))
}

func (a Amount) append(b []byte) []byte {
	if a.hi < 0 {
		b = append(b, '-')
	}
	hi, lo := a.magnitude()
	upper, lower := bits.Div64(hi, lo, groupBase)
	if upper == 0 {
		return strconv.AppendUint(b, lower, 10)
	}
	b = strconv.AppendUint(b, upper, 10)
	for unit := uint64(groupBase / 10); unit > max(lower, 1); unit /= 10 {
		b = append(b, '0')
	}
	return strconv.AppendUint(b, lower, 10)
}

// AppendText appends the canonical decimal form to b. It never fails.
func (a Amount) AppendText(b []byte) ([]byte, error) { return a.append(b), nil }

// MarshalText gives the canonical decimal form, so that JSON carries a string and never a number.
func (a Amount) MarshalText() ([]byte, error) { return a.append(nil), nil }

// UnmarshalText reads a canonical decimal form of at most FoldedDigits digits. Errors: those of ParseAmount.
func (a *Amount) UnmarshalText(b []byte) error {
	parsed, err := ParseAmount(string(b), FoldedDigits)
	if err != nil {
		return err
	}
	*a = parsed
	return nil
}

// Decimals formats many amounts into one shared array. It is not safe for concurrent use, and must not be copied after
// its first use.
type Decimals struct{ all strings.Builder }

// Grow makes room for n more characters.
func (d *Decimals) Grow(chars int) { d.all.Grow(chars) }

// Of returns a.String().
func (d *Decimals) Of(a Amount) string {
	var digits [FoldedDigits + 1]byte
	return d.keep(a.append(digits[:0]))
}

// keep returns a text in the shared array.
func (d *Decimals) keep(text []byte) string {
	from := d.all.Len()
	d.all.Write(text)
	return d.all.String()[from:]
}

// Decimal returns an amount in minor units as a decimal number with exactly scale decimal places.
func (a Amount) Decimal(scale int) string {
	digits := a.Abs().String()
	if missing := scale + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	sign := ""
	if a.Sign() < 0 {
		sign = "-"
	}
	if scale == 0 {
		return sign + digits
	}
	point := len(digits) - scale
	return sign + digits[:point] + "." + digits[point:]
}
