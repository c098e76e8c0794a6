package stream

import (
	"encoding/json"
	"testing"

	lambdaevents "github.com/aws/aws-lambda-go/events"
)

// FuzzHandler passes any event as a batch. Every record must reach the consumer, in order, with its sequence number and
// with its keys that are strings.
func FuzzHandler(f *testing.F) {
	f.Add([]byte(batch))
	f.Fuzz(func(t *testing.T, text []byte) {
		var e lambdaevents.DynamoDBEvent
		if json.Unmarshal(text, &e) != nil {
			return
		}
		p := &projector{}
		out, err := Handler(p.Project)(t.Context(), e)
		if err != nil || len(out.BatchItemFailures) != 0 || len(p.batch) != len(e.Records) {
			t.Fatalf("%s: %d records of %d, %v, %v", text, len(p.batch), len(e.Records), out, err)
		}
		for i, r := range p.batch {
			given := e.Records[i]
			if r.SequenceNumber != given.Change.SequenceNumber || r.Removed != (given.EventName == "REMOVE") ||
				r.Altered != (given.EventName == "MODIFY") {
				t.Fatalf("%s: record %d is %+v", text, i, r)
			}
			for name, got := range map[string]string{"PK": r.PK, "SK": r.SK} {
				key, there := given.Change.Keys[name]
				if there && key.DataType() == lambdaevents.DataTypeString {
					if got != key.String() {
						t.Fatalf("%s: record %d has %q for its %s", text, i, got, name)
					}
				} else if got != "" {
					t.Fatalf("%s: record %d has %q for no %s", text, i, got, name)
				}
			}
		}
	})
}
