// Package dynamo keeps projections in the ledger's DynamoDB table, and lists what is there.
package dynamo

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/projections"
)

// Views is projections.Views on one table. It is safe for concurrent use.
type Views struct {
	projections.Views
	client *dynamodb.Client
	table  string
}

// NewViews returns the views in the named table.
func NewViews(client *dynamodb.Client, tableName string) *Views {
	return &Views{client: client, table: tableName}
}

// Lists is projections.Lists on one table. It is safe for concurrent use.
type Lists struct {
	projections.Lists
	client *dynamodb.Client
	table  string
}

// NewLists returns the lists in the named table.
func NewLists(client *dynamodb.Client, tableName string) *Lists {
	return &Lists{client: client, table: tableName}
}
