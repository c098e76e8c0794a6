package memory

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// An update returns what becomes of an item; it was given at least its key. The error is a ValidationException.
type update func(item) (item, error)

// errOperand is the answer to an addition to what is no number. In a transaction, it is the answer to all of it.
var errOperand = validation("An operand in the update expression has an incorrect data type")

// update reads an UpdateExpression: SET and ADD of top-level attributes to values. keys are those that it must not touch.
// nil text changes nothing.
func (p *placeholders) update(text *string, keys map[string]bool) (update, error) {
	if text == nil {
		return func(i item) (item, error) { return i, nil }, nil
	}
	parser, err := p.parser(updateExpression, *text)
	if err != nil {
		return nil, err
	}
	var steps []update
	sections, touched := make(map[string]bool), make(map[string]bool)
	for len(parser.tokens) > 0 {
		section := strings.ToUpper(parser.next().text)
		if sections[section] {
			return nil, parser.invalid("The %q section can only be used once in an update expression;", section)
		}
		sections[section] = true
		var read func() (string, update, error)
		switch section {
		case "SET":
			read = parser.set
		case "ADD":
			read = parser.add
		case "REMOVE", "DELETE":
			return nil, unsupported(section + " in an " + updateExpression)
		default:
			return nil, parser.invalid("Syntax error; token: %q", section)
		}
		for more := true; more; more = parser.mark(",") {
			name, step, err := read()
			if err != nil {
				return nil, err
			}
			if keys[name] {
				step = func(item) (item, error) {
					return nil, validation("One or more parameter values were invalid: Cannot update attribute %s. This attribute is part of the key", name)
				}
			}
			if touched[name] {
				return nil, parser.invalid("Two document paths overlap with each other; must remove or rewrite one of these paths; path: [%s]", name)
			}
			touched[name] = true
			steps = append(steps, step)
		}
	}
	return func(i item) (item, error) {
		for _, step := range steps {
			var err error
			if i, err = step(i); err != nil {
				return nil, err
			}
		}
		return i, nil
	}, nil
}

// set reads "attribute = :value".
func (p *parser) set() (string, update, error) {
	name, err := p.attribute()
	if err != nil {
		return "", nil, err
	}
	if !p.mark("=") {
		return "", nil, p.syntax()
	}
	if p.peek().kind != tokenValue {
		return "", nil, unsupported("SET to anything but a value in an " + updateExpression)
	}
	v, err := p.value()
	if err != nil {
		return "", nil, err
	}
	if m := p.peek(); m.kind == tokenMark && (m.text == "+" || m.text == "-") {
		return "", nil, unsupported("arithmetic in an " + updateExpression)
	}
	return name, func(i item) (item, error) { return i.with(name, v), nil }, nil
}

// add reads "attribute :number".
func (p *parser) add() (string, update, error) {
	name, err := p.attribute()
	if err != nil {
		return "", nil, err
	}
	v, err := p.value()
	if err != nil {
		return "", nil, err
	}
	n, ok := v.(*types.AttributeValueMemberN)
	if !ok {
		return "", nil, p.invalid("Incorrect operand type for operator or function; operator: ADD, operand type: %s", typeOf(v))
	}
	return name, func(i item) (item, error) {
		before := i.get(name)
		if before == nil {
			return i.with(name, n), nil
		}
		m, ok := before.(*types.AttributeValueMemberN)
		if !ok {
			return nil, errOperand
		}
		sum, err := number(m).add(number(n))
		if err != nil {
			return nil, err
		}
		return i.with(name, &types.AttributeValueMemberN{Value: sum.String()}), nil
	}, nil
}
