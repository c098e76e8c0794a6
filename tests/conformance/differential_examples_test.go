package conformance

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/local/memdb"
	"ledger.example/internal/table"
	"ledger.example/tests/harness/setup"
)

// The tests below have requests in which the stores differed. Random requests found them once in thousands of checks.

// sendToBoth puts items into both stores, sends a request to each, and returns the answers.
func sendToBoth(
	t *testing.T, send func(client *dynamodb.Client, name *string) string, items ...table.Item,
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
		answers = append(answers, send(client, &name))
	}
	return answers[0], answers[1]
}

// queryFunc returns a function that sends a query.
func queryFunc(t *testing.T, in dynamodb.QueryInput) func(*dynamodb.Client, *string) string {
	return func(client *dynamodb.Client, table *string) string {
		in := in
		in.TableName = table
		return queryAll(t.Context(), client, in)
	}
}

// Both stores store and refuse the same numbers. Random requests rarely have an invalid one.
func TestBothStoresTakeTheSameNumbers(t *testing.T) {
	send := func(client *dynamodb.Client, name *string) string {
		var answers []string
		for _, number := range slices.Concat(numbers, wrongNumbers) {
			item := table.KeyItem(table.Key{PK: "p", SK: "a"})
			item["N"] = &types.AttributeValueMemberN{Value: number}
			_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: name, Item: item}, table.Once)
			stored, getErr := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: name,
				Key: table.KeyItem(table.Key{PK: "p", SK: "a"}), ConsistentRead: aws.Bool(true)})
			if getErr != nil {
				t.Fatal(getErr)
			}
			answers = append(answers, number+": "+answerText(err, func() string { return itemText(stored.Item) }))
		}
		return strings.Join(answers, "\n")
	}
	real, inMemory := sendToBoth(t, send)
	if real != inMemory || strings.Count(real, "ValidationException") != len(wrongNumbers) {
		t.Errorf("DynamoDB Local:\n%s\nin memory:\n%s", real, inMemory)
	}
}

// A position has the same answer in both stores, but for two, which random requests do not use.
func TestPositionsThatDiffer(t *testing.T) {
	inIndex := func(sort string) table.Item {
		i := table.KeyItem(table.Key{PK: "p", SK: sort})
		i[table.AttrPK2] = table.String("x")
		return i
	}
	// In AWS, a page with as many items as its limit has a LastEvaluatedKey, even if its last item is the end of the
	// range. A query from there returns nothing. DynamoDB Local never returns such a position, and refuses it.
	for _, forward := range []bool{true, false} {
		real, inMemory := sendToBoth(t, queryFunc(t, dynamodb.QueryInput{
			KeyConditionExpression:    aws.String("PK = :p AND SK BETWEEN :a AND :a"),
			ExpressionAttributeValues: table.Item{":p": table.String("p"), ":a": table.String("a")},
			ExclusiveStartKey:         table.KeyItem(table.Key{PK: "p", SK: "a"}), ScanIndexForward: &forward,
		}), table.KeyItem(table.Key{PK: "p", SK: "a"}))
		if !strings.Contains(real, invalid) || inMemory != "0 of 0 for 0: " {
			t.Errorf("at the end of its range: DynamoDB Local: %s, in memory: %s", real, inMemory)
		}
	}
	// Items with equal index keys have no promised order in the index, so it is undefined which of them come after a
	// position with these keys. DynamoDB Local returns one that sorts before the position by the table's keys. The
	// in-memory store orders by the table's keys.
	real, inMemory := sendToBoth(t, queryFunc(t, dynamodb.QueryInput{
		IndexName: aws.String(table.IndexInverse), KeyConditionExpression: aws.String("PK2 = :x"),
		ExpressionAttributeValues: table.Item{":x": table.String("x")}, ExclusiveStartKey: inIndex("b"),
	}), inIndex("a"), inIndex("c"))
	if !strings.Contains(real, `SK="a"`) || !strings.HasPrefix(inMemory, "1 of 1 for 0.5: ") ||
		!strings.Contains(inMemory, `SK="c"`) {
		t.Errorf("between items with equal keys: DynamoDB Local: %s, in memory: %s", real, inMemory)
	}
}
