package spreadsheet

import (
	"cmp"
	"slices"

	"ledger.example/client"
	"ledger.example/events"
)

// Decimals formats amounts for people. Assets that are asked for are known.
type Decimals interface {
	Quantity(asset string, a events.Amount) string
	// Cost also returns the currency of the cost, "" if the asset has none.
	Cost(asset string, a events.Amount) (cost, currency string)
}

// postingColumns are the columns of a posting.
func postingColumns() []Cell {
	return Texts("posted_at", "transaction", "kind", "posting", "account", "asset", "quantity", "cost", "currency",
		"description", "pending", "status")
}

func postingCells(p client.Posting, d Decimals) []Cell {
	cost, currency := d.Cost(p.Asset, p.Cost)
	return []Cell{Text(p.PostedAt), Text(p.Transaction), Text(p.Kind), Text(p.ID), Text(p.Account), Text(p.Asset),
		Amount(d.Quantity(p.Asset, p.Quantity)), Amount(cost), Text(currency), Text(p.Description),
		Amount(d.Quantity(p.Asset, p.Pending)), Text(cmp.Or(p.Status, client.StatusPosted))}
}

// Postings returns the rows of a page of postings. The first page has the heading.
func Postings(all []client.Posting, isFirst bool, d Decimals) (rows [][]Cell) {
	if isFirst {
		rows = append(rows, postingColumns())
	}
	for _, p := range all {
		rows = append(rows, postingCells(p, d))
	}
	return rows
}

// Transactions returns a row for each posting of transactions, with the columns of Postings. A posting shows what its
// transaction is now: only an open hold has pending amounts, and only what was posted has a quantity.
func Transactions(all []client.Transaction, isFirst bool, d Decimals) [][]Cell {
	var postings []client.Posting
	for _, t := range all {
		postings = append(postings, postingsOf(t)...)
	}
	return Postings(postings, isFirst, d)
}

// postingsOf returns the postings of a transaction as it is now.
func postingsOf(t client.Transaction) (postings []client.Posting) {
	for _, p := range t.AsPosted() {
		p.Transaction, p.Kind, p.Description = t.ID, t.Kind, t.Description
		p.PostedAt, p.Status, p.Pending = t.PostedAt, t.Status, events.Amount{}
		switch t.Status {
		case client.StatusHeld:
			p.Pending, p.Quantity, p.Cost = p.Quantity, events.Amount{}, events.Amount{}
		case client.StatusReleased, client.StatusExpired:
			p.Quantity, p.Cost = events.Amount{}, events.Amount{}
		}
		postings = append(postings, p)
	}
	return postings
}

// Holds returns the rows of Transactions with two more columns: when a hold expires, and when it ended. account selects
// the postings of one account, unless it is "".
func Holds(all []client.Transaction, account string, isFirst bool, d Decimals) (rows [][]Cell) {
	if isFirst {
		rows = append(rows, append(postingColumns(), Texts("expires_at", "ended_at")...))
	}
	for _, t := range all {
		for _, p := range postingsOf(t) {
			if account == "" || p.Account == account {
				rows = append(rows, append(postingCells(p, d), Texts(t.ExpiresAt, t.EndedAt)...))
			}
		}
	}
	return rows
}

// Statement returns the rows of a page of a statement. Only the first page has the heading and the opening, and only
// the last page has the closing, so that all pages together are one file.
func Statement(s client.Statement, isFirst bool, d Decimals) (rows [][]Cell) {
	line := func(name, at string, balance events.Amount) []Cell {
		return append(Texts(name, at, "", "", "", s.Account, s.Asset, "", "", "", "", "", ""),
			Amount(d.Quantity(s.Asset, balance)))
	}
	if isFirst {
		rows = append(rows, slices.Concat(Texts("line"), postingColumns(), Texts("balance_after")),
			line("opening", s.From, s.Opening.Quantity))
	}
	for _, p := range s.Data {
		rows = append(rows, slices.Concat(Texts("posting"), postingCells(p.PostingOf, d),
			[]Cell{Amount(d.Quantity(p.Asset, p.BalanceAfter))}))
	}
	if s.NextCursor == nil {
		rows = append(rows, line("closing", s.To, s.Closing.Quantity))
	}
	return rows
}
