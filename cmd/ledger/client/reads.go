package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// PageLimit is the most items of one page of a list.
const PageLimit = 100

// Reply is an answer of the API.
type Reply[T any] struct {
	Value T
	Raw   []byte // the JSON as it came
}

// Ping asks whether the API is alive. It is not asked twice when nothing listens.
func (c *Client) Ping(ctx context.Context) error {
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/healthz", accept: func(text []byte) error {
		var health struct{}
		return json.Unmarshal(text, &health)
	}})
	return err
}

// Asset reads an asset. Errors: *Error (asset_not_found).
func (c *Client) Asset(ctx context.Context, id string) (Reply[Asset], error) {
	return get[Asset](ctx, c, nil, "assets", id)
}

// Account reads an account. Errors: *Error (account_not_found).
func (c *Client) Account(ctx context.Context, id string) (Reply[Account], error) {
	return get[Account](ctx, c, nil, "accounts", id)
}

// Page reads an account's page: account, summary, first balances and newest postings (0 to 100).
func (c *Client) Page(ctx context.Context, account string, newest int) (Reply[Page], error) {
	return get[Page](ctx, c, url.Values{"newest": {strconv.Itoa(newest)}}, "accounts", account, "summary")
}

// Transaction reads a transaction with all its postings, strongly consistent.
func (c *Client) Transaction(ctx context.Context, id string) (Reply[Transaction], error) {
	return get[Transaction](ctx, c, nil, "transactions", id)
}

// Balance reads what account holds of asset.
func (c *Client) Balance(ctx context.Context, account, asset string, strong bool) (Reply[Balance], error) {
	return get[Balance](ctx, c, consistency(strong), "accounts", account, "balances", asset)
}

// Balances reads one page of an account's balances from cursor ("" for the first), by asset.
func (c *Client) Balances(ctx context.Context, account, cursor string, strong bool) (Reply[List[Balance]], error) {
	q := consistency(strong)
	setPage(q, cursor, PageLimit)
	return get[List[Balance]](ctx, c, q, "accounts", account, "balances")
}

// HistoryQuery bounds a history.
type HistoryQuery struct {
	Asset    string    // "" for all
	From, To time.Time // from included, to excluded; zero times leave a side open
	Strong   bool      // offered with Asset only
}

// History reads one page of at most limit (1 to PageLimit) postings, newest first, from cursor ("" for the top).
func (c *Client) History(ctx context.Context, account string, h HistoryQuery, cursor string, limit int) (Reply[List[Posting]], error) {
	q := consistency(h.Strong)
	setPage(q, cursor, limit)
	if h.Asset != "" {
		q.Set("asset", h.Asset)
	}
	if !h.From.IsZero() {
		q.Set("from", h.From.Format(time.RFC3339Nano))
	}
	if !h.To.IsZero() {
		q.Set("to", h.To.Format(time.RFC3339Nano))
	}
	return get[List[Posting]](ctx, c, q, "accounts", account, "postings")
}

func consistency(strong bool) url.Values {
	q := url.Values{}
	if strong {
		q.Set("consistency", "strong")
	}
	return q
}

func setPage(q url.Values, cursor string, limit int) {
	q.Set("limit", strconv.Itoa(limit))
	if cursor != "" {
		q.Set("cursor", cursor)
	}
}

func get[T any](ctx context.Context, c *Client, query url.Values, parts ...string) (Reply[T], error) {
	path, err := segments(parts...)
	if err != nil {
		return Reply[T]{}, err
	}
	var value T
	r, err := c.do(ctx, call{method: http.MethodGet, path: path, query: query, accept: decodeInto(&value)})
	if err != nil {
		return Reply[T]{}, err
	}
	return Reply[T]{Value: value, Raw: r.body}, nil
}

// decodeInto reads a reply as a T. What the API adds in later versions is ignored.
func decodeInto[T any](value *T) func([]byte) error {
	return func(text []byte) error {
		var fresh T
		if err := json.Unmarshal(text, &fresh); err != nil {
			return err
		}
		*value = fresh
		return nil
	}
}
