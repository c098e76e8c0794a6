package memory

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// A condition tells whether it holds of an item; nil is one that isn't there. A comparison with what is absent, or of
// another type, is false; "<>" is then true.
type condition func(item) bool

// condition reads a ConditionExpression or a FilterExpression, and tells which attributes it is about; nil text is the
// condition that always holds.
func (p *placeholders) condition(kind string, text *string) (c condition, about map[string]bool, err error) {
	if text == nil {
		return func(item) bool { return true }, nil, nil
	}
	parser, err := p.parser(kind, *text)
	if err != nil {
		return nil, nil, err
	}
	if c, err = parser.or(); err != nil {
		return nil, nil, err
	}
	return c, parser.about, parser.end()
}

func (p *parser) or() (condition, error) {
	left, err := p.and()
	for err == nil && p.keyword("OR") {
		var right condition
		if right, err = p.and(); err == nil {
			first := left
			left = func(i item) bool { return first(i) || right(i) }
		}
	}
	return left, err
}

func (p *parser) and() (condition, error) {
	left, err := p.not()
	for err == nil && p.keyword("AND") {
		var right condition
		if right, err = p.not(); err == nil {
			first := left
			left = func(i item) bool { return first(i) && right(i) }
		}
	}
	return left, err
}

func (p *parser) not() (condition, error) {
	if !p.keyword("NOT") {
		return p.primary()
	}
	c, err := p.not()
	if err != nil {
		return nil, err
	}
	return func(i item) bool { return !c(i) }, nil
}

func (p *parser) primary() (condition, error) {
	if p.mark("(") {
		return p.parenthesis()
	}
	if t := p.peek(); t.kind == tokenName && len(p.tokens) > 1 && p.tokens[1].text == "(" {
		return p.function()
	}
	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	if p.keyword("BETWEEN") {
		return p.between(left)
	}
	if p.keyword("IN") {
		return nil, unsupported("IN in a " + p.kind)
	}
	return p.comparison(left)
}

// parenthesis reads what follows an opening one. Two right around the same are refused, as in AWS.
func (p *parser) parenthesis() (condition, error) {
	begin := len(p.tokens)
	c, err := p.or()
	if err == nil && p.group == (group{begin, len(p.tokens)}) {
		err = p.invalid("The expression has redundant parentheses;")
	}
	if err == nil && !p.mark(")") {
		err = p.syntax()
	}
	p.group = group{begin + 1, len(p.tokens)}
	return c, err
}

func (p *parser) function() (condition, error) {
	name := p.next().text
	p.next() // the parenthesis
	var operands []operand
	for {
		o, err := p.operand()
		if err != nil {
			return nil, err
		}
		operands = append(operands, o)
		if !p.mark(",") {
			break
		}
	}
	if !p.mark(")") {
		return nil, p.syntax()
	}
	switch name {
	case "attribute_exists", "attribute_not_exists":
		if len(operands) != 1 {
			return nil, p.invalid("Incorrect number of operands for operator or function; operator or function: %s, number of operands: %d", name, len(operands))
		}
		if operands[0].attribute == "" {
			return nil, p.invalid("Operator or function requires a document path; operator or function: %s", name)
		}
		exists := name == "attribute_exists"
		return func(i item) bool { return (i.get(operands[0].attribute) != nil) == exists }, nil
	case "begins_with":
		return p.beginsWith(operands)
	case "attribute_type":
		return p.attributeType(operands)
	}
	return nil, unsupported("the function " + name + " in a " + p.kind)
}

// attributeTypes are the names of types that attribute_type takes.
var attributeTypes = []string{"S", "SS", "N", "NS", "B", "BS", "BOOL", "NULL", "L", "M"}

func (p *parser) attributeType(operands []operand) (condition, error) {
	if len(operands) != 2 {
		return nil, p.invalid("Incorrect number of operands for operator or function; operator or function: attribute_type, number of operands: %d", len(operands))
	}
	if operands[0].attribute == "" {
		return nil, p.invalid("Operator or function requires a document path; operator or function: attribute_type")
	}
	wanted, ok := operands[1].value.(*types.AttributeValueMemberS)
	if !ok {
		return nil, p.invalid("Incorrect operand type for operator or function; operator or function: attribute_type, operand type: %s", typeOf(operands[1].value))
	}
	if !slices.Contains(attributeTypes, wanted.Value) {
		return nil, p.invalid("Invalid attribute type name found; type: %s, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}", wanted.Value)
	}
	return func(i item) bool {
		found := operands[0].of(i)
		return found != nil && typeOf(found) == wanted.Value
	}, nil
}

