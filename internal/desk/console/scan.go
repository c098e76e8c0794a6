package console

import (
	"cmp"
	"context"
	"net/http"
	"strconv"

	"ledger.example/client"
)

// pages reads the page of a list at a cursor.
type pages[T any] func(ctx context.Context, cursor string, limit int) (client.List[T], error)

// pagesOf returns the pages of a list of the API.
func pagesOf[T any](from client.Listing[T]) pages[T] {
	return func(ctx context.Context, cursor string, limit int) (client.List[T], error) {
		reply, err := from.Page(ctx, cursor, limit)
		return reply.Value, err
	}
}

// pagesIn returns the pages of items in memory. Cursors are numbers of items.
func pagesIn[T any](all []T) pages[T] {
	return func(_ context.Context, cursor string, limit int) (list client.List[T], err error) {
		first, err := strconv.Atoi(cmp.Or(cursor, "0"))
		if err != nil || first < 0 || first > len(all) {
			return list, problem{http.StatusBadRequest, "invalid_cursor: the cursor is not of this list"}
		}
		last := min(first+limit, len(all))
		if list.Data = all[first:last]; last < len(all) {
			list.NextCursor = new(strconv.Itoa(last))
		}
		return list, nil
	}
}

// scan reads pages from a cursor on and keeps the items that pass, until it has limit items or has looked at most
// items. It never splits a page, so that it can return the cursor of the next one.
func scan[T any](
	ctx context.Context, of pages[T], cursor string, limit, most int, pass func(T) bool,
) (found client.List[T], looked int, err error) {
	for {
		page, err := of(ctx, cursor, limit)
		if err != nil {
			return found, looked, err
		}
		looked += len(page.Data)
		for _, item := range page.Data {
			if pass(item) {
				found.Data = append(found.Data, item)
			}
		}
		found.NextCursor = page.NextCursor
		if page.NextCursor == nil || len(found.Data) >= limit || looked >= most {
			return found, looked, nil
		}
		cursor = *page.NextCursor
	}
}
