package pump

import (
	"strings"
	"testing"

	lambdaevents "github.com/aws/aws-lambda-go/events"
)

// posting is what the patterns below are tried on.
var posting = lambdaevents.DynamoDBEventRecord{
	EventName: "INSERT",
	Change: lambdaevents.DynamoDBStreamRecord{
		Keys: map[string]lambdaevents.DynamoDBAttributeValue{
			"PK": lambdaevents.NewStringAttribute("ACCOUNT#jane"),
			"SK": lambdaevents.NewStringAttribute("POSTING#AAPL#1"),
		},
		NewImage: map[string]lambdaevents.DynamoDBAttributeValue{
			"Type":     lambdaevents.NewStringAttribute("Posting"),
			"Quantity": lambdaevents.NewNumberAttribute("10"),
			"Open":     lambdaevents.NewBooleanAttribute(true),
			"Gone":     lambdaevents.NewNullAttribute(),
			"Empty":    lambdaevents.NewStringAttribute(""),
			"Tags":     lambdaevents.NewStringSetAttribute([]string{"red", "green"}),
			"Legs": lambdaevents.NewListAttribute([]lambdaevents.DynamoDBAttributeValue{
				lambdaevents.NewStringAttribute("first"), lambdaevents.NewStringAttribute("second")}),
			"Profile": lambdaevents.NewMapAttribute(map[string]lambdaevents.DynamoDBAttributeValue{
				"City": lambdaevents.NewStringAttribute("Springfield")}),
		},
		SizeBytes: 120,
	},
}

func TestFilterPatterns(t *testing.T) {
	tests := []struct {
		pattern string
		want    bool
	}{
		{`{"eventName":["INSERT"]}`, true},
		{`{"eventName":["MODIFY","INSERT"]}`, true},
		{`{"eventName":["MODIFY"]}`, false},
		{`{"eventName":["insert"]}`, false},
		{`{"eventName":[{"equals-ignore-case":"insert"}]}`, true},
		{`{"eventName":[{"equals-ignore-case":"inserted"}]}`, false},

		{`{"dynamodb":{"Keys":{"SK":{"S":[{"prefix":"POSTING#"}]}}}}`, true},
		{`{"dynamodb":{"Keys":{"SK":{"S":[{"prefix":"BALANCE#"}]}}}}`, false},
		{`{"dynamodb":{"Keys":{"SK":{"S":[{"suffix":"#1"}]}}}}`, true},
		{`{"dynamodb":{"Keys":{"SK":{"S":[{"suffix":"#2"}]}}}}`, false},
		{`{"dynamodb":{"Keys":{"SK":{"N":[{"prefix":"POSTING#"}]}}}}`, false},

		// Every field must match, and one of a field's alternatives.
		{`{"eventName":["INSERT"],"dynamodb":{"Keys":{"SK":{"S":[{"prefix":"POSTING#"}]}}}}`, true},
		{`{"eventName":["REMOVE"],"dynamodb":{"Keys":{"SK":{"S":[{"prefix":"POSTING#"}]}}}}`, false},
		{`{"dynamodb":{"Keys":{"SK":{"S":[{"prefix":"GRANT#"},{"prefix":"POSTING#"}]}}}}`, true},
		{`{"$or":[{"eventName":["REMOVE"]},{"dynamodb":{"Keys":{"PK":{"S":["ACCOUNT#jane"]}}}}]}`, true},
		{`{"$or":[{"eventName":["REMOVE"]},{"dynamodb":{"Keys":{"PK":{"S":["ACCOUNT#joe"]}}}}]}`, false},
		{`{"eventName":["REMOVE"],"$or":[{"eventName":["INSERT"]},{"eventName":["REMOVE"]}]}`, false},

		{`{"dynamodb":{"NewImage":{"Type":{"S":[{"anything-but":"Balance"}]}}}}`, true},
		{`{"dynamodb":{"NewImage":{"Type":{"S":[{"anything-but":["Balance","Posting"]}]}}}}`, false},
		{`{"dynamodb":{"NewImage":{"None":{"S":[{"anything-but":["Balance"]}]}}}}`, false},

		{`{"dynamodb":{"NewImage":{"Type":{"S":[{"exists":true}]}}}}`, true},
		{`{"dynamodb":{"NewImage":{"None":{"S":[{"exists":true}]}}}}`, false},
		{`{"dynamodb":{"NewImage":{"None":{"S":[{"exists":false}]}}}}`, true},
		{`{"dynamodb":{"NewImage":{"Type":{"S":[{"exists":false}]}}}}`, false},
		{`{"dynamodb":{"NewImage":{"Type":[{"exists":true}]}}}`, false}, // not a leaf
		{`{"dynamodb":{"OldImage":{"Type":{"S":[{"exists":false}]}}}}`, true},

		{`{"dynamodb":{"NewImage":{"Quantity":{"N":["10"]}}}}`, true},
		{`{"dynamodb":{"NewImage":{"Quantity":{"N":[10]}}}}`, false}, // DynamoDB's numbers are strings
		{`{"dynamodb":{"SizeBytes":[120]}}`, true},
		{`{"dynamodb":{"SizeBytes":[{"anything-but":120}]}}`, false},
		{`{"dynamodb":{"NewImage":{"Open":{"BOOL":[true]}}}}`, true},
		{`{"dynamodb":{"NewImage":{"Open":{"BOOL":[false]}}}}`, false},
		{`{"dynamodb":{"NewImage":{"Gone":{"NULL":[true]}}}}`, true},
		{`{"dynamodb":{"NewImage":{"Gone":{"NULL":[null]}}}}`, false},
		{`{"dynamodb":{"NewImage":{"Empty":{"S":[""]}}}}`, true},
		{`{"dynamodb":{"NewImage":{"Tags":{"SS":["green"]}}}}`, true},
		{`{"dynamodb":{"NewImage":{"Tags":{"SS":["blue"]}}}}`, false},
		{`{"dynamodb":{"NewImage":{"Legs":{"L":{"S":["second"]}}}}}`, true},
		{`{"dynamodb":{"NewImage":{"Legs":{"L":{"S":["third"]}}}}}`, false},
		{`{"dynamodb":{"NewImage":{"Profile":{"M":{"City":{"S":["Springfield"]}}}}}}`, true},
		{`{"eventName":{"deeper":["INSERT"]}}`, false},
	}
	for _, tt := range tests {
		f, err := parseFilter([]string{tt.pattern})
		if err != nil {
			t.Errorf("%s: %v", tt.pattern, err)
			continue
		}
		got, err := f.matches(posting)
		if err != nil || got != tt.want {
			t.Errorf("%s: matches is %t, %v; want %t", tt.pattern, got, err, tt.want)
		}
	}
}

