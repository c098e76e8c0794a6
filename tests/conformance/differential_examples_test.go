package conformance

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/ddb"
	"ledger.example/internal/local/memdb"
	"ledger.example/internal/table"
	"ledger.example/tests/setup"
)

// Below is what random requests have found, once in some thousand checks.

// askBoth puts items into both stores, and returns what each answers to a request about a table of that name.
func askBoth(
	t *testing.T, ask func(client *dynamodb.Client, table *string) string, items ...ddb.Item,
) (real, inMemory string) {
	t.Helper()
	local, name := newTable(t)
	memory := memdb.New(memdb.Options{}).DynamoDB()
	setup.Table(t, memory, name)
	var answers []string
	for _, client := range []*dynamodb.Client{local, memory} {
		for _, i := range items {
			if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: i}); err != nil {
				t.Fatal(err)
			}
		}
		answers = append(answers, ask(client, &name))
	}
	return answers[0], answers[1]
}

// querying asks a query.
func querying(t *testing.T, in dynamodb.QueryInput) func(*dynamodb.Client, *string) string {
	return func(client *dynamodb.Client, table *string) string {
		in := in
		in.TableName = table
		return allPages(t.Context(), client, in)
	}
}

// Each number is kept or refused. Random requests rarely have a wrong one.
func TestNumbersAreKeptOrRefused(t *testing.T) {
	ask := func(client *dynamodb.Client, name *string) string {
		var answers []string
		for _, number := range slices.Concat(numbers, wrongNumbers) {
			item := ddb.Key(table.Key{PK: "p", SK: "a"})
			item["N"] = &types.AttributeValueMemberN{Value: number}
			_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: name, Item: item}, ddb.Once)
			kept, getErr := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: name,
				Key: ddb.Key(table.Key{PK: "p", SK: "a"}), ConsistentRead: aws.Bool(true)})
			if getErr != nil {
				t.Fatal(getErr)
			}
			answers = append(answers, number+": "+shown(err, func() string { return itemText(kept.Item) }))
		}
		return strings.Join(answers, "\n")
	}
	real, inMemory := askBoth(t, ask)
	if real != inMemory || strings.Count(real, "ValidationException") != len(wrongNumbers) {
		t.Errorf("DynamoDB Local:\n%s\nin memory:\n%s", real, inMemory)
	}
}

// A page of AWS that holds all of its range, and as many items as were asked for, names its last item as the position
// to go on from: nothing comes after it. DynamoDB Local never names such a position, and refuses it. Random requests
// don't have it.
func TestAPositionAtTheFarEndOfARange(t *testing.T) {
	for _, forward := range []bool{true, false} {
		real, inMemory := askBoth(t, querying(t, dynamodb.QueryInput{
			KeyConditionExpression:    aws.String("PK = :p AND SK BETWEEN :a AND :a"),
			ExpressionAttributeValues: ddb.Item{":p": ddb.String("p"), ":a": ddb.String("a")},
			ExclusiveStartKey:         ddb.Key(table.Key{PK: "p", SK: "a"}),
			ScanIndexForward:          &forward,
		}), ddb.Key(table.Key{PK: "p", SK: "a"}))
		if !strings.Contains(real, "ValidationException") {
			t.Errorf("DynamoDB Local has learnt it: %s", real)
		}
		if inMemory != "0 of 0: " {
			t.Errorf("in memory: %s", inMemory)
		}
	}
}

// Items with the same keys of an index have no promised order there. So it is open which of them come after a position
// with these keys. DynamoDB Local shows one that sorts before the position; memory has the order of the table's keys.
// Random requests don't have such a position.
func TestAPositionBetweenEqualsOfAnIndex(t *testing.T) {
	item := func(sort string) ddb.Item {
		i := ddb.Key(table.Key{PK: "p", SK: sort})
		i[table.AttrPK2] = ddb.String("x")
		return i
	}
	real, inMemory := askBoth(t, querying(t, dynamodb.QueryInput{
		IndexName: aws.String(table.IndexInverse), KeyConditionExpression: aws.String("PK2 = :x"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":x": ddb.String("x")}, ExclusiveStartKey: item("b"),
	}), item("a"), item("c"))
	if !strings.Contains(real, `SK="a"`) {
		t.Errorf("DynamoDB Local has another order now: %s", real)
	}
	if !strings.HasPrefix(inMemory, "1 of 1: ") || !strings.Contains(inMemory, `SK="c"`) {
		t.Errorf("in memory: %s", inMemory)
	}
}

// A filtered scan shows what passes, and counts what it went through.
func TestScansAreFiltered(t *testing.T) {
	for filter, want := range map[string]string{
		"#type = :a OR #type = :b": "2 of 3", "#type = :a AND SK = :b": "0 of 3", "Count = :a": "error ValidationException",
	} {
		ask := func(client *dynamodb.Client, name *string) string {
			for _, kind := range []string{"a", "b", "c"} {
				item := ddb.Key(table.Key{PK: kind, SK: kind})
				item[table.AttrType] = ddb.String(kind)
				if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: name, Item: item}); err != nil {
					t.Fatal(err)
				}
			}
			in := &dynamodb.ScanInput{TableName: name, FilterExpression: &filter,
				ExpressionAttributeValues: ddb.Item{":a": ddb.String("a")}}
			if strings.Contains(filter, "#type") {
				in.ExpressionAttributeNames = map[string]string{"#type": table.AttrType}
				in.ExpressionAttributeValues[":b"] = ddb.String("b")
			}
			out, err := client.Scan(t.Context(), in, ddb.Once)
			return shown(err, func() string { return fmt.Sprintf("%d of %d", out.Count, out.ScannedCount) })
		}
		if real, inMemory := askBoth(t, ask); real != want || inMemory != want {
			t.Errorf("%s: DynamoDB Local: %s, in memory: %s", filter, real, inMemory)
		}
	}
}
