// Package stream takes the batches of a table's stream, as Lambda delivers them, to the projector.
package stream

import (
	"context"

	lambdaevents "github.com/aws/aws-lambda-go/events"

	"ledger.example/ledger/table"
	"ledger.example/projections"
)

// Projector is what the handler needs of projections.Projector.
type Projector interface {
	// Project applies a batch. It returns the sequence number of the first record that failed, "" when none did; an error
	// means that the whole batch is to be delivered again.
	Project(ctx context.Context, batch []projections.Record) (failed string, err error)
}

// Handler returns the Lambda function for the stream of the table, mapped with ReportBatchItemFailures. A record only
// says where to look: nothing but its keys is read, so an item that cannot be decoded is no obstacle here.
func Handler(p Projector) func(context.Context, lambdaevents.DynamoDBEvent) (lambdaevents.DynamoDBEventResponse, error) {
	return func(ctx context.Context, e lambdaevents.DynamoDBEvent) (lambdaevents.DynamoDBEventResponse, error) {
		batch := make([]projections.Record, len(e.Records))
		for i, r := range e.Records {
			batch[i] = projections.Record{
				SequenceNumber: r.Change.SequenceNumber,
				PK:             text(r.Change.Keys, table.AttrPK),
				SK:             text(r.Change.Keys, table.AttrSK),
				Removed:        r.EventName == string(lambdaevents.DynamoDBOperationTypeRemove),
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

// text returns a key's text, "" when it is none.
func text(keys map[string]lambdaevents.DynamoDBAttributeValue, name string) string {
	v, ok := keys[name]
	if !ok || v.DataType() != lambdaevents.DataTypeString {
		return ""
	}
	return v.String()
}
