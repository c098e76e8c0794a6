package pump

import (
	"errors"
	"fmt"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// A record is one change of an item on its way to the handler.
type record struct {
	event lambdaevents.DynamoDBEventRecord
	seen  time.Time // when it was first read from the stream
}

func (r record) sequenceNumber() string { return r.event.Change.SequenceNumber }

// eventOf returns the event that Lambda would pass to the function for a batch.
func eventOf(batch []record) lambdaevents.DynamoDBEvent {
	e := lambdaevents.DynamoDBEvent{Records: make([]lambdaevents.DynamoDBEventRecord, len(batch))}
	for i, r := range batch {
		e.Records[i] = r.event
	}
	return e
}

// convert converts a record of the stream to Lambda's type. With an error it returns the parts that it could convert.
// It ignores old images, which the ledger's stream does not have.
func convert(r types.Record, streamARN string, seen time.Time) (record, error) {
	e := lambdaevents.DynamoDBEventRecord{
		AWSRegion:      aws.ToString(r.AwsRegion),
		EventID:        aws.ToString(r.EventID),
		EventName:      string(r.EventName),
		EventSource:    aws.ToString(r.EventSource),
		EventVersion:   aws.ToString(r.EventVersion),
		EventSourceArn: streamARN,
	}
	d := r.Dynamodb
	e.Change = lambdaevents.DynamoDBStreamRecord{
		SequenceNumber: aws.ToString(d.SequenceNumber),
		SizeBytes:      aws.ToInt64(d.SizeBytes),
		StreamViewType: string(d.StreamViewType),
	}
	if t := d.ApproximateCreationDateTime; t != nil {
		e.Change.ApproximateCreationDateTime.Time = latestCreationTime(*t, seen)
	}
	var keysErr, imageErr error
	e.Change.Keys, keysErr = convertMap(d.Keys)
	e.Change.NewImage, imageErr = convertMap(d.NewImage)
	return record{event: e, seen: seen}, errors.Join(keysErr, imageErr)
}

// latestCreationTime returns the latest possible time of a record, from which the functions compute their lag. AWS
// rounds the time down to the second, and it is returned unchanged. DynamoDB Local rounds it down to the minute: the
// record was created within that minute, and before it was seen.
func latestCreationTime(t, seen time.Time) time.Time {
	if t != t.Truncate(time.Minute) {
		return t
	}
	latest := t.Add(time.Minute)
	if seen.Before(latest) && seen.After(t) {
		return seen
	}
	return latest
}

func convertMap(m map[string]types.AttributeValue) (map[string]lambdaevents.DynamoDBAttributeValue, error) {
	if m == nil {
		return nil, nil
	}
	out := make(map[string]lambdaevents.DynamoDBAttributeValue, len(m))
	for name, v := range m {
		var err error
		if out[name], err = convertValue(v); err != nil {
			return nil, fmt.Errorf("attribute %s: %w", name, err)
		}
	}
	return out, nil
}

// convertValue converts a value. It supports the types in the ledger's table.
func convertValue(v types.AttributeValue) (none lambdaevents.DynamoDBAttributeValue, err error) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return lambdaevents.NewStringAttribute(v.Value), nil
	case *types.AttributeValueMemberN:
		return lambdaevents.NewNumberAttribute(v.Value), nil
	case *types.AttributeValueMemberBOOL:
		return lambdaevents.NewBooleanAttribute(v.Value), nil
	case *types.AttributeValueMemberNULL:
		return lambdaevents.NewNullAttribute(), nil
	case *types.AttributeValueMemberM:
		m, err := convertMap(v.Value)
		if err != nil {
			return none, err
		}
		return lambdaevents.NewMapAttribute(m), nil
	case *types.AttributeValueMemberL:
		l := make([]lambdaevents.DynamoDBAttributeValue, len(v.Value))
		for i, e := range v.Value {
			if l[i], err = convertValue(e); err != nil {
				return none, err
			}
		}
		return lambdaevents.NewListAttribute(l), nil
	}
	return none, fmt.Errorf("the type %T is unknown", v)
}
