package memdb

import (
	"slices"
	"strings"

	"ledger.example/internal/table"
)

// expressionBytes is the maximum length of an expression (AWS, "Quotas in Amazon DynamoDB").
const expressionBytes = 4 << 10

// placeholders are the names and values of one request, or of one action of a transaction. Its expressions must use
// each of them.
type placeholders struct {
	names  map[string]string
	values table.Item
	used   []string // names and values, once each
}

func (p *placeholders) use(placeholder string) {
	if !slices.Contains(p.used, placeholder) {
		p.used = append(p.used, placeholder)
	}
}

// done returns a ValidationException if a name or value is unused.
func (p *placeholders) done() error {
	if p.names != nil && len(p.names) == 0 || p.values != nil && len(p.values) == 0 {
		return validation("ExpressionAttributeNames and ExpressionAttributeValues must not be empty")
	}
	if len(p.used) != len(p.names)+len(p.values) {
		return validation("A name or value provided in ExpressionAttributeNames or -Values is unused in expressions")
	}
	return nil
}

// A parser parses one expression by recursive descent. After the first error it is at the end of the expression.
type parser struct {
	*placeholders
	kind  string // of expression, in AWS's messages
	token string // the next token: a word, a #name, a :value, an operator or another character; "" at the end
	rest  string // the text after token
	err   error  // the first error
}

func (p *placeholders) parser(kind, text string) *parser {
	parser := &parser{placeholders: p, kind: kind, rest: text}
	if parser.next(); len(text) > expressionBytes || parser.token == "" {
		parser.fail("The expression can not be empty, nor longer than %d bytes;", expressionBytes)
	}
	return parser
}

// next advances to the next token.
func (p *parser) next() {
	p.rest = strings.TrimLeft(p.rest, " \t\r\n")
	n := min(1, len(p.rest))
	switch {
	case strings.HasPrefix(p.rest, "<="):
		n = 2
	case n == 1 && (p.rest[0] == '#' || p.rest[0] == ':' || isWord(p.rest[0])):
		for n < len(p.rest) && isWord(p.rest[n]) {
			n++
		}
	}
	p.token, p.rest = p.rest[:n], p.rest[n:]
}

func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// fail stops parsing with a ValidationException.
func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = validation("Invalid "+p.kind+": "+format, args...)
	}
	p.token, p.rest = "", ""
}

// syntax fails because the next token is unexpected or not supported.
func (p *parser) syntax() { p.fail("Syntax error, or not supported in memory; token: %q", p.token) }

// end returns the first error, or a ValidationException if tokens are left.
func (p *parser) end() error {
	if p.token != "" {
		p.syntax()
	}
	return p.err
}

// is consumes the next token if it is the given one, ignoring case.
func (p *parser) is(token string) bool {
	if !strings.EqualFold(p.token, token) || p.err != nil {
		return false
	}
	p.next()
	return true
}

// must consumes the next token, which must be the given one.
func (p *parser) must(token string) {
	if !p.is(token) {
		p.syntax()
	}
}

// attribute parses the name of a top-level attribute, or a placeholder for one.
func (p *parser) attribute() string {
	name := p.token
	switch {
	case name == "" || name[0] != '#' && !isWord(name[0]) || '0' <= name[0] && name[0] <= '9':
		p.syntax()
	case name[0] == '#':
		p.use(name)
		if name = p.names[name]; name == "" {
			p.fail("An expression attribute name is not defined; attribute name: %s", p.token)
		}
	case isReserved(name):
		p.fail("Attribute name is a reserved keyword; reserved keyword: %s", name)
	}
	p.next()
	return name
}

// value parses the placeholder of a value and returns the value. If types are given, it must have one of them.
func (p *parser) value(ofType ...string) (kept value) {
	v, ok := p.values[p.token]
	switch {
	case p.token == "" || p.token[0] != ':':
		p.syntax()
		return kept
	case !ok:
		p.fail("An expression attribute value is not defined; attribute value: %s", p.token)
		return kept
	case len(ofType) > 0 && !slices.Contains(ofType, typeOf(v)):
		p.fail("Incorrect operand type: %s", typeOf(v))
		return kept
	}
	p.use(p.token)
	p.next()
	kept, err := valueOf(v)
	if err != nil {
		p.fail("%v", err)
	}
	return kept
}

// projection parses a list of attributes. A nil text, and a nil result, mean all attributes.
func (p *placeholders) projection(text *string) (map[string]bool, error) {
	if text == nil {
		return nil, nil
	}
	parser := p.parser("ProjectionExpression", *text)
	names := make(map[string]bool)
	for more := true; more; more = parser.is(",") {
		name := parser.attribute()
		if names[name] {
			parser.fail("Two document paths overlap with each other; path: [%s]", name)
		}
		names[name] = true
	}
	return names, parser.end()
}
