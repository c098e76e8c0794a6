package conformance

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
)

// requests draws requests to one table, within partitions that begin with a prefix. Few keys, names and values are in
// play, so that they meet; now and then one is wrong.
type requests struct {
	*rapid.T
	table, prefix string
	sent          string // the last one, for people
	loose         bool   // there is no one way to refuse it
	wrongKey      bool   // a key in it cannot be one
	names         map[string]string
	values        ddb.Item
}

// sending sends one request and writes what came back.
type sending func(context.Context, *dynamodb.Client) string

// indexKey returns an index's key such that no two items of a partition there have one sort key: their order is
// nobody's promise.
func (g *requests) indexKey(index, key, sort string) types.AttributeValue {
	if index == table.AttrPK2 {
		return ddb.String(g.prefix + sort)
	}
	return ddb.String(g.prefix + key + sort)
}

// textOf returns the text of a string, and "" of everything else.
func textOf(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

// seed puts items to begin with, in one transaction.
func (g *requests) seed() sending {
	in := &dynamodb.TransactWriteItemsInput{}
	for _, partition := range []string{"a", "b"} {
		for _, sort := range sortKeys {
			item := ddb.Key(table.Key{PK: g.prefix + partition, SK: sort})
			item["N"] = ddb.Integer(int64(rapid.IntRange(0, 2).Draw(g.T, "number")))
			item[table.AttrAccount] = ddb.String(g.oneOf("text", "a", "ab", "b"))
			for _, index := range []string{table.AttrSK2, table.AttrPK2} {
				if key := g.oneOf("index key", "", "x", "x", "y"); key != "" {
					item[index] = g.indexKey(index, key, sort)
				}
			}
			in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Put: &types.Put{TableName: &g.table,
				Item: item}})
		}
	}
	g.sent = "the beginning"
	return func(ctx context.Context, c *dynamodb.Client) string {
		_, err := c.TransactWriteItems(ctx, in, ddb.Once)
		return shown(err, func() string { return "done" })
	}
}

func (g *requests) request() sending {
	g.names, g.values, g.loose, g.wrongKey = nil, nil, false, false
	draws := []func() sending{
		g.put, g.put, g.put, g.update, g.update, g.update, g.delete, g.get, g.batch,
		g.query, g.query, g.query, g.transaction, g.transaction, g.transaction, g.together,
	}
	return draws[rapid.IntRange(0, len(draws)-1).Draw(g.T, "operation")]()
}

// rarely is true once in a while.
func (g *requests) rarely(what string) bool { return rapid.IntRange(0, 49).Draw(g.T, what) == 17 }

func (g *requests) oneOf(what string, choices ...string) string {
	return rapid.SampledFrom(choices).Draw(g.T, what)
}

func (g *requests) say(format string, args ...any) {
	g.sent = fmt.Sprintf(format, args...)
	if g.names != nil {
		g.sent += fmt.Sprintf(" names %v", g.names)
	}
	if g.values != nil {
		g.sent += " values " + itemText(g.values)
	}
}

func (g *requests) partition() string { return g.prefix + g.oneOf("partition", "a", "b") }

var sortKeys = []string{"a", "a!", "a#", "b", "ba", "B", "~", "é"}

func (g *requests) key() ddb.Item {
	key := ddb.Key(table.Key{PK: g.partition(), SK: g.oneOf("sort key", sortKeys...)})
	if !g.rarely("wrong key") {
		return key
	}
	g.wrongKey = true
	switch rapid.IntRange(0, 5).Draw(g.T, "fault") {
	case 0:
		delete(key, table.AttrSK)
	case 1:
		key[table.AttrSK] = ddb.String("")
	case 2:
		key[table.AttrPK] = ddb.Integer(7)
	case 3:
		key["Other"] = ddb.String("x")
	case 4:
		key[table.AttrSK] = ddb.String(strings.Repeat("x", 1025))
	case 5:
		key[table.AttrPK] = ddb.String(strings.Repeat("x", 2049))
	}
	return key
}

// The store in memory takes no exponents.
var numbers = []string{
	"0", "1", "-1", "2", "10", "007", "-0", "-5", "0.5", "-2.50", "0.00000000000000000001",
	"99999999999999999999999999999999999999",
	"-99999999999999999999999999999999999999", "100000000000000000000000000000000000000",
	"12345678901234567890123456789012345678", "1" + strings.Repeat("0", 125),
}

var wrongNumbers = []string{
	"", "x", ".", "-", "1_0", "1" + strings.Repeat("0", 126), "123456789012345678901234567890123456789", "1 ", "--1",
}

func (g *requests) number() types.AttributeValue {
	if g.rarely("wrong number") {
		return &types.AttributeValueMemberN{Value: g.oneOf("wrong", wrongNumbers...)}
	}
	if rapid.IntRange(0, 3).Draw(g.T, "unusual") == 0 {
		return &types.AttributeValueMemberN{Value: g.oneOf("number", numbers...)}
	}
	return &types.AttributeValueMemberN{Value: g.oneOf("usual", "0", "1", "01", "2")}
}

