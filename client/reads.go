package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// PageLimit is the maximum number of items on a page of a list.
const PageLimit = 100

// Reply is an answer of the API, parsed and as received. Only Raw has fields that this version does not know.
type Reply[T any] struct {
	Value T
	Raw   []byte // the JSON as received
}

// Ping returns nil if the API is alive. It does not retry if no connection can be made.
func (c *Client) Ping(ctx context.Context) error {
	_, err := c.do(ctx, call{method: http.MethodGet, path: "/healthz", accept: func(text []byte) error {
		var health struct{}
		return json.Unmarshal(text, &health)
	}})
	return err
}

// Me returns the identity of the caller, as the API sees it.
func (c *Client) Me(ctx context.Context) (Reply[Me], error) {
	return get[Me](ctx, c, nil, "me")
}

// Asset reads an asset. Errors: *Error (asset_not_found).
func (c *Client) Asset(ctx context.Context, id string) (Reply[Asset], error) {
	return get[Asset](ctx, c, nil, "assets", id)
}

// Account reads an account. Errors: *Error (account_not_found).
func (c *Client) Account(ctx context.Context, id string) (Reply[Account], error) {
	return get[Account](ctx, c, nil, "accounts", id)
}

// AccountPage reads an account with its summary, its first balances, and its newest postings (0 to 100).
func (c *Client) AccountPage(ctx context.Context, account string, newest int) (Reply[AccountPage], error) {
	return get[AccountPage](ctx, c, url.Values{"newest": {strconv.Itoa(newest)}}, "accounts", account, "summary")
}

// Transaction reads a transaction with all its postings, strongly consistent.
func (c *Client) Transaction(ctx context.Context, id string) (Reply[Transaction], error) {
	return get[Transaction](ctx, c, nil, "transactions", id)
}

// Balance reads what an account holds of an asset. If strong, it includes every transaction that was acknowledged
// before the request. Otherwise it is about a second behind. Errors: *Error (account_not_found, asset_not_found).
func (c *Client) Balance(ctx context.Context, account, asset string, strong bool) (Reply[Balance], error) {
	return get[Balance](ctx, c, queryOf(strong, "", 0), "accounts", account, "balances", asset)
}

// BalanceAt reads what an account held of an asset at a past time. It includes every posting at that time or before.
func (c *Client) BalanceAt(
	ctx context.Context, account, asset string, at time.Time, strong bool,
) (Reply[PastBalance], error) {
	q := queryOf(strong, "", 0)
	q.Set("at", at.Format(time.RFC3339Nano))
	return get[PastBalance](ctx, c, q, "accounts", account, "balances", asset)
}

// StatementQuery selects a statement. All fields are required, and both times must be in the past.
type StatementQuery struct {
	Account, Asset string
	From, To       time.Time // posted at From or later, and before To
}

// Statement reads one page of a statement, with at most limit (1 to PageLimit) postings. cursor is the NextCursor of
// the previous page, "" for the first. The cursor carries the running balance, so pages stay consistent while others
// post.
func (c *Client) Statement(ctx context.Context, s StatementQuery, cursor string, limit int) (Reply[Statement], error) {
	q := queryOf(false, cursor, limit)
	q.Set("asset", s.Asset)
	q.Set("from", s.From.Format(time.RFC3339Nano))
	q.Set("to", s.To.Format(time.RFC3339Nano))
	return get[Statement](ctx, c, q, "accounts", s.Account, "statement")
}

// queryOf returns the query of a read. A limit of 0 is omitted.
func queryOf(strong bool, cursor string, limit int) url.Values {
	q := url.Values{}
	if strong {
		q.Set("consistency", "strong")
	}
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	if cursor != "" {
		q.Set("cursor", cursor)
	}
	return q
}

func get[T any](ctx context.Context, c *Client, query url.Values, parts ...string) (Reply[T], error) {
	path, err := segments(parts...)
	if err != nil {
		return Reply[T]{}, err
	}
	k := call{method: http.MethodGet, path: path, query: query, resources: []string{path}}
	if len(parts) > 1 {
		k.id = parts[1]
	}
	value, r, err := ask(ctx, c, k, func(T) error { return nil })
	return Reply[T]{value, r.body}, err
}

// ask sends a call and parses its answer, which must pass a check. It ignores unknown fields. With an error it returns
// zero values.
func ask[T any](ctx context.Context, c *Client, k call, check func(T) error) (value T, r attemptResult, err error) {
	k.accept = func(text []byte) error {
		value = *new(T)
		if err := json.Unmarshal(text, &value); err != nil {
			return err
		}
		return check(value)
	}
	if r, err = c.do(ctx, k); err != nil {
		return *new(T), attemptResult{}, err
	}
	return value, r, nil
}

// matches returns a check that an answer is about the requested resource, by isIt.
func matches[T any](resource string, isIt func(T) bool) func(T) error {
	return func(value T) error {
		if !isIt(value) {
			return fmt.Errorf("it is not about %q", resource)
		}
		return nil
	}
}
