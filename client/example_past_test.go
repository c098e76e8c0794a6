package client_test

import (
	"context"
	"fmt"
	"time"

	"ledger.example/client"
	"ledger.example/events"
)

// Read the statement of a month, and balances at past times.
func ExampleClient_StatementPages() {
	ctx := context.Background()
	ledger, stop := newLedger(ctx)
	defer stop()
	march, april := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC), time.Date(2025, 4, 1, 0, 0, 0, 0, time.UTC)
	for day, at := range []time.Time{march.AddDate(0, -1, 0), march, march.AddDate(0, 0, 30), april} {
		_, _, err := ledger.Post(ctx, client.Transfer{
			ID: fmt.Sprint("t-", day), From: "bank", To: "jane", Asset: "USD", Quantity: events.NewAmount(100),
			EffectiveAt: at,
		})
		if err != nil {
			panic(err)
		}
	}
	for page, err := range ledger.StatementPages(ctx, client.StatementQuery{
		Account: "jane", Asset: "USD", From: march, To: april,
	}) {
		if err != nil {
			panic(err)
		}
		fmt.Println("from", page.Value.Opening.Quantity, "to", page.Value.Closing.Quantity)
		for _, line := range page.Value.Data {
			fmt.Println(line.Transaction, line.Quantity, line.BalanceAfter)
		}
	}
	balance, err := ledger.BalanceAt(ctx, "jane", "USD", april, false)
	if err != nil {
		panic(err)
	}
	fmt.Println("at midnight", balance.Value.Quantity, "of", balance.Value.Revision, "postings")
	for balance, err := range ledger.BalancesAt("jane", march, true).All(ctx) {
		if err != nil {
			panic(err)
		}
		fmt.Println("at the beginning", balance.Quantity, balance.Asset)
	}
	// Output:
	// from 100 to 300
	// t-1 100 200
	// t-2 100 300
	// at midnight 400 of 4 postings
	// at the beginning 200 USD
}
