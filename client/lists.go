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

// Listing is a list of the API that is read page by page. Methods of a Client return it, which ask for nothing yet; the
// zero Listing is of no use. It may be read any number of times, from its top each time. Errors of its methods: ErrID,
// and those of a read, such as *Error (account_not_found).
type Listing[T any] struct {
	client *Client
	parts  []string // of the path
	filter url.Values
}

// Page reads one page of at most limit items (1 to PageLimit) from cursor, "" for the top. A page may be short: only
// the last one has no NextCursor.
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

// All goes through all items, and reads pages as it gets to them. An error comes once, with the zero item, and ends it.
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

// pages goes through all pages of a list. An error ends it.
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

// StatementPages goes through the pages of a statement, from its beginning to its end. An error ends it.
func (c *Client) StatementPages(ctx context.Context, s StatementQuery) iter.Seq2[Reply[Statement], error] {
	return pages(func(cursor string) (Reply[Statement], error) { return c.Statement(ctx, s, cursor, PageLimit) })
}

// GroupTotalsPages goes through the pages of a group's totals, by asset. An error ends it.
func (c *Client) GroupTotalsPages(ctx context.Context, group string) iter.Seq2[Reply[GroupTotals], error] {
	return pages(func(cursor string) (Reply[GroupTotals], error) {
		return c.GroupTotals(ctx, group, cursor, PageLimit)
	})
}

// Balances lists an account's balances, by asset.
func (c *Client) Balances(account string, strong bool) Listing[Balance] {
	return Listing[Balance]{client: c, parts: []string{"accounts", account, "balances"}, filter: queryOf(strong, "", 0)}
}

// HistoryQuery bounds a history.
type HistoryQuery struct {
	Asset    string    // "" for all
	From, To time.Time // from included, to excluded; zero times leave a side open
	Strong   bool      // offered with Asset only
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

// BalancesAt lists what an account held of each asset at a time, by asset. Those without a posting by then are left
// out.
func (c *Client) BalancesAt(account string, at time.Time, strong bool) Listing[PastBalance] {
	l := listing[PastBalance](c, "at", at.Format(time.RFC3339Nano), "accounts", account, "balances")
	if strong {
		l.filter.Set("consistency", "strong")
	}
	return l
}

// Accounts lists the accounts whose ids begin with a prefix, "" for all, by id. Profiles are left out.
func (c *Client) Accounts(prefix string) Listing[Account] {
	return listing[Account](c, "prefix", prefix, "accounts")
}

// Assets lists the assets whose ids begin with a prefix, "" for all, by id.
func (c *Client) Assets(prefix string) Listing[Asset] {
	return listing[Asset](c, "prefix", prefix, "assets")
}

// Holders lists the balances in an asset of the accounts that hold it or held it, by account.
func (c *Client) Holders(asset string) Listing[Balance] {
	return listing[Balance](c, "", "", "assets", asset, "holders")
}

// Holds lists the holds that have postings on an account, newest first: those of one status, "" for all.
func (c *Client) Holds(account, status string) Listing[Transaction] {
	return listing[Transaction](c, "status", status, "accounts", account, "holds")
}

// OpenHolds lists all holds that have not ended, those that expire first first.
func (c *Client) OpenHolds() Listing[Transaction] {
	return listing[Transaction](c, "", "", "holds")
}

// Reversals lists the transactions that took back a transaction, oldest first.
func (c *Client) Reversals(transaction string) Listing[Transaction] {
	return listing[Transaction](c, "", "", "transactions", transaction, "reversals")
}

// Changes lists an account's opening and its changes, newest first.
func (c *Client) Changes(account string) Listing[Change] {
	return listing[Change](c, "", "", "accounts", account, "changes")
}

// Search says which transactions are listed.
type Search struct {
	From, To    time.Time // posted in it: from included, to excluded; zero times leave a side open
	Key, Value  string    // with this value of an indexed metadata key; Key "": whatever their metadata
	OldestFirst bool
}

// Transactions lists transactions by time, newest first unless the search says otherwise. What reversals took back is
// left out. The list is about a second behind.
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

// spanOf is the part of a query that bounds times. Zero times leave a side open.
func spanOf(from, to time.Time) url.Values {
	q := url.Values{}
	for name, t := range map[string]time.Time{"from": from, "to": to} {
		if !t.IsZero() {
			q.Set(name, t.Format(time.RFC3339Nano))
		}
	}
	return q
}

// listing is a list below the path of parts. The filter is left out when its value is "".
func listing[T any](c *Client, filter, value string, parts ...string) Listing[T] {
	l := Listing[T]{client: c, parts: parts}
	if value != "" {
		l.filter = url.Values{filter: {value}}
	}
	return l
}
