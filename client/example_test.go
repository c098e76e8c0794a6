package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"time"

	"ledger.example/client"
	"ledger.example/client/sign"
	"ledger.example/events"
	"ledger.example/functions/api"
	"ledger.example/functions/app"
	"ledger.example/internal/local/stack"
)

// newLedger returns a client of a ledger in memory with an asset and two accounts. No projector runs, so the examples
// use strong reads. A program calls client.New with the address of its ledger.
func newLedger() (ctx context.Context, ledger *client.Client, stop func()) {
	ctx = context.Background()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	store, err := stack.Open(ctx, stack.Options{Memory: true})
	if err != nil {
		panic(err)
	}
	if _, err := store.CreateTable(ctx, "ledger"); err != nil {
		panic(err)
	}
	service, err := app.New(app.Config{Client: store.Client(), Table: "ledger", Caller: api.LocalCaller, Log: log})
	if err != nil {
		panic(err)
	}
	server := httptest.NewServer(service.API())
	ledger, err = client.New(client.Config{URL: server.URL})
	if err != nil {
		panic(err)
	}
	if _, _, err := ledger.RegisterAsset(ctx, client.Asset{ID: "USD", Name: "US dollar", Scale: 2}); err != nil {
		panic(err)
	}
	for _, account := range []client.Account{
		{ID: "bank", Name: "Bank", Overdraft: client.Overdraft{Unlimited: true}},
		{ID: "jane", Name: "Jane Doe"},
	} {
		if _, _, err := ledger.OpenAccount(ctx, account); err != nil {
			panic(err)
		}
	}
	return ctx, ledger, server.Close
}

// A deployed ledger requires signed requests, or a bearer token.
func ExampleNew() {
	ledger, err := client.New(client.Config{
		URL:  "https://abc123.execute-api.eu-central-1.amazonaws.com",
		Sign: sign.New(), // with the AWS credentials of the environment
	})
	fmt.Println(ledger != nil, err)
	// A token is never sent over plain http to another machine.
	token, err := client.Bearer("eyJhbGciOi.eyJzdWIi.c2ln")
	if err != nil {
		panic(err)
	}
	_, err = client.New(client.Config{URL: "http://ledger.example.com", Sign: token})
	fmt.Println(err)
	// Output:
	// true <nil>
	// "http://ledger.example.com" is not https: requests with a signature or a token go over plain http to this machine only
}

// A transfer has one effect, however often it is sent. The amount is in minor units: 2500 is 25.00 dollars.
func ExampleClient_Post() {
	ctx, ledger, stop := newLedger()
	defer stop()
	transfer := client.Transfer{ID: "deposit-1", From: "bank", To: "jane", Asset: "USD", Quantity: events.NewAmount(2500)}
	for range 2 {
		posted, written, err := ledger.Post(ctx, transfer)
		if err != nil {
			panic(err)
		}
		fmt.Println(posted.ID, posted.Kind, "new:", written.New)
	}
	balance, err := ledger.Balance(ctx, "jane", "USD", true)
	if err != nil {
		panic(err)
	}
	fmt.Println("jane has", balance.Value.Quantity)
	// Output:
	// deposit-1 transfer new: true
	// deposit-1 transfer new: false
	// jane has 2500
}

// A Command is a request whose JSON already exists, for example in a line of a file.
func ExampleClient_Send() {
	ctx, ledger, stop := newLedger()
	defer stop()
	stock := client.Command{Kind: client.KindAsset, ID: "AAPL", Body: []byte(`{"name":"Apple Inc.","scale":0,"currency":"USD"}`)}
	written, err := ledger.Send(ctx, stock)
	fmt.Println(written.New, err)
	asset, err := ledger.Asset(ctx, "AAPL")
	fmt.Println(asset.Value.Name, asset.Value.Currency, err)
	// Output:
	// true <nil>
	// Apple Inc. USD <nil>
}

// An account with an overdraft may fall below zero. The same request again succeeds and changes nothing.
func ExampleClient_OpenAccount() {
	ctx, ledger, stop := newLedger()
	defer stop()
	margin := client.Account{ID: "margin", Overdraft: client.Overdraft{
		Limits: map[string]events.Amount{"USD": events.NewAmount(50_000)},
	}}
	for range 2 {
		account, written, err := ledger.OpenAccount(ctx, margin)
		if err != nil {
			panic(err)
		}
		fmt.Println(account.ID, account.State, account.Overdraft.Limits["USD"], "new:", written.New)
	}
	// Output:
	// margin open 50000 new: true
	// margin open 50000 new: false
}

// A refused request returns an *Error with a code of the API. It wrote nothing.
func ExampleError() {
	ctx, ledger, stop := newLedger()
	defer stop()
	_, _, err := ledger.Post(ctx, client.Transfer{ID: "t-1", From: "jane", To: "bank", Asset: "USD", Quantity: events.NewAmount(1)})
	var refused *client.Error
	if errors.As(err, &refused) {
		fmt.Println(refused.Status, refused.Code, refused.Account, refused.Available, refused.Requested)
	}
	// Output: 422 insufficient_funds jane 0 1
}

// A history is listed newest first. The loop reads each page when it reaches it, and can end early.
func ExampleListing_All() {
	ctx, ledger, stop := newLedger()
	defer stop()
	for _, id := range []string{"t-1", "t-2", "t-3"} {
		transfer := client.Transfer{ID: id, From: "bank", To: "jane", Asset: "USD", Quantity: events.NewAmount(100)}
		if _, _, err := ledger.Post(ctx, transfer); err != nil {
			panic(err)
		}
	}
	for posting, err := range ledger.History("jane", client.HistoryQuery{Asset: "USD"}).All(ctx) {
		if err != nil {
			panic(err)
		}
		fmt.Println(posting.Transaction, posting.Quantity)
		if posting.Transaction == "t-2" {
			break
		}
	}
	// Output:
	// t-3 100
	// t-2 100
}

// Each page is read from the cursor of the previous one. A cursor can be stored and used at any later time.
func ExampleListing_Page() {
	ctx, ledger, stop := newLedger()
	defer stop()
	for cursor, more := "", true; more; {
		page, err := ledger.Accounts("").Page(ctx, cursor, 1)
		if err != nil {
			panic(err)
		}
		for _, account := range page.Value.Data {
			fmt.Println(account.ID, account.Name)
		}
		if more = page.Value.NextCursor != nil; more {
			cursor = *page.Value.NextCursor
		}
	}
	// Output:
	// bank Bank
	// jane Jane Doe
}

// A batch answers each request on its own. An atomic batch posts all requests or none. A dry run writes nothing.
func ExampleClient_Batch() {
	ctx, ledger, stop := newLedger()
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

// List the transactions of one order, by an indexed metadata key.
func ExampleClient_Transactions() {
	ctx, ledger, stop := newLedger()
	defer stop()
	for one, err := range ledger.Transactions(client.TransactionsQuery{
		Metadata: map[string]string{"order": "1001"},
	}).All(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(one.ID, one.Status)
	}
}

// Follow the journal: store the cursor of each entry that was processed, and ask again after a pause.
func ExampleClient_Journal() {
	ctx, ledger, stop := newLedger()
	defer stop()
	cursor := "" // the journal's beginning
	for ctx.Err() == nil {
		for entry, err := range ledger.Journal(ctx, client.JournalQuery{After: cursor}) {
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
