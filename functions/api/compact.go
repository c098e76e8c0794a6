package api

import (
	"fmt"
	"strings"
)

// compact appends n to b as compact JSON in UTF-8. It keeps the order of members and the spelling of numbers, and
// escapes only what JSON requires. encoding/json escapes more, which would count towards the size of a profile.
func (n *node) compact(b []byte) []byte {
	switch n.kind {
	case anObject, anArray:
		b = append(b, byte(n.kind))
		first := true
		for child := range n.children() {
			if !first {
				b = append(b, ',')
			}
			first = false
			if n.kind == anObject {
				b = append(compactText(b, child.key), ':')
			}
			b = child.compact(b)
		}
		return append(b, byte(n.kind)+2) // in ASCII, the closing bracket
	case aText:
		return compactText(b, n.text)
	}
	return append(b, n.text...)
}

// compactText appends s as a JSON string.
func compactText(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"', c == '\\':
			b = append(b, '\\', c)
		case c >= ' ':
			b = append(b, c)
		default:
			if short := strings.IndexByte("\b\t\n\f\r", c); short >= 0 {
				b = append(b, '\\', "btnfr"[short])
			} else {
				b = fmt.Appendf(b, `\u%04x`, c)
			}
		}
	}
	return append(b, '"')
}
