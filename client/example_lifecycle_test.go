package client_test

import (
	"context"
	"errors"
	"fmt"
	"time"

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
	ctx, ledger, stop := newLedger()
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
	ctx, ledger, stop := newLedger()
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
	ctx, ledger, stop := newLedger()
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

// Read the statement of a month, and balances at past times.
func ExampleClient_StatementPages() {
	ctx, ledger, stop := newLedger()
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

// A user with a role in a group has this role on all accounts of the group.
func ExampleClient_UserAccounts() {
	ctx, ledger, stop := newLedger()
	defer stop()
	must := func(_ client.Written, err error) {
		if err != nil {
			panic(err)
		}
	}
	_, w, err := ledger.RegisterGroup(ctx, client.Group{ID: "desk", Name: "The desk"})
	must(w, err)
	groups, w, err := ledger.PutInGroup(ctx, "desk", "jane")
	must(w, err)
	fmt.Println("jane is in", groups.Groups)
	_, w, err = ledger.Grant(ctx, client.Member{Group: "desk", User: "ann", Role: client.RoleOperator})
	must(w, err)
	fmt.Println("granted", w.New)
	_, w, err = ledger.Grant(ctx, client.Member{Group: "desk", User: "ann", Role: client.RoleOperator})
	must(w, err)
	fmt.Println("granted", w.New)
	member, w, err := ledger.Revoke(ctx, client.Member{Group: "desk", User: "ann"})
	must(w, err)
	fmt.Printf("%s is %q\n", member.User, member.Role)
	_, _, err = ledger.PutInGroup(ctx, "night", "jane")
	fmt.Println(err)
	// Output:
	// jane is in [desk]
	// granted true
	// granted false
	// ann is ""
	// group_not_found: There is no such group.
}
