package stream

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	lambdaevents "github.com/aws/aws-lambda-go/events"

	"ledger.example/projections"
)

// batch has all kinds of records: a posting, the write of a projection, a removal, and keys that are not strings.
const batch = `{"Records":[
 {"eventName":"INSERT","eventSourceARN":"arn:aws:dynamodb:eu-central-1:1:table/ledger/stream/x","dynamodb":{
  "ApproximateCreationDateTime":1764000000,"SequenceNumber":"100","SizeBytes":26,"StreamViewType":"NEW_IMAGE",
  "Keys":{"PK":{"S":"ACCOUNT#jane"},"SK":{"S":"POSTING#USD#k"}},
  "NewImage":{"PK":{"S":"ACCOUNT#jane"},"Quantity":{"N":"5"}}}},
 {"eventName":"MODIFY","dynamodb":{"Keys":{"PK":{"S":"ACCOUNT#j"},"SK":{"S":"BALANCE#USD"}},"SequenceNumber":"101"}},
 {"eventName":"REMOVE","dynamodb":{"Keys":{"PK":{"S":"ACCOUNT#jane"},"SK":{"S":"MEMBER#u"}},"SequenceNumber":"102"}},
 {"eventName":"INSERT","dynamodb":{"Keys":{"PK":{"N":"5"}},"SequenceNumber":"103"}},
 {"eventName":"INSERT","dynamodb":{"SequenceNumber":"104"}}
]}`

type projector struct {
	batch  []projections.Record
	failed string
	err    error
}

func (p *projector) Project(_ context.Context, batch []projections.Record) (string, error) {
	p.batch = batch
	return p.failed, p.err
}

// Lambda interprets an empty list as success, a sequence number as the first failed record, and an error as the failure
// of the whole batch.
func TestResponse(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		projector projector
		want      string
	}{
		{projector{}, `{"batchItemFailures":[]}`},
		{projector{failed: "102"}, `{"batchItemFailures":[{"itemIdentifier":"102"}]}`},
		{projector{failed: "100", err: broken}, ""},
	} {
		out, err := Handler(c.projector.Project)(t.Context(), lambdaevents.DynamoDBEvent{})
		if !errors.Is(err, c.projector.err) {
			t.Errorf("error %v, want %v", err, c.projector.err)
		}
		if text, _ := json.Marshal(out); c.want != "" && string(text) != c.want {
			t.Errorf("response %s, want %s", text, c.want)
		}
	}
}
