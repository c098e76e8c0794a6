package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/functions/api"
	"ledger.example/internal/app"
	"ledger.example/internal/local/stack"
)

// newLedger returns a client of a ledger in memory, which nothing projects, with an asset and two accounts. A program has
// it from client.New, with the address of its ledger.
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
	for _, cmd := range []client.Command{
		{Kind: client.KindAsset, ID: "USD", Body: []byte(`{"name":"US dollar","scale":2}`)},
		{Kind: client.KindAccount, ID: "bank", Body: []byte(`{"name":"Bank","overdraft":"unlimited"}`)},
		{Kind: client.KindAccount, ID: "jane", Body: []byte(`{"name":"Jane Doe"}`)},
	} {
		if _, err := ledger.Send(ctx, cmd); err != nil {
			panic(err)
		}
	}
	return ledger, server.Close
}

// A transfer has one effect, however often it is sent. Amounts are in minor units: these are 25.00 dollars.
func ExampleClient_PostTransfer() {
	ctx := context.Background()
	ledger, stop := newLedger(ctx)
	defer stop()
	transfer := client.Transfer{ID: "deposit-1", From: "bank", To: "jane", Asset: "USD", Quantity: events.NewAmount(2500)}
	for range 2 {
		posted, written, err := ledger.PostTransfer(ctx, transfer)
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

// An asset is registered by its command; the same command again is answered with what is stored.
func ExampleClient_Send() {
	ctx := context.Background()
	ledger, stop := newLedger(ctx)
	defer stop()
	stock := client.Command{Kind: client.KindAsset, ID: "AAPL", Body: []byte(`{"name":"Apple Inc.","scale":0,"currency":"USD"}`)}
	written, err := ledger.Send(ctx, stock)
	fmt.Println(written.New, err)
	asset, err := ledger.Asset(ctx, "AAPL")
	fmt.Println(asset.Value.Name, *asset.Value.Currency, err)
	// Output:
	// true <nil>
	// Apple Inc. USD <nil>
}

// A refusal is an *Error with the API's code. It wrote nothing.
func ExampleError() {
	ctx := context.Background()
	ledger, stop := newLedger(ctx)
	defer stop()
	_, _, err := ledger.PostTransfer(ctx, client.Transfer{ID: "t-1", From: "jane", To: "bank", Asset: "USD", Quantity: events.NewAmount(1)})
	var refused *client.Error
	if errors.As(err, &refused) {
		fmt.Println(refused.Status, refused.Code, refused.Account, refused.Available, refused.Requested)
	}
	// Output: 422 insufficient_funds jane 0 1
}

// An account's history comes page by page, newest first.
func ExampleClient_History() {
	ctx := context.Background()
	ledger, stop := newLedger(ctx)
	defer stop()
	for _, id := range []string{"t-1", "t-2", "t-3"} {
		transfer := client.Transfer{ID: id, From: "bank", To: "jane", Asset: "USD", Quantity: events.NewAmount(100)}
		if _, _, err := ledger.PostTransfer(ctx, transfer); err != nil {
			panic(err)
		}
	}
	for cursor, more := "", true; more; {
		page, err := ledger.History(ctx, "jane", client.HistoryQuery{Asset: "USD"}, cursor, 2)
		if err != nil {
			panic(err)
		}
		for _, posting := range page.Value.Data {
			fmt.Println(posting.Transaction, posting.Quantity)
		}
		if more = page.Value.NextCursor != nil; more {
			cursor = *page.Value.NextCursor
		}
	}
	// Output:
	// t-3 100
	// t-2 100
	// t-1 100
}
