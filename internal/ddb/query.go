package ddb

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/internal/table"
)

// Within sets q to query a partition of the table for the SKs in r, which must not be empty. It returns q.
func Within(partition string, r table.Range, q *dynamodb.QueryInput) *dynamodb.QueryInput {
	return within(table.AttrPK, partition, table.AttrSK, r, q)
}

// WithinHistory sets q to query a partition of the history index for the SK2s in r. It returns q.
func WithinHistory(partition string, r table.Range, q *dynamodb.QueryInput) *dynamodb.QueryInput {
	q.IndexName = aws.String(table.IndexHistory)
	return within(table.AttrPK, partition, table.AttrSK2, r, q)
}

// WithinInverse sets q to query a partition of the inverse index for the PKs in r. It returns q.
func WithinInverse(partition string, r table.Range, q *dynamodb.QueryInput) *dynamodb.QueryInput {
	q.IndexName = aws.String(table.IndexInverse)
	return within(table.AttrPK2, partition, table.AttrPK, r, q)
}

func within(partitionKey, partition, sortKey string, r table.Range, q *dynamodb.QueryInput) *dynamodb.QueryInput {
	q.KeyConditionExpression = aws.String(partitionKey + " = :partition AND " + sortKey + " BETWEEN :from AND :to")
	q.ExpressionAttributeValues = Item{":partition": String(partition), ":from": String(r.From), ":to": String(r.To)}
	return q
}

// Page returns the next page of a query. A page without items is the last one: if DynamoDB returns an empty page with a
// LastEvaluatedKey, Page requests the next one. Errors: store.ErrThrottled, ErrUnavailable.
func Page(ctx context.Context, client *dynamodb.Client, q *dynamodb.QueryInput) (*dynamodb.QueryOutput, error) {
	for {
		out, err := client.Query(ctx, q)
		if err != nil {
			return nil, ReadError(err)
		}
		if len(out.Items) > 0 || len(out.LastEvaluatedKey) == 0 {
			return out, nil
		}
		q.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

// First returns the first item of a query, nil if there is none. Errors: those of Page.
func First(ctx context.Context, client *dynamodb.Client, q *dynamodb.QueryInput) (Item, error) {
	q.Limit = aws.Int32(1)
	out, err := Page(ctx, client, q)
	if err != nil || len(out.Items) == 0 {
		return nil, err
	}
	return out.Items[0], nil
}

// NewestGrant reads a user's newest grant or revocation in the partition of an account or a group, strongly consistent.
// The role is "" after a revocation. Commands number the next grant by it, and the projector computes the membership
// from it. Errors: store.ErrAbsent, ErrMalformedItem, ErrThrottled, ErrUnavailable.
func NewestGrant(
	ctx context.Context, client *dynamodb.Client, tableName, partition, user string,
) (events.MemberGranted, error) {
	return Only[events.MemberGranted](newestEvent(ctx, client, tableName, partition, table.Grant.All(user)))
}

// NewestGroups reads the newest change of an account's groups, strongly consistent. It has all groups of the account.
// Errors: those of NewestGrant.
func NewestGroups(
	ctx context.Context, client *dynamodb.Client, tableName, account string,
) (events.AccountGrouped, error) {
	return Only[events.AccountGrouped](
		newestEvent(ctx, client, tableName, table.Account.PK(account), table.Grouping.All().Since(table.Number(1))))
}

// newestEvent reads the last event of a range, strongly consistent. Errors: those of NewestGrant.
func newestEvent(
	ctx context.Context, client *dynamodb.Client, tableName, partition string, r table.Range,
) (events.Event, error) {
	newest, err := First(ctx, client, Within(partition, r, &dynamodb.QueryInput{
		TableName:        &tableName,
		ConsistentRead:   aws.Bool(true),
		ScanIndexForward: aws.Bool(false),
	}))
	switch {
	case err != nil:
		return nil, err
	case newest == nil:
		return nil, store.ErrAbsent
	}
	return DecodeEvent(newest)
}
