package trial

import (
	"slices"

	"ledger.example/events"
	"ledger.example/internal/spreadsheet"
)

// Rows returns a trial balance for CSV: a heading, the accounts, and the sums, which have no account.
func (t Balance) Rows(d spreadsheet.Decimals) [][]spreadsheet.Cell {
	rows := [][]spreadsheet.Cell{spreadsheet.Texts("account", "asset", "debits", "credits", "balance")}
	for _, l := range slices.Concat(t.Data, t.Totals) {
		row := spreadsheet.Texts(l.Account, l.Asset)
		for _, amount := range []events.Amount{l.Debits, l.Credits, l.Balance} {
			row = append(row, spreadsheet.Amount(d.Quantity(l.Asset, amount)))
		}
		rows = append(rows, row)
	}
	return rows
}
