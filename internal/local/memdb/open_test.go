package memdb_test

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/internal/local/dynamolocal"
	"ledger.example/internal/local/memdb"
	"ledger.example/internal/store"
)

const books = "books"

var tableName = aws.String(books)

func putInput(i store.Item) *dynamodb.PutItemInput {
	return &dynamodb.PutItemInput{TableName: tableName, Item: i}
}

func getInput(k store.Key, strong bool) *dynamodb.GetItemInput {
	return &dynamodb.GetItemInput{TableName: tableName, Key: store.KeyItem(k), ConsistentRead: &strong}
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
func posting(account string, n int) store.Item {
	id := fmt.Sprintf("%027d", n)
	item := store.KeyItem(store.Posting.Key(account, "USD", id))
	item[store.AttrSK2] = store.String(store.Posting.SK2(id))
	item[store.AttrType], item[store.AttrForm] = store.String("PostingRecorded"), store.Integer(1)
	item["Quantity"], item["Cost"], item["Transaction"] = store.Integer(int64(n)), store.Integer(0), store.String("t-"+id)
	return item
}

func put(t testing.TB, client *dynamodb.Client, item store.Item) {
	t.Helper()
	if _, err := client.PutItem(t.Context(), putInput(item)); err != nil {
		t.Fatal(err)
	}
}
