package client_test

import (
	"context"
	"fmt"
	"time"

	"ledger.example/client"
)

// List the transactions of one order, by an indexed metadata key.
func ExampleClient_Transactions() {
	ctx := context.Background()
	ledger, stop := newLedger(ctx)
	defer stop()
	for one, err := range ledger.Transactions(client.Search{Key: "order", Value: "1001"}).All(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(one.ID, one.Status)
	}
}

// Follow the journal: store the cursor of each entry that was processed, and ask again after a pause.
func ExampleClient_Journal() {
	ctx := context.Background()
	ledger, stop := newLedger(ctx)
	defer stop()
	cursor := "" // the journal's beginning
	for ctx.Err() == nil {
		for entry, err := range ledger.Journal(ctx, client.JournalFrom{After: cursor}) {
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Println(entry.At, entry.Type, entry.ID)
			cursor = entry.Cursor // store it together with the result of processing the entry
		}
		time.Sleep(2 * time.Second)
	}
}
