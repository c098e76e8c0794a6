package conformance

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"ledger.example/internal/table"
)

// generator draws requests to one table, in partitions with a prefix. It uses few keys, names and values, so that
// requests touch the same items. Some are invalid.
type generator struct {
	*rapid.T
	table, prefix string
	description   string // of the last request, for failures
	anyRefusal    bool   // the stores may refuse the request in different ways
	wrongKey      bool   // the request has an invalid key
	names         map[string]string
	values        table.Item
}

// requestFunc sends one request and returns the answer as text.
type requestFunc func(context.Context, *dynamodb.Client) string

// indexKey returns an index's key that is unique in its partition. Items with equal keys in an index have no promised
// order.
func (g *generator) indexKey(index, key, sort string) types.AttributeValue {
	if index == table.AttrPK2 {
		return table.String(g.prefix + sort)
	}
	return table.String(g.prefix + key + sort)
}

// textOf returns the value of a string attribute; empty for other types.
func textOf(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

// seed puts the first items, in one transaction.
func (g *generator) seed() requestFunc {
	in := &dynamodb.TransactWriteItemsInput{}
	for _, partition := range []string{"a", "b"} {
		for _, sort := range sortKeys {
			item := table.KeyItem(table.Key{PK: g.prefix + partition, SK: sort})
			item["N"] = table.Integer(int64(rapid.IntRange(0, 2).Draw(g.T, "number")))
			item[table.AttrAccount] = table.String(g.oneOf("text", "a", "ab", "b"))
			for _, index := range []string{table.AttrSK2, table.AttrPK2} {
				if key := g.oneOf("index key", "", "x", "x", "y"); key != "" {
					item[index] = g.indexKey(index, key, sort)
				}
			}
			in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Put: &types.Put{TableName: &g.table,
				Item: item}})
		}
	}
	return sending(g, (*dynamodb.Client).TransactWriteItems, in,
		func(*dynamodb.TransactWriteItemsOutput) string { return "done" })
}

func (g *generator) request() requestFunc {
	g.names, g.values, g.anyRefusal, g.wrongKey = nil, nil, false, false
	draws := []func() requestFunc{
		g.write, g.write, g.write, g.write, g.write, g.write, g.write, g.get, g.batch,
		g.query, g.query, g.query, g.transaction, g.transaction, g.transaction, g.transactionalGet,
	}
	return draws[rapid.IntRange(0, len(draws)-1).Draw(g.T, "operation")]()
}

// rarely is true in one of 50 draws.
func (g *generator) rarely(what string) bool { return rapid.IntRange(0, 49).Draw(g.T, what) == 17 }

func (g *generator) oneOf(what string, choices ...string) string {
	return rapid.SampledFrom(choices).Draw(g.T, what)
}

func (g *generator) partition() string { return g.prefix + g.oneOf("partition", "a", "b") }

var sortKeys = []string{"a", "a!", "a#", "b", "ba", "B", "~", "é"}

func (g *generator) key() table.Item {
	key := table.KeyItem(table.Key{PK: g.partition(), SK: g.oneOf("sort key", sortKeys...)})
	if !g.rarely("wrong key") {
		return key
	}
	g.wrongKey = true
	switch rapid.IntRange(0, 5).Draw(g.T, "fault") {
	case 0:
		delete(key, table.AttrSK)
	case 1:
		key[table.AttrSK] = table.String("")
	case 2:
		key[table.AttrPK] = table.Integer(7)
	case 3:
		key["Other"] = table.String("x")
	case 4:
		key[table.AttrSK] = table.String(strings.Repeat("x", 1025))
	case 5:
		key[table.AttrPK] = table.String(strings.Repeat("x", 2049))
	}
	return key
}

// Numbers without exponents, which the in-memory store does not support.
var numbers = []string{
	"0", "1", "-1", "2", "10", "007", "-0", "-5", "0.5", "-2.50", "0.00000000000000000001",
	"99999999999999999999999999999999999999",
	"-99999999999999999999999999999999999999", "100000000000000000000000000000000000000",
	"12345678901234567890123456789012345678", "1" + strings.Repeat("0", 125),
}

var wrongNumbers = []string{
	"", "x", ".", "-", "1_0", "1" + strings.Repeat("0", 126), "123456789012345678901234567890123456789", "1 ", "--1",
}

func (g *generator) number() types.AttributeValue {
	if g.rarely("wrong number") {
		return &types.AttributeValueMemberN{Value: g.oneOf("wrong", wrongNumbers...)}
	}
	if rapid.IntRange(0, 3).Draw(g.T, "unusual") == 0 {
		return &types.AttributeValueMemberN{Value: g.oneOf("number", numbers...)}
	}
	return &types.AttributeValueMemberN{Value: g.oneOf("usual", "0", "1", "01", "2")}
}

func (g *generator) value() types.AttributeValue {
	switch rapid.IntRange(0, 9).Draw(g.T, "type") {
	case 0, 1, 2, 3:
		return g.number()
	case 4, 5, 6:
		return table.String(g.oneOf("text", "", "a", "ab", "b", "é", "~"))
	case 7:
		return table.Flag(rapid.Bool().Draw(g.T, "flag"))
	case 8:
		return &types.AttributeValueMemberL{Value: []types.AttributeValue{g.number(), table.String("x")}}
	}
	return table.Map(table.Item{"n": g.number(), g.oneOf("nested name", "", "x", "x", "x",
		"x"): &types.AttributeValueMemberNULL{Value: true}})
}

// attributes are the names of attributes that are not keys.
var attributes = []string{"N", "M", table.AttrVersion, table.AttrAccount, table.AttrSpent}

