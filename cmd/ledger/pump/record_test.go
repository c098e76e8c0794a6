package pump

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

func TestConvertGivesWhatLambdaGives(t *testing.T) {
	image := map[string]types.AttributeValue{
		"s":    &types.AttributeValueMemberS{Value: "text"},
		"n":    &types.AttributeValueMemberN{Value: "-12345678901234567890123456789012345678"},
		"b":    &types.AttributeValueMemberB{Value: []byte{0, 255}},
		"bool": &types.AttributeValueMemberBOOL{Value: true},
		"null": &types.AttributeValueMemberNULL{Value: true},
		"ss":   &types.AttributeValueMemberSS{Value: []string{"x", "y"}},
		"ns":   &types.AttributeValueMemberNS{Value: []string{"1", "2.50"}},
		"bs":   &types.AttributeValueMemberBS{Value: [][]byte{{1}, {2}}},
		"m": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{
			"l": &types.AttributeValueMemberL{Value: []types.AttributeValue{
				&types.AttributeValueMemberN{Value: "7"}, &types.AttributeValueMemberS{Value: ""}}}}},
	}
	got, err := convert(types.Record{
		AwsRegion:    aws.String("eu-west-1"),
		EventID:      aws.String("e1"),
		EventName:    types.OperationTypeRemove,
		EventSource:  aws.String("aws:dynamodb"),
		EventVersion: aws.String("1.1"),
		UserIdentity: &types.Identity{Type: aws.String("Service"), PrincipalId: aws.String("dynamodb.amazonaws.com")},
		Dynamodb: &types.StreamRecord{
			ApproximateCreationDateTime: aws.Time(time.Unix(1_800_000_001, 0)),
			Keys:                        map[string]types.AttributeValue{"s": &types.AttributeValueMemberS{Value: "text"}},
			NewImage:                    image,
			OldImage:                    map[string]types.AttributeValue{"n": &types.AttributeValueMemberN{Value: "1"}},
			SequenceNumber:              aws.String("400000000000000000001"),
			SizeBytes:                   aws.Int64(77),
			StreamViewType:              types.StreamViewTypeNewAndOldImages,
		},
	}, testARN, time.Unix(1_800_000_005, 0))
	if err != nil {
		t.Fatal(err)
	}
	// The event as the Developer Guide of Lambda shows it.
	const lambda = `{"awsRegion":"eu-west-1","eventID":"e1","eventName":"REMOVE","eventSource":"aws:dynamodb","eventVersion":"1.1",
		"eventSourceARN":"` + testARN + `","userIdentity":{"type":"Service","principalId":"dynamodb.amazonaws.com"},
		"dynamodb":{"ApproximateCreationDateTime":1800000001,"Keys":{"s":{"S":"text"}},
		"NewImage":{"s":{"S":"text"},"n":{"N":"-12345678901234567890123456789012345678"},"b":{"B":"AP8="},"bool":{"BOOL":true},
			"null":{"NULL":true},"ss":{"SS":["x","y"]},"ns":{"NS":["1","2.50"]},"bs":{"BS":["AQ==","Ag=="]},
			"m":{"M":{"l":{"L":[{"N":"7"},{"S":""}]}}}},
		"OldImage":{"n":{"N":"1"}},"SequenceNumber":"400000000000000000001","SizeBytes":77,"StreamViewType":"NEW_AND_OLD_IMAGES"}}`
	var want lambdaevents.DynamoDBEventRecord
	if err := json.Unmarshal([]byte(lambda), &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.event, want) {
		t.Errorf("got  %+v\nwant %+v", got.event, want)
	}
}

func TestCreationIsAnUpperBound(t *testing.T) {
	minute := time.Date(2026, 11, 21, 9, 6, 0, 0, time.UTC)
	at := func(d time.Duration) time.Time { return minute.Add(d) }
	tests := map[string]struct{ told, seen, want time.Time }{
		"to the second, as AWS has it":        {at(17 * time.Second), at(20 * time.Second), at(17 * time.Second)},
		"to the minute, seen within it":       {minute, at(20*time.Second + 7), at(20*time.Second + 7)},
		"to the minute, seen long after":      {minute, at(time.Hour), at(time.Minute)},
		"to the minute, by a clock behind it": {minute, at(-time.Second), at(time.Minute)},
	}
	for name, tt := range tests {
		if got := creation(tt.told, tt.seen); !got.Equal(tt.want) {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

func TestALaneIsChosenByTheWholeKey(t *testing.T) {
	lane := func(pk, sk lambdaevents.DynamoDBAttributeValue) int {
		var r record
		r.event.Change.Keys = map[string]lambdaevents.DynamoDBAttributeValue{"PK": pk, "SK": sk}
		return r.lane(10)
	}
	s, n, b := lambdaevents.NewStringAttribute, lambdaevents.NewNumberAttribute, lambdaevents.NewBinaryAttribute
	first := lane(s("a"), n("1"))
	for range 100 { // maps have no order of their own
		if got := lane(s("a"), n("1")); got != first {
			t.Fatalf("one item is in lanes %d and %d", first, got)
		}
	}
	seen := make(map[int]bool)
	for i := range 100 {
		seen[lane(s("a"), b([]byte{byte(i)}))] = true
	}
	if len(seen) != 10 {
		t.Errorf("100 items of one partition are in %d lanes of 10", len(seen))
	}
}
