package store

import "context"

// NextPage reads a page of a query. Only the last page may be empty: after an empty one, NextPage requests the next.
func NextPage(ctx context.Context, t Table, q Query) (Page, error) {
	for {
		page, err := t.Query(ctx, q)
		if err != nil || len(page.Items) > 0 || page.Next == nil {
			return page, err
		}
		q.After = page.Next
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
