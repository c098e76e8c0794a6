package simulation

import (
	"strconv"

	lambdaevents "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/table"
)

// event is a batch as Lambda delivers it.
func event(batch []record) lambdaevents.DynamoDBEvent {
	e := lambdaevents.DynamoDBEvent{Records: make([]lambdaevents.DynamoDBEventRecord, len(batch))}
	for i, r := range batch {
		e.Records[i] = lambdaevents.DynamoDBEventRecord{
			EventName: string(lambdaevents.DynamoDBOperationTypeInsert),
			Change: lambdaevents.DynamoDBStreamRecord{
				SequenceNumber: strconv.Itoa(r.number),
				Keys: map[string]lambdaevents.DynamoDBAttributeValue{
					table.AttrPK: lambdaevents.NewStringAttribute(r.key.PK),
					table.AttrSK: lambdaevents.NewStringAttribute(r.key.SK),
				},
				NewImage: imageOf(r.image),
			},
		}
	}
	return e
}

// imageOf converts an item to the form in which Lambda delivers it.
func imageOf(item table.Item) map[string]lambdaevents.DynamoDBAttributeValue {
	image := make(map[string]lambdaevents.DynamoDBAttributeValue, len(item))
	for name, value := range item {
		image[name] = streamed(value)
	}
	return image
}

func streamed(value types.AttributeValue) lambdaevents.DynamoDBAttributeValue {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return lambdaevents.NewStringAttribute(v.Value)
	case *types.AttributeValueMemberN:
		return lambdaevents.NewNumberAttribute(v.Value)
	case *types.AttributeValueMemberBOOL:
		return lambdaevents.NewBooleanAttribute(v.Value)
	case *types.AttributeValueMemberM:
		return lambdaevents.NewMapAttribute(imageOf(v.Value))
	case *types.AttributeValueMemberL:
		var list []lambdaevents.DynamoDBAttributeValue
		for _, element := range v.Value {
			list = append(list, streamed(element))
		}
		return lambdaevents.NewListAttribute(list)
	}
	return lambdaevents.NewNullAttribute()
}
