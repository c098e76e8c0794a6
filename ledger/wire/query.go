package wire

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/ledger/table"
)

// Within makes q a query of a partition of the table for the SKs in r, which must not be empty.
func Within(partition string, r table.Range, q *dynamodb.QueryInput) *dynamodb.QueryInput {
	return within(table.AttrPK, partition, table.AttrSK, r, q)
}

// WithinHistory makes q a query of the history index for the SK2s in r of a partition.
func WithinHistory(partition string, r table.Range, q *dynamodb.QueryInput) *dynamodb.QueryInput {
	q.IndexName = aws.String(table.IndexHistory)
	return within(table.AttrPK, partition, table.AttrSK2, r, q)
}

// WithinInverse makes q a query of the inverse index for the PKs in r of a partition.
func WithinInverse(partition string, r table.Range, q *dynamodb.QueryInput) *dynamodb.QueryInput {
	q.IndexName = aws.String(table.IndexInverse)
	return within(table.AttrPK2, partition, table.AttrPK, r, q)
}

func within(partitionKey, partition, sortKey string, r table.Range, q *dynamodb.QueryInput) *dynamodb.QueryInput {
	q.KeyConditionExpression = aws.String(partitionKey + " = :partition AND " + sortKey + " BETWEEN :from AND :to")
	q.ExpressionAttributeValues = Item{":partition": String(partition), ":from": String(r.From), ":to": String(r.To)}
	return q
}

// First returns the first item of a query, nil when there is none. It makes one request, unless the store cuts a page
// before its first item. Errors: ErrThrottled, ErrUnavailable.
func First(ctx context.Context, client *dynamodb.Client, q *dynamodb.QueryInput) (Item, error) {
	q.Limit = aws.Int32(1)
	for {
		out, err := client.Query(ctx, q)
		switch {
		case err != nil:
			return nil, ReadError(err)
		case len(out.Items) > 0:
			return out.Items[0], nil
		case len(out.LastEvaluatedKey) == 0:
			return nil, nil
		}
		q.ExclusiveStartKey = out.LastEvaluatedKey
	}
}
