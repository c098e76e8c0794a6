package memdb

import (
	"slices"
	"strings"
)

// A condition is an OR of lists of terms, each of which is an AND. The grammar is the part of AWS's that the ledger
// uses: no parentheses, no NOT, and few operators. A nil condition is true.
type condition [][]term

// A term is a function of an attribute, or its comparison with values.
type term struct {
	operator  string // in lower case
	attribute string
	values    []value // as many as the operator takes
}

// Operators of terms, in addition to "=", "<" and "<=".
const (
	exists    = "attribute_exists"
	notExists = "attribute_not_exists"
	ofType    = "attribute_type"
	between   = "between" // only in key conditions
)

const keyCondition = "KeyConditionExpression"

// attributeTypes are the valid arguments of attribute_type.
var attributeTypes = []string{"S", "SS", "N", "NS", "B", "BS", "BOOL", "NULL", "L", "M"}

// condition parses an expression. kind is the name of the request's field, for errors.
func (p *placeholders) condition(kind string, text *string) (c condition, err error) {
	if text == nil {
		return nil, nil
	}
	parser := p.parser(kind, *text)
	for more := true; more; more = parser.is("OR") {
		c = append(c, parser.terms())
	}
	return c, parser.end()
}

// terms parses terms joined by AND.
func (p *parser) terms() (all []term) {
	for more := true; more; more = p.is("AND") {
		all = append(all, p.term())
	}
	return all
}

// term parses a function or a comparison. Values are to the right of the operator.
func (p *parser) term() (t term) {
	if name := strings.ToLower(p.token); name == exists || name == notExists || name == ofType {
		p.next()
		return p.call(name)
	}
	t.attribute = p.attribute()
	t.operator = strings.ToLower(p.token)
	p.next()
	switch {
	case t.operator == "=":
		t.values = append(t.values, p.value())
	case t.operator == "<" || t.operator == "<=":
		t.values = append(t.values, p.value("S", "N"))
	case t.operator == between && p.kind == keyCondition:
		low := p.value("S", "N")
		p.must("AND")
		high := p.value("S", "N")
		if order, ok := compare(low, high); !ok || order > 0 {
			p.fail("The BETWEEN operator requires bounds of one type, the lower one first")
		}
		t.values = append(t.values, low, high)
	default:
		p.syntax()
	}
	return t
}

// call parses the arguments of a function.
func (p *parser) call(function string) term {
	t := term{operator: function}
	p.must("(")
	t.attribute = p.attribute()
	if function == ofType {
		p.must(",")
		t.values = append(t.values, p.value("S"))
		if name := t.values[0].text; !slices.Contains(attributeTypes, name) {
			p.fail("Invalid attribute type name found; type: %s", name)
		}
	}
	p.must(")")
	return t
}

// holds reports whether the condition is true of the attributes in names of an item, or of all if names is nil.
func (c condition) holds(i packed, names map[string]bool) bool {
	isTrue := func(t term) bool {
		v := value{}
		if names == nil || names[t.attribute] {
			v = i.get(t.attribute)
		}
		return t.holds(v)
	}
	return c == nil || slices.ContainsFunc(c, func(terms []term) bool {
		return !slices.ContainsFunc(terms, func(t term) bool { return !isTrue(t) })
	})
}

// holds reports whether the term is true of an attribute's value. A comparison with a missing attribute, or with a
// value of another type, is false.
func (t term) holds(v value) bool {
	switch t.operator {
	case exists:
		return v != value{}
	case notExists:
		return v == value{}
	case ofType:
		return typeNames[v.letter] == t.values[0].text
	case "=":
		return v == t.values[0]
	}
	order, ok := compare(v, t.values[0])
	return ok && (order < 0 || order == 0 && t.operator == "<=")
}

// keyCondition parses a KeyConditionExpression: the value of the partition key and, optionally, inclusive bounds of the
// sort key. It returns the lowest and the highest entry that match.
func (p *placeholders) keyCondition(expression *string, x *index) (from, to entry, err error) {
	if expression == nil {
		return from, to, validation("The KeyConditionExpression must be specified")
	}
	parser := p.parser(keyCondition, *expression)
	terms := parser.terms()
	if err := parser.end(); err != nil {
		return from, to, err
	}
	bounds := map[string][]string{x.sortKey: {"", afterAll}}
	for _, t := range terms {
		operator := map[string]string{x.partitionKey: "=", x.sortKey: between}[t.attribute]
		if _, twice := bounds[t.attribute]; operator != t.operator || twice && t.attribute == x.partitionKey {
			return from, to, unsupported("a key condition other than PK = :p, or PK = :p AND SK BETWEEN :a AND :b")
		}
		bounds[t.attribute] = nil
		for _, v := range t.values {
			if v.letter != packedText || v.text == "" {
				return from, to, validation("The value of the key %s must be a string, and not empty", t.attribute)
			}
			bounds[t.attribute] = append(bounds[t.attribute], v.text)
		}
	}
	partition, sort := bounds[x.partitionKey], bounds[x.sortKey]
	if partition == nil || len(terms) > 2 {
		return from, to, validation("Query condition needs the key %s, and each key once", x.partitionKey)
	}
	return newEntry(partition[0], sort[0], firstRow), newEntry(partition[0], sort[1], lastRow), nil
}
