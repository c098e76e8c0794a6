package dynamo_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/projections/viewstest"
)

func TestViewsConformInMemory(t *testing.T) {
	viewstest.Conform(t, func(t testing.TB) (*dynamodb.Client, string) { return viewstest.NewTable(t) })
}
