// Package stream takes the batches of a table's stream, as Lambda delivers them, to the projector.
package stream

import (
	"context"
	"strconv"

	lambdaevents "github.com/aws/aws-lambda-go/events"

	"ledger.example/events"
	"ledger.example/ledger/table"
	"ledger.example/projections"
)

// Projector is what the handler needs of projections.Projector.
type Projector interface {
	// Project applies a batch. It returns the sequence number of the first record that failed, "" when none did; an error
	// means that the whole batch is to be delivered again.
	Project(ctx context.Context, batch []projections.Record) (failed string, err error)
}

// Handler returns the Lambda function for the stream of the table, mapped with ReportBatchItemFailures. A record says where to
// look by its keys; the figures of its image are a help, and one that cannot be decoded is no obstacle.
func Handler(p Projector) func(context.Context, lambdaevents.DynamoDBEvent) (lambdaevents.DynamoDBEventResponse, error) {
	return func(ctx context.Context, e lambdaevents.DynamoDBEvent) (lambdaevents.DynamoDBEventResponse, error) {
		batch := make([]projections.Record, len(e.Records))
		for i, r := range e.Records {
			batch[i] = projections.Record{
				SequenceNumber: r.Change.SequenceNumber,
				PK:             text(r.Change.Keys, table.AttrPK),
				SK:             text(r.Change.Keys, table.AttrSK),
				Removed:        r.EventName == string(lambdaevents.DynamoDBOperationTypeRemove),
				Figures:        figures(r),
			}
		}
		failed, err := p.Project(ctx, batch)
		if err != nil {
			return lambdaevents.DynamoDBEventResponse{}, err
		}
		out := lambdaevents.DynamoDBEventResponse{BatchItemFailures: []lambdaevents.DynamoDBBatchItemFailure{}}
		if failed != "" {
			out.BatchItemFailures = append(out.BatchItemFailures, lambdaevents.DynamoDBBatchItemFailure{ItemIdentifier: failed})
		}
		return out, nil
	}
}

// figures returns those of a posting that was put, nil of anything else.
func figures(r lambdaevents.DynamoDBEventRecord) *projections.Figures {
	if r.EventName != string(lambdaevents.DynamoDBOperationTypeInsert) {
		return nil // events are put once, and never changed
	}
	image := r.Change.NewImage
	version, err := strconv.Atoi(number(image, table.AttrEventVersion))
	if err != nil {
		return nil
	}
	quantity, cost, err := events.DecodeFigures(text(image, table.AttrType), version,
		events.Number(number(image, events.FigureQuantity)), events.Number(number(image, events.FigureCost)))
	if err != nil {
		return nil
	}
	return &projections.Figures{Quantity: quantity, Cost: cost}
}

// number returns an attribute's digits, "" when it has none.
func number(item map[string]lambdaevents.DynamoDBAttributeValue, name string) string {
	v, ok := item[name]
	if !ok || v.DataType() != lambdaevents.DataTypeNumber {
		return ""
	}
	return v.Number()
}

// text returns an attribute's text, "" when it has none.
func text(item map[string]lambdaevents.DynamoDBAttributeValue, name string) string {
	v, ok := item[name]
	if !ok || v.DataType() != lambdaevents.DataTypeString {
		return ""
	}
	return v.String()
}
