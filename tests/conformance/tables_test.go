// Package conformance tests that the port to the table keeps its contract, on DynamoDB Local and in memory, that the
// in-memory store answers as DynamoDB Local does, and that lists are right however pages are cut.
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
	"ledger.example/tests/harness/setup"
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

// newMemoryTable creates a table in memory, and returns a client and the table's name. A change of an event fails the
// test.
func newMemoryTable(t testing.TB) (*dynamodb.Client, string) {
	t.Helper()
	client := memdb.New(memdb.Options{Violation: func(err error) { t.Error(err) }}).DynamoDB()
	setup.Table(t, client, "books")
	return client, "books"
}
