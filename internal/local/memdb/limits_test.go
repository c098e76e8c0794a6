package memdb_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"ledger.example/internal/local/memdb"
	"ledger.example/internal/table"
)

// invalid reports whether an error is a ValidationException.
func invalid(err error) bool {
	var e smithy.APIError
	return errors.As(err, &e) && e.ErrorCode() == "ValidationException"
}

// A request at a limit is accepted, and a request one above it is rejected, as in DynamoDB and DynamoDB Local.
func TestLimits(t *testing.T) {
	_, client := open(t, memdb.Options{})
	sized := func(n, bytes int) table.Item {
		i := table.KeyItem(table.Key{PK: "p", SK: fmt.Sprintf("%03d", n)})
		i["Text"] = table.String(strings.Repeat("x", bytes-table.SizeOf(i)-len("Text")))
		return i
	}
	putAll := func(count, bytes int) func(context.Context) error {
		return func(ctx context.Context) error {
			in := &dynamodb.TransactWriteItemsInput{}
			for n := range count {
				in.TransactItems = append(in.TransactItems, putting(sized(n, bytes)).TransactItems...)
			}
			_, err := client.TransactWriteItems(ctx, in)
			return err
		}
	}
	getAll := func(count int) func(context.Context) error {
		return func(ctx context.Context) error {
			in := &dynamodb.TransactGetItemsInput{}
			for n := range count {
				key := table.Key{PK: "p", SK: fmt.Sprintf("%03d", n)}
				in.TransactItems = append(in.TransactItems, getting(key).TransactItems...)
			}
			_, err := client.TransactGetItems(ctx, in)
			return err
		}
	}
	add := func(number string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
				TableName: tableName, Key: table.KeyItem(keyA), UpdateExpression: aws.String("ADD N :by"),
				ExpressionAttributeValues: table.Item{":by": &types.AttributeValueMemberN{Value: number}},
			})
			return err
		}
	}
	put := func(bytes int) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := client.PutItem(ctx, putInput(sized(0, bytes)))
			return err
		}
	}
	for _, c := range []struct {
		what string
		send func(context.Context) error
		ok   bool
	}{
		{"the largest item", put(table.ItemBytes), true},
		{"a larger one", put(table.ItemBytes + 1), false},
		{"the largest transaction", putAll(10, 400<<10), true},
		{"a larger one", putAll(11, 400<<10), false},
		{"the most actions", putAll(table.TransactionActions, 100), true},
		{"one more", putAll(table.TransactionActions+1, 100), false},
		{"the most reads", getAll(table.TransactionActions), true},
		{"one more", getAll(table.TransactionActions + 1), false},
		{"38 digits", add(strings.Repeat("9", table.NumberDigits)), true},
		{"another digit", add("0.1"), false},
		{"a round sum of 39 digits", add("1"), true},
		{"39 digits", add("1"), false},
	} {
		if err := c.send(t.Context()); (err == nil) != c.ok || err != nil && !invalid(err) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
}
