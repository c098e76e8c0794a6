package dynamo_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	"ledger.example/ledger/dynamo"
)

// BenchmarkAppend is an append to a store that answers at once: the items are made, and go through what the SDK does with
// a request before it is written as JSON.
func BenchmarkAppend(b *testing.B) {
	client := dynamodb.New(dynamodb.Options{Region: "us-east-1", APIOptions: []func(*middleware.Stack) error{func(stack *middleware.Stack) error {
		return stack.Serialize.Add(middleware.SerializeMiddlewareFunc("Still", func(
			context.Context, middleware.SerializeInput, middleware.SerializeHandler,
		) (middleware.SerializeOutput, middleware.Metadata, error) {
			return middleware.SerializeOutput{Result: &dynamodb.TransactWriteItemsOutput{}}, middleware.Metadata{}, nil
		}), middleware.Before)
	}}})
	j := dynamo.NewJournal(client, "books")
	for _, legs := range []int{2, 4, 48} {
		b.Run(fmt.Sprintf("legs%d", legs), func(b *testing.B) {
			c := commit(b, legs, legs/2)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := j.Append(b.Context(), c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
