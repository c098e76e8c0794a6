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
