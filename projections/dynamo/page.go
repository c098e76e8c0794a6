package dynamo

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"ledger.example/events"
	"ledger.example/internal/ddb"
	"ledger.example/internal/store"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

// list returns one page of at most limit elements by q, a query of r. position reads an element's position from its
// key.
func list[T any](ctx context.Context, l *Lists, what string, r table.Range, q *dynamodb.QueryInput, limit int,
	position func(table.Key) (string, bool), decode func(ddb.Item) (T, error),
) (page projections.Listed[T], err error) {
	defer annotate(&err, what)
	if r.Empty() {
		return page, nil
	}
	items, last, err := l.query(ctx, q, limit+1) // with one more there is a next page
	if err != nil {
		return page, err
	}
	return paged(items, last, limit, position, decode)
}

// annotate says what failed.
func annotate(err *error, what string) {
	if *err != nil {
		*err = fmt.Errorf("%s: %w", what, *err)
	}
}

// query returns the first limit items of q, and the key to go on after when there may be more. It makes one request,
// unless the store cuts a page: a short page, or an empty one, is not the end while there is a key to go on after.
func (l *Lists) query(ctx context.Context, q *dynamodb.QueryInput, limit int) (
	items []ddb.Item, last ddb.Item, err error,
) {
	q.TableName = &l.table
	for {
		q.Limit = aws.Int32(int32(limit - len(items)))
		out, err := l.client.Query(ctx, q)
		if err != nil {
			return nil, nil, ddb.ReadError(err)
		}
		items = append(items, out.Items...)
		if len(items) >= limit || len(out.LastEvaluatedKey) == 0 {
			return items, out.LastEvaluatedKey, nil
		}
		q.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

// merge reads the first items of several queries, ordered by a text attribute: ascending if direction is 1, descending
// if it is -1, as each of the queries is. more reports whether there are more than limit.
func (l *Lists) merge(
	ctx context.Context, queries []*dynamodb.QueryInput, limit int, attribute string, direction int,
) (items []ddb.Item, more bool, err error) {
	found := make([][]ddb.Item, len(queries))
	running, ctx := errgroup.WithContext(ctx)
	for i, q := range queries {
		running.Go(func() (err error) {
			found[i], _, err = l.query(ctx, q, limit+1)
			return err
		})
	}
	if err := running.Wait(); err != nil {
		return nil, false, err
	}
	items = slices.Concat(found...)
	slices.SortFunc(items, func(a, b ddb.Item) int {
		return direction * cmp.Compare(text(a[attribute]), text(b[attribute]))
	})
	return items[:min(len(items), limit)], len(items) > limit, nil
}

// paged returns a page of the first limit items, at least one. There is a next page if there are more items, or if
// the store stopped before the end, at the key last.
func paged[T any](items []ddb.Item, last ddb.Item, limit int,
	position func(table.Key) (string, bool), decode func(ddb.Item) (T, error),
) (page projections.Listed[T], err error) {
	if len(items) > limit {
		items, last = items[:limit], items[limit-1]
	}
	listed := make([]T, len(items))
	for i, item := range items {
		if listed[i], err = decode(item); err != nil {
			return page, err
		}
	}
	if last == nil {
		return projections.Listed[T]{Items: listed}, nil
	}
	key, err := ddb.KeyOf(last)
	if err != nil {
		return page, err
	}
	next, ok := position(key)
	if !ok {
		return page, fmt.Errorf("%w: %s %s is not of the list", store.ErrMalformedItem, key.PK, key.SK)
	}
	return projections.Listed[T]{Items: listed, Next: next}, nil
}

// decodeAs reads an event of one type.
func decodeAs[E events.Event](item ddb.Item) (E, error) { return ddb.Only[E](ddb.DecodeEvent(item)) }

// decodeListed reads an event of one type from the inverse index.
func decodeListed[E events.Event](item ddb.Item) (E, error) {
	return ddb.Only[E](ddb.DecodeListed(item))
}
