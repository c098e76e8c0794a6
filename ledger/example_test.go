package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"ledger.example/events"
	"ledger.example/internal/local/dynamolocal"
	"ledger.example/internal/local/memdb"
	"ledger.example/internal/store"
	"ledger.example/ledger"
	"ledger.example/projections"
)

// open returns a ledger on a new table in memory, with the assets USD and AAPL, the accounts jane and shop, and bank
// and market, which may owe without limit.
func open(ctx context.Context) *ledger.Ledger {
	client := memdb.New(memdb.Options{}).DynamoDB()
	if _, err := dynamolocal.CreateTable(ctx, client, "ledger"); err != nil {
		log.Fatal(err)
	}
	l := ledger.New(ledger.Config{
		Table:       store.NewTable(client, "ledger"),
		Projections: projections.NewReader(store.NewTable(client, "ledger"), nil),
	})
	for _, asset := range []ledger.RegisterAsset{
		{ID: "USD", Name: "US dollar", Scale: 2, Actor: "setup"}, {ID: "AAPL", Name: "Apple Inc.", Currency: "USD", Actor: "setup"},
	} {
		if _, _, err := l.RegisterAsset(ctx, asset); err != nil {
			log.Fatal(err)
		}
	}
	for id, unlimited := range map[string]bool{"jane": false, "shop": false, "bank": true, "market": true} {
		account := ledger.OpenAccount{ID: id, Overdraft: events.Overdraft{Unlimited: unlimited}, Actor: "setup"}
		if _, _, err := l.OpenAccount(ctx, account); err != nil {
			log.Fatal(err)
		}
	}
	return l
}

// A request with an id has one effect, however often it is sent. A debit beyond the account's limit is refused.
func ExampleLedger_Post() {
	ctx := context.Background()
	l := open(ctx)
	deposit := ledger.PostTransfer{
		Annotation: ledger.Annotation{ID: "deposit-1", Actor: "teller"},
		From:       "bank", To: "jane", Asset: "USD", Quantity: events.NewAmount(10_000),
	}
	for range 2 {
		posted, err := l.Post(ctx, deposit)
		fmt.Println(posted.Transaction.ID, posted.Replayed, err)
	}

	_, err := l.Post(ctx, ledger.PostTransfer{
		Annotation: ledger.Annotation{ID: "order-1", Actor: "shop"},
		From:       "jane", To: "shop", Asset: "USD", Quantity: events.NewAmount(25_000),
	})
	var refused *ledger.Error
	if errors.As(err, &refused) {
		fmt.Println(refused.Code, refused.Funds.Available, refused.Funds.Requested)
	}
	// Output:
	// deposit-1 false <nil>
	// deposit-1 true <nil>
	// insufficient_funds 10000 25000
}

// A trade that settles has four legs: the asset, with its cost, and the cash.
func ExamplePostTrade() {
	ctx := context.Background()
	l := open(ctx)
	deposit := ledger.PostTransfer{
		Annotation: ledger.Annotation{Actor: "teller"}, From: "bank", To: "jane", Asset: "USD", Quantity: events.NewAmount(150_000),
	}
	if _, err := l.Post(ctx, deposit); err != nil {
		log.Fatal(err)
	}
	posted, err := l.Post(ctx, ledger.PostTrade{
		Annotation: ledger.Annotation{ID: "trade-1", Actor: "desk"},
		Asset:      "AAPL", Buyer: "jane", Seller: "market",
		Quantity: events.NewAmount(10), Cost: events.NewAmount(150_000), Settle: true,
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, leg := range posted.Transaction.Legs {
		fmt.Println(leg.Account, leg.Asset, leg.Quantity, leg.Cost)
	}
	// Output:
	// jane AAPL 10 150000
	// market AAPL -10 -150000
	// jane USD -150000 0
	// market USD 150000 0
}

// A request is checked as far as possible without the store. An error names the fields at fault.
func ExampleError() {
	ctx := context.Background()
	_, err := open(ctx).Post(ctx, ledger.PostTransaction{
		Annotation: ledger.Annotation{Actor: "desk"},
		Postings: []ledger.LegRequest{
			{Account: "jane", Asset: "USD", Quantity: events.NewAmount(-5)}, {Account: "no one", Asset: "USD", Quantity: events.NewAmount(5)},
		},
	})
	var fault *ledger.Error
	if errors.As(err, &fault) {
		fmt.Println(fault.Code, fault.Fields[0].Field == ledger.LegField(1, "account"))
		fmt.Println(fault.Fields[0].Rule)
	}
	// Output:
	// invalid_request true
	// must have 1 to 64 characters of A-Z a-z 0-9 . _ : @ - and begin with a letter or a digit
}
