package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"

	"ledger.example/client"
	"ledger.example/client/sign"
	"ledger.example/events"
	"ledger.example/functions/api"
	"ledger.example/functions/app"
	"ledger.example/internal/local/stack"
)

// newLedger returns a client of a ledger in memory with an asset and two accounts. No projector runs, so the examples
// use strong reads. A program calls client.New with the address of its ledger.
func newLedger(ctx context.Context) (ledger *client.Client, stop func()) {
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
	return ledger, server.Close
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
	ctx := context.Background()
	ledger, stop := newLedger(ctx)
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
	ctx := context.Background()
	ledger, stop := newLedger(ctx)
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
	ctx := context.Background()
	ledger, stop := newLedger(ctx)
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
	ctx := context.Background()
	ledger, stop := newLedger(ctx)
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
	ctx := context.Background()
	ledger, stop := newLedger(ctx)
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
	ctx := context.Background()
	ledger, stop := newLedger(ctx)
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
