package stream_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"

	"ledger.example/events"
	"ledger.example/functions/stream"
	"ledger.example/functions/stream/streamtest"
	"ledger.example/internal/table"
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

// Records of another kind, and invocations without records, fail: a success would lose them in silence.
func TestForeignRecordsFail(t *testing.T) {
	for name, records := range map[string]string{
		"none":       ``,
		"SQS":        `{"messageId":"1","receiptHandle":"h","body":"b","eventSource":"aws:sqs"}`,
		"SNS":        `{"EventVersion":"1.0","EventSource":"aws:sns","Sns":{"Message":"m"}}`,
		"S3":         `{"eventVersion":"2.1","eventSource":"aws:s3","eventName":"ObjectCreated:Put","s3":{"object":{"key":"k"}}}`,
		"Kinesis":    `{"kinesis":{"partitionKey":"p","data":"YQ==","sequenceNumber":"1"},"eventSource":"aws:kinesis","eventName":"aws:kinesis:record"}`,
		"binary":     `{"eventName":"INSERT","dynamodb":{"Keys":{"PK":{"B":"YQ=="},"SK":{"B":"YQ=="}},"SequenceNumber":"1"}}`,
		"number":     `{"eventName":"INSERT","dynamodb":{"Keys":{"PK":{"S":"a"},"SK":{"N":"5"}},"SequenceNumber":"1"}}`,
		"other":      `{"eventName":"INSERT","dynamodb":{"Keys":{"id":{"S":"a"}},"SequenceNumber":"1"}}`,
		"keyless":    `{"eventName":"REMOVE","dynamodb":{"SequenceNumber":"1"}}`,
		"unnumbered": `{"eventName":"MODIFY","dynamodb":{"Keys":{"PK":{"S":"a"},"SK":{"S":"b"}}}}`,
	} {
		var e lambdaevents.DynamoDBEvent
		if err := json.Unmarshal([]byte(`{"Records":[`+records+`]}`), &e); err != nil {
			t.Fatal(err)
		}
		c := &consumer{}
		if out, err := stream.Handler(c.consume)(t.Context(), e); err == nil || c.batch != nil {
			t.Errorf("%s: %v, %v, consumed %v", name, out, err, c.batch)
		}
	}
}

// consumer records its batch.
type consumer struct {
	batch  []projections.Record
	failed string
	err    error
}

func (c *consumer) consume(_ context.Context, batch []projections.Record) (string, error) {
	c.batch = batch
	return c.failed, c.err
}

// Lambda interprets an empty list as success, a sequence number as the first failed record, and an error as the failure
// of the whole batch.
func TestResponse(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		consumer consumer
		want     string
	}{
		{consumer{}, `{"batchItemFailures":[]}`},
		{consumer{failed: "102"}, `{"batchItemFailures":[{"itemIdentifier":"102"}]}`},
		{consumer{failed: "100", err: broken}, ""},
	} {
		out, err := stream.Handler(c.consumer.consume)(t.Context(), streamtest.Keys(table.Account.Key("jane")))
		if !errors.Is(err, c.consumer.err) {
			t.Errorf("error %v, want %v", err, c.consumer.err)
		}
		if text, _ := json.Marshal(out); c.want != "" && string(text) != c.want {
			t.Errorf("response %s, want %s", text, c.want)
		}
	}
}

// FuzzHandler passes any event as a batch. Every record must reach the consumer, in order, with its sequence number and
// with its keys that are strings, unless none has such keys.
func FuzzHandler(f *testing.F) {
	f.Add([]byte(batch))
	f.Fuzz(func(t *testing.T, text []byte) {
		var e lambdaevents.DynamoDBEvent
		if json.Unmarshal(text, &e) != nil {
			return
		}
		c := &consumer{}
		out, err := stream.Handler(c.consume)(t.Context(), e)
		if err != nil && c.batch == nil {
			return
		}
		if err != nil || len(out.BatchItemFailures) != 0 || len(c.batch) != len(e.Records) {
			t.Fatalf("%s: %d records of %d, %v, %v", text, len(c.batch), len(e.Records), out, err)
		}
		for i, r := range c.batch {
			given := e.Records[i]
			if r.SequenceNumber != given.Change.SequenceNumber || r.Removed != (given.EventName == "REMOVE") ||
				r.Altered != (given.EventName == "MODIFY") {
				t.Fatalf("%s: record %d is %+v", text, i, r)
			}
			for name, got := range map[string]string{"PK": r.PK, "SK": r.SK} {
				want := ""
				if key, there := given.Change.Keys[name]; there && key.DataType() == lambdaevents.DataTypeString {
					want = key.String()
				}
				if got != want {
					t.Fatalf("%s: record %d has %q for its %s", text, i, got, name)
				}
			}
		}
	})
}

