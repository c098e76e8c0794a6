// Package stream passes batches of the table's stream, as Lambda delivers them, to the projector and to the lister.
package stream

import (
	"context"
	"strconv"

	lambdaevents "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/projections"
)

// Consumer processes a batch, for example projections.Projector. It returns the sequence number of the first record
// that failed, "" for none. After an error, Lambda must redeliver the whole batch.
type Consumer = func(ctx context.Context, batch []projections.Record) (failed string, err error)

// Function is a Lambda function for a stream.
type Function = func(context.Context, lambdaevents.DynamoDBEvent) (lambdaevents.DynamoDBEventResponse, error)

// Handler returns a Lambda function for the stream of the table. Its event source mapping must have
// ReportBatchItemFailures. The keys of a record say what to project. The image of a record saves a read of the event;
// an image that cannot be decoded is ignored.
func Handler(consume Consumer) Function {
	return func(ctx context.Context, e lambdaevents.DynamoDBEvent) (lambdaevents.DynamoDBEventResponse, error) {
		batch := make([]projections.Record, len(e.Records))
		for i, r := range e.Records {
			batch[i] = projections.Record{
				SequenceNumber: r.Change.SequenceNumber,
				PK:             text(r.Change.Keys, store.AttrPK),
				SK:             text(r.Change.Keys, store.AttrSK),
				Removed:        r.EventName == string(lambdaevents.DynamoDBOperationTypeRemove),
				Altered:        r.EventName == string(lambdaevents.DynamoDBOperationTypeModify),
				Figures:        figures(r),
				Written:        r.Change.ApproximateCreationDateTime.Time,
				Event:          event(r),
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

func inserted(r lambdaevents.DynamoDBEventRecord) bool {
	return r.EventName == string(lambdaevents.DynamoDBOperationTypeInsert)
}

// event decodes the image of a new event of the journal. It returns nil for any other record.
func event(r lambdaevents.DynamoDBEventRecord) events.Event {
	sk := text(r.Change.Keys, store.AttrSK)
	if !inserted(r) || !store.IsJournaled(sk) {
		return nil
	}
	image := itemOf(r.Change.NewImage)
	key, err := store.KeyOf(image)
	if err != nil || key != (store.Key{PK: text(r.Change.Keys, store.AttrPK), SK: sk}) {
		return nil
	}
	e, err := store.DecodeEvent(image)
	if err != nil {
		return nil
	}
	return e
}

// figures decodes the figures of a new posting from its image. It returns nil for any other record.
func figures(r lambdaevents.DynamoDBEventRecord) *events.Figures {
	if !inserted(r) {
		return nil
	}
	image, keys := r.Change.NewImage, r.Change.Keys
	version, err := strconv.Atoi(number(image, store.AttrForm))
	if err != nil {
		return nil
	}
	account, asset, id, _ := store.Posting.Parse(store.Key{PK: text(keys, store.AttrPK), SK: text(keys, store.AttrSK)})
	f, err := events.DecodeFigures(events.StoredPosting{
		Name: text(image, store.AttrType), Version: version, Checksum: text(image, store.AttrChecksum),
		Account: account, Asset: asset, ID: id,
		Quantity:    events.Number(number(image, events.FigureQuantity)),
		Cost:        events.Number(number(image, events.FigureCost)),
		Pending:     events.Number(number(image, events.FigurePending)),
		Phase:       text(image, events.FigurePhase),
		Transaction: text(image, events.FigureTransaction), Kind: text(image, events.FigureKind),
		Description: text(image, events.FigureDescription), Backdated: flag(image, events.FigureBackdated),
	})
	if err != nil {
		return nil
	}
	return &f
}

// flag returns the value of a boolean attribute, false if there is no such attribute.
func flag(item map[string]lambdaevents.DynamoDBAttributeValue, name string) bool {
	v, ok := item[name]
	return ok && v.DataType() == lambdaevents.DataTypeBoolean && v.Boolean()
}

// number returns the digits of a number attribute, "" if there is no such attribute.
func number(item map[string]lambdaevents.DynamoDBAttributeValue, name string) string {
	if v, ok := item[name]; ok && v.DataType() == lambdaevents.DataTypeNumber {
		return v.Number()
	}
	return ""
}

// text returns the value of a string attribute, "" if there is no such attribute.
func text(item map[string]lambdaevents.DynamoDBAttributeValue, name string) string {
	if v, ok := item[name]; ok && v.DataType() == lambdaevents.DataTypeString {
		return v.String()
	}
	return ""
}

// itemOf returns an item in the SDK's form. What events don't hold, sets, binaries and nulls, is left out.
func itemOf(image map[string]lambdaevents.DynamoDBAttributeValue) store.Item {
	item := make(store.Item, len(image))
	for name, v := range image {
		if value := valueOf(v); value != nil {
			item[name] = value
		}
	}
	return item
}

func valueOf(v lambdaevents.DynamoDBAttributeValue) types.AttributeValue {
	switch v.DataType() {
	case lambdaevents.DataTypeString:
		return store.String(v.String())
	case lambdaevents.DataTypeNumber:
		return &types.AttributeValueMemberN{Value: v.Number()}
	case lambdaevents.DataTypeBoolean:
		return store.Flag(v.Boolean())
	case lambdaevents.DataTypeMap:
		return store.Map(itemOf(v.Map()))
	case lambdaevents.DataTypeList:
		list := &types.AttributeValueMemberL{}
		for _, element := range v.List() {
			list.Value = append(list.Value, valueOf(element))
		}
		return list
	}
	return nil
}
