package memdb

import (
	"slices"
	"strings"
)

// An update has the steps of an UpdateExpression in order.
type update []step

// A step sets an attribute to a value, or adds a number to it.
type step struct {
	name  string
	value value
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
func (u update) apply(before packed) (after packed, err error) {
	values := make(map[string]value)
	for rest := before; len(rest) > 0; {
		name, v := rest.next()
		values[name] = v
	}
	for _, s := range u {
		old := values[s.name]
		switch {
		case s.isKey:
			return "", validation("Cannot update attribute %s. This attribute is part of the key", s.name)
		case s.adds && old.letter == packedNumber:
			if s.value.text, err = add(old.text, s.value.text); err != nil {
				return "", errOperand
			}
		case s.adds && old != value{}:
			return "", errOperand
		}
		values[s.name] = s.value
	}
	return packValues(values), nil
}
