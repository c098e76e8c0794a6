// Package dynamo keeps the journal in the ledger's DynamoDB table.
package dynamo

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/ledger"
)

// Journal is ledger.Journal on one table. It is safe for concurrent use.
type Journal struct {
	ledger.Journal
	client *dynamodb.Client
	table  string
}

// NewJournal returns the journal in the named table.
func NewJournal(client *dynamodb.Client, tableName string) *Journal {
	return &Journal{client: client, table: tableName}
}
