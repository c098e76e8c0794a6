package export

import (
	"context"
	"encoding/csv"
	"encoding/json"

	"ledger.example/client"
	"ledger.example/events"
)

// csvFormat writes CSV (RFC 4180) with a row for each posting. Amounts are decimals.
type csvFormat struct {
	*exporter
	rows     *csv.Writer
	isHeaded bool
}

func newCSV(e *exporter) format { return &csvFormat{exporter: e, rows: csv.NewWriter(e.out)} }

func (f *csvFormat) heading() error {
	if f.isHeaded {
		return nil
	}
	f.isHeaded = true
	return f.rows.Write([]string{"posted_at", "recorded_at", "transaction", "kind", "posting", "account", "asset",
		"quantity", "cost", "currency", "description", "metadata"})
}

func (f *csvFormat) transaction(_ context.Context, t posted) error {
	if err := f.heading(); err != nil {
		return err
	}
	metadata := ""
	if len(t.Metadata) > 0 {
		text, err := json.Marshal(t.Metadata)
		if err != nil {
			return err
		}
		metadata = string(text)
	}
	for _, leg := range t.legs {
		cost, currency := f.cost(leg)
		err := f.rows.Write([]string{events.FormatTime(t.at), t.RecordedAt, t.ID, t.Kind, leg.ID, leg.Account,
			leg.Asset, f.quantity(leg), cost, currency, t.Description, metadata})
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *csvFormat) end(context.Context) error {
	if err := f.heading(); err != nil {
		return err
	}
	f.rows.Flush()
	return f.rows.Error()
}

// quantity formats the quantity of a leg as a decimal.
func (e *exporter) quantity(leg client.Posting) string {
	return leg.Quantity.Decimal(e.assets[leg.Asset].Scale)
}

// cost formats the cost of a leg as a decimal, and returns its currency. Both are empty if there is no cost.
func (e *exporter) cost(leg client.Posting) (cost, currency string) {
	c := e.assets[leg.Asset].Currency
	if c == "" || leg.Cost.IsZero() {
		return "", ""
	}
	return leg.Cost.Decimal(e.assets[c].Scale), c
}
