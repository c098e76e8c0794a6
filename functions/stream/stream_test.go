package stream

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	lambdaevents "github.com/aws/aws-lambda-go/events"

	"ledger.example/projections"
)

// batch has what a stream may bring: a posting, a projection's own write, a removal, and keys that aren't texts.
const batch = `{"Records":[
 {"eventID":"a","eventName":"INSERT","eventVersion":"1.1","eventSource":"aws:dynamodb","awsRegion":"eu-central-1","eventSourceARN":"arn:aws:dynamodb:eu-central-1:1:table/ledger/stream/x",
  "dynamodb":{"ApproximateCreationDateTime":1764000000,"Keys":{"PK":{"S":"ACCOUNT#jane"},"SK":{"S":"POSTING#USD#k"}},"NewImage":{"PK":{"S":"ACCOUNT#jane"},"Quantity":{"N":"5"}},"SequenceNumber":"100","SizeBytes":26,"StreamViewType":"NEW_IMAGE"}},
 {"eventID":"b","eventName":"MODIFY","dynamodb":{"Keys":{"PK":{"S":"ACCOUNT#jane"},"SK":{"S":"BALANCE#USD"}},"SequenceNumber":"101"}},
 {"eventID":"c","eventName":"REMOVE","dynamodb":{"Keys":{"PK":{"S":"ACCOUNT#jane"},"SK":{"S":"MEMBER#u"}},"SequenceNumber":"102"}},
 {"eventID":"d","eventName":"INSERT","dynamodb":{"Keys":{"PK":{"N":"5"}},"SequenceNumber":"103"}},
 {"eventID":"e","eventName":"INSERT","dynamodb":{"SequenceNumber":"104"}}
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

func TestRecordsAsTheProjectorSeesThem(t *testing.T) {
	var e lambdaevents.DynamoDBEvent
	if err := json.Unmarshal([]byte(batch), &e); err != nil {
		t.Fatal(err)
	}
	p := &projector{}
	if _, err := Handler(p)(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	want := []projections.Record{
		{SequenceNumber: "100", PK: "ACCOUNT#jane", SK: "POSTING#USD#k"},
		{SequenceNumber: "101", PK: "ACCOUNT#jane", SK: "BALANCE#USD"},
		{SequenceNumber: "102", PK: "ACCOUNT#jane", SK: "MEMBER#u", Removed: true},
		{SequenceNumber: "103"},
		{SequenceNumber: "104"},
	}
	if !reflect.DeepEqual(p.batch, want) {
		t.Errorf("got %+v", p.batch)
	}
}

// Lambda takes an empty list for success, a sequence number for the lowest failure, and an error for all.
func TestWhatLambdaIsTold(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		projector projector
		want      string
	}{
		{projector{}, `{"batchItemFailures":[]}`},
		{projector{failed: "102"}, `{"batchItemFailures":[{"itemIdentifier":"102"}]}`},
		{projector{failed: "100", err: broken}, ""},
	} {
		out, err := Handler(&c.projector)(t.Context(), lambdaevents.DynamoDBEvent{})
		if !errors.Is(err, c.projector.err) {
			t.Errorf("error %v, want %v", err, c.projector.err)
		}
		if text, _ := json.Marshal(out); c.want != "" && string(text) != c.want {
			t.Errorf("Lambda is told %s, want %s", text, c.want)
		}
	}
}