func (p *parser) beginsWith(operands []operand) (condition, error) {
	if len(operands) != 2 {
		return nil, p.invalid("Incorrect number of operands for operator or function; operator or function: begins_with, number of operands: %d", len(operands))
	}
	for _, o := range operands {
		if o.attribute == "" && typeOf(o.value) != "S" && typeOf(o.value) != "B" {
			return nil, p.invalid("Incorrect operand type for operator or function; operator or function: begins_with, operand type: %s", typeOf(o.value))
		}
	}
	if err := p.distinct("begins_with", operands...); err != nil {
		return nil, err
	}
	return func(i item) bool {
		switch whole := operands[0].of(i).(type) {
		case *types.AttributeValueMemberS:
			prefix, ok := operands[1].of(i).(*types.AttributeValueMemberS)
			return ok && strings.HasPrefix(whole.Value, prefix.Value)
		case *types.AttributeValueMemberB:
			prefix, ok := operands[1].of(i).(*types.AttributeValueMemberB)
			return ok && strings.HasPrefix(string(whole.Value), string(prefix.Value))
		}
		return false
	}, nil
}

// distinct returns a ValidationException if the first operand is repeated.
func (p *parser) distinct(operator string, operands ...operand) error {
	for _, o := range operands[1:] {
		if o.attribute != "" && o.attribute == operands[0].attribute {
			return p.invalid("The first operand must be distinct from the remaining operands for this operator or function; operator: %s, first operand: [%s]", operator, o.attribute)
		}
	}
	return nil
}

// ordered returns a ValidationException if a value is of a type that has no order.
func (p *parser) ordered(operator string, operands ...operand) error {
	for _, o := range operands {
		if o.attribute != "" {
			continue
		}
		if _, ok := compare(o.value, o.value); !ok {
			return p.invalid("Incorrect operand type for operator or function; operator or function: %s, operand type: %s", operator, typeOf(o.value))
		}
	}
	return nil
}

func (p *parser) between(subject operand) (condition, error) {
	from, err := p.operand()
	if err == nil && !p.keyword("AND") {
		err = p.syntax()
	}
	if err != nil {
		return nil, err
	}
	to, err := p.operand()
	if err == nil {
		err = p.ordered("BETWEEN", subject, from, to)
	}
	if err == nil {
		err = p.distinct("BETWEEN", subject, from, to)
	}
	if err != nil {
		return nil, err
	}
	if err := p.bounds(from, to); err != nil {
		return nil, err
	}
	return func(i item) bool {
		v := subject.of(i)
		low, ok := compare(from.of(i), v)
		high, both := compare(v, to.of(i))
		return ok && both && low <= 0 && high <= 0
	}, nil
}

// bounds returns a ValidationException if two values cannot be the bounds of a BETWEEN.
func (p *parser) bounds(from, to operand) error {
	if from.attribute != "" || to.attribute != "" {
		return nil
	}
	order, ok := compare(from.value, to.value)
	switch {
	case !ok:
		return p.invalid("The BETWEEN operator requires same data type for lower and upper bounds; lower bound operand: AttributeValue: {%s}, upper bound operand: AttributeValue: {%s}", typeOf(from.value), typeOf(to.value))
	case order > 0:
		return p.invalid("The BETWEEN operator requires upper bound to be greater than or equal to lower bound")
	}
	return nil
}

func (p *parser) comparison(left operand) (condition, error) {
	operator := p.next().text
	var holds func(order int) bool
	switch operator {
	case "=", "<>":
	case "<":
		holds = func(order int) bool { return order < 0 }
	case "<=":
		holds = func(order int) bool { return order <= 0 }
	case ">":
		holds = func(order int) bool { return order > 0 }
	case ">=":
		holds = func(order int) bool { return order >= 0 }
	default:
		return nil, p.invalid("Syntax error; token: %q", operator)
	}
	right, err := p.operand()
	if err == nil {
		err = p.distinct(operator, left, right)
	}
	if err != nil {
		return nil, err
	}
	if holds == nil {
		same := operator == "="
		return func(i item) bool {
			a, b := left.of(i), right.of(i)
			if a == nil || b == nil {
				return !same
			}
			return equal(a, b) == same
		}, nil
	}
	if err := p.ordered(operator, left, right); err != nil {
		return nil, err
	}
	return func(i item) bool {
		order, ok := compare(left.of(i), right.of(i))
		return ok && holds(order)
	}, nil
}