func (g *requests) value() types.AttributeValue {
	switch rapid.IntRange(0, 9).Draw(g.T, "type") {
	case 0, 1, 2, 3:
		return g.number()
	case 4, 5, 6:
		return ddb.String(g.oneOf("text", "", "a", "ab", "b", "é", "~"))
	case 7:
		return ddb.Flag(rapid.Bool().Draw(g.T, "flag"))
	case 8:
		return &types.AttributeValueMemberL{Value: []types.AttributeValue{g.number(), ddb.String("x")}}
	}
	return ddb.Map(ddb.Item{"n": g.number(), g.oneOf("nested name", "", "x", "x", "x",
		"x"): &types.AttributeValueMemberNULL{Value: true}})
}

// attributes are those that are in play beside the keys.
var attributes = []string{"N", "M", table.AttrVersion, table.AttrAccount, table.AttrSpent}

func (g *requests) item() ddb.Item {
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
				item[index] = ddb.String(text + "." + textOf(item[table.AttrSK])) // see indexKey
			}
		}
	}
	return item
}

// name returns an attribute as an expression has it: itself, or a placeholder.
func (g *requests) name(choices ...string) string {
	name := g.oneOf("name", choices...)
	if rapid.Bool().Draw(g.T, "plain") {
		return name
	}
	if g.rarely("reserved word") { // in any case
		return g.oneOf("word", table.AttrRole, "abort", "ZONE")
	}
	if g.rarely("undefined name") {
		return "#undefined"
	}
	if g.names == nil {
		g.names = make(map[string]string)
	}
	g.names["#"+strings.ToLower(name)] = name
	return "#" + strings.ToLower(name)
}

// placeholder returns a name for a value.
func (g *requests) placeholder(v types.AttributeValue) string {
	if g.rarely("undefined value") {
		return ":undefined"
	}
	if g.values == nil {
		g.values = make(ddb.Item)
	}
	name := fmt.Sprintf(":v%d", len(g.values))
	g.values[name] = v
	return name
}

// superfluous adds what no expression uses, once in a while.
func (g *requests) superfluous() {
	if g.rarely("unused name") {
		if g.names == nil {
			g.names = make(map[string]string)
		}
		g.names["#unused"] = "N"
	}
	if g.rarely("unused value") {
		if g.values == nil {
			g.values = make(ddb.Item)
		}
		g.values[":unused"] = g.number()
	}
}

func (g *requests) expression(what string, text string) *string {
	if g.rarely("malformed " + what) {
		cut := rapid.IntRange(0, len(text)).Draw(g.T, "cut")
		text = text[:cut] + g.oneOf("junk", "", " ", "(", ")", " AND", ",", "#", ":", "?") + text[cut:]
	}
	return &text
}

// conditionNames are what conditions are about.
var conditionNames = append([]string{table.AttrPK, table.AttrSK}, attributes...)

// condition draws a ConditionExpression over those attributes, of what the store in memory knows.
func (g *requests) condition(depth int, names ...string) string {
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
			return g.name("N") + operator + g.placeholder(ddb.Integer(int64(rapid.IntRange(0, 2).Draw(g.T, "bound"))))
		}
		return g.name(names...) + operator + g.placeholder(g.value())
	case 3:
		return "attribute_type(" + g.name(names...) + ", " +
			g.placeholder(ddb.String(g.oneOf("of type", "S", "N", "BOOL", "L", "M", "X"))) + ")"
	}
	return g.condition(depth-1, names...) + g.oneOf("joined", " AND ", " and ", " OR ", " or ") +
		g.condition(depth-1, names...)
}

// maybe returns a condition or none.
func (g *requests) maybe() *string {
	if rapid.Bool().Draw(g.T, "unconditional") {
		return nil
	}
	return g.expression("condition", g.condition(2, conditionNames...))
}

// change draws an UpdateExpression.
func (g *requests) change() *string {
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
					v = ddb.String("x")
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

// shownOnFailure draws whether a failed condition shows the item.
func (g *requests) shownOnFailure() types.ReturnValuesOnConditionCheckFailure {
	if rapid.Bool().Draw(g.T, "shown on failure") {
		return types.ReturnValuesOnConditionCheckFailureAllOld
	}
	return types.ReturnValuesOnConditionCheckFailureNone
}

// projection draws a ProjectionExpression or none.
func (g *requests) projection(names ...string) *string {
	if rapid.Bool().Draw(g.T, "all attributes") {
		return nil
	}
	list := []string{g.name(names...)}
	for range rapid.IntRange(0, 2).Draw(g.T, "more") {
		list = append(list, g.name(names...))
	}
	return g.expression("projection", strings.Join(list, ", "))
}

func (g *requests) tableName() *string {
	if g.rarely("another table") {
		g.loose = true
		return aws.String("no-such-table")
	}
	return &g.table
}
