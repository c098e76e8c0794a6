package memory_test

import (
	"errors"
	"math/big"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"ledger.example/cmd/ledger/memory"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
)

const fuzzed = "fuzzed"

// toFuzz returns a client of a store whose table is as simple as one can be.
func toFuzz(t *testing.T) *dynamodb.Client {
	client := memory.New(memory.Options{}).DynamoDB()
	_, err := client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName:   aws.String(fuzzed),
		BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String(table.AttrPK), AttributeType: types.ScalarAttributeTypeS},
			{AttributeName: aws.String(table.AttrSK), AttributeType: types.ScalarAttributeTypeS},
		},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String(table.AttrPK), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String(table.AttrSK), KeyType: types.KeyTypeRange},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// invalid tells whether DynamoDB calls a request wrong, and not itself.
func invalid(err error) bool {
	var e smithy.APIError
	return errors.As(err, &e) && e.ErrorCode() == "ValidationException"
}

// FuzzNumber: a number that is kept is the one that was written, to its last digit and in one form, or refused.
func FuzzNumber(f *testing.F) {
	form := regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)
	f.Fuzz(func(t *testing.T, s string) {
		client := toFuzz(t)
		key := table.SpendKey("jane", "USD")
		item := wire.Key(key)
		item["N"] = &types.AttributeValueMemberN{Value: s}
		_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(fuzzed), Item: item})
		if err != nil {
			if !invalid(err) {
				t.Fatalf("%q: %v", s, err)
			}
			return
		}
		if !form.MatchString(s) {
			t.Fatalf("%q is taken for a number", s)
		}
		out, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String(fuzzed), Key: wire.Key(key)})
		if err != nil {
			t.Fatal(err)
		}
		kept := out.Item["N"].(*types.AttributeValueMemberN).Value
		want, _ := new(big.Rat).SetString(s)
		got, ok := new(big.Rat).SetString(kept)
		if !ok || got.Cmp(want) != 0 || strings.ContainsAny(kept, "eE+") || kept == "-0" {
			t.Fatalf("%q is kept as %q", s, kept)
		}
		item["N"] = out.Item["N"]
		if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(fuzzed), Item: item}); err != nil {
			t.Fatalf("%q is kept as %q, and that refused: %v", s, kept, err)
		}
	})
}

// placeholdersIn finds what an expression may refer to.
var placeholdersIn = regexp.MustCompile(`[#:][A-Za-z0-9_]+`)

// FuzzExpressions: any expression is one, and does what it says, or is refused and changes nothing.
func FuzzExpressions(f *testing.F) {
	f.Fuzz(func(t *testing.T, update, condition, keyCondition, projection string) {
		client := toFuzz(t)
		key := wire.Key(table.SpendKey("jane", "USD"))
		guard := wire.Key(table.SpendKey("jane", "USD"))
		guard["Quantity"], guard["Cost"], guard["Transaction"] = wire.Integer(5), wire.Integer(0), wire.String("t-1")
		if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(fuzzed), Item: guard}); err != nil {
			t.Fatal(err)
		}
		read := func() wire.Item {
			out, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String(fuzzed), Key: key, ConsistentRead: aws.Bool(true)})
			if err != nil {
				t.Fatal(err)
			}
			return out.Item
		}
		before := read()
		placeholders := func(texts ...string) (names map[string]string, values wire.Item) {
			for _, p := range placeholdersIn.FindAllString(strings.Join(texts, " "), -1) {
				if p[0] == '#' {
					if names == nil {
						names = map[string]string{}
					}
					names[p] = map[string]string{"#pk": table.AttrPK, "#sk": table.AttrSK, "#q": "Quantity"}[p]
					if names[p] == "" {
						names[p] = p[1:]
					}
					continue
				}
				if values == nil {
					values = wire.Item{}
				}
				switch p {
				case ":pk":
					values[p] = wire.String("ACCOUNT#jane")
				case ":n":
					values[p] = wire.Integer(7)
				default:
					values[p] = wire.String(p[1:])
				}
			}
			return names, values
		}
		optional := func(s string) *string {
			if s == "" {
				return nil
			}
			return &s
		}
		names, values := placeholders(update, condition)
		_, err := client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: aws.String(fuzzed), Key: key, UpdateExpression: optional(update), ConditionExpression: optional(condition),
			ExpressionAttributeNames: names, ExpressionAttributeValues: values,
		})
		var refused *types.ConditionalCheckFailedException
		if after := read(); err != nil && (!invalid(err) && !errors.As(err, &refused) || !reflect.DeepEqual(after, before)) {
			t.Fatalf("%q if %q: %v; the item is now %v", update, condition, err, after)
		}
		names, values = placeholders(keyCondition, projection)
		out, err := client.Query(t.Context(), &dynamodb.QueryInput{
			TableName: aws.String(fuzzed), KeyConditionExpression: optional(keyCondition), ProjectionExpression: optional(projection),
			ExpressionAttributeNames: names, ExpressionAttributeValues: values,
		})
		if err != nil && !invalid(err) || err == nil && len(out.Items) > 1 {
			t.Fatalf("%q of %q: %v, %v", projection, keyCondition, out, err)
		}
	})
}
