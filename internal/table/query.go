package table

import (
	"context"
	"iter"
	"time"
)

// NextPage reads a page of a query. Only the last page may be empty: after an empty one, NextPage requests the next.
func NextPage(ctx context.Context, t Table, q Query) (page Page, err error) {
	for page, err = range Pages(ctx, t, q) {
		if len(page.Items) > 0 {
			break
		}
	}
	return page, err
}

// Pages reads a query to its end, one request for each page. An error is the last thing that it yields.
func Pages(ctx context.Context, t Table, q Query) iter.Seq2[Page, error] {
	return func(yield func(Page, error) bool) {
		for {
			page, err := t.Query(ctx, q)
			if !yield(page, err) || err != nil || page.Next == nil {
				return
			}
			q.After = page.Next
		}
	}
}

// All reads the items of a query to its end, as Pages does.
func All(ctx context.Context, t Table, q Query) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for page, err := range Pages(ctx, t, q) {
			if err != nil {
				yield(nil, err)
				return
			}
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
		}
	}
}

// First reads the first item of a query. Error: also ErrAbsent.
func First(ctx context.Context, t Table, q Query) (Item, error) {
	q.Limit = 1
	page, err := NextPage(ctx, t, q)
	switch {
	case err != nil:
		return nil, err
	case len(page.Items) == 0:
		return nil, ErrAbsent
	}
	return page.Items[0], nil
}

// Retried is a Table that makes a query again as Retry does: each page, and not the pages before it. Retry gets the
// store's time of each.
type Retried struct {
	Table
	Retry func(ctx context.Context, do func(context.Context) (at time.Time, err error)) error
}

// Query implements Table.
func (t Retried) Query(ctx context.Context, q Query) (page Page, err error) {
	err = t.Retry(ctx, func(ctx context.Context) (_ time.Time, err error) {
		page, err = t.Table.Query(ctx, q)
		return page.At, err
	})
	return page, err
}
