package client

import (
	"cmp"
	"slices"

	"ledger.example/events"
)

// Decimals formats amounts for people. Assets that are asked for are known.
type Decimals interface {
	Quantity(asset string, a events.Amount) string
	// Cost also returns the currency of the cost, "" if the asset has none.
	Cost(asset string, a events.Amount) (cost, currency string)
}

// PostingColumns returns the columns of a posting as comma-separated values (RFC 4180).
func PostingColumns() []string {
	return []string{"posted_at", "transaction", "kind", "posting", "account", "asset", "quantity", "cost", "currency",
		"description", "pending", "status"}
}

// Cells returns a posting as comma-separated values, in the order of PostingColumns.
func (p Posting) Cells(d Decimals) []string {
	cost, currency := d.Cost(p.Asset, p.Cost)
	return []string{p.PostedAt, p.Transaction, p.Kind, p.ID, p.Account, p.Asset, d.Quantity(p.Asset, p.Quantity), cost,
		currency, p.Description, d.Quantity(p.Asset, p.Pending), cmp.Or(p.Status, StatusPosted)}
}

// Rows returns a page of a statement as comma-separated values. Only the first page has the heading and the opening,
// and only the last page has the closing, so that all pages together are one file.
func (s Statement) Rows(isFirst bool, d Decimals) (rows [][]string) {
	line := func(name, at string, balance events.Amount) []string {
		return []string{name, at, "", "", "", s.Account, s.Asset, "", "", "", "", "", "", d.Quantity(s.Asset, balance)}
	}
	if isFirst {
		rows = append(rows, slices.Concat([]string{"line"}, PostingColumns(), []string{"balance_after"}),
			line("opening", s.From, s.Opening.Quantity))
	}
	for _, p := range s.Data {
		rows = append(rows, slices.Concat([]string{"posting"}, p.Cells(d),
			[]string{d.Quantity(p.Asset, p.BalanceAfter)}))
	}
	if s.NextCursor == nil {
		rows = append(rows, line("closing", s.To, s.Closing.Quantity))
	}
	return rows
}
