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

// FuzzConvert: what any image becomes is what Lambda's own reader makes of the same image, and is still it after having
// been set aside as JSON.
func FuzzConvert(f *testing.F) {
	f.Fuzz(func(t *testing.T, text []byte, number string) {
		var image map[string]lambdaevents.DynamoDBAttributeValue
		if json.Unmarshal(text, &image) != nil || image == nil {
			return
		}
		given := make(map[string]types.AttributeValue, len(image))
		for name, v := range image {
			given[name] = asStreamHas(v)
		}
		r, err := convert(types.Record{
			EventName: types.OperationTypeInsert,
			Dynamodb:  &types.StreamRecord{ApproximateCreationDateTime: aws.Time(time.Unix(1_800_000_000, 0)), Keys: given, NewImage: given, SequenceNumber: aws.String(number)},
		}, testARN, time.Unix(1_800_000_000, 0))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if r.sequenceNumber() != number || !reflect.DeepEqual(r.event.Change.NewImage, image) {
			t.Fatalf("%s became %+v", text, r.event.Change)
		}
		if lane := r.lane(10); lane < 0 || lane > 9 || lane != r.lane(10) {
			t.Fatalf("%s is in lane %d", text, lane)
		}
		if len(image) == 0 {
			return // an empty image is left out
		}
		aside, err := json.Marshal(r.event)
		var back lambdaevents.DynamoDBEventRecord
		if err != nil || json.Unmarshal(aside, &back) != nil || !reflect.DeepEqual(back.Change.NewImage, image) {
			t.Fatalf("%s is set aside as %s, %v", text, aside, err)
		}
	})
}

// asStreamHas returns a value as the stream's SDK has it.
func asStreamHas(v lambdaevents.DynamoDBAttributeValue) types.AttributeValue {
	switch v.DataType() {
	case lambdaevents.DataTypeString:
		return &types.AttributeValueMemberS{Value: v.String()}
	case lambdaevents.DataTypeNumber:
		return &types.AttributeValueMemberN{Value: v.Number()}
	case lambdaevents.DataTypeBinary:
		return &types.AttributeValueMemberB{Value: v.Binary()}
	case lambdaevents.DataTypeBoolean:
		return &types.AttributeValueMemberBOOL{Value: v.Boolean()}
	case lambdaevents.DataTypeStringSet:
		return &types.AttributeValueMemberSS{Value: v.StringSet()}
	case lambdaevents.DataTypeNumberSet:
		return &types.AttributeValueMemberNS{Value: v.NumberSet()}
	case lambdaevents.DataTypeBinarySet:
		return &types.AttributeValueMemberBS{Value: v.BinarySet()}
	case lambdaevents.DataTypeMap:
		m := make(map[string]types.AttributeValue, len(v.Map()))
		for name, element := range v.Map() {
			m[name] = asStreamHas(element)
		}
		return &types.AttributeValueMemberM{Value: m}
	case lambdaevents.DataTypeList:
		l := make([]types.AttributeValue, len(v.List()))
		for i, element := range v.List() {
			l[i] = asStreamHas(element)
		}
		return &types.AttributeValueMemberL{Value: l}
	}
	return &types.AttributeValueMemberNULL{Value: true}
}

// FuzzFilter: any pattern is refused, or tells of a record; and laws of the language hold: a pattern twice is the pattern,
// either of it and another takes what it takes, both of them only that.
func FuzzFilter(f *testing.F) {
	f.Fuzz(func(t *testing.T, pattern, other string) {
		matches := func(patterns ...string) bool {
			parsed, err := parseFilter(patterns)
			if err != nil {
				t.Fatalf("%q: %v", patterns, err)
			}
			m, err := parsed.matches(posting)
			if err != nil {
				t.Fatalf("%q: %v", patterns, err)
			}
			return m
		}
		for _, p := range []string{pattern, other} {
			if parsed, err := parseFilter([]string{p}); err != nil {
				if parsed != nil {
					t.Fatalf("%q: %v, %v", p, parsed, err)
				}
				return
			}
		}
		one, two := matches(pattern), matches(other)
		if matches(pattern, pattern) != one || matches(pattern, other) != (one || two) || matches(`{"$or":[`+pattern+`,`+other+`]}`) != (one || two) {
			t.Fatalf("%q matches: %t; %q: %t", pattern, one, other, two)
		}
		const its, foreign = `{"eventName":["REMOVE","INSERT"]}`, `{"eventName":["REMOVE","MODIFY"]}`
		or := func(a, b string) bool { return matches(`{"$or":[` + a + `,` + b + `]}`) }
		if !or(pattern, its) || !or(its, pattern) || or(pattern, foreign) != one || or(foreign, pattern) != one {
			t.Fatalf("%q matches: %t; not so beside one that does, or one that doesn't", pattern, one)
		}
	})
}
