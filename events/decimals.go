package events

import "strings"

// Decimals makes the canonical texts of many amounts, which share one array. It is not for concurrent use, and must not
// be copied once it was used.
type Decimals struct{ all strings.Builder }

// Grow makes room for so many more characters.
func (d *Decimals) Grow(chars int) { d.all.Grow(chars) }

// Of returns a.String().
func (d *Decimals) Of(a Amount) string {
	var digits [FoldedDigits + 1]byte
	from := d.all.Len()
	d.all.Write(a.append(digits[:0]))
	return d.all.String()[from:]
}
