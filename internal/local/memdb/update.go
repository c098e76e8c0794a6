package memdb

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/store"
)

// An update has the steps of an UpdateExpression in order.
type update []step

// A step sets an attribute to a value, or adds a number to it.
type step struct {
	name  string
	value types.AttributeValue
	adds  bool
	isKey bool // the step is an error, which is reported after the condition is checked
}

// errOperand is the error of an addition to a value that is not a number, or with a sum that cannot be stored.
var errOperand = validation("An operand in the update expression has an incorrect data type, or a sum too many digits")

// update parses an UpdateExpression:
//
//	SET name = :value, name = :value ADD name :number
//
// Names are of top-level attributes. keys are the attributes that cannot be updated. A nil text changes nothing.
func (p *placeholders) update(text *string, keys map[string]bool) (u update, err error) {
	if text == nil {
		return nil, nil
	}
	parser := p.parser("UpdateExpression", *text)
	seen := make(map[string]bool) // SET and ADD, once each
	for parser.token != "" {
		section := strings.ToUpper(parser.token)
		if parser.next(); section != "SET" && section != "ADD" || seen[section] {
			parser.fail("Syntax error, not supported in memory, or a section that is used twice; token: %q", section)
		}
		seen[section] = true
		for more := true; more; more = parser.is(",") {
			s := step{name: parser.attribute(), adds: section == "ADD"}
			if s.adds {
				s.value = parser.value("N")
			} else {
				parser.must("=")
				s.value = parser.value()
			}
			if slices.ContainsFunc(u, func(other step) bool { return other.name == s.name }) {
				parser.fail("Two document paths overlap with each other; path: [%s]", s.name)
			}
			s.isKey = keys[s.name]
			u = append(u, s)
		}
	}
	return u, parser.end()
}

// apply returns the updated item. before has at least its key. The error is a ValidationException.
func (u update) apply(before store.Item) (store.Item, error) {
	after := maps.Clone(before)
	for _, s := range u {
		old := before[s.name]
		number, isNumber := old.(*types.AttributeValueMemberN)
		switch {
		case s.isKey:
			return nil, validation("Cannot update attribute %s. This attribute is part of the key", s.name)
		case s.adds && isNumber:
			sum, err := add(number.Value, s.value.(*types.AttributeValueMemberN).Value)
			if err != nil {
				return nil, errOperand
			}
			s.value = &types.AttributeValueMemberN{Value: sum}
		case s.adds && old != nil:
			return nil, errOperand
		}
		after[s.name] = s.value
	}
	return after, nil
}
