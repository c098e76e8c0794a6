package memdb_test

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/internal/local/dynamolocal"
	"ledger.example/internal/local/memdb"
	"ledger.example/internal/table"
)

const books = "books"

var tableName = aws.String(books)

func putInput(i table.Item) *dynamodb.PutItemInput {
	return &dynamodb.PutItemInput{TableName: tableName, Item: i}
}

func getInput(k table.Key, strong bool) *dynamodb.GetItemInput {
	return &dynamodb.GetItemInput{TableName: tableName, Key: table.KeyItem(k), ConsistentRead: &strong}
}

// open returns a store with the ledger's table.
func open(t testing.TB, o memdb.Options) (*memdb.Store, *dynamodb.Client) {
	t.Helper()
	s := memdb.New(o)
	client := s.DynamoDB()
	if _, err := dynamolocal.CreateTable(t.Context(), client, books); err != nil {
		t.Fatal(err)
	}
	return s, client
}

// posting is about the item of a posting.
func posting(account string, n int) table.Item {
	id := fmt.Sprintf("%027d", n)
	item := table.KeyItem(table.Posting.Key(account, "USD", id))
	item[table.AttrSK2] = table.String(table.Posting.SK2(id))
	item[table.AttrType], item[table.AttrForm] = table.String("PostingRecorded"), table.Integer(1)
	item["Quantity"], item["Cost"], item["Transaction"] = table.Integer(int64(n)), table.Integer(0), table.String("t-"+id)
	return item
}

func put(t testing.TB, client *dynamodb.Client, item table.Item) {
	t.Helper()
	if _, err := client.PutItem(t.Context(), putInput(item)); err != nil {
		t.Fatal(err)
	}
}
