package pump

import (
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// record is one change of an item on its way to the handler.
type record struct {
	event lambdaevents.DynamoDBEventRecord
	// seen is when it was first read from the stream.
	seen time.Time
}

func (r record) sequenceNumber() string { return r.event.Change.SequenceNumber }

// event is what Lambda would hand to the function for a batch.
func event(batch []record) lambdaevents.DynamoDBEvent {
	e := lambdaevents.DynamoDBEvent{Records: make([]lambdaevents.DynamoDBEventRecord, len(batch))}
	for i, r := range batch {
		e.Records[i] = r.event
	}
	return e
}

// convert makes of a stream's record what Lambda would hand to the function.
// With an error come those parts of the record that could be converted.
func convert(r types.Record, streamARN string, seen time.Time) (record, error) {
	e := lambdaevents.DynamoDBEventRecord{
		AWSRegion:      aws.ToString(r.AwsRegion),
		EventID:        aws.ToString(r.EventID),
		EventName:      string(r.EventName),
		EventSource:    aws.ToString(r.EventSource),
		EventVersion:   aws.ToString(r.EventVersion),
		EventSourceArn: streamARN,
	}
	if u := r.UserIdentity; u != nil {
		e.UserIdentity = &lambdaevents.DynamoDBUserIdentity{
			Type: aws.ToString(u.Type), PrincipalID: aws.ToString(u.PrincipalId)}
	}
	var err error
	if r.Dynamodb == nil {
		err = errors.New("there is no change in it")
	} else {
		e.Change, err = convertChange(r.Dynamodb, seen)
	}
	return record{event: e, seen: seen}, err
}

func convertChange(d *types.StreamRecord, seen time.Time) (lambdaevents.DynamoDBStreamRecord, error) {
	change := lambdaevents.DynamoDBStreamRecord{
		SequenceNumber: aws.ToString(d.SequenceNumber),
		SizeBytes:      aws.ToInt64(d.SizeBytes),
		StreamViewType: string(d.StreamViewType),
	}
	if t := d.ApproximateCreationDateTime; t != nil {
		change.ApproximateCreationDateTime.Time = creation(*t, seen)
	}
	var errs [3]error
	change.Keys, errs[0] = convertMap(d.Keys)
	change.NewImage, errs[1] = convertMap(d.NewImage)
	change.OldImage, errs[2] = convertMap(d.OldImage)
	return change, errors.Join(errs[:]...)
}

// creation is when a record was made, at the latest. AWS rounds that down to
// the second, and its time is kept. DynamoDB Local cuts it off at the minute:
// then the record was made within that minute, and before it was seen.
func creation(t, seen time.Time) time.Time {
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
		c, err := convertValue(v)
		if err != nil {
			return nil, fmt.Errorf("attribute %s: %w", name, err)
		}
		out[name] = c
	}
	return out, nil
}

func convertValue(v types.AttributeValue) (lambdaevents.DynamoDBAttributeValue, error) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return lambdaevents.NewStringAttribute(v.Value), nil
	case *types.AttributeValueMemberN:
		return lambdaevents.NewNumberAttribute(v.Value), nil
	case *types.AttributeValueMemberB:
		return lambdaevents.NewBinaryAttribute(v.Value), nil
	case *types.AttributeValueMemberBOOL:
		return lambdaevents.NewBooleanAttribute(v.Value), nil
	case *types.AttributeValueMemberNULL:
		return lambdaevents.NewNullAttribute(), nil
	case *types.AttributeValueMemberSS:
		return lambdaevents.NewStringSetAttribute(v.Value), nil
	case *types.AttributeValueMemberNS:
		return lambdaevents.NewNumberSetAttribute(v.Value), nil
	case *types.AttributeValueMemberBS:
		return lambdaevents.NewBinarySetAttribute(v.Value), nil
	case *types.AttributeValueMemberM:
		m, err := convertMap(v.Value)
		if err != nil {
			return lambdaevents.DynamoDBAttributeValue{}, err
		}
		return lambdaevents.NewMapAttribute(m), nil
	case *types.AttributeValueMemberL:
		l := make([]lambdaevents.DynamoDBAttributeValue, len(v.Value))
		for i, e := range v.Value {
			c, err := convertValue(e)
			if err != nil {
				return lambdaevents.DynamoDBAttributeValue{}, err
			}
			l[i] = c
		}
		return lambdaevents.NewListAttribute(l), nil
	default:
		return lambdaevents.DynamoDBAttributeValue{}, fmt.Errorf("an attribute of type %T is not known", v)
	}
}

// lane tells which of n lanes a record goes to: the same for all records of an
// item.
func (r record) lane(n int) int {
	if n == 1 {
		return 0
	}
	h := fnv.New32a()
	keys := r.event.Change.Keys
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		fmt.Fprintf(h, "%q", keyText(keys[name]))
	}
	return int(h.Sum32() % uint32(n))
}

// keyText is the value of a key attribute, which is a string, a number or
// bytes.
func keyText(v lambdaevents.DynamoDBAttributeValue) string {
	switch v.DataType() {
	case lambdaevents.DataTypeNumber:
		return v.Number()
	case lambdaevents.DataTypeBinary:
		return string(v.Binary())
	default:
		return v.String()
	}
}
