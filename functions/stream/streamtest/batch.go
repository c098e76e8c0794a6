// Package streamtest delivers batches of the table's stream to its handler, as Lambda does, for tests.
package streamtest

import (
	"fmt"
	"testing"

	lambdaevents "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/functions/stream"
	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
)

// Keys returns a batch of records of items that were put. The records have keys, and no images.
func Keys(keys ...table.Key) (batch lambdaevents.DynamoDBEvent) {
	for _, k := range keys {
		put(&batch, lambdaevents.NewStringAttribute(k.PK), lambdaevents.NewStringAttribute(k.SK), nil)
	}
	return batch
}

// Postings returns a batch of records of postings that were put, with their images.
func Postings(t testing.TB, items ...ddb.Item) (batch lambdaevents.DynamoDBEvent) {
	t.Helper()
	for _, item := range items {
		image := make(map[string]lambdaevents.DynamoDBAttributeValue, len(item))
		for name, v := range item {
			switch v := v.(type) {
			case *types.AttributeValueMemberS:
				image[name] = lambdaevents.NewStringAttribute(v.Value)
			case *types.AttributeValueMemberN:
				image[name] = lambdaevents.NewNumberAttribute(v.Value)
			default:
				t.Fatalf("%s of a posting is a %T", name, v)
			}
		}
		put(&batch, image[table.AttrPK], image[table.AttrSK], image)
	}
	return batch
}

func put(
	batch *lambdaevents.DynamoDBEvent, pk, sk lambdaevents.DynamoDBAttributeValue,
	image map[string]lambdaevents.DynamoDBAttributeValue,
) {
	batch.Records = append(batch.Records, lambdaevents.DynamoDBEventRecord{
		EventName: string(lambdaevents.DynamoDBOperationTypeInsert),
		Change: lambdaevents.DynamoDBStreamRecord{
			SequenceNumber: fmt.Sprintf("%021d", len(batch.Records)+1),
			Keys:           map[string]lambdaevents.DynamoDBAttributeValue{table.AttrPK: pk, table.AttrSK: sk},
			NewImage:       image,
		},
	})
}

// Deliver passes a batch to a stream handler, and fails t unless all of it succeeds.
func Deliver(t testing.TB, handle stream.Function, batch lambdaevents.DynamoDBEvent) {
	t.Helper()
	answer, err := handle(t.Context(), batch)
	if err != nil || len(answer.BatchItemFailures) > 0 {
		t.Fatalf("batch of %d: %v, failed %v", len(batch.Records), err, answer.BatchItemFailures)
	}
}
