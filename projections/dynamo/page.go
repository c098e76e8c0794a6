package dynamo

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
	"ledger.example/projections"
)

// list answers one page of at most limit things by q, a query of r; position reads a thing's position from its key.
func list[T any](ctx context.Context, l *Lists, what string, r table.Range, q *dynamodb.QueryInput, limit int,
	position func(table.Key) (string, bool), decode func(wire.Item) (T, error),
) (projections.Listed[T], error) {
	if r.Empty() {
		return projections.Listed[T]{}, nil
	}
	items, last, err := l.query(ctx, q, limit+1) // one more tells whether there is a next page
	if err == nil {
		var page projections.Listed[T]
		if page, err = paged(items, last, limit, position, decode); err == nil {
			return page, nil
		}
	}
	return projections.Listed[T]{}, fmt.Errorf("%s: %w", what, err)
}

// query sends q for at most limit items, and returns the key to go on after when the store stopped before the end.
func (l *Lists) query(ctx context.Context, q *dynamodb.QueryInput, limit int) (items []wire.Item, last wire.Item, err error) {
	q.TableName = &l.table
	q.Limit = aws.Int32(int32(limit))
	out, err := l.client.Query(ctx, q)
	if err != nil {
		return nil, nil, wire.ReadError(err)
	}
	return out.Items, out.LastEvaluatedKey, nil
}

// paged makes a page of the first limit items, at least one. There is a next one if there are more items or the store stopped before
// the end, at the key last.
func paged[T any](items []wire.Item, last wire.Item, limit int,
	position func(table.Key) (string, bool), decode func(wire.Item) (T, error),
) (projections.Listed[T], error) {
	var page projections.Listed[T]
	if len(items) > limit {
		items = items[:limit]
		last = items[limit-1]
	}
	page.Items = make([]T, len(items))
	for i, item := range items {
		var err error
		if page.Items[i], err = decode(item); err != nil {
			return page, err
		}
	}
	if last == nil {
		return page, nil
	}
	key, err := wire.KeyOf(last)
	if err != nil {
		return page, err
	}
	var ok bool
	if page.Next, ok = position(key); !ok {
		return page, fmt.Errorf("%w: %s %s is not of the list", wire.ErrMalformedItem, key.PK, key.SK)
	}
	return page, nil
}

// decodeAs reads an event of one type.
func decodeAs[E events.Event](item wire.Item) (E, error) { return only[E](wire.DecodeEvent(item)) }

// decodeListed reads an event of one type from the inverse index.
func decodeListed[E events.Event](item wire.Item) (E, error) { return only[E](wire.DecodeListed(item)) }

func only[E events.Event](e events.Event, err error) (typed E, _ error) {
	if err != nil {
		return typed, err
	}
	typed, ok := e.(E)
	if !ok {
		return typed, fmt.Errorf("%w: it is a %T, not a %T", wire.ErrMalformedItem, e, typed)
	}
	return typed, nil
}