func TestFilterPatternsAreAlternatives(t *testing.T) {
	const yes, no = `{"eventName":["INSERT"]}`, `{"eventName":["REMOVE"]}`
	tests := []struct {
		patterns []string
		want     bool
	}{{nil, true}, {[]string{no, yes}, true}, {[]string{no, no}, false}}
	for _, tt := range tests {
		f, err := parseFilter(tt.patterns)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := f.matches(posting); err != nil || got != tt.want {
			t.Errorf("%q: matches is %t, %v; want %t", tt.patterns, got, err, tt.want)
		}
	}
}

func TestFilterRefusesWhatItDoesNotKnow(t *testing.T) {
	tests := []struct{ pattern, says string }{
		{`{"eventName":[{"wildcard":"INS*"}]}`, `"eventName": the operator wildcard is not supported`},
		{`{"dynamodb":{"SizeBytes":[{"numeric":[">",1]}]}}`, `"dynamodb.SizeBytes": the operator numeric`},
		{`{"eventName":[{"prefix":1}]}`, "prefix wants a string"},
		{`{"eventName":[{"exists":"yes"}]}`, "exists wants"},
		{`{"eventName":[{"anything-but":{"prefix":"x"}}]}`, "anything-but wants"},
		{`{"eventName":[{"anything-but":[]}]}`, "anything-but wants"},
		{`{"eventName":[{"prefix":"I","suffix":"T"}]}`, "one operator"},
		{`{"eventName":[{}]}`, "one operator"},
		{`{"eventName":[["INSERT"]]}`, "a list in its list"},
		{`{"eventName":"INSERT"}`, "neither a list nor an object"},
		{`{"eventName":[]}`, "empty list"},
		{`{"eventName":{}}`, "empty object"},
		{`{"$or":[]}`, "empty"},
		{`{"$or":["INSERT"]}`, "not an object"},
		{`{"$or":{"eventName":["INSERT"]},"eventName":["INSERT"]}`, `"$or" wants a list`},
		{`{}`, "empty object"},
		{`[]`, "not an object"},
		{`{"eventName":["INSERT"]} {}`, "after its end"},
		{`{"eventName":["INSERT"]`, "not JSON"},
		{``, "not JSON"},
	}
	for _, tt := range tests {
		if _, err := parseFilter([]string{tt.pattern}); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: error %v, want one that says %q", tt.pattern, err, tt.says)
		}
	}
}