// Only the image of a new event of the journal, or of a new posting, is decoded, if it is valid and matches the
// record's key.
func TestImagesAreDecoded(t *testing.T) {
	legs := []events.Leg{
		{ID: "3MPlq7CblaK144v8BdRNuauB4LH", Account: "jane", Asset: "USD", Quantity: events.NewAmount(-5)},
		{ID: "3MPlq7CblaK144v8BdRNuauB4LI", Account: "shop", Asset: "USD", Quantity: events.NewAmount(5)},
	}
	hold := events.TransactionPosted{
		ID: "h-1", Kind: events.KindTransfer, Fingerprint: "1:x",
		Annotation: events.Annotation{Metadata: map[string]string{"order": "1001"}},
		Actor:      "test", ExpiresAt: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC), Legs: legs,
	}
	posting := events.PostingRecorded{Leg: legs[0], Transaction: "t-1", Kind: events.KindTrade, Description: "ten"}
	figures := posting.Figures()
	all := map[string]events.Event{
		"header": hold, "posting": posting,
		"end": events.HoldEnded{Transaction: "h-1", Outcome: events.OutcomeReleased, Actor: "test", Legs: legs},
	}
	decoded := func(name string, change func(*lambdaevents.DynamoDBEventRecord)) (events.Event, *events.Figures) {
		e, c := streamtest.Images(t, table.EventItem(all[name])), &consumer{}
		change(&e.Records[0])
		streamtest.Deliver(t, stream.Handler(c.consume), e)
		return c.batch[0].Event, c.batch[0].Figures
	}
	for name, event := range all {
		e, f := decoded(name, func(*lambdaevents.DynamoDBEventRecord) {})
		if name == "posting" && (e != nil || !reflect.DeepEqual(f, &figures)) ||
			name != "posting" && (f != nil || !reflect.DeepEqual(e, event)) {
			t.Errorf("%s: %+v, %+v", name, e, f)
		}
	}
	text, number := lambdaevents.NewStringAttribute, lambdaevents.NewNumberAttribute
	change := func(name, attribute string, value lambdaevents.DynamoDBAttributeValue) {
		e, f := decoded(name, func(r *lambdaevents.DynamoDBEventRecord) {
			r.Change.NewImage[attribute] = value
			if value.IsNull() {
				delete(r.Change.NewImage, attribute)
			}
		})
		if e != nil || f != nil {
			t.Errorf("%s with %s %v: %+v, %+v", name, attribute, value, e, f)
		}
	}
	none := lambdaevents.NewNullAttribute()
	for _, value := range []lambdaevents.DynamoDBAttributeValue{number("-6"), number("-5E0"), text("-5"), none} {
		change("posting", "Quantity", value)
	}
	for _, value := range []lambdaevents.DynamoDBAttributeValue{number("1"), number("0.5")} {
		change("posting", "Cost", value)
	}
	change("posting", "Backdated", lambdaevents.NewBooleanAttribute(true))
	for _, name := range []string{"posting", "header", "end"} {
		for attribute, value := range map[string]lambdaevents.DynamoDBAttributeValue{
			"Transaction": text("t-2"), "Kind": text("transfers"), "Description": text("two"), "Checksum": none,
			table.AttrType: text("Oops"), "Metadata": text("x"), "Legs": number("1"),
		} {
			if _, has := table.EventItem(all[name])[attribute]; has {
				change(name, attribute, value)
			}
		}
		for _, value := range []lambdaevents.DynamoDBAttributeValue{number("2"), text("1"), none} {
			change(name, table.AttrForm, value)
		}
		for what, damage := range map[string]func(*lambdaevents.DynamoDBEventRecord){
			"altered": func(r *lambdaevents.DynamoDBEventRecord) { r.EventName = "MODIFY" },
			"removed": func(r *lambdaevents.DynamoDBEventRecord) { r.EventName = "REMOVE" },
			"without an image": func(r *lambdaevents.DynamoDBEventRecord) {
				r.Change.NewImage = nil // as with StreamViewType KEYS_ONLY
			},
			"of another key": func(r *lambdaevents.DynamoDBEventRecord) {
				for _, attribute := range []string{table.AttrPK, table.AttrSK} {
					r.Change.Keys[attribute] = text(r.Change.Keys[attribute].String() + "x")
				}
			},
		} {
			if e, f := decoded(name, damage); e != nil || f != nil {
				t.Errorf("%s, %s: %+v, %+v", name, what, e, f)
			}
		}
	}
}
