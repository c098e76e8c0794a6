package memdb_test

import (
	"errors"
	"math/big"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"ledger.example/internal/ddb"
	"ledger.example/internal/local/memdb"
	"ledger.example/internal/table"
)

// spend is the key of the one item in a table that is fuzzed.
var spend = table.SpendKey("jane", "USD")

// invalid reports whether an error says that the request is wrong.
func invalid(err error) bool {
	var e smithy.APIError
	return errors.As(err, &e) && e.ErrorCode() == "ValidationException"
}

// FuzzNumber: a number that is kept is the one that was written, to its last digit and in one form, or refused.
func FuzzNumber(f *testing.F) {
	form := regexp.MustCompile(`^-?[0-9]+\.?[0-9]*$`)
	f.Fuzz(func(t *testing.T, s string) {
		_, client := open(t, memdb.Options{})
		item := ddb.Key(spend)
		item["N"] = &types.AttributeValueMemberN{Value: s}
		if _, err := client.PutItem(t.Context(), putInput(item)); err != nil {
			if !invalid(err) {
				t.Fatalf("%q: %v", s, err)
			}
			return
		}
		if !form.MatchString(s) {
			t.Fatalf("%q is taken for a number", s)
		}
		kept := itemOf(t, client, spend)["N"].(*types.AttributeValueMemberN).Value
		want, _ := new(big.Rat).SetString(s)
		got, ok := new(big.Rat).SetString(kept)
		if !ok || got.Cmp(want) != 0 || strings.ContainsAny(kept, "eE+") || kept == "-0" {
			t.Fatalf("%q is kept as %q", s, kept)
		}
		item["N"] = &types.AttributeValueMemberN{Value: kept}
		if _, err := client.PutItem(t.Context(), putInput(item)); err != nil {
			t.Fatalf("%q is kept as %q, and that refused: %v", s, kept, err)
		}
	})
}

// placeholdersIn finds what an expression may refer to.
var placeholdersIn = regexp.MustCompile(`[#:][A-Za-z0-9_]+`)

// FuzzExpressions: any expression is one, and does what it says, or is refused and changes nothing.
func FuzzExpressions(f *testing.F) {
	f.Fuzz(func(t *testing.T, update, condition, keyCondition, projection string) {
		_, client := open(t, memdb.Options{})
		key, guard := ddb.Key(spend), ddb.Key(spend)
		guard["Quantity"], guard["Cost"], guard["Transaction"] = ddb.Integer(5), ddb.Integer(0), ddb.String("t-1")
		put(t, client, guard)
		before := itemOf(t, client, spend)
		placeholders := func(texts ...string) (names map[string]string, values ddb.Item) {
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
					values = ddb.Item{}
				}
				switch p {
				case ":pk":
					values[p] = ddb.String("ACCOUNT#jane")
				case ":n":
					values[p] = ddb.Integer(7)
				default:
					values[p] = ddb.String(p[1:])
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
			TableName: tableName, Key: key,
			UpdateExpression: optional(update), ConditionExpression: optional(condition),
			ExpressionAttributeNames: names, ExpressionAttributeValues: values,
		})
		var refused *types.ConditionalCheckFailedException
		after := itemOf(t, client, spend)
		if err != nil && (!invalid(err) && !errors.As(err, &refused) || !reflect.DeepEqual(after, before)) {
			t.Fatalf("%q if %q: %v; the item is now %v", update, condition, err, after)
		}
		names, values = placeholders(keyCondition, projection)
		out, err := client.Query(t.Context(), &dynamodb.QueryInput{
			TableName:              tableName,
			KeyConditionExpression: optional(keyCondition), ProjectionExpression: optional(projection),
			ExpressionAttributeNames: names, ExpressionAttributeValues: values,
		})
		if err != nil && !invalid(err) || err == nil && len(out.Items) > 1 {
			t.Fatalf("%q of %q: %v, %v", projection, keyCondition, out, err)
		}
	})
}
