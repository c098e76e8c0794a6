package books

import (
	"fmt"
	"net/url"
	"strings"
)

// ID returns the id that an import gives to a name by default.
func ID(name string) string { return shortID(name) }

// IsIDOf reports whether an import gives an id to a name, if it is free or if another name has it.
func IsIDOf(name, id string) bool { return id == shortID(name) || id == hashedID(name, shortID(name)) }

// Escaped returns a text without the characters that end a tag of hledger, and without spaces around it. These become %
// and two hexadecimal digits.
func Escaped(text string) string { return escaped(text, "%,[]") }

// EscapedPair returns metadata as "key=value", escaped.
func EscapedPair(key, value string) string { return escaped(key, "%,[]=") + "=" + Escaped(value) }

func escaped(text, special string) string {
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		isOuter := c == ' ' && (i == 0 || i == len(text)-1)
		if c < ' ' || c == 0x7f || isOuter || strings.IndexByte(special, c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// unescaped returns metadata in which escaped pairs are as they were.
func unescaped(pairs []Pair) (all []Pair) {
	for _, p := range pairs {
		if key, value, ok := strings.Cut(p.Value, "="); ok && strings.HasPrefix(p.Key, TagMetadata) {
			k, err := url.PathUnescape(key)
			v, err2 := url.PathUnescape(value)
			if err == nil && err2 == nil {
				p = Pair{k, v}
			}
		}
		all = append(all, p)
	}
	return all
}

// description returns the description of an entry: that of TagDescription, or what stands in the book.
func (t Transaction) description() string {
	if tagged, err := url.PathUnescape(valueOf(t.Metadata, TagDescription)); err == nil && tagged != "" {
		return tagged
	}
	return strings.TrimSpace(t.Description)
}
