package tests

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	template "ledger.example"
	"ledger.example/cmd/ledger/local"
	"ledger.example/cmd/ledger/memory"
)

// newTableInMemory is newTable in a store of its own.
func newTableInMemory(t testing.TB) (*dynamodb.Client, string) {
	t.Helper()
	client := memory.New(memory.Options{}).DynamoDB()
	return client, newTableOn(t, client, "books")
}

// newTableOn makes the table of template.yaml under a name, and returns that.
func newTableOn(t testing.TB, client *dynamodb.Client, name string) string {
	t.Helper()
	in, err := local.TableFromTemplate(template.YAML)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := local.CreateTable(t.Context(), client, in, name); err != nil {
		t.Fatal(err)
	}
	return name
}
