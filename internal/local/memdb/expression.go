package memdb

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/ddb"
)

// expressionBytes is how long an expression may be (AWS, "Quotas in Amazon DynamoDB").
const expressionBytes = 4 << 10

// placeholders are the names and values that the expressions of one request, or of one action in it, may use. Each
// must be used by one of them.
type placeholders struct {
	names  map[string]string
	values ddb.Item
	used   []string // names and values, once each
}

func (p *placeholders) use(placeholder string) {
	if !slices.Contains(p.used, placeholder) {
		p.used = append(p.used, placeholder)
	}
}

// done returns a ValidationException if a name or value was given and not used.
func (p *placeholders) done() error {
	if p.names != nil && len(p.names) == 0 || p.values != nil && len(p.values) == 0 {
		return validation("ExpressionAttributeNames and ExpressionAttributeValues must not be empty")
	}
	if len(p.used) != len(p.names)+len(p.values) {
		return validation("A name or value provided in ExpressionAttributeNames or -Values is unused in expressions")
	}
	return nil
}

// A parser reads one expression by recursive descent. After its first error, which end returns, it is at the end of
// the expression.
type parser struct {
	*placeholders
	kind  string // of expression, in AWS's messages
	token string // the next one: a word, a #name, a :value, an operator or another character; "" at the end
	rest  string // what comes after it
	err   error
}

func (p *placeholders) parser(kind, text string) *parser {
	parser := &parser{placeholders: p, kind: kind, rest: text}
	if parser.next(); len(text) > expressionBytes || parser.token == "" {
		parser.fail("The expression can not be empty, nor longer than %d bytes;", expressionBytes)
	}
	return parser
}

// next goes on to the next token.
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

// fail ends the parsing with a ValidationException about this expression.
func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = validation("Invalid "+p.kind+": "+format, args...)
	}
	p.token, p.rest = "", ""
}

// syntax fails because the next token has no place here, or is not supported.
func (p *parser) syntax() { p.fail("Syntax error, or not supported in memory; token: %q", p.token) }

// end returns a ValidationException unless the expression was read to its end.
func (p *parser) end() error {
	if p.token != "" {
		p.syntax()
	}
	return p.err
}

// is takes the next token if it is that one; a word may be in any case.
func (p *parser) is(token string) bool {
	if !strings.EqualFold(p.token, token) || p.err != nil {
		return false
	}
	p.next()
	return true
}

// must takes the next token, which must be that one.
func (p *parser) must(token string) {
	if !p.is(token) {
		p.syntax()
	}
}

// attribute reads the name of a top-level attribute, or a placeholder for one.
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

// value reads a placeholder of a value, which must have one of those types unless none is given, and returns a copy to
// keep.
func (p *parser) value(ofType ...string) types.AttributeValue {
	v, ok := p.values[p.token]
	switch {
	case p.token == "" || p.token[0] != ':':
		p.syntax()
		return nil
	case !ok:
		p.fail("An expression attribute value is not defined; attribute value: %s", p.token)
		return nil
	case len(ofType) > 0 && !slices.Contains(ofType, typeOf(v)):
		p.fail("Incorrect operand type: %s", typeOf(v))
		return nil
	}
	p.use(p.token)
	p.next()
	kept, err := keep(v)
	if err != nil {
		p.fail("%v", err)
		return nil
	}
	return kept
}

// projection reads a list of attributes; nil text is all of them.
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
