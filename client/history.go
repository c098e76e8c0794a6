package client

import (
	"context"
	"iter"
	"time"

	"ledger.example/events"
)

// Posting is one leg of a transaction. The fields beside those of PostedLeg are set only in an account's history.
type Posting = PostingOf[events.Amount]

// PostedLeg is a posting of a transaction.
type PostedLeg = PostedLegOf[events.Amount]

// PostedLegOf is a posting of a transaction. A is the type of its amounts: events.Amount, or their texts in the
// ledger's answers, which it writes into one array.
type PostedLegOf[A any] struct {
	ID       string `json:"id,omitempty" is:"KSUID" absent:"in a dry run"`
	Account  string `json:"account" names:"account"`
	Asset    string `json:"asset" names:"asset"`
	Quantity A      `json:"quantity" is:"PostedAmount"` // signed, in the asset's minor units
	Cost     A      `json:"cost" is:"PostedAmount"`     // signed, in the minor units of the asset's currency
}

// PostingOf is an entry of a history. A hold has two entries for each posting: one for its placing and one for its end.
// Read the transaction for its metadata. A is like that of PostedLegOf.
type PostingOf[A any] struct {
	PostedLegOf[A]
	// The change of the pending amount: the planned quantity when a hold is placed, its opposite when the hold ends,
	// otherwise zero.
	Pending     A      `json:"pending" is:"PostedAmount"`
	Status      string `json:"status" is:"Status"` // StatusPosted, StatusHeld, or how the hold ended; it never changes
	Transaction string `json:"transaction" names:"transaction"`
	Kind        string `json:"kind" is:"Kind"`
	Description string `json:"description" is:"Text"`
	PostedAt    string `json:"posted_at" is:"Time"`
}

// Leg is one leg of a transaction in a request. It is also used for the part of a posting that was reversed, or can
// still be.
type Leg struct {
	Account  string        `json:"account" is:"ID" in:"required" names:"account"`
	Asset    string        `json:"asset" is:"ID" in:"required" names:"asset"`
	Quantity events.Amount `json:"quantity" in:"required"` // signed
	Cost     events.Amount `json:"cost"`                   // signed
}

// Legs returns the legs of a request that posts the same as postings.
func Legs(postings []Posting) []Leg {
	legs := make([]Leg, len(postings))
	for i, p := range postings {
		legs[i] = Leg{Account: p.Account, Asset: p.Asset, Quantity: p.Quantity, Cost: p.Cost}
	}
	return legs
}

// Statement is one page of a statement: an account's postings of one asset in a period, between its opening and its
// closing balance. Opening and Closing are those of the whole statement, on every page. Closing is final on the last
// page; on earlier pages it is as of the read of the first page.
type Statement = StatementOf[events.Amount]

// StatementOf has a page of a statement. A is like that of PostedLegOf.
type StatementOf[A any] struct {
	Account    string               `json:"account" names:"account"`
	Asset      string               `json:"asset" names:"asset"`
	From       string               `json:"from" is:"Time"` // included
	To         string               `json:"to" is:"Time"`   // excluded
	Opening    Sums                 `json:"opening"`
	Closing    Sums                 `json:"closing"`
	Settled    bool                 `json:"settled" is:"Settled"` // as of the first page
	Data       []StatementLineOf[A] `json:"data"`                 // oldest first
	NextCursor *string              `json:"next_cursor" is:"NextCursor"`
}

// StatementLine is a posting with the balance after it.
type StatementLine = StatementLineOf[events.Amount]

// StatementLineOf is a posting with the balance after it. A is like that of PostedLegOf.
type StatementLineOf[A any] struct {
	PostingOf[A]
	// The quantity after this posting.
	BalanceAfter events.Amount `json:"balance_after" is:"FoldedAmount"`
}

// HistoryQuery selects postings of an account. The zero time is no bound. Strong is like that of Balances.
type HistoryQuery struct {
	// Only postings of this asset.
	Asset string `query:"asset" is:"ID" example:"USD"` // "" for all assets
	// Only postings at this time or later, in RFC 3339 format.
	From time.Time `query:"from" example:"2026-11-01T00:00:00Z"`
	// Only postings before this time, in RFC 3339 format.
	To time.Time `query:"to" example:"2026-12-01T00:00:00Z"`
	// `strong` includes every transaction that was acknowledged before the request. It needs `asset`.
	Strong bool `query:"consistency" is:"Consistency" enum:"strong,eventual" with:"asset" filter:"-"`
}

// PostingsQuery selects postings of an account.
type PostingsQuery struct {
	AccountID
	HistoryQuery
}

// StatementQuery selects a statement. All fields are required.
type StatementQuery struct {
	Account string `path:"account"`
	// The asset of the statement.
	Asset string `query:"asset" is:"ID" in:"required" example:"USD"`
	// The beginning of the statement, included. It must not be in the future.
	From time.Time `query:"from" time:"past" in:"required" before:"to" example:"2026-11-01T00:00:00Z"`
	// The end of the statement, excluded. A time later than now means now.
	To time.Time `query:"to" in:"required" example:"2026-12-01T00:00:00Z"`
}

// The operations on histories.
var (
	// The balance before `from`, each posting until `to` with the balance after it, and the balance before `to`. The
	// cursor carries the running balance, so the opening and the postings of all pages add up to the closing of the
	// last page, even if others post in the period. Earlier pages have the closing as of the read of the first page.
	GetStatement = Op[StatementQuery, Statement]{
		ID: "getStatement", Path: accountPath + "/statement", Summary: "Get a statement, oldest posting first",
		May: viewers,
		OK: "A page. In CSV, only the first page has the header and the opening, and only the last page has the " +
			"closing, so that all pages together are one file. A text that a spreadsheet would run as a formula " +
			"gets an apostrophe in front: one that begins with `=`, `+`, `-`, `@`, a tab or a carriage return, or " +
			"with apostrophes before one of these.",
	}
	// Of all assets, or of one.
	ListPostings = Op[PostingsQuery, List[Posting]]{
		ID: "listPostings", Path: accountPath + "/postings", Summary: "List an account's postings, newest first",
		May: viewers,
	}
)

// Statement reads one page of a statement, with at most limit (1 to PageLimit) postings. cursor is the NextCursor of
// the previous page, "" for the first. The cursor carries the running balance, so pages stay consistent while others
// post.
func (c *Client) Statement(ctx context.Context, s StatementQuery, cursor string, limit int) (Reply[Statement], error) {
	return send[Statement](ctx, c, GetStatement.request(s).page(cursor, limit))
}

// StatementPages iterates over the pages of a statement, oldest first. An error ends the iteration.
func (c *Client) StatementPages(ctx context.Context, s StatementQuery) iter.Seq2[Reply[Statement], error] {
	return pages(func(cursor string) (Reply[Statement], error) { return c.Statement(ctx, s, cursor, PageLimit) })
}

func (s StatementOf[A]) next() *string { return s.NextCursor }

// History lists an account's postings, newest first.
func (c *Client) History(account string, h HistoryQuery) Listing[Posting] {
	return Listing[Posting]{c, ListPostings.request(PostingsQuery{AccountID{account}, h})}
}
