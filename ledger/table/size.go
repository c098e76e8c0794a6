package table

import (
	"slices"
	"strconv"
	"strings"
)

// A Value is what the cost model needs of an attribute's value: its size, and whether it equals another (==). The sizes
// are those of AWS, "DynamoDB item sizes and formats". The ledger stores no sets and no binaries.
type Value struct {
	bytes int
	text  string // distinct for distinct values
}

// An Item is attribute names to values; nil is an item that isn't there.
type Item map[string]Value

// Bytes is the item's size: names and values.
func (i Item) Bytes() int {
	total := 0
	for name, value := range i {
		total += len(name) + value.bytes
	}
	return total
}

// Bytes is the value's size.
func (v Value) Bytes() int { return v.bytes }

// String is a string: the bytes of its UTF-8.
func String(s string) Value { return Value{len(s), "S" + strconv.Quote(s)} }

// Number is a decimal number without an exponent; its size is NumberBytes.
func Number(decimal string) Value {
	digits, negative := strings.CutPrefix(decimal, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	whole, fraction = strings.TrimLeft(whole, "0"), strings.TrimRight(fraction, "0")
	sign := ""
	if negative && whole+fraction != "" {
		sign = "-"
	}
	return Value{NumberBytes(decimal), "N" + sign + whole + "." + fraction}
}

// NumberBytes is the size of a decimal number without an exponent: a byte for two significant digits or the odd one left,
// a byte, and one more if it is negative. AWS calls its own rule approximate.
func NumberBytes(decimal string) int {
	significant, zeros := 0, 0 // digits from the first to the last that is not zero, and zeros after that
	for _, c := range []byte(decimal) {
		switch {
		case c == '0' && significant > 0:
			zeros++
		case '1' <= c && c <= '9':
			significant += zeros + 1
			zeros = 0
		}
	}
	if significant == 0 {
		return 1
	}
	size := (significant+1)/2 + 1
	if decimal[0] == '-' {
		size++
	}
	return size
}

// Bool is a boolean: one byte.
func Bool(b bool) Value { return Value{1, strconv.FormatBool(b)} }

// Null is one byte.
func Null() Value { return Value{1, "null"} }

// Overheads of lists and maps, however long, and of each of their elements.
const (
	CollectionBytes = 3
	ElementBytes    = 1
)

// List is three bytes, and for each element its size and one more.
func List(elements ...Value) Value {
	size, texts := CollectionBytes, make([]string, len(elements))
	for i, element := range elements {
		size += element.bytes + ElementBytes
		texts[i] = element.text
	}
	return Value{size, "[" + strings.Join(texts, ",") + "]"}
}

// Map is three bytes, and for each pair the sizes of name and value and one more.
func Map(pairs Item) Value {
	size, texts := CollectionBytes, make([]string, 0, len(pairs))
	for name, value := range pairs {
		size += len(name) + value.bytes + ElementBytes
		texts = append(texts, strconv.Quote(name)+":"+value.text)
	}
	slices.Sort(texts)
	return Value{size, "{" + strings.Join(texts, ",") + "}"}
}
