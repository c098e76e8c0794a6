package stream

import (
	"encoding/json"
	"fmt"
	"testing"

	lambdaevents "github.com/aws/aws-lambda-go/events"
)

// Only what a put posting shows in the form that it is stored in is taken for its figures.
func TestFigures(t *testing.T) {
	for name, c := range map[string]struct {
		event, kind, version, quantity, cost string
		taken                                bool
	}{
		"a posting":         {"INSERT", "PostingRecorded", `{"N":"1"}`, `{"N":"-5"}`, `{"N":"0"}`, true},
		"changed":           {"MODIFY", "PostingRecorded", `{"N":"1"}`, `{"N":"-5"}`, `{"N":"0"}`, false},
		"removed":           {"REMOVE", "PostingRecorded", `{"N":"1"}`, `{"N":"-5"}`, `{"N":"0"}`, false},
		"another event":     {"INSERT", "TransactionPosted", `{"N":"1"}`, `{"N":"-5"}`, `{"N":"0"}`, false},
		"a version to come": {"INSERT", "PostingRecorded", `{"N":"2"}`, `{"N":"-5"}`, `{"N":"0"}`, false},
		"no version":        {"INSERT", "PostingRecorded", `{"S":"1"}`, `{"N":"-5"}`, `{"N":"0"}`, false},
		"an exponent":       {"INSERT", "PostingRecorded", `{"N":"1"}`, `{"N":"5E2"}`, `{"N":"0"}`, false},
		"a fraction":        {"INSERT", "PostingRecorded", `{"N":"1"}`, `{"N":"5"}`, `{"N":"0.5"}`, false},
		"a text":            {"INSERT", "PostingRecorded", `{"N":"1"}`, `{"S":"5"}`, `{"N":"0"}`, false},
	} {
		var r lambdaevents.DynamoDBEventRecord
		if err := json.Unmarshal(fmt.Appendf(nil, `{"eventName":%q,"dynamodb":{"NewImage":{"Type":{"S":%q},"V":%s,"Quantity":%s,"Cost":%s}}}`,
			c.event, c.kind, c.version, c.quantity, c.cost), &r); err != nil {
			t.Fatal(err)
		}
		f := figures(r)
		if (f != nil) != c.taken || f != nil && (f.Quantity.String() != "-5" || !f.Cost.IsZero()) {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if figures(lambdaevents.DynamoDBEventRecord{EventName: "INSERT"}) != nil { // KEYS_ONLY
		t.Error("no image, but figures")
	}
}
