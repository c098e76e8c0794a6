// Package stream passes batches of the table's stream, as Lambda delivers them, to the projector and to the lister.
package stream

import (
	"context"
	"fmt"
	"strconv"

	lambdaevents "github.com/aws/aws-lambda-go/events"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

// Consumer processes a batch, for example projections.Projector. It returns the sequence number of the first record
// that failed, "" for none. After an error, Lambda must redeliver the whole batch.
type Consumer = func(ctx context.Context, batch []projections.Record) (failed string, err error)

// Function is a Lambda function for a stream.
type Function = func(context.Context, lambdaevents.DynamoDBEvent) (lambdaevents.DynamoDBEventResponse, error)

// Handler returns a Lambda function for the stream of the table. Its event source mapping must have
// ReportBatchItemFailures. It fails if it is invoked with anything else: a success would lose it in silence. The keys
// of a record say what to project. The image of a record saves a read of the event; an image that cannot be decoded is
// ignored.
func Handler(consume Consumer) Function {
	return func(ctx context.Context, e lambdaevents.DynamoDBEvent) (lambdaevents.DynamoDBEventResponse, error) {
		if err := check(e); err != nil {
			return lambdaevents.DynamoDBEventResponse{}, err
		}
		batch := make([]projections.Record, len(e.Records))
		for i, r := range e.Records {
			batch[i] = projections.Record{
				SequenceNumber: r.Change.SequenceNumber,
				PK:             text(r.Change.Keys, table.AttrPK),
				SK:             text(r.Change.Keys, table.AttrSK),
				Removed:        r.EventName == string(lambdaevents.DynamoDBOperationTypeRemove),
				Altered:        r.EventName == string(lambdaevents.DynamoDBOperationTypeModify),
				Figures:        figures(r),
				Written:        r.Change.ApproximateCreationDateTime.Time,
				Event:          event(r),
				Current:        current(r),
			}
		}
		failed, err := consume(ctx, batch)
		if err != nil {
			return lambdaevents.DynamoDBEventResponse{}, err
		}
		failures := []lambdaevents.DynamoDBBatchItemFailure{}
		if failed != "" {
			failures = append(failures, lambdaevents.DynamoDBBatchItemFailure{ItemIdentifier: failed})
		}
		return lambdaevents.DynamoDBEventResponse{BatchItemFailures: failures}, nil
	}
}

// check returns an error if no record is of the stream of a ledger's table. Records of a queue, of a bucket or of
// another stream have no sequence number or no such keys. A single one among others does not hold them up: it is passed
// on, and the projector counts it as malformed.
func check(e lambdaevents.DynamoDBEvent) error {
	for _, r := range e.Records {
		switch lambdaevents.DynamoDBOperationType(r.EventName) {
		case lambdaevents.DynamoDBOperationTypeInsert, lambdaevents.DynamoDBOperationTypeModify,
			lambdaevents.DynamoDBOperationTypeRemove:
			keys := r.Change.Keys
			if r.Change.SequenceNumber != "" && text(keys, table.AttrPK) != "" && text(keys, table.AttrSK) != "" {
				return nil
			}
		}
	}
	return fmt.Errorf("none of %d records is of the table's stream: check what invokes this function", len(e.Records))
}

func inserted(r lambdaevents.DynamoDBEventRecord) bool {
	return r.EventName == string(lambdaevents.DynamoDBOperationTypeInsert)
}

// event decodes the image of a new event of the journal. It returns nil for any other record.
func event(r lambdaevents.DynamoDBEventRecord) events.Event {
	sk := text(r.Change.Keys, table.AttrSK)
	if !inserted(r) || !table.IsJournaled(sk) {
		return nil
	}
	e, err := table.DecodeAttributes(attributes(r.Change.NewImage))
	if err != nil || table.EventKey(e) != (table.Key{PK: text(r.Change.Keys, table.AttrPK), SK: sk}) {
		return nil
	}
	return e
}

// current decodes the image of a copy of an account's newest change. It returns nil for any other record, for one
// without an image, and for a copy of a newer version.
func current(r lambdaevents.DynamoDBEventRecord) *events.AccountChanged {
	if !projections.IsWatched(text(r.Change.Keys, table.AttrSK)) || len(r.Change.NewImage) == 0 {
		return nil
	}
	c, err := projections.Copied(attributes(r.Change.NewImage))
	if err != nil {
		return nil
	}
	return c
}

// figures decodes the figures of a new posting from its image. It returns nil for any other record.
func figures(r lambdaevents.DynamoDBEventRecord) *events.Figures {
	if !inserted(r) {
		return nil
	}
	image, keys := r.Change.NewImage, r.Change.Keys
	version, err := strconv.Atoi(stored(image[table.AttrForm], events.NumberField))
	if err != nil {
		return nil
	}
	account, asset, id, _ := table.Posting.Parse(table.Key{PK: text(keys, table.AttrPK), SK: text(keys, table.AttrSK)})
	f, err := events.DecodeFigures(events.StoredPosting{
		Name: text(image, table.AttrType), Version: version, Checksum: text(image, table.AttrChecksum),
		Account: account, Asset: asset, ID: id,
	}, func(name string, t events.FieldType) string { return stored(image[name], t) })
	if err != nil {
		return nil
	}
	return &f
}

// text returns the value of a string attribute, "" if there is no such attribute.
func text(item map[string]lambdaevents.DynamoDBAttributeValue, name string) string {
	return stored(item[name], events.TextField)
}

// stored returns what an attribute has, as events.StoredPosting takes it: "" unless it is of that type.
func stored(v lambdaevents.DynamoDBAttributeValue, t events.FieldType) string {
	if f := field("", v); f.Type == t {
		return f.Text
	}
	return ""
}

// attributes returns an item's attributes in the form of events.
func attributes(image map[string]lambdaevents.DynamoDBAttributeValue) events.Fields {
	all := make(events.Fields, 0, len(image))
	for name, v := range image {
		all = append(all, field(name, v))
	}
	return all
}

// field returns an attribute in the form of events. What these don't hold, sets, binaries and nulls, has no type.
func field(name string, v lambdaevents.DynamoDBAttributeValue) events.Field {
	f := events.Field{Name: name}
	switch v.DataType() {
	case lambdaevents.DataTypeString:
		f.Type, f.Text = events.TextField, v.String()
	case lambdaevents.DataTypeNumber:
		f.Type, f.Text = events.NumberField, v.Number()
	case lambdaevents.DataTypeBoolean:
		f.Type, f.Text = events.FlagField, strconv.FormatBool(v.Boolean())
	case lambdaevents.DataTypeMap:
		f.Type, f.Of = events.MapField, attributes(v.Map())
	case lambdaevents.DataTypeList:
		f.Type, f.Of = events.ListField, make(events.Fields, len(v.List()))
		for i, element := range v.List() {
			f.Of[i] = field("", element)
		}
	}
	return f
}
