package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"ledger.example/internal/table"
)

// sending returns the function that sends a request. shown returns its output as text.
func sending[In, Out any](
	g *generator, send func(*dynamodb.Client, context.Context, *In, ...func(*dynamodb.Options)) (*Out, error), in *In,
	shown func(*Out) string,
) requestFunc {
	g.description = describe(in)
	return func(ctx context.Context, c *dynamodb.Client) string {
		out, err := send(c, ctx, in, table.Once)
		return answerText(err, func() string { return shown(out) })
	}
}

// describe returns a request as text, without the types of values.
func describe(in any) string {
	text, err := json.Marshal(in)
	return fmt.Sprintf("%T %s %v", in, text, err)
}

// action draws an action on one item: a put, an update or a deletion, and for a transaction also a check.
func (g *generator) action(isAlone bool) (a types.TransactWriteItem, key table.Item) {
	g.names, g.values = nil, nil
	item, most := g.item(), 7
	key = table.Item{table.AttrPK: item[table.AttrPK]}
	if sort, ok := item[table.AttrSK]; ok {
		key[table.AttrSK] = sort
	}
	if isAlone {
		key, most = g.key(), 6
	}
	all := types.Update{TableName: g.tableName(), Key: key, ConditionExpression: g.optionalCondition(),
		ReturnValuesOnConditionCheckFailure: g.shownOnFailure()}
	kind := rapid.IntRange(0, most).Draw(g.T, "action")
	if 3 <= kind && kind <= 5 {
		all.UpdateExpression = g.change()
	} else if kind == 7 && all.ConditionExpression == nil {
		all.ConditionExpression = g.expression("condition", g.condition(1, conditionNames...))
	}
	g.unusedNames()
	all.ExpressionAttributeNames, all.ExpressionAttributeValues = g.names, g.values
	switch {
	case kind <= 2:
		a.Put = alike[types.Put](all)
		a.Put.Item = item
	case kind <= 5:
		a.Update = &all
	case kind == 6:
		a.Delete = alike[types.Delete](all)
	default:
		a.ConditionCheck = alike[types.ConditionCheck](all)
	}
	return a, key
}

// alike returns a request with the fields of another one that have the same names.
func alike[To, From any](from From) *To {
	to, of := new(To), reflect.ValueOf(from)
	for f := range reflect.TypeFor[To]().Fields() {
		if same := of.FieldByName(f.Name); same.IsValid() && f.IsExported() {
			reflect.ValueOf(to).Elem().FieldByIndex(f.Index).Set(same)
		}
	}
	return to
}

// write draws an action that is sent alone.
func (g *generator) write() requestFunc {
	a, _ := g.action(true)
	switch {
	case a.Put != nil:
		return sending(g, (*dynamodb.Client).PutItem, alike[dynamodb.PutItemInput](*a.Put),
			func(out *dynamodb.PutItemOutput) string { return itemText(out.Attributes) })
	case a.Update != nil:
		in := alike[dynamodb.UpdateItemInput](*a.Update)
		if rapid.Bool().Draw(g.T, "returned") {
			in.ReturnValues = types.ReturnValueAllNew
		}
		return sending(g, (*dynamodb.Client).UpdateItem, in,
			func(out *dynamodb.UpdateItemOutput) string { return itemText(out.Attributes) })
	}
	return sending(g, (*dynamodb.Client).DeleteItem, alike[dynamodb.DeleteItemInput](*a.Delete),
		func(out *dynamodb.DeleteItemOutput) string { return itemText(out.Attributes) })
}

func (g *generator) get() requestFunc {
	in := &dynamodb.GetItemInput{TableName: g.tableName(), Key: g.key(), ProjectionExpression: g.projection(conditionNames...),
		ConsistentRead: aws.Bool(rapid.Bool().Draw(g.T, "strong"))}
	g.unusedNames()
	in.ExpressionAttributeNames = g.names
	return sending(g, (*dynamodb.Client).GetItem, in,
		func(out *dynamodb.GetItemOutput) string { return itemText(out.Item) })
}

