// Package stream passes batches of the table's stream, as Lambda delivers them, to the projector.
package stream

import (
	"context"
	"strconv"

	lambdaevents "github.com/aws/aws-lambda-go/events"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

// Projector is what the handler needs of projections.Projector.
type Projector interface {
	// Project applies a batch. It returns the sequence number of the first record that failed, "" for none. After an
	// error the whole batch has to be delivered again.
	Project(ctx context.Context, batch []projections.Record) (failed string, err error)
}

// Function is a Lambda function for a stream.
type Function = func(context.Context, lambdaevents.DynamoDBEvent) (lambdaevents.DynamoDBEventResponse, error)

// Handler returns the Lambda function for the stream of the table, mapped with ReportBatchItemFailures. The keys of a
// record say what to project. Its image saves a read of the posting; an image that cannot be decoded is ignored.
func Handler(p Projector) Function {
	return func(ctx context.Context, e lambdaevents.DynamoDBEvent) (lambdaevents.DynamoDBEventResponse, error) {
		batch := make([]projections.Record, len(e.Records))
		for i, r := range e.Records {
			batch[i] = projections.Record{
				SequenceNumber: r.Change.SequenceNumber,
				PK:             text(r.Change.Keys, table.AttrPK),
				SK:             text(r.Change.Keys, table.AttrSK),
				Removed:        r.EventName == string(lambdaevents.DynamoDBOperationTypeRemove),
				Altered:        r.EventName == string(lambdaevents.DynamoDBOperationTypeModify),
				Figures:        figures(r),
			}
		}
		failed, err := p.Project(ctx, batch)
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

// figures returns what a posting that was put adds to sums, as its image shows it; nil for any other record.
func figures(r lambdaevents.DynamoDBEventRecord) *events.Figures {
	if r.EventName != string(lambdaevents.DynamoDBOperationTypeInsert) {
		return nil
	}
	image, keys := r.Change.NewImage, r.Change.Keys
	version, err := strconv.Atoi(number(image, table.AttrEventVersion))
	if err != nil {
		return nil
	}
	account, asset, id, _ := table.ParsePosting(table.Key{PK: text(keys, table.AttrPK), SK: text(keys, table.AttrSK)})
	f, err := events.DecodeFigures(events.StoredPosting{
		Name: text(image, table.AttrType), Version: version, Checksum: text(image, table.AttrChecksum),
		Account: account, Asset: asset, ID: id,
		Quantity:    events.Number(number(image, events.FigureQuantity)),
		Cost:        events.Number(number(image, events.FigureCost)),
		Pending:     events.Number(number(image, events.FigurePending)),
		Phase:       text(image, events.FigurePhase),
		Transaction: text(image, events.FigureTransaction), Kind: text(image, events.FigureKind),
		Description: text(image, events.FigureDescription),
	})
	if err != nil {
		return nil
	}
	return &f
}

// number returns the digits of a number attribute, "" if there is none of this name.
func number(item map[string]lambdaevents.DynamoDBAttributeValue, name string) string {
	if v, ok := item[name]; ok && v.DataType() == lambdaevents.DataTypeNumber {
		return v.Number()
	}
	return ""
}

// text returns the content of a string attribute, "" if there is none of this name.
func text(item map[string]lambdaevents.DynamoDBAttributeValue, name string) string {
	if v, ok := item[name]; ok && v.DataType() == lambdaevents.DataTypeString {
		return v.String()
	}
	return ""
}
