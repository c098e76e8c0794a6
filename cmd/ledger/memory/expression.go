package memory

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/ledger/wire"
)

// expressionBytes is how long an expression may be (AWS, "Quotas in Amazon DynamoDB").
const expressionBytes = 4 << 10

// Names of the expressions in AWS's messages.
const (
	conditionExpression  = "ConditionExpression"
	filterExpression     = "FilterExpression"
	keyExpression        = "KeyConditionExpression"
	projectionExpression = "ProjectionExpression"
	updateExpression     = "UpdateExpression"
)

// placeholders are the names and values that the expressions of one request, or of one action in it, may use. Each must be
// used by one of them.
type placeholders struct {
	names      map[string]string
	values     wire.Item // kept
	usedNames  map[string]bool
	usedValues map[string]bool
	any        bool // there was an expression
}

// newPlaceholders checks what a request gives. The error is a ValidationException.
func newPlaceholders(names map[string]string, values wire.Item) (*placeholders, error) {
	p := &placeholders{names: names}
	if names != nil && len(names) == 0 {
		return nil, validation("ExpressionAttributeNames must not be empty")
	}
	if values != nil && len(values) == 0 {
		return nil, validation("ExpressionAttributeValues must not be empty")
	}
	for _, name := range inOrder(names) {
		if len(name) < 2 || name[0] != '#' || wordBytes(name[1:]) != len(name)-1 {
			return nil, validation("ExpressionAttributeNames contains invalid key: Syntax error; key: %q", name)
		}
		if names[name] == "" {
			return nil, validation("ExpressionAttributeNames contains invalid value: for key %s", name)
		}
	}
	var c *copies
	if values != nil {
		p.values, c = make(wire.Item, len(values)), copiesOf(values)
	}
	for _, name := range inOrder(values) {
		if len(name) < 2 || name[0] != ':' || wordBytes(name[1:]) != len(name)-1 {
			return nil, validation("ExpressionAttributeValues contains invalid key: Syntax error; key: %q", name)
		}
		var err error
		if p.values[name], err = c.kept(values[name], 1); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// done returns a ValidationException if a name or value was given and not used.
func (p *placeholders) done() error {
	switch {
	case !p.any && p.names != nil:
		return validation("ExpressionAttributeNames can only be specified when using expressions")
	case !p.any && p.values != nil:
		return validation("ExpressionAttributeValues can only be specified when using expressions")
	case len(p.usedNames) < len(p.names):
		return validation("Value provided in ExpressionAttributeNames unused in expressions: keys: {%s}", strings.Join(unused(p.names, p.usedNames), ", "))
	case len(p.usedValues) < len(p.values):
		return validation("Value provided in ExpressionAttributeValues unused in expressions: keys: {%s}", strings.Join(unused(p.values, p.usedValues), ", "))
	}
	return nil
}

func unused[V any](given map[string]V, used map[string]bool) []string {
	return slices.DeleteFunc(inOrder(given), func(name string) bool { return used[name] })
}

// A parser reads one expression by recursive descent.
type parser struct {
	*placeholders
	kind   string // of expression
	tokens []token
	about  map[string]bool // the attributes named in it so far
	group  group           // the last one read
}

// A group is what stands in parentheses, these included: how many tokens were left before and behind it.
type group struct{ before, behind int }

// parser returns a parser of an expression of that kind.
func (p *placeholders) parser(kind, text string) (*parser, error) {
	p.any = true
	if len(text) > expressionBytes {
		return nil, validation("Invalid %s: Expression size has exceeded the maximum allowed size;", kind)
	}
	tokens, err := tokenize(kind, text)
	if err != nil {
		return nil, err
	}
	return &parser{placeholders: p, kind: kind, tokens: tokens}, nil
}

// invalid is a ValidationException about this expression.
func (p *parser) invalid(format string, args ...any) error {
	return validation("Invalid "+p.kind+": "+format, args...)
}

// syntax is the ValidationException that the next token has no place here.
func (p *parser) syntax() error {
	return p.invalid("Syntax error; token: %q", p.peek().text)
}

func (p *parser) peek() token {
	if len(p.tokens) == 0 {
		return token{text: "<EOF>"}
	}
	return p.tokens[0]
}

func (p *parser) next() token {
	t := p.peek()
	if len(p.tokens) > 0 {
		p.tokens = p.tokens[1:]
	}
	return t
}

// mark takes the next token if it is that mark.
func (p *parser) mark(text string) bool {
	if t := p.peek(); t.kind == tokenMark && t.text == text {
		p.next()
		return true
	}
	return false
}

// keyword takes the next token if it is that word, in any case.
func (p *parser) keyword(word string) bool {
	if t := p.peek(); t.kind == tokenName && strings.EqualFold(t.text, word) {
		p.next()
		return true
	}
	return false
}

// end returns a ValidationException unless the expression has been read to its end.
func (p *parser) end() error {
	if len(p.tokens) > 0 {
		return p.syntax()
	}
	return nil
}

// attribute reads the name of a top-level attribute, or a placeholder for one.
func (p *parser) attribute() (string, error) {
	t := p.peek()
	var name string
	switch {
	case t.kind == tokenName && reserved(t.text):
		return "", p.invalid("Attribute name is a reserved keyword; reserved keyword: %s", t.text)
	case t.kind == tokenName:
		name = t.text
	case t.kind == tokenAlias:
		var ok bool
		if name, ok = p.names[t.text]; !ok {
			return "", p.invalid("An expression attribute name used in the document path is not defined; attribute name: %s", t.text)
		}
		if p.usedNames == nil {
			p.usedNames = make(map[string]bool)
		}
		p.usedNames[t.text] = true
	default:
		return "", p.syntax()
	}
	p.next()
	if p.about == nil {
		p.about = make(map[string]bool)
	}
	p.about[name] = true
	if m := p.peek(); m.kind == tokenMark && (m.text == "." || m.text == "[") {
		return "", unsupported("the path into " + name + " in a " + p.kind)
	}
	return name, nil
}

// value reads a placeholder of a value.
func (p *parser) value() (types.AttributeValue, error) {
	t := p.peek()
	if t.kind != tokenValue {
		return nil, p.syntax()
	}
	v, ok := p.values[t.text]
	if !ok {
		return nil, p.invalid("An expression attribute value used in expression is not defined; attribute value: %s", t.text)
	}
	if p.usedValues == nil {
		p.usedValues = make(map[string]bool)
	}
	p.usedValues[t.text] = true
	p.next()
	return v, nil
}

// An operand is an attribute or a value.
type operand struct {
	attribute string // "" for a value
	value     types.AttributeValue
}

// of returns the operand's value in an item, nil when the attribute is absent.
func (o operand) of(i item) types.AttributeValue {
	if o.attribute == "" {
		return o.value
	}
	return i.get(o.attribute)
}

func (p *parser) operand() (o operand, err error) {
	if p.peek().kind == tokenValue {
		o.value, err = p.value()
		return o, err
	}
	if p.peek().kind == tokenName && len(p.tokens) > 1 && p.tokens[1].text == "(" {
		return o, unsupported("the function " + p.peek().text + " in a " + p.kind)
	}
	o.attribute, err = p.attribute()
	return o, err
}

// projection reads a list of attributes; nil text is all of them.
func (p *placeholders) projection(text *string) (map[string]bool, error) {
	if text == nil {
		return nil, nil
	}
	parser, err := p.parser(projectionExpression, *text)
	if err != nil {
		return nil, err
	}
	for {
		before := len(parser.about)
		name, err := parser.attribute()
		if err != nil {
			return nil, err
		}
		if len(parser.about) == before {
			return nil, parser.invalid("Two document paths overlap with each other; must remove or rewrite one of these paths; path: [%s]", name)
		}
		if !parser.mark(",") {
			return parser.about, parser.end()
		}
	}
}