func (g *generator) batch() requestFunc {
	r := types.KeysAndAttributes{ConsistentRead: aws.Bool(rapid.Bool().Draw(g.T, "strong")),
		ProjectionExpression: g.projection(conditionNames...)}
	for range rapid.IntRange(1, 4).Draw(g.T, "keys") {
		key := g.key()
		if g.rarely("twice") || !slices.ContainsFunc(r.Keys,
			func(k map[string]types.AttributeValue) bool { return itemText(k) == itemText(key) }) {
			r.Keys = append(r.Keys, key)
		}
	}
	if g.rarely("too many") {
		for n := len(r.Keys); n <= table.BatchGetKeys; n++ {
			r.Keys = append(r.Keys, table.KeyItem(table.Key{PK: g.prefix, SK: fmt.Sprint(n)}))
		}
	}
	r.ExpressionAttributeNames = g.names
	in := &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{*g.tableName(): r}}
	return sending(g, (*dynamodb.Client).BatchGetItem, in, func(out *dynamodb.BatchGetItemOutput) string {
		var texts []string
		for _, i := range out.Responses[g.table] {
			texts = append(texts, itemText(i))
		}
		slices.Sort(texts)
		return fmt.Sprint(len(out.UnprocessedKeys), texts)
	})
}

func (g *generator) query() requestFunc {
	in := &dynamodb.QueryInput{TableName: g.tableName(), ConsistentRead: aws.Bool(rapid.Bool().Draw(g.T, "strong"))}
	partitionKey, sortKey := table.AttrPK, table.AttrSK
	partition := table.String(g.partition())
	indexSort := "" // the table's sort key of all items in the index's partition; empty: any
	ends := sortKeys
	shownNames := conditionNames
	switch rapid.IntRange(0, 3).Draw(g.T, "index") {
	case 0:
		in.IndexName, sortKey = aws.String(table.IndexHistory), table.AttrSK2
		ends = []string{g.prefix, g.prefix + "x", g.prefix + "xa", g.prefix + "xb", g.prefix + "y", g.prefix + "yb",
			g.prefix + "z"}
	case 1:
		in.IndexName, partitionKey, sortKey = aws.String(table.IndexInverse), table.AttrPK2, table.AttrPK
		indexSort = g.oneOf("index key", sortKeys...)
		partition = g.indexKey(partitionKey, "", indexSort)
		ends = []string{g.prefix, g.prefix + "a", g.prefix + "b", g.prefix + "c"}
		shownNames = []string{table.AttrPK, table.AttrSK, table.AttrAccount}
		if g.rarely("not in the index") {
			shownNames = conditionNames
		}
	}
	if in.IndexName != nil && !g.rarely("strong index") {
		in.ConsistentRead = nil
	}
	if g.rarely("another type") {
		partition = g.number()
	}
	terms := []string{g.name(partitionKey) + g.oneOf("equals", " = ", " = ", " = ", " = ", " = ", " = ", " = ", " > ") +
		g.placeholder(partition)}
	var bounds []types.AttributeValue // of the range; none: no range
	end := func() string {
		v := table.String(g.oneOf("end", ends...))
		if g.rarely("another type") {
			v = g.value()
		} else if g.rarely("empty") {
			v = table.String("")
		}
		bounds = append(bounds, v)
		return g.placeholder(v)
	}
	if rapid.Bool().Draw(g.T, "range") {
		terms = append(terms, g.name(sortKey)+" BETWEEN "+end()+" AND "+end())
	} else if g.rarely("another term") {
		terms = append(terms, g.name(attributes...)+" = "+end())
	}
	if len(terms) == 2 && rapid.Bool().Draw(g.T, "sort key first") {
		slices.Reverse(terms)
	}
	in.KeyConditionExpression = g.expression("key condition", strings.Join(terms, " AND "))
	if rapid.IntRange(0, 3).Draw(g.T, "count") == 0 {
		in.Select = types.SelectCount
	}
	if in.Select == "" || g.rarely("count with a projection") {
		in.ProjectionExpression = g.projection(shownNames...)
	}
	if rapid.Bool().Draw(g.T, "limited") {
		in.Limit = aws.Int32(int32(rapid.IntRange(1, 3).Draw(g.T, "limit")))
		if g.rarely("no limit") {
			in.Limit = aws.Int32(0)
		}
	}
	if rapid.Bool().Draw(g.T, "reverse") {
		in.ScanIndexForward = aws.Bool(false)
	}
	if g.rarely("another start") {
		in.ExclusiveStartKey = g.start(partitionKey, sortKey, partition, indexSort)
		far := len(bounds) - 1
		if in.ScanIndexForward != nil {
			far = 0
		}
		// The stores differ for a start position at the end of the range: see TestPositionsThatDiffer.
		if len(bounds) > 0 && valueText(bounds[far]) == valueText(in.ExclusiveStartKey[sortKey]) {
			in.ExclusiveStartKey = nil
		}
	}
	g.unusedNames()
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = g.names, g.values
	g.description = describe(in)
	return func(ctx context.Context, c *dynamodb.Client) string { return queryAll(ctx, c, *in) }
}

