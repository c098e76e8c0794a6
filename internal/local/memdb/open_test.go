package memdb_test

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/internal/ddb"
	"ledger.example/internal/local/dynamolocal"
	"ledger.example/internal/local/memdb"
	"ledger.example/internal/table"
)

const books = "books"

var tableName = aws.String(books)

func putInput(i ddb.Item) *dynamodb.PutItemInput {
	return &dynamodb.PutItemInput{TableName: tableName, Item: i}
}

func getInput(k table.Key, strong bool) *dynamodb.GetItemInput {
	return &dynamodb.GetItemInput{TableName: tableName, Key: ddb.Key(k), ConsistentRead: &strong}
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
func posting(account string, n int) ddb.Item {
	id := fmt.Sprintf("%027d", n)
	item := ddb.Key(table.Posting.Key(account, "USD", id))
	item[table.AttrSK2] = ddb.String(table.Posting.SK2(id))
	item[table.AttrType], item[table.AttrForm] = ddb.String("PostingRecorded"), ddb.Integer(1)
	item["Quantity"], item["Cost"], item["Transaction"] = ddb.Integer(int64(n)), ddb.Integer(0), ddb.String("t-"+id)
	return item
}

func put(t testing.TB, client *dynamodb.Client, item ddb.Item) {
	t.Helper()
	if _, err := client.PutItem(t.Context(), putInput(item)); err != nil {
		t.Fatal(err)
	}
}
