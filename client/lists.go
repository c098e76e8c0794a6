package client

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strconv"
)

// NextCursor is the syntax of the cursor of the next page. It makes an answer a page of a list.
const NextCursor = "NextCursor"

// ByPrefix selects the items of a list whose ids begin with a prefix, "" for all.
type ByPrefix struct {
	// Only ids that begin with this.
	Prefix string `query:"prefix" is:"Prefix"`
}

// Listing is a list of the API, which is read page by page. Methods of a Client return it; the zero Listing is invalid.
// It sends nothing until Page or All is called, and can be read any number of times. Errors: ErrID, and those of a
// read, for example an *Error with account_not_found.
type Listing[T any] struct {
	client *Client
	call   call // of the first page, with the filters
}

// Page reads one page with at most limit (1 to PageLimit) items. cursor is the NextCursor of the previous page, "" for
// the first page. A page may be short. Only the last page has no NextCursor.
func (l Listing[T]) Page(ctx context.Context, cursor string, limit int) (Reply[List[T]], error) {
	return send[List[T]](ctx, l.client, l.call.page(cursor, limit))
}

// page returns the call for the page after a cursor.
func (c call) page(cursor string, limit int) call {
	query := url.Values{"limit": {strconv.Itoa(limit)}}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	maps.Copy(query, c.query)
	c.query = query
	return c
}

// All iterates over all items and reads each page when the loop reaches it. An error is yielded once, with a zero item,
// and ends the iteration.
func (l Listing[T]) All(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		page := func(cursor string) (Reply[List[T]], error) { return l.Page(ctx, cursor, PageLimit) }
		for r, err := range pages(page) {
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, item := range r.Value.Data {
				if !yield(item, nil) {
					return
				}
			}
		}
	}
}

// pages iterates over all pages of a list. An error ends the iteration.
func pages[P interface{ next() *string }](read func(cursor string) (Reply[P], error)) iter.Seq2[Reply[P], error] {
	return func(yield func(Reply[P], error) bool) {
		for cursor := ""; ; {
			r, err := read(cursor)
			if !yield(r, err) || err != nil || r.Value.next() == nil {
				return
			}
			cursor = *r.Value.next()
		}
	}
}

func (l List[T]) next() *string { return l.NextCursor }

// GroupTotalsPages iterates over the pages of a group's totals. AddTotals adds them up. An error ends the iteration.
func (c *Client) GroupTotalsPages(ctx context.Context, group string) iter.Seq2[Reply[GroupTotals], error] {
	return pages(func(cursor string) (Reply[GroupTotals], error) {
		return c.GroupTotals(ctx, group, cursor, PageLimit)
	})
}

// PageLimit is the maximum number of items on a page of a list.
const PageLimit = 100

// Reply is an answer of the API, parsed and as received. Only Raw has fields that this version does not know.
type Reply[T any] struct {
	Value T
	Raw   []byte // the JSON as received
	New   bool   // a write wrote it; false if the same was written before
}

// Ping returns nil if the API is alive. It does not retry if no connection can be made.
func (c *Client) Ping(ctx context.Context) error {
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/healthz", accept: func(text []byte) error {
		var health struct{}
		return json.Unmarshal(text, &health)
	}})
	return err
}

// ask sends a call and parses its answer, which must pass a check. It ignores unknown fields. With an error it returns
// zero values.
func ask[T any](ctx context.Context, c *Client, k call, check func(T) error) (value T, r attemptResult, err error) {
	k.accept = func(text []byte) error {
		value = *new(T)
		err := json.Unmarshal(text, &value)
		if err == nil && k.writes() {
			err = k.isAbout(text)
		}
		if err != nil {
			return err
		}
		return check(value)
	}
	if k.err != nil {
		return value, r, k.err
	}
	if r, err = c.do(ctx, k); err != nil {
		return *new(T), attemptResult{}, err
	}
	return value, r, nil
}
