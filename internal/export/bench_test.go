package export

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"ledger.example/client"
	"ledger.example/events"
)

// BenchmarkRun exports a generated journal of transfers in each format, page by page, without a server.
func BenchmarkRun(b *testing.B) {
	const pages, each = 100, client.PageLimit
	for _, format := range Formats() {
		b.Run(format, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Run(b.Context(), Config{Ledger: many(pages), Format: format, Out: io.Discard}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(2*pages*each*b.N)/b.Elapsed().Seconds(), "postings/s")
		})
	}
}

// many is a ledger with the given number of pages of transfers between two accounts.
func many(pages int) Ledger {
	bank := client.Account{ID: "bank", Overdraft: client.Overdraft{Unlimited: true}, State: client.StateOpen}
	return Ledger{
		Assets:   func(yield func(client.Asset, error) bool) { yield(client.Asset{ID: "USD", Scale: 2}, nil) },
		Accounts: func(yield func(client.Account, error) bool) { yield(bank, nil) },
		Account: func(_ context.Context, id string) (client.Reply[client.Account], error) {
			return client.Reply[client.Account]{Value: client.Account{ID: id, State: client.StateOpen}}, nil
		},
		Journal: func(_ context.Context, after string) (page client.JournalPage, err error) {
			n := 0
			if after != "" {
				if _, err := fmt.Sscan(after, &n); err != nil {
					return page, err
				}
			}
			page.NextCursor = fmt.Sprint(min(n+1, pages))
			for i := range client.PageLimit {
				if n == pages {
					break
				}
				one, err := json.Marshal(client.Transaction{
					ID: fmt.Sprint("t-", n*client.PageLimit+i), Kind: "transfer", PostedAt: "2026-11-21T09:06:39.123456Z",
					Postings: []client.Posting{
						{Account: "bank", Asset: "USD", Quantity: events.NewAmount(-1)},
						{Account: "jane", Asset: "USD", Quantity: events.NewAmount(1)},
					},
				})
				if err != nil {
					return page, err
				}
				page.Data = append(page.Data, client.JournalEntry{Type: events.TypePosted, Data: one})
			}
			return page, nil
		},
	}
}
