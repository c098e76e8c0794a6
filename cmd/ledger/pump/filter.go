package pump

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	lambdaevents "github.com/aws/aws-lambda-go/events"
)

// filter decides which records are delivered: those that match one of its
// patterns, or all if it has none. The patterns are Lambda's (Developer Guide,
// "Control which events Lambda sends to your function"): an object asks for
// each of its fields; a list gives a field's alternatives, each a value or one
// of the operators prefix, suffix, anything-but, equals-ignore-case and exists;
// $or gives alternative objects.
//
// The operator numeric is refused, like every operator that is not known:
// DynamoDB's numbers are strings in a record, and Lambda's numeric never
// matches them.
type filter []condition

// condition is a part of a pattern. The value is what encoding/json makes of a
// part of a record; present is false if the record has no such field.
type condition interface {
	matches(value any, present bool) bool
}

// parseFilter reads the patterns. It fails for what it does not know, so that
// no pattern passes or holds back more than it says.
func parseFilter(patterns []string) (filter, error) {
	var f filter
	for i, p := range patterns {
		c, err := parsePattern(p)
		if err != nil {
			return nil, fmt.Errorf("filter pattern %d: %w", i+1, err)
		}
		f = append(f, c)
	}
	return f, nil
}

// matches tells whether a record is to be delivered.
func (f filter) matches(r lambdaevents.DynamoDBEventRecord) (bool, error) {
	if len(f) == 0 {
		return true, nil
	}
	text, err := json.Marshal(r)
	if err != nil {
		return false, err
	}
	value, err := decodeJSON(string(text))
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(f, func(c condition) bool { return c.matches(value, true) }), nil
}

// decodeJSON keeps numbers as they are written.
func decodeJSON(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is something after its end")
	}
	return v, nil
}

func parsePattern(text string) (condition, error) {
	v, err := decodeJSON(text)
	if err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("it is not an object")
	}
	return parseObject("", object)
}

func parseObject(path string, object map[string]any) (condition, error) {
	if len(object) == 0 {
		return nil, fmt.Errorf("%q is an empty object", path)
	}
	var all allOf
	for name, v := range object {
		at := strings.TrimPrefix(path+"."+name, ".")
		var c condition
		var err error
		if name == "$or" {
			c, err = parseOr(at, v)
		} else {
			c, err = parseField(at, v)
			c = field{name: name, condition: c}
		}
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

func parseField(path string, v any) (condition, error) {
	switch v := v.(type) {
	case map[string]any:
		return parseObject(path, v)
	case []any:
		return parseAlternatives(path, v)
	default:
		return nil, fmt.Errorf("%q is neither a list nor an object", path)
	}
}

func parseOr(path string, v any) (condition, error) {
	alternatives, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("%q wants a list", path)
	}
	var or anyOf
	for _, a := range alternatives {
		object, ok := a.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%q has an alternative that is not an object", path)
		}
		c, err := parseObject(path, object)
		if err != nil {
			return nil, err
		}
		or = append(or, c)
	}
	if len(or) == 0 {
		return nil, fmt.Errorf("%q is empty", path)
	}
	return or, nil
}

func parseAlternatives(path string, list []any) (condition, error) {
	var or anyOf
	for _, a := range list {
		c, err := parseOperator(path, a)
		if err != nil {
			return nil, err
		}
		or = append(or, c)
	}
	if len(or) == 0 {
		return nil, fmt.Errorf("%q is an empty list", path)
	}
	return or, nil
}

func parseOperator(path string, a any) (condition, error) {
	operators, ok := a.(map[string]any)
	if !ok {
		if _, list := a.([]any); list {
			return nil, fmt.Errorf("%q has a list in its list", path)
		}
		return equals{a}, nil
	}
	if len(operators) != 1 {
		return nil, fmt.Errorf("%q: one operator at a time, not %d", path, len(operators))
	}
	for name, argument := range operators {
		text, isText := argument.(string)
		switch name {
		case "prefix", "suffix", "equals-ignore-case":
			if !isText {
				return nil, fmt.Errorf("%q: %s wants a string", path, name)
			}
			return textOperator{name, text}, nil
		case "exists":
			want, ok := argument.(bool)
			if !ok {
				return nil, fmt.Errorf("%q: exists wants true or false", path)
			}
			return exists{want}, nil
		case "anything-but":
			return parseAnythingBut(path, argument)
		default:
			return nil, fmt.Errorf("%q: the operator %s is not supported", path, name)
		}
	}
	panic("unreachable")
}

func parseAnythingBut(path string, argument any) (condition, error) {
	values, ok := argument.([]any)
	if !ok {
		values = []any{argument}
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("%q: anything-but wants a value", path)
	}
	for _, v := range values {
		switch v.(type) {
		case string, json.Number:
		default:
			return nil, fmt.Errorf("%q: anything-but wants strings or numbers", path)
		}
	}
	return anythingBut{values}, nil
}

// allOf matches when each of its conditions does.
type allOf []condition

func (all allOf) matches(value any, present bool) bool {
	for _, c := range all {
		if !c.matches(value, present) {
			return false
		}
	}
	return true
}

// anyOf matches when one of its conditions does.
type anyOf []condition

func (or anyOf) matches(value any, present bool) bool {
	for _, c := range or {
		if c.matches(value, present) {
			return true
		}
	}
	return false
}

// field applies a condition to a field of an object. In a list it is enough
// that one element matches.
type field struct {
	name      string
	condition condition
}

func (f field) matches(value any, present bool) bool {
	if list, ok := value.([]any); ok {
		return slices.ContainsFunc(list, func(e any) bool { return f.matches(e, true) })
	}
	object, _ := value.(map[string]any)
	v, ok := object[f.name]
	return f.condition.matches(v, present && ok)
}

// leaf applies a test to a field's value, or to the elements of a list.
func leaf(value any, present bool, test func(any) bool) bool {
	if !present {
		return false
	}
	switch v := value.(type) {
	case map[string]any:
		return false
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return leaf(e, true, test) })
	default:
		return test(v)
	}
}

// equals matches one value: text, number, true, false or null.
type equals struct{ want any }

func (e equals) matches(value any, present bool) bool {
	return leaf(value, present, func(v any) bool { return v == e.want })
}

// textOperator compares texts in one of three ways.
type textOperator struct{ name, want string }

func (o textOperator) matches(value any, present bool) bool {
	return leaf(value, present, func(v any) bool {
		text, ok := v.(string)
		if !ok {
			return false
		}
		switch o.name {
		case "prefix":
			return strings.HasPrefix(text, o.want)
		case "suffix":
			return strings.HasSuffix(text, o.want)
		default:
			return strings.EqualFold(text, o.want)
		}
	})
}

// anythingBut matches a field that is there with none of the values.
type anythingBut struct{ values []any }

func (a anythingBut) matches(value any, present bool) bool {
	return leaf(value, present, func(v any) bool { return !slices.Contains(a.values, v) })
}

// exists matches by whether there is such a field. An object is none: Lambda
// looks at leaves only.
type exists struct{ want bool }

func (e exists) matches(value any, present bool) bool {
	_, object := value.(map[string]any)
	return (present && !object) == e.want
}
