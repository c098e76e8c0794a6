// Package conformance holds the adapters of the table to their contracts, on DynamoDB Local and in memory, and the
// store in memory to the answers of DynamoDB Local.
package conformance

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/internal/ddb/ddbtest"
	"ledger.example/internal/local/dynamolocal"
	"ledger.example/internal/local/dynamolocal/dynamolocaltest"
	"ledger.example/internal/local/memdb"
	"ledger.example/projections/viewstest"
	"ledger.example/tests/setup"
)

var tables atomic.Int64

// newTable makes a table in DynamoDB Local, and returns a client and its name.
func newTable(t testing.TB) (*dynamodb.Client, string) {
	t.Helper()
	client := dynamolocal.DynamoDB(dynamolocaltest.Shared(t).Endpoint)
	name := fmt.Sprintf("conformance-%d", tables.Add(1))
	setup.Table(t, client, name)
	return client, name
}

// cutTable makes a table in memory. The first client sees queries in pages of one item, each after an empty one, and
// the second as they are.
func cutTable(t testing.TB) (cut, plain *dynamodb.Client, name string) {
	t.Helper()
	store := memdb.New(memdb.Options{})
	setup.Table(t, store.DynamoDB(), "books")
	return store.DynamoDB(ddbtest.Cut), store.DynamoDB(), "books"
}

// An empty page with a LastEvaluatedKey is not the end of a query.
func TestViews(t *testing.T) {
	t.Run("DynamoDB Local", func(t *testing.T) { viewstest.Conform(t, newTable) })
	t.Run("memory, with cut pages", func(t *testing.T) {
		viewstest.Conform(t, func(t testing.TB) (*dynamodb.Client, string) {
			cut, _, name := cutTable(t)
			return cut, name
		})
	})
}
