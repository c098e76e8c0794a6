package client_test

import (
	"context"
	"errors"
	"fmt"

	"ledger.example/client"
	"ledger.example/events"
)

// deposit posts 50.00 dollars to an account of newLedger.
func deposit(ctx context.Context, ledger *client.Client, account string) {
	_, _, err := ledger.Post(ctx, client.Transfer{
		ID: "deposit-1", From: "bank", To: account, Asset: "USD", Quantity: events.NewAmount(5000),
	})
	if err != nil {
		panic(err)
	}
}

// A hold reserves money. A capture posts a part of it, and the rest becomes available again.
func ExampleCapture() {
	ctx := context.Background()
	ledger, stop := newLedger(ctx)
	defer stop()
	deposit(ctx, ledger, "jane")
	held, _, err := ledger.Post(ctx, client.Transfer{
		ID: "stay-7", From: "jane", To: "bank", Asset: "USD", Quantity: events.NewAmount(4000), Hold: &client.Hold{},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(held.Status)
	show := func() {
		balance, err := ledger.Balance(ctx, "jane", "USD", true)
		if err != nil {
			panic(err)
		}
		fmt.Println("jane has", balance.Value.Quantity, "and may spend", balance.Value.Available)
	}
	show()
	quantity := events.NewAmount(3000)
	ended, _, err := ledger.Post(ctx, client.Capture{Transaction: "stay-7", Part: client.Part{Quantity: &quantity}})
	if err != nil {
		panic(err)
	}
	fmt.Println(ended.Status, ended.Captured[0].Quantity)
	show()
	_, _, err = ledger.Post(ctx, client.Release{Transaction: "stay-7"})
	if refused, ok := errors.AsType[*client.Error](err); ok {
		fmt.Println(refused.Code, refused.HoldStatus)
	}
	// Output:
	// held
	// jane has 5000 and may spend 1000
	// captured -3000
	// jane has 2000 and may spend 2000
	// hold_ended captured
}

// A transaction can be reversed in parts, until nothing of it is left.
func ExampleReversal() {
	ctx := context.Background()
	ledger, stop := newLedger(ctx)
	defer stop()
	deposit(ctx, ledger, "jane")
	quantity := events.NewAmount(1000)
	refund := client.Reversal{Transaction: "deposit-1", ID: "refund-1", Part: client.Part{Quantity: &quantity}}
	posted, _, err := ledger.Post(ctx, refund)
	if err != nil {
		panic(err)
	}
	fmt.Println(posted.Kind, "of", posted.Reverses, posted.Postings[0].Quantity)
	quantity, refund.ID = events.NewAmount(9000), "refund-2"
	_, _, err = ledger.Post(ctx, refund)
	if refused, ok := errors.AsType[*client.Error](err); ok {
		fmt.Println(refused.Code, refused.Left[0].Account, refused.Left[0].Quantity)
	}
	for reversal, err := range ledger.Reversals("deposit-1").All(ctx) {
		fmt.Println(reversal.ID, err)
	}
	// Output:
	// reversal of deposit-1 1000
	// exceeds_reversible bank -4000
	// refund-1 <nil>
}

// With IfMatch, a change succeeds only if nobody else changed the account since it was read.
func ExampleClient_PatchAccount() {
	ctx := context.Background()
	ledger, stop := newLedger(ctx)
	defer stop()
	jane, err := ledger.Account(ctx, "jane")
	if err != nil {
		panic(err)
	}
	name := "Jane Roe"
	for _, patch := range []client.AccountPatch{{State: client.StateFrozen}, {Name: &name}} {
		patch.IfMatch = jane.Value.Version
		changed, err := ledger.PatchAccount(ctx, "jane", patch)
		if refused, ok := errors.AsType[*client.Error](err); ok {
			fmt.Println(refused.Status, refused.Code)
			continue
		}
		fmt.Println(changed.Value.State, changed.Value.Version)
	}
	for change, err := range ledger.Changes("jane").All(ctx) {
		fmt.Println(change.Version, change.Changed.State, err)
	}
	// Output:
	// frozen 2
	// 412 version_mismatch
	// 2 frozen <nil>
	// 1 open <nil>
}
