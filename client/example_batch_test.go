package client_test

import (
	"context"
	"errors"
	"fmt"

	"ledger.example/client"
	"ledger.example/events"
)

// A batch answers each request on its own. An atomic batch posts all requests or none. A dry run writes nothing.
func ExampleClient_Batch() {
	ctx := context.Background()
	ledger, stop := newLedger(ctx)
	defer stop()
	wage := func(id, to string) client.Transfer {
		return client.Transfer{ID: id, From: "bank", To: to, Asset: "USD", Quantity: events.NewAmount(1000)}
	}
	dry, err := ledger.DryRun(ctx, wage("wages-1", "jane"))
	fmt.Println(dry.Value.DryRun, dry.Value.Postings[1].Quantity, dry.Value.Postings[1].ID == "", err)

	requests := []client.Request{wage("wages-1", "jane"), wage("wages-2", "nobody")}
	outcomes, err := ledger.Batch(ctx, client.Batch{Requests: requests, DryRun: true})
	fmt.Println(outcomes[0].Err, outcomes[1].Err != nil, err)
	outcomes, err = ledger.Batch(ctx, client.Batch{Requests: requests})
	fmt.Println(outcomes[0].Written.New, outcomes[1].Err != nil, err)

	requests[1] = wage("wages-3", "jane")
	outcomes, err = ledger.Batch(ctx, client.Batch{Requests: requests, Atomic: true})
	fmt.Println(outcomes[0].Written.New, outcomes[1].Written.New, err)
	requests = append(requests, wage("wages-4", "nobody"))
	_, err = ledger.Batch(ctx, client.Batch{Requests: requests, Atomic: true})
	var refused *client.Error
	if errors.As(err, &refused) {
		fmt.Println(refused.Code, refused.Fields[0].Field)
	}
	// Output:
	// true 1000 true <nil>
	// <nil> true <nil>
	// true true <nil>
	// false true <nil>
	// account_not_found requests[2].transfer.to
}
