// Package conformance tests that the port to the table and the views keep their contracts, on DynamoDB Local and in
// memory, and that the in-memory store answers as DynamoDB Local does.
// Only it finds that the store in memory, on which nearly all tests run, differs from DynamoDB Local.
package conformance

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/internal/local/dynamolocal"
	"ledger.example/internal/local/dynamolocal/dynamolocaltest"
	"ledger.example/internal/local/memdb"
	"ledger.example/internal/store/storetest"
	"ledger.example/tests/setup"
)

var tables atomic.Int64

// newTable creates a table in DynamoDB Local, and returns a client and the table's name.
func newTable(t testing.TB) (*dynamodb.Client, string) {
	t.Helper()
	client := dynamolocal.DynamoDB(dynamolocaltest.Shared(t).Endpoint)
	name := fmt.Sprintf("conformance-%d", tables.Add(1))
	setup.Table(t, client, name)
	return client, name
}

// cutPagesTable creates a table in memory. For the first client, each page of a query has at most one item, and comes
// after an empty page. The second client gets normal pages.
func cutPagesTable(t testing.TB) (cut, plain *dynamodb.Client, name string) {
	t.Helper()
	store := memdb.New(memdb.Options{})
	setup.Table(t, store.DynamoDB(), "books")
	return store.DynamoDB(storetest.Cut), store.DynamoDB(), "books"
}
