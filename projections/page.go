package projections

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"ledger.example/internal/store"
)

// list returns one page of at most limit elements of q. position returns an element's position from its
// key. what names the operation in errors.
func list[T any](ctx context.Context, l *Lists, what string, q store.Query, limit int,
	position func(store.Key) (string, bool), decode func(store.Item) (T, error),
) (page Page[T], err error) {
	defer annotate(&err, what)
	if q.Within.Empty() {
		return page, nil
	}
	items, last, err := l.query(ctx, q, limit+1) // the additional item shows that there is a next page
	if err != nil {
		return page, err
	}
	return paged(items, last, limit, position, decode)
}

// annotate adds the name of the operation to an error.
func annotate(err *error, what string) {
	if *err != nil {
		*err = fmt.Errorf("%s: %w", what, *err)
	}
}

// query returns the first limit items of q. last is the key to continue after, nil at the end. It makes one request,
// and more only if DynamoDB returns a short page before the end.
func (l *Lists) query(ctx context.Context, q store.Query, limit int) (items []store.Item, last store.Item, err error) {
	for {
		q.Limit = limit - len(items)
		page, err := l.table.Query(ctx, q)
		if err != nil {
			return nil, nil, err
		}
		items = append(items, page.Items...)
		if len(items) >= limit || page.Next == nil {
			return items, page.Next, nil
		}
		q.After = page.Next
	}
}

// merge returns the first limit items of several queries, ordered by a string attribute. direction is 1 for ascending
// and -1 for descending; the queries must have the same direction. more reports whether there are more items.
func (l *Lists) merge(
	ctx context.Context, queries []store.Query, limit int, attribute string, direction int,
) (items []store.Item, more bool, err error) {
	found := make([][]store.Item, len(queries))
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
	slices.SortFunc(items, func(a, b store.Item) int {
		return direction * cmp.Compare(store.TextOf(a[attribute]), store.TextOf(b[attribute]))
	})
	return items[:min(len(items), limit)], len(items) > limit, nil
}

// paged returns a page of the first limit items. It has a next page if there are more items, or if last is not nil:
// the key at which DynamoDB stopped before the end.
func paged[T any](items []store.Item, last store.Item, limit int,
	position func(store.Key) (string, bool), decode func(store.Item) (T, error),
) (page Page[T], err error) {
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
		return Page[T]{Items: listed}, nil
	}
	key, err := store.KeyOf(last)
	if err != nil {
		return page, err
	}
	next, ok := position(key)
	if !ok {
		return page, fmt.Errorf("%w: %s %s does not belong to the list", store.ErrMalformedItem, key.PK, key.SK)
	}
	return Page[T]{Items: listed, Next: next}, nil
}
