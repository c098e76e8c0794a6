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
	from := d.all.Len()
	d.all.Write(a.append(digits[:0]))
	return d.all.String()[from:]
}
