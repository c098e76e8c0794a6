package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"ledger.example/internal/store"
)

func (g *generator) put() requestFunc {
	in := &dynamodb.PutItemInput{TableName: g.tableName(), Item: g.item(), ConditionExpression: g.optionalCondition(),
		ReturnValuesOnConditionCheckFailure: g.shownOnFailure()}
	g.unusedNames()
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = g.names, g.values
	g.describe("put %s if %s", itemText(in.Item), aws.ToString(in.ConditionExpression))
	return func(ctx context.Context, c *dynamodb.Client) string {
		_, err := c.PutItem(ctx, in, store.Once)
		return answerText(err, func() string { return "done" })
	}
}

func (g *generator) update() requestFunc {
	in := &dynamodb.UpdateItemInput{TableName: g.tableName(), Key: g.key(), UpdateExpression: g.change(),
		ConditionExpression: g.optionalCondition(), ReturnValuesOnConditionCheckFailure: g.shownOnFailure()}
	if rapid.Bool().Draw(g.T, "returned") {
		in.ReturnValues = types.ReturnValueAllNew
	}
	g.unusedNames()
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = g.names, g.values
	g.describe("update %s by %s if %s", itemText(in.Key), *in.UpdateExpression, aws.ToString(in.ConditionExpression))
	return func(ctx context.Context, c *dynamodb.Client) string {
		out, err := c.UpdateItem(ctx, in, store.Once)
		return answerText(err, func() string { return "done: " + itemText(out.Attributes) })
	}
}

func (g *generator) delete() requestFunc {
	in := &dynamodb.DeleteItemInput{TableName: g.tableName(), Key: g.key(), ConditionExpression: g.optionalCondition(),
		ReturnValuesOnConditionCheckFailure: g.shownOnFailure()}
	g.unusedNames()
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = g.names, g.values
	g.describe("delete %s if %s", itemText(in.Key), aws.ToString(in.ConditionExpression))
	return func(ctx context.Context, c *dynamodb.Client) string {
		_, err := c.DeleteItem(ctx, in, store.Once)
		return answerText(err, func() string { return "done" })
	}
}

func (g *generator) get() requestFunc {
	in := &dynamodb.GetItemInput{TableName: g.tableName(), Key: g.key(),
		ConsistentRead: aws.Bool(rapid.Bool().Draw(g.T,
			"strong")), ProjectionExpression: g.projection(conditionNames...)}
	g.unusedNames()
	in.ExpressionAttributeNames = g.names
	g.describe("get %s of %s", aws.ToString(in.ProjectionExpression), itemText(in.Key))
	return func(ctx context.Context, c *dynamodb.Client) string {
		out, err := c.GetItem(ctx, in, store.Once)
		return answerText(err, func() string { return itemText(out.Item) })
	}
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
		for n := len(r.Keys); n <= store.BatchGetKeys; n++ {
			r.Keys = append(r.Keys, store.KeyItem(store.Key{PK: g.prefix, SK: fmt.Sprint(n)}))
		}
	}
	r.ExpressionAttributeNames = g.names
	in := &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{*g.tableName(): r}}
	g.describe("get %s of %s", aws.ToString(r.ProjectionExpression), itemTexts(r.Keys))
	return func(ctx context.Context, c *dynamodb.Client) string {
		out, err := c.BatchGetItem(ctx, in, store.Once)
		return answerText(err, func() string {
			var texts []string
			for _, i := range out.Responses[g.table] {
				texts = append(texts, itemText(i))
			}
			slices.Sort(texts)
			return fmt.Sprint(len(out.UnprocessedKeys), texts)
		})
	}
}

