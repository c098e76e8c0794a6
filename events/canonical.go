package events

import "cmp"

// canonical is a FieldEncoder that writes the canonical form of an event. Any program can compute it from what is
// stored, with a library for RFC 8785 (JCS):
//
//   - It is the JSON object of the event's fields as they are stored, with its name as Type and its version as V.
//     Absent fields are absent. The keys in the table are not included: they follow from the fields.
//   - A number is a JSON string of its digits, because a JSON number is a double. A flag is true.
//   - Members are in the order of the UTF-16 code units of their names, without white space. In texts, only quotation
//     marks, backslashes and control characters are escaped.
type canonical struct {
	text   []byte
	name   string  // of the event, until it is written among the outermost members
	depth  int     // how many containers are open
	closer [4]byte // ends each of them; the deepest is a leg in a header's list
}

// The names of the members that are not fields.
const (
	memberType    = "Type"
	memberVersion = "V" // sorts after the names of all fields
)

func (c *canonical) begin(name string) {
	c.text, c.name, c.depth = c.text[:0], name, 0
	c.open('{', '}')
}

// finish ends the object, and returns it.
func (c *canonical) finish() []byte {
	c.Number(memberVersion, NewAmount(Form))
	c.End()
	return c.text
}

// member begins a member of an object, or an element of a list, which has no name.
func (c *canonical) member(name string) {
	if c.depth == 1 && c.name != "" && name > memberType {
		c.writeType()
	}
	if last := c.text[len(c.text)-1]; last != '{' && last != '[' {
		c.text = append(c.text, ',')
	}
	if c.closer[c.depth-1] == '}' {
		c.quote(name)
		c.text = append(c.text, ':')
	}
}

func (c *canonical) writeType() {
	name := c.name
	c.name = ""
	c.Text(memberType, name)
}

// Text implements FieldEncoder.
func (c *canonical) Text(name, text string) {
	c.member(name)
	c.quote(text)
}

// Number implements FieldEncoder.
func (c *canonical) Number(name string, n Amount) {
	c.member(name)
	c.text = append(n.append(append(c.text, '"')), '"')
}

// Flag implements FieldEncoder.
func (c *canonical) Flag(name string) {
	c.member(name)
	c.text = append(c.text, "true"...)
}

// BeginMap implements FieldEncoder.
func (c *canonical) BeginMap(name string, _ int) {
	c.member(name)
	c.open('{', '}')
}

// BeginList implements FieldEncoder.
func (c *canonical) BeginList(name string, _ int) {
	c.member(name)
	c.open('[', ']')
}

func (c *canonical) open(opener, closer byte) {
	c.text = append(c.text, opener)
	c.closer[c.depth] = closer
	c.depth++
}

// End implements FieldEncoder.
func (c *canonical) End() {
	c.depth--
	c.text = append(c.text, c.closer[c.depth])
}

// quote appends a JSON string.
func (c *canonical) quote(s string) {
	b := append(c.text, '"')
	from := 0
	for i := range len(s) {
		if s[i] >= ' ' && s[i] != '"' && s[i] != '\\' {
			continue
		}
		b = append(append(b, s[from:i]...), '\\')
		from = i + 1
		switch s[i] {
		case '"', '\\':
			b = append(b, s[i])
		case '\b':
			b = append(b, 'b')
		case '\t':
			b = append(b, 't')
		case '\n':
			b = append(b, 'n')
		case '\f':
			b = append(b, 'f')
		case '\r':
			b = append(b, 'r')
		default:
			const hex = "0123456789abcdef"
			b = append(b, 'u', '0', '0', hex[s[i]>>4], hex[s[i]&15])
		}
	}
	c.text = append(append(b, s[from:]...), '"')
}

// compareUTF16 compares two texts in UTF-8 by their UTF-16 code units. This is the order of their bytes but for
// characters beyond U+FFFF (first byte from F0), whose surrogates are before U+E000 to U+FFFF (EE and EF).
func compareUTF16(a, b string) int {
	for i := range min(len(a), len(b)) {
		x, y := a[i], b[i]
		switch {
		case x == y:
		case min(x, y) >= 0xEE && (x >= 0xF0) != (y >= 0xF0):
			return cmp.Compare(y, x)
		default:
			return cmp.Compare(x, y)
		}
	}
	return cmp.Compare(len(a), len(b))
}