func (g *generator) item() table.Item {
	item := g.key()
	for range rapid.IntRange(0, 3).Draw(g.T, "attributes") {
		item[g.oneOf("attribute", attributes...)] = g.value()
	}
	for _, index := range []string{table.AttrSK2, table.AttrPK2} {
		if rapid.Bool().Draw(g.T, "in index") {
			if _, ok := item[table.AttrSK].(*types.AttributeValueMemberS); ok {
				item[index] = g.indexKey(index, g.oneOf("index key", "x", "y"), textOf(item[table.AttrSK]))
			}
		}
		if g.rarely("wrong index key") {
			item[index] = g.value()
			if text := textOf(item[index]); text != "" {
				item[index] = table.String(text + "." + textOf(item[table.AttrSK])) // see indexKey
			}
		}
	}
	return item
}

// name returns an attribute in the form for an expression: its name, or a placeholder.
func (g *generator) name(choices ...string) string {
	name := g.oneOf("name", choices...)
	if rapid.Bool().Draw(g.T, "plain") {
		return name
	}
	if g.rarely("reserved word") { // upper and lower case
		return g.oneOf("word", table.AttrRole, "abort", "ZONE")
	}
	if g.rarely("undefined name") {
		return "#undefined"
	}
	g.define("#"+strings.ToLower(name), name)
	return "#" + strings.ToLower(name)
}

// placeholder adds a value, and returns a placeholder for it.
func (g *generator) placeholder(v types.AttributeValue) string {
	if g.rarely("undefined value") {
		return ":undefined"
	}
	if g.values == nil {
		g.values = make(table.Item)
	}
	name := fmt.Sprintf(":v%d", len(g.values))
	g.values[name] = v
	return name
}

// unusedNames sometimes adds a name or a value that no expression uses.
func (g *generator) unusedNames() {
	if g.rarely("unused name") {
		g.define("#unused", "N")
	}
	if g.rarely("unused value") {
		g.placeholder(g.number())
	}
}

func (g *generator) define(placeholder, name string) {
	if g.names == nil {
		g.names = make(map[string]string)
	}
	g.names[placeholder] = name
}

func (g *generator) expression(what string, text string) *string {
	if g.rarely("malformed " + what) {
		cut := rapid.IntRange(0, len(text)).Draw(g.T, "cut")
		text = text[:cut] + g.oneOf("junk", "", " ", "(", ")", " AND", ",", "#", ":", "?") + text[cut:]
	}
	return &text
}

// conditionNames are the attributes that conditions use.
var conditionNames = append([]string{table.AttrPK, table.AttrSK}, attributes...)

// condition draws a ConditionExpression over those attributes, of the kinds that the in-memory store supports.
func (g *generator) condition(depth int, names ...string) string {
	most := 5
	if depth == 0 {
		most = 3
	}
	switch rapid.IntRange(0, most).Draw(g.T, "condition") {
	case 0:
		return "attribute_not_exists(" + g.name(names...) + ")"
	case 1:
		return "attribute_exists (" + g.name(names...) + ")"
	case 2:
		operator := g.oneOf("operator", " = ", "<", " <= ")
		if rapid.Bool().Draw(g.T, "of one type") {
			return g.name("N") + operator + g.placeholder(table.Integer(int64(rapid.IntRange(0, 2).Draw(g.T, "bound"))))
		}
		return g.name(names...) + operator + g.placeholder(g.value())
	case 3:
		return "attribute_type(" + g.name(names...) + ", " +
			g.placeholder(table.String(g.oneOf("of type", "S", "N", "BOOL", "L", "M", "X"))) + ")"
	}
	return g.condition(depth-1, names...) + g.oneOf("joined", " AND ", " and ", " OR ", " or ") +
		g.condition(depth-1, names...)
}

// optionalCondition draws a condition or none.
func (g *generator) optionalCondition() *string {
	if rapid.Bool().Draw(g.T, "unconditional") {
		return nil
	}
	return g.expression("condition", g.condition(2, conditionNames...))
}

// change draws an UpdateExpression.
func (g *generator) change() *string {
	var sections []string
	for range rapid.IntRange(1, 2).Draw(g.T, "sections") {
		var steps []string
		word := g.oneOf("section", "SET ", "ADD ", "set ")
		for range rapid.IntRange(1, 2).Draw(g.T, "steps") {
			name := g.name(attributes...)
			if g.rarely("a key") {
				name = g.name(table.AttrPK, table.AttrSK, table.AttrSK2)
			}
			if word == "ADD " {
				v := g.number()
				if g.rarely("adding another type") {
					v = table.String("x")
				}
				steps = append(steps, name+" "+g.placeholder(v))
			} else {
				steps = append(steps, name+" = "+g.placeholder(g.value()))
			}
		}
		sections = append(sections, word+strings.Join(steps, ", "))
	}
	return g.expression("update", strings.Join(sections, " "))
}

// shownOnFailure draws whether a failed condition returns the item.
func (g *generator) shownOnFailure() types.ReturnValuesOnConditionCheckFailure {
	if rapid.Bool().Draw(g.T, "shown on failure") {
		return types.ReturnValuesOnConditionCheckFailureAllOld
	}
	return types.ReturnValuesOnConditionCheckFailureNone
}

// projection draws a ProjectionExpression or none.
func (g *generator) projection(names ...string) *string {
	if rapid.Bool().Draw(g.T, "all attributes") {
		return nil
	}
	list := []string{g.name(names...)}
	for range rapid.IntRange(0, 2).Draw(g.T, "more") {
		list = append(list, g.name(names...))
	}
	return g.expression("projection", strings.Join(list, ", "))
}

func (g *generator) tableName() *string {
	if g.rarely("another table") {
		g.anyRefusal = true
		return aws.String("no-such-table")
	}
	return &g.table
}
