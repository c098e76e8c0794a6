package stream_test

import (
	"context"
	"reflect"
	"testing"

	lambdaevents "github.com/aws/aws-lambda-go/events"

	"ledger.example/events"
	"ledger.example/functions/stream"
	"ledger.example/functions/stream/streamtest"
	"ledger.example/internal/store"
	"ledger.example/projections"
	"ledger.example/projections/viewstest"
)

// Only the image of a new header or a new end of a hold is decoded, if it is valid and matches the record's key.
func TestEvents(t *testing.T) {
	hold := viewstest.Held("h-1", 1)
	hold.Metadata = map[string]string{"order": "1001"}
	type image = map[string]lambdaevents.DynamoDBAttributeValue
	for name, c := range map[string]struct {
		event  events.Event
		change func(*lambdaevents.DynamoDBEventRecord, image)
		taken  bool
	}{
		"header":  {event: hold, taken: true},
		"end":     {event: viewstest.Ended(hold, events.OutcomeCaptured, 5, 2), taken: true},
		"posting": {event: hold.Postings()[0]},
		"altered": {event: hold, change: func(r *lambdaevents.DynamoDBEventRecord, _ image) { r.EventName = "MODIFY" }},
		"removed": {event: hold, change: func(r *lambdaevents.DynamoDBEventRecord, _ image) { r.EventName = "REMOVE" }},
		"without an image": {event: hold, change: func(r *lambdaevents.DynamoDBEventRecord, _ image) {
			r.Change.NewImage = nil
		}},
		"of another key": {event: hold, change: func(r *lambdaevents.DynamoDBEventRecord, _ image) {
			r.Change.Keys[store.AttrPK] = lambdaevents.NewStringAttribute("TXN#other")
			r.Change.Keys[store.AttrSK] = lambdaevents.NewStringAttribute("TXN#other")
		}},
		"changed": {event: hold, change: func(_ *lambdaevents.DynamoDBEventRecord, i image) {
			i["Metadata"].Map()["order"] = lambdaevents.NewStringAttribute("1002")
		}},
		"of another type": {event: hold, change: func(_ *lambdaevents.DynamoDBEventRecord, i image) {
			i["Legs"] = lambdaevents.NewNullAttribute()
		}},
	} {
		batch := streamtest.Images(t, store.EventItem(c.event))
		if r := &batch.Records[0]; c.change != nil {
			c.change(r, r.Change.NewImage)
		}
		var got []projections.Record
		handle := stream.Handler(func(_ context.Context, batch []projections.Record) (string, error) {
			got = batch
			return "", nil
		})
		streamtest.Deliver(t, handle, batch)
		if e := got[0].Event; c.taken && !reflect.DeepEqual(e, c.event) || !c.taken && e != nil {
			t.Errorf("%s: %+v", name, e)
		}
	}
}