// start draws the position after which a query begins. indexSort is the table's sort key of the items in the index's
// partition; empty: any. No item has the position's index keys but another table key: see
// TestPositionsThatDiffer.
func (g *generator) start(partitionKey, sortKey string, partition types.AttributeValue, indexSort string) table.Item {
	key := g.key()
	switch {
	case sortKey == table.AttrSK2:
		key[partitionKey] = partition
		key[sortKey] = table.String(g.prefix + g.oneOf("end", "", "x", "y", "z"))
		if rapid.Bool().Draw(g.T, "like an item's") {
			key[sortKey] = g.indexKey(sortKey, g.oneOf("index key", "x", "y"), textOf(key[table.AttrSK]))
		}
	case sortKey == table.AttrPK && !g.wrongKey:
		key[partitionKey] = partition
		key[sortKey] = table.String(g.prefix + g.oneOf("end", "", "a", "b", "c"))
		key[table.AttrSK] = table.String(indexSort)
	}
	return key
}

// maxPages bounds the pages of a query. There are always fewer.
const maxPages = 40

// queryAll reads all pages of a query. It ignores an empty last page, because DynamoDB does not promise whether a page
// with the last items has a LastEvaluatedKey.
func queryAll(ctx context.Context, c *dynamodb.Client, in dynamodb.QueryInput) string {
	var pages []string
	last := table.Item(nil)
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	for range maxPages {
		out, err := c.Query(ctx, &in, table.Once)
		if err != nil {
			return strings.Join(append(pages, itemText(last), answerText(err, nil)), "\n\t")
		}
		if out.ScannedCount == 0 && out.LastEvaluatedKey == nil && len(pages) > 0 {
			break
		}
		if len(pages) > 0 {
			pages = append(pages, itemText(last))
		}
		units := *out.ConsumedCapacity.CapacityUnits
		if out.ScannedCount == 0 {
			units = 0 // as DynamoDB Local reports; AWS bills the smallest read
		}
		pages = append(pages, fmt.Sprintf("%d of %d for %v: %s", out.Count, out.ScannedCount, units,
			itemTexts(out.Items)))
		if last = out.LastEvaluatedKey; last == nil {
			break
		}
		in.ExclusiveStartKey = last
	}
	return strings.Join(pages, "\n\t")
}

func (g *generator) transaction() requestFunc {
	in := &dynamodb.TransactWriteItemsInput{}
	var keys []string
	for range rapid.IntRange(1, 4).Draw(g.T, "actions") {
		action, key := g.action(false)
		if slices.Contains(keys, itemText(key)) {
			if !g.rarely("twice") {
				continue
			}
			g.anyRefusal = true
		}
		keys = append(keys, itemText(key))
		in.TransactItems = append(in.TransactItems, action)
	}
	return sending(g, (*dynamodb.Client).TransactWriteItems, in,
		func(*dynamodb.TransactWriteItemsOutput) string { return "done" })
}

func (g *generator) transactionalGet() requestFunc {
	in := &dynamodb.TransactGetItemsInput{}
	var keys []string
	for range rapid.IntRange(1, 3).Draw(g.T, "keys") {
		g.names, g.values = nil, nil
		key := g.key()
		if slices.Contains(keys, itemText(key)) && !g.rarely("twice") {
			continue
		}
		g.anyRefusal = g.anyRefusal || g.wrongKey
		keys = append(keys, itemText(key))
		read := &types.Get{TableName: g.tableName(), Key: key, ProjectionExpression: g.projection(conditionNames...)}
		read.ExpressionAttributeNames = g.names
		in.TransactItems = append(in.TransactItems, types.TransactGetItem{Get: read})
	}
	return sending(g, (*dynamodb.Client).TransactGetItems, in, func(out *dynamodb.TransactGetItemsOutput) string {
		var texts []string
		for _, r := range out.Responses {
			texts = append(texts, itemText(r.Item))
		}
		return strings.Join(texts, " ")
	})
}
