package pump

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// posting is the record that the patterns below are matched with.
var posting = types.Record{
	EventName: types.OperationTypeInsert,
	Dynamodb: &types.StreamRecord{
		Keys: map[string]types.AttributeValue{"PK": stringOf("ACCOUNT#jane"), "SK": stringOf("POSTING#AAPL#1")},
		NewImage: map[string]types.AttributeValue{
			"Type": stringOf("Posting"), "Empty": stringOf(""), "Quantity": &types.AttributeValueMemberN{Value: "10"},
		},
	},
}

func stringOf(text string) types.AttributeValue { return &types.AttributeValueMemberS{Value: text} }

// A pattern matches the posting, does not match it, or is rejected.
func TestFilterPatterns(t *testing.T) {
	for want, patterns := range map[string][]string{
		"match": {
			`{"eventName":["MODIFY","INSERT"]}`,
			`{"dynamodb":{"Keys":{"SK":{"S":[{"prefix":"GRANT#"},{"prefix":"POSTING#"}]}}}}`,
			`{"dynamodb":{"Keys":{"SK":{"S":[{"prefix":"POSTING#"}]},"PK":{"S":[{"prefix":"ACCOUNT#j"}]}}}}`,
			`{"eventName":["INSERT"],"dynamodb":{"Keys":{"SK":{"S":[{"prefix":"POSTING#"}]}}}}`,
			`{"dynamodb":{"NewImage":{"Quantity":{"S":[{"exists":false}]}}}}`, // it is an N
			`{"dynamodb":{"NewImage":{"None":{"S":[{"exists":false}]}}}}`,
			`{"dynamodb":{"NewImage":{"Type":{"S":[{"exists":true}]}}}}`,
		},
		"no match": {
			`{"eventName":["insert"]}`,
			`{"dynamodb":{"Keys":{"SK":{"S":[{"prefix":"POSTING#"}]},"PK":{"S":[{"prefix":"ASSET#"}]}}}}`,
			`{"dynamodb":{"Keys":{"None":{"S":[{"prefix":"x"}]}}}}`,
			`{"eventName":["REMOVE"],"dynamodb":{"Keys":{"SK":{"S":[{"prefix":"POSTING#"}]}}}}`,
			`{"dynamodb":{"Keys":{"SK":{"S":[{"prefix":"POSTING#"}]}},"NewImage":{"Type":{"S":[{"exists":false}]}}}}`,
			`{"dynamodb":{"NewImage":{"Empty":{"S":[{"exists":false}]}}}}`,
		},
		"refused": {
			`{"eventName":[{"prefix":"I"}]}`, `{"eventName":"INSERT"}`, `{"dynamodb":{"SizeBytes":[1]}}`,
			`{"$or":[{"eventName":["INSERT"]}]}`, `{"dynamodb":{"Keys":{"SK":{"S":[{"suffix":"x"}]}}}}`,
			`{"dynamodb":{"Keys":{"N":{"N":["1"]}}}}`, `{"dynamodb":{"OldImage":{}}}`, `{"eventName":["INSERT"]`, ``,
		},
	} {
		for _, pattern := range patterns {
			f, err := parseFilter([]string{pattern})
			got := "no match"
			if err != nil {
				got = "refused"
			} else if f.matches(posting) {
				got = "match"
			}
			if got != want {
				t.Errorf("%s: %s, %v", pattern, got, err)
			}
		}
	}
}

// No pattern makes the filter panic. A record matches a filter if it matches one of its patterns.
func FuzzFilter(f *testing.F) {
	f.Fuzz(func(t *testing.T, pattern, other string) {
		one, err := parseFilter([]string{pattern})
		two, otherErr := parseFilter([]string{other})
		both, bothErr := parseFilter([]string{pattern, other})
		if (bothErr == nil) != (err == nil && otherErr == nil) {
			t.Fatalf("%v, %v, but both: %v", err, otherErr, bothErr)
		}
		if bothErr == nil && both.matches(posting) != (one.matches(posting) || two.matches(posting)) {
			t.Fatalf("%q, %q: %t, but both: %t", pattern, other, one.matches(posting), both.matches(posting))
		}
	})
}
