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
