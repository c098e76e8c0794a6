// Package streamtest builds batches of the table's stream and delivers them to a stream handler, as Lambda does.
package streamtest

import (
	"fmt"
	"testing"

	lambdaevents "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/functions/stream"
	"ledger.example/internal/table"
)

// Keys returns a batch of inserted items. The records have keys, and no images.
func Keys(keys ...table.Key) (batch lambdaevents.DynamoDBEvent) {
	for _, k := range keys {
		put(&batch, lambdaevents.NewStringAttribute(k.PK), lambdaevents.NewStringAttribute(k.SK), nil)
	}
	return batch
}

// Images returns a batch of inserted events, with their images.
func Images(t testing.TB, items ...table.Item) (batch lambdaevents.DynamoDBEvent) {
	t.Helper()
	for _, item := range items {
		image := imageOf(t, item)
		put(&batch, image[table.AttrPK], image[table.AttrSK], image)
	}
	return batch
}

func imageOf(t testing.TB, item table.Item) map[string]lambdaevents.DynamoDBAttributeValue {
	image := make(map[string]lambdaevents.DynamoDBAttributeValue, len(item))
	for name, v := range item {
		image[name] = valueOf(t, v)
	}
	return image
}

func valueOf(t testing.TB, v types.AttributeValue) (none lambdaevents.DynamoDBAttributeValue) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return lambdaevents.NewStringAttribute(v.Value)
	case *types.AttributeValueMemberBOOL:
		return lambdaevents.NewBooleanAttribute(v.Value)
	case *types.AttributeValueMemberN:
		return lambdaevents.NewNumberAttribute(v.Value)
	case *types.AttributeValueMemberM:
		return lambdaevents.NewMapAttribute(imageOf(t, v.Value))
	case *types.AttributeValueMemberL:
		var list []lambdaevents.DynamoDBAttributeValue
		for _, element := range v.Value {
			list = append(list, valueOf(t, element))
		}
		return lambdaevents.NewListAttribute(list)
	}
	t.Fatalf("no event holds a %T", v)
	return none
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

// Deliver passes a batch to a stream handler, and fails t unless every record succeeds.
func Deliver(t testing.TB, handle stream.Function, batch lambdaevents.DynamoDBEvent) {
	t.Helper()
	answer, err := handle(t.Context(), batch)
	if err != nil || len(answer.BatchItemFailures) > 0 {
		t.Fatalf("batch of %d: %v, failed %v", len(batch.Records), err, answer.BatchItemFailures)
	}
}
