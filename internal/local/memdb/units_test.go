package memdb_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/local/memdb"
	"ledger.example/internal/table"
)

// sized returns an item with slightly more than the given number of bytes, in the inverse index of a user, or of none.
func sized(bytes int, user string) table.Item {
	i := table.KeyItem(table.Membership.Key("jane", "ann"))
	i["Text"] = table.String(strings.Repeat("x", bytes))
	if user != "" {
		i[table.AttrPK2] = table.String(table.Membership.PK2(user))
	}
	return i
}

// The store counts what AWS documents for each request, on an item that may be there before.
func TestUnits(t *testing.T) {
	key := table.KeyItem(table.Membership.Key("jane", "ann"))
	shown := sized(10, "u")
	shown[table.AttrUser] = table.String("ann")
	absent := aws.String(table.IfAbsent)
	putIf := func(item table.Item, condition *string) any {
		return &dynamodb.PutItemInput{TableName: tableName, Item: item, ConditionExpression: condition}
	}
	together := func(item table.Item, condition *string) any { // with a check of another item
		return &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{
			{Put: &types.Put{TableName: tableName, Item: item, ConditionExpression: condition}},
			{ConditionCheck: &types.ConditionCheck{TableName: tableName, Key: table.KeyItem(keyA), ConditionExpression: absent}},
		}}
	}
	get := func(strong bool, projection *string) any {
		return &dynamodb.GetItemInput{TableName: tableName, Key: key, ConsistentRead: &strong, ProjectionExpression: projection}
	}
	for _, c := range []struct {
		name          string
		before        table.Item // nil: none
		request       any
		writes, reads int64 // units, and halves of units
	}{
		{"created", nil, putIf(sized(2500, ""), nil), 3, 0},
		{"replaces a larger item", sized(4500, ""), putIf(sized(10, ""), nil), 5, 0},
		{"replaces a smaller item", sized(10, ""), putIf(sized(4500, ""), nil), 5, 0},
		{"condition fails", sized(4500, ""), putIf(sized(10, ""), absent), 5, 0},
		{"condition fails on a smaller item", sized(10, "u"), putIf(sized(4500, ""), absent), 1, 0},
		{"created in an index", nil, putIf(sized(10, "u"), nil), 2, 0},
		{"removed from an index", sized(10, "u"), putIf(sized(10, ""), nil), 2, 0},
		{"moved in an index", sized(10, "u"), putIf(sized(10, "v"), nil), 3, 0},
		{"changed, which the index does not show", sized(10, "u"), putIf(sized(20, "u"), nil), 1, 0},
		{"changed, which the index shows", sized(10, "u"), putIf(shown, nil), 2, 0},
		{"updated to more than 1 KB", sized(1000, ""), &dynamodb.UpdateItemInput{
			TableName: tableName, Key: key, UpdateExpression: aws.String("SET More = :n"),
			ExpressionAttributeValues: table.Item{":n": table.String(strings.Repeat("x", 100))},
		}, 2, 0},
		{"in a transaction", nil, together(sized(2500, "u"), nil), 2*3 + 1 + 2, 0},
		{"in a cancelled transaction", sized(10, ""), together(sized(2500, "u"), absent), 2*3 + 2, 0},
		{"invalid", nil, putIf(table.Item{}, nil), 0, 0},

		{"read", sized(5000, ""), get(false, nil), 0, 2},
		{"read strongly", sized(5000, ""), get(true, nil), 0, 4},
		{"read in part", sized(5000, ""), get(true, aws.String("PK")), 0, 4},
		{"absent", nil, get(true, nil), 0, 2},
		{"read in a batch", sized(5000, ""), &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
			*tableName: {Keys: []map[string]types.AttributeValue{key, table.KeyItem(keyA)}},
		}}, 0, 2 + 1},
		{"read in a transaction", sized(5000, ""), getting(table.Membership.Key("jane", "ann"), keyA), 0, 8 + 4},
	} {
		db, client := open(t, memdb.Options{})
		if c.before != nil {
			put(t, client, c.before)
		}
		used := table.Used{ByKey: make(map[table.PartitionKey]table.Units)}
		_, _ = db.Answer(table.WithUsed(t.Context(), &used), c.request) // some are refused
		var sum table.Units
		for _, units := range used.ByKey {
			sum.Add(units)
		}
		if sum != used.Units {
			t.Errorf("%s: the units of all keys are %v, of %v", c.name, sum, used.Units)
		}
		if used.WriteUnits != c.writes || used.ReadHalves != c.reads {
			t.Errorf("%s: %+v, want %d and %d", c.name, used, c.writes, c.reads)
		}
	}
}
