package tests

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/cmd/ledger/memory"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
)

// At each limit, one more is refused in memory as DynamoDB Local refuses it.
func TestMemoryHasTheLimitsOfDynamoDBLocal(t *testing.T) {
	real, name := newTable(t)
	memorized := memory.New(memory.Options{}).DynamoDB()
	newTableOn(t, memorized, name)
	sized := func(sk string, bytes int) wire.Item {
		i := wire.Key(table.Key{PK: "p", SK: sk})
		rest := bytes - len(table.AttrPK+"p"+table.AttrSK+sk+"Text")
		i["Text"] = wire.String(strings.Repeat("x", rest))
		return i
	}
	put := func(i wire.Item) sending {
		return func(ctx context.Context, c *dynamodb.Client) string {
			_, err := c.PutItem(ctx, &dynamodb.PutItemInput{TableName: &name, Item: i}, wire.Once)
			return shown(err, func() string { return "done" })
		}
	}
	putAll := func(count, bytes int) sending {
		in := &dynamodb.TransactWriteItemsInput{}
		for n := range count {
			in.TransactItems = append(in.TransactItems, types.TransactWriteItem{
				Put: &types.Put{TableName: &name, Item: sized(fmt.Sprintf("%03d", n), bytes)},
			})
		}
		return func(ctx context.Context, c *dynamodb.Client) string {
			_, err := c.TransactWriteItems(ctx, in, wire.Once)
			return shown(err, func() string { return "done" })
		}
	}
	getAll := func(count int) sending {
		in := &dynamodb.TransactGetItemsInput{}
		for n := range count {
			in.TransactItems = append(in.TransactItems, types.TransactGetItem{Get: &types.Get{
				TableName: &name, Key: wire.Key(table.Key{PK: "p", SK: fmt.Sprintf("%03d", n)}), ProjectionExpression: aws.String(table.AttrSK),
			}})
		}
		return func(ctx context.Context, c *dynamodb.Client) string {
			out, err := c.TransactGetItems(ctx, in, wire.Once)
			return shown(err, func() string { return fmt.Sprint(len(out.Responses)) })
		}
	}
	add := func(by string) sending {
		return func(ctx context.Context, c *dynamodb.Client) string {
			out, err := c.UpdateItem(ctx, &dynamodb.UpdateItemInput{
				TableName: &name, Key: wire.Key(table.Key{PK: "n", SK: "n"}), UpdateExpression: aws.String("ADD N :by"),
				ExpressionAttributeValues: wire.Item{":by": &types.AttributeValueMemberN{Value: by}}, ReturnValues: types.ReturnValueAllNew,
			}, wire.Once)
			return shown(err, func() string { return itemText(out.Attributes) })
		}
	}
	grow := func(bytes int) sending {
		return func(ctx context.Context, c *dynamodb.Client) string {
			_, err := c.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{Update: &types.Update{
				TableName: &name, Key: wire.Key(table.Key{PK: "p", SK: "000"}), UpdateExpression: aws.String("SET More = :more"),
				ExpressionAttributeValues: wire.Item{":more": wire.String(strings.Repeat("x", bytes))},
			}}}}, wire.Once)
			return shown(err, func() string { return "done" })
		}
	}
	query := func(limit *int32) sending {
		return func(ctx context.Context, c *dynamodb.Client) string {
			return allPages(ctx, c, dynamodb.QueryInput{
				TableName: &name, Limit: limit, ProjectionExpression: aws.String(table.AttrSK), KeyConditionExpression: aws.String(table.AttrPK + " = :p"),
				ExpressionAttributeValues: wire.Item{":p": wire.String("p")},
			})
		}
	}
	const nines = "99999999999999999999999999999999999999" // 38 digits
	for _, c := range []struct {
		what string
		send sending
	}{
		{"the largest item", put(sized("a", table.ItemBytes))},
		{"a larger one", put(sized("a", table.ItemBytes+1))},
		{"no item", putAll(0, 0)},
		{"the largest transaction", putAll(10, 400<<10)},
		{"a larger one", putAll(11, 400<<10)},
		{"an item too large in one", putAll(1, table.ItemBytes+1)},
		{"pages of 1 MB", query(nil)},
		{"more than 4 MB at once", getAll(11)},
		{"growth past the largest", grow(2)},
		{"the most actions", putAll(table.TransactionActions, 100)},
		{"pages of small items", query(aws.Int32(100))},
		{"the last page is full", query(aws.Int32(101))},
		{"one more", putAll(table.TransactionActions+1, 100)},
		{"the most reads", getAll(table.TransactionActions)},
		{"one more", getAll(table.TransactionActions + 1)},
		{"38 digits", add(nines)},
		{"one more", add("1")},
		{"39 digits", add("1")},
		{"back", add("-2")},
	} {
		if want, got := c.send(t.Context(), real), c.send(t.Context(), memorized); want != got {
			t.Errorf("%s:\nDynamoDB Local: %.300s\nin memory:      %.300s", c.what, want, got)
		}
	}
}
