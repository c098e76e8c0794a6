package memory

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// A span is a stretch of sort keys in one partition of the table or an index.
type span struct {
	partition    string
	below, above func(sort string) bool // whether a key lies before or behind it
}

// within tells whether a sort key lies in the span.
func (s span) within(sort string) bool { return !s.below(sort) && !s.above(sort) }

// keyCondition reads a KeyConditionExpression over those two keys: the partition key's value, and for the sort key
// a comparison, BETWEEN or begins_with, or nothing.
func (p *placeholders) keyCondition(text *string, partitionKey, sortKey string) (span, error) {
	never := func(string) bool { return false }
	s := span{below: never, above: never}
	if text == nil {
		return s, validation("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
	}
	parser, err := p.parser(keyExpression, *text)
	if err != nil {
		return s, err
	}
	seen := make(map[string]bool)
	for {
		enclosed := parser.mark("(")
		name, err := parser.keyTerm(&s, partitionKey)
		switch {
		case err != nil:
			return s, err
		case enclosed && !parser.mark(")"):
			return s, parser.syntax()
		case seen[name]:
			return s, parser.invalid("KeyConditionExpressions must only contain one condition per key")
		case name != partitionKey && name != sortKey:
			return s, validation("Query condition missed key schema element: %s", partitionKey)
		}
		seen[name] = true
		if !parser.keyword("AND") {
			break
		}
	}
	if parser.keyword("OR") {
		return s, parser.invalid("Invalid operator used in KeyConditionExpression: OR")
	}
	if err := parser.end(); err != nil {
		return s, err
	}
	if !seen[partitionKey] {
		return s, validation("Query condition missed key schema element: %s", partitionKey)
	}
	return s, nil
}

// keyTerm reads a condition on one key into s, and names it.
func (p *parser) keyTerm(s *span, partitionKey string) (string, error) {
	if t := p.peek(); t.kind == tokenName && len(p.tokens) > 1 && p.tokens[1].text == "(" {
		if t.text != "begins_with" {
			return "", p.invalid("Invalid operator used in KeyConditionExpression: %s", t.text)
		}
		p.next()
		p.next()
		name, err := p.attribute()
		if err == nil && !p.mark(",") {
			err = p.syntax()
		}
		if err != nil {
			return "", err
		}
		prefix, err := p.keyText()
		if err == nil && !p.mark(")") {
			err = p.syntax()
		}
		if err == nil && name == partitionKey {
			err = validation("Query key condition not supported")
		}
		s.below = func(sort string) bool { return sort < prefix }
		s.above = func(sort string) bool { return sort > prefix && !strings.HasPrefix(sort, prefix) }
		return name, err
	}
	name, err := p.attribute()
	if err != nil {
		return "", err
	}
	operator := strings.ToUpper(p.next().text)
	text, err := p.keyText()
	if err != nil {
		return "", err
	}
	if name == partitionKey {
		if operator != "=" {
			return "", validation("Query key condition not supported")
		}
		s.partition = text
		return name, nil
	}
	less := func(sort string) bool { return sort < text }
	more := func(sort string) bool { return sort > text }
	switch operator {
	case "=":
		s.below, s.above = less, more
	case "<":
		s.above = func(sort string) bool { return sort >= text }
	case "<=":
		s.above = more
	case ">":
		s.below = func(sort string) bool { return sort <= text }
	case ">=":
		s.below = less
	case "BETWEEN":
		if !p.keyword("AND") {
			return "", p.syntax()
		}
		to, err := p.keyText()
		if err != nil {
			return "", err
		}
		if text > to {
			return "", p.invalid("The BETWEEN operator requires upper bound to be greater than or equal to lower bound")
		}
		s.below = less
		s.above = func(sort string) bool { return sort > to }
	case "<>":
		return "", p.invalid("Unsupported operator in KeyConditionExpression: <>")
	default:
		return "", p.invalid("Syntax error; token: %q", operator)
	}
	return name, nil
}

// keyText reads a value that a key is compared with: all keys of this store are strings.
func (p *parser) keyText() (string, error) {
	v, err := p.value()
	if err != nil {
		return "", err
	}
	s, ok := v.(*types.AttributeValueMemberS)
	switch {
	case !ok:
		return "", validation("One or more parameter values were invalid: Condition parameter type does not match schema type")
	case s.Value == "":
		return "", validation("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value")
	}
	return s.Value, nil
}
