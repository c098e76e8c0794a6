package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

// Segments implements projections.PastViews. A page has up to 1 MB, DynamoDB's limit.
func (v *Views) Segments(ctx context.Context, k events.Pair, after, through events.KSUID) (
	found []projections.Segment, more bool, at time.Time, err error,
) {
	within := table.Segment.All(k.Asset).After(string(after)).Through(string(through))
	return decodePage(ctx, v, k.Account, within, &dynamodb.QueryInput{}, decodeSegment)
}

// Entries implements projections.PastViews.
func (v *Views) Entries(ctx context.Context, k events.Pair, after, through events.KSUID, limit int) (
	found []events.PostingRecorded, more bool, at time.Time, err error,
) {
	within := table.Posting.All(k.Asset).After(string(after)).Through(string(through))
	q := &dynamodb.QueryInput{Limit: aws.Int32(int32(limit))}
	return decodePage(ctx, v, k.Account, within, q, decodeAs[events.PostingRecorded])
}

// decodePage reads and decodes a page of an account's partition. more reports whether there may be another page. It
// also returns the store's clock. If the range is empty it makes no request, and the clock is zero.
func decodePage[T any](
	ctx context.Context, v *Views, account string, within table.Range, q *dynamodb.QueryInput,
	decode func(ddb.Item) (T, error),
) (found []T, more bool, at time.Time, err error) {
	if within.Empty() {
		return nil, false, at, nil
	}
	out, err := v.query(ctx, account, within, q)
	if err != nil {
		return nil, false, at, err
	}
	found = make([]T, len(out.Items))
	for i, item := range out.Items {
		if found[i], err = decode(item); err != nil {
			return nil, false, at, err
		}
	}
	return found, out.LastEvaluatedKey != nil, ddb.StoreTime(out.ResultMetadata), nil
}