func (g *generator) query() requestFunc {
	in := &dynamodb.QueryInput{TableName: g.tableName(), ConsistentRead: aws.Bool(rapid.Bool().Draw(g.T, "strong"))}
	partitionKey, sortKey := store.AttrPK, store.AttrSK
	partition := store.String(g.partition())
	indexSort := "" // the table's sort key of all items in the index's partition; empty: any
	ends := sortKeys
	shownNames := conditionNames
	switch rapid.IntRange(0, 3).Draw(g.T, "index") {
	case 0:
		in.IndexName, sortKey = aws.String(store.IndexHistory), store.AttrSK2
		ends = []string{g.prefix, g.prefix + "x", g.prefix + "xa", g.prefix + "xb", g.prefix + "y", g.prefix + "yb",
			g.prefix + "z"}
	case 1:
		in.IndexName, partitionKey, sortKey = aws.String(store.IndexInverse), store.AttrPK2, store.AttrPK
		indexSort = g.oneOf("index key", sortKeys...)
		partition = g.indexKey(partitionKey, "", indexSort)
		ends = []string{g.prefix, g.prefix + "a", g.prefix + "b", g.prefix + "c"}
		shownNames = []string{store.AttrPK, store.AttrSK, store.AttrAccount}
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
		v := store.String(g.oneOf("end", ends...))
		if g.rarely("another type") {
			v = g.value()
		} else if g.rarely("empty") {
			v = store.String("")
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
		// The stores differ for a start position at the end of the range: see TestPositionAtTheEndOfItsRange.
		if len(bounds) > 0 && valueText(bounds[far]) == valueText(in.ExclusiveStartKey[sortKey]) {
			in.ExclusiveStartKey = nil
		}
	}
	g.unusedNames()
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = g.names, g.values
	g.describe("query %s %s, projection %s, %s limit %d, reverse %v, start %s", aws.ToString(in.IndexName),
		*in.KeyConditionExpression, aws.ToString(in.ProjectionExpression), in.Select, aws.ToInt32(in.Limit),
		in.ScanIndexForward != nil, itemText(in.ExclusiveStartKey))
	return func(ctx context.Context, c *dynamodb.Client) string { return queryAll(ctx, c, *in) }
}

// start draws the position after which a query begins. indexSort is the table's sort key of the items in the index's
// partition; empty: any. No item has the position's index keys but another table key: see
// TestPositionBetweenItemsWithEqualIndexKeys.
func (g *generator) start(partitionKey, sortKey string, partition types.AttributeValue, indexSort string) store.Item {
	key := g.key()
	switch {
	case sortKey == store.AttrSK2:
		key[partitionKey] = partition
		key[sortKey] = store.String(g.prefix + g.oneOf("end", "", "x", "y", "z"))
		if rapid.Bool().Draw(g.T, "like an item's") {
			key[sortKey] = g.indexKey(sortKey, g.oneOf("index key", "x", "y"), textOf(key[store.AttrSK]))
		}
	case sortKey == store.AttrPK && !g.wrongKey:
		key[partitionKey] = partition
		key[sortKey] = store.String(g.prefix + g.oneOf("end", "", "a", "b", "c"))
		key[store.AttrSK] = store.String(indexSort)
	}
	return key
}

// maxPages bounds the pages of a query. There are always fewer.
const maxPages = 40

// queryAll reads all pages of a query. It ignores an empty last page, because DynamoDB does not promise whether a page
// with the last items has a LastEvaluatedKey.
func queryAll(ctx context.Context, c *dynamodb.Client, in dynamodb.QueryInput) string {
	var pages []string
	last := store.Item(nil)
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	for range maxPages {
		out, err := c.Query(ctx, &in, store.Once)
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
	var said, keys []string
	for range rapid.IntRange(1, 4).Draw(g.T, "actions") {
		g.names, g.values = nil, nil
		item := g.item()
		key := valueText(item[store.AttrPK]) + " " + valueText(item[store.AttrSK])
		if slices.Contains(keys, key) {
			if !g.rarely("twice") {
				continue
			}
			g.anyRefusal = true
		}
		keys = append(keys, key)
		only := store.Item{store.AttrPK: item[store.AttrPK]}
		if sort, ok := item[store.AttrSK]; ok {
			only[store.AttrSK] = sort
		}
		name, condition, fails := g.tableName(), g.optionalCondition(), g.shownOnFailure()
		var action types.TransactWriteItem
		switch rapid.IntRange(0, 6).Draw(g.T, "action") {
		case 0, 1, 2:
			g.unusedNames()
			action.Put = &types.Put{TableName: name, Item: item, ConditionExpression: condition,
				ReturnValuesOnConditionCheckFailure: fails,
				ExpressionAttributeNames:            g.names, ExpressionAttributeValues: g.values}
			g.describe("put %s if %s", itemText(item), aws.ToString(condition))
		case 3, 4:
			change := g.change()
			action.Update = &types.Update{TableName: name, Key: only, UpdateExpression: change,
				ConditionExpression: condition, ReturnValuesOnConditionCheckFailure: fails,
				ExpressionAttributeNames: g.names, ExpressionAttributeValues: g.values}
			g.describe("update %s by %s if %s", itemText(only), *change, aws.ToString(condition))
		case 5:
			action.Delete = &types.Delete{TableName: name, Key: only, ConditionExpression: condition,
				ReturnValuesOnConditionCheckFailure: fails,
				ExpressionAttributeNames:            g.names, ExpressionAttributeValues: g.values}
			g.describe("delete %s if %s", itemText(only), aws.ToString(condition))
		case 6:
			if condition == nil {
				condition = g.expression("condition", g.condition(1, conditionNames...))
			}
			action.ConditionCheck = &types.ConditionCheck{TableName: name, Key: only, ConditionExpression: condition,
				ReturnValuesOnConditionCheckFailure: fails,
				ExpressionAttributeNames:            g.names, ExpressionAttributeValues: g.values}
			g.describe("check %s if %s", itemText(only), aws.ToString(condition))
		}
		said = append(said, g.description)
		in.TransactItems = append(in.TransactItems, action)
	}
	g.description = "transaction: " + strings.Join(said, "; ")
	return func(ctx context.Context, c *dynamodb.Client) string {
		_, err := c.TransactWriteItems(ctx, in, store.Once)
		return answerText(err, func() string { return "done" })
	}
}

func (g *generator) transactionalGet() requestFunc {
	in := &dynamodb.TransactGetItemsInput{}
	var said, keys []string
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
		g.describe("%s of %s", aws.ToString(read.ProjectionExpression), itemText(key))
		said = append(said, g.description)
	}
	g.description = "get together: " + strings.Join(said, "; ")
	return func(ctx context.Context, c *dynamodb.Client) string {
		out, err := c.TransactGetItems(ctx, in, store.Once)
		return answerText(err, func() string {
			var texts []string
			for _, r := range out.Responses {
				texts = append(texts, itemText(r.Item))
			}
			return strings.Join(texts, " ")
		})
	}
}
