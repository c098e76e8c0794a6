package events

import "strings"

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
