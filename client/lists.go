package client

import (
	"context"
	"iter"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// Listing is a list of the API, which is read page by page. Methods of a Client return it; the zero Listing is invalid.
// It sends nothing until Page or All is called, and can be read any number of times. Errors: ErrID, and those of a
// read, for example an *Error with account_not_found.
type Listing[T any] struct {
	client *Client
	parts  []string // of the path
	filter url.Values
}

// Page reads one page with at most limit (1 to PageLimit) items. cursor is the NextCursor of the previous page, "" for
// the first page. A page may be short. Only the last page has no NextCursor.
func (l Listing[T]) Page(ctx context.Context, cursor string, limit int) (Reply[List[T]], error) {
	query := url.Values{"limit": {strconv.Itoa(limit)}}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	for name, values := range l.filter {
		query[name] = slices.Clone(values)
	}
	return get[List[T]](ctx, l.client, query, l.parts...)
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

func (l List[T]) next() *string   { return l.NextCursor }
func (s Statement) next() *string { return s.NextCursor }

// StatementPages iterates over the pages of a statement, oldest first. An error ends the iteration.
func (c *Client) StatementPages(ctx context.Context, s StatementQuery) iter.Seq2[Reply[Statement], error] {
	return pages(func(cursor string) (Reply[Statement], error) { return c.Statement(ctx, s, cursor, PageLimit) })
}

// GroupTotalsPages iterates over the pages of a group's totals. AddTotals adds them up. An error ends the iteration.
func (c *Client) GroupTotalsPages(ctx context.Context, group string) iter.Seq2[Reply[GroupTotals], error] {
	return pages(func(cursor string) (Reply[GroupTotals], error) {
		return c.GroupTotals(ctx, group, cursor, PageLimit)
	})
}

// Balances lists an account's balances, by asset. If strong, they include every transaction that was acknowledged
// before the request.
func (c *Client) Balances(account string, strong bool) Listing[Balance] {
	return Listing[Balance]{client: c, parts: []string{"accounts", account, "balances"}, filter: queryOf(strong, "", 0)}
}

// HistoryQuery selects postings of an account.
type HistoryQuery struct {
	Asset    string    // "" for all assets
	From, To time.Time // posted at From or later, and before To; the zero time is no bound
	Strong   bool      // include every transaction acknowledged before the request; needs Asset
}

// History lists an account's postings, newest first.
func (c *Client) History(account string, h HistoryQuery) Listing[Posting] {
	l := Listing[Posting]{client: c, parts: []string{"accounts", account, "postings"}, filter: spanOf(h.From, h.To)}
	if h.Asset != "" {
		l.filter.Set("asset", h.Asset)
	}
	maps.Copy(l.filter, queryOf(h.Strong, "", 0))
	return l
}

// BalancesAt lists what an account held at a past time, by asset. It omits assets that had no posting then.
func (c *Client) BalancesAt(account string, at time.Time, strong bool) Listing[PastBalance] {
	l := listing[PastBalance](c, "at", at.Format(time.RFC3339Nano), "accounts", account, "balances")
	if strong {
		l.filter.Set("consistency", "strong")
	}
	return l
}

// Accounts lists the accounts whose ids begin with a prefix, "" for all, by id. Profiles are omitted.
func (c *Client) Accounts(prefix string) Listing[Account] {
	return listing[Account](c, "prefix", prefix, "accounts")
}

// Assets lists the assets whose ids begin with a prefix, "" for all, by id.
func (c *Client) Assets(prefix string) Listing[Asset] {
	return listing[Asset](c, "prefix", prefix, "assets")
}

// Holders lists the balances of all accounts that hold an asset, or once held it, by account.
func (c *Client) Holders(asset string) Listing[Balance] {
	return listing[Balance](c, "", "", "assets", asset, "holders")
}

// Holds lists the holds that debit or credit an account, newest first. status is StatusHeld, StatusCaptured,
// StatusReleased, StatusExpired, or "" for all.
func (c *Client) Holds(account, status string) Listing[Transaction] {
	return listing[Transaction](c, "status", status, "accounts", account, "holds")
}

// OpenHolds lists all holds that have not ended, by their expiry.
func (c *Client) OpenHolds() Listing[Transaction] {
	return listing[Transaction](c, "", "", "holds")
}

// Reversals lists the transactions that reverse a transaction, oldest first.
func (c *Client) Reversals(transaction string) Listing[Transaction] {
	return listing[Transaction](c, "", "", "transactions", transaction, "reversals")
}

// Changes lists an account's opening and its changes, newest first.
func (c *Client) Changes(account string) Listing[Change] {
	return listing[Change](c, "", "", "accounts", account, "changes")
}

// Search selects transactions.
type Search struct {
	From, To    time.Time // posted at From or later, and before To; the zero time is no bound
	Key, Value  string    // an indexed metadata key and its value; an empty Key selects any metadata
	OldestFirst bool
}

// Transactions lists transactions by time, newest first unless s says otherwise. Their field Reversed is omitted. The
// list is about a second behind.
func (c *Client) Transactions(s Search) Listing[Transaction] {
	l := Listing[Transaction]{client: c, parts: []string{"transactions"}, filter: spanOf(s.From, s.To)}
	if s.Key != "" {
		l.filter.Set("metadata."+s.Key, s.Value)
	}
	if s.OldestFirst {
		l.filter.Set("order", "asc")
	}
	return l
}

// spanOf returns the parameters from and to. A zero time is no bound.
func spanOf(from, to time.Time) url.Values {
	q := url.Values{}
	for name, t := range map[string]time.Time{"from": from, "to": to} {
		if !t.IsZero() {
			q.Set(name, t.Format(time.RFC3339Nano))
		}
	}
	return q
}

// listing returns the list at the path of parts. It has no filter if value is "".
func listing[T any](c *Client, filter, value string, parts ...string) Listing[T] {
	l := Listing[T]{client: c, parts: parts}
	if value != "" {
		l.filter = url.Values{filter: {value}}
	}
	return l
}
