package app

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/functions/api"
)

// foreign are invocations that no function of the ledger takes, except one of the stream those with its records.
var foreign = map[string]string{
	"SQS":     `{"Records":[{"messageId":"1","body":"{}","eventSource":"aws:sqs"}]}`,
	"S3":      `{"Records":[{"eventSource":"aws:s3","eventName":"ObjectCreated:Put","s3":{}}]}`,
	"Kinesis": `{"Records":[{"eventSource":"aws:kinesis","eventName":"aws:kinesis:record","kinesis":{"sequenceNumber":"1"}}]}`,
	"another": `{"hello":"world"}`, "a list": `[]`, "a text": `"rewind"`, "a number": `7`,
	"REST": `{"httpMethod":"GET","path":"/healthz","requestContext":{"httpMethod":"GET"}}`,
}

// A function that is invoked with anything else than what it is for fails, and does nothing.
func TestForeignInvocationsFail(t *testing.T) {
	s, err := New(Config{Client: dynamodb.New(dynamodb.Options{}), Table: "ledger", Caller: api.LocalCaller})
	if err != nil {
		t.Fatal(err)
	}
	functions := map[string]lambda.Handler{
		"command": lambda.NewHandler(api.Gateway(s.Commands())), "query": lambda.NewHandler(api.Gateway(s.Queries())),
		"projector": lambda.NewHandler(s.Stream()), "lister": lambda.NewHandler(s.List()),
		"sweeper": lambda.NewHandler(s.Sweep), "forwarder": lambda.NewHandler(s.Forward("events", nil)),
	}
	for name, function := range functions {
		for kind, payload := range foreign {
			if answer, err := function.Invoke(t.Context(), []byte(payload)); err == nil {
				t.Errorf("%s invoked with %s answers %s", name, kind, answer)
			}
		}
		if name != "sweeper" && name != "forwarder" {
			if answer, err := function.Invoke(t.Context(), []byte(`{}`)); err == nil {
				t.Errorf("%s invoked with nothing answers %s", name, answer)
			}
		}
	}
}

// The input of the forwarder is the event of a schedule, or has known fields only: a misspelled one is no input.
func TestForwardingInput(t *testing.T) {
	rewind := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	for payload, want := range map[string]*time.Time{
		`{}`: {}, `null`: {}, `{"rewind":"2026-11-22T09:00:00Z"}`: &rewind,
		`{"version":"0","detail-type":"Scheduled Event","source":"aws.events","detail":{}}`: {},
		`{"rewnd":"2026-11-22T09:00:00Z"}`:                                                  nil, `{"rewind":"yesterday"}`: nil, `{"rewind":7}`: nil,
		`{"source":"aws.events","Records":[]}`: nil, `{"source":"mine"}`: nil,
	} {
		var in Forwarding
		if err := json.Unmarshal([]byte(payload), &in); (err == nil) != (want != nil) ||
			err == nil && !in.Rewind.Equal(*want) {
			t.Errorf("%s: %v, %v", payload, in, err)
		}
	}
}
