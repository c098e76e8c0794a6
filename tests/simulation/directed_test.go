package simulation

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	"ledger.example/events"
	"ledger.example/internal/local/dynamolocal"
	"ledger.example/internal/local/memdb"
	"ledger.example/ledger"
	journal "ledger.example/ledger/dynamo"
	"ledger.example/projections"
	views "ledger.example/projections/dynamo"
)

// Histories with fixed timing, for interleavings that random histories hardly ever produce.

// delayed returns a client that waits before each request for the time that wait returns.
func delayed(store *memdb.Store, wait func(parameters any) time.Duration) *dynamodb.Client {
	return store.DynamoDB(func(o *dynamodb.Options) {
		o.Retryer = aws.NopRetryer{}
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("simulation.delayed",
				func(ctx context.Context, in middleware.InitializeInput,
					next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
					time.Sleep(wait(in.Parameters))
					return next.HandleInitialize(ctx, in)
				}), middleware.Before)
		})
	})
}

// TestSettledWhenTheReadBegan commits a posting while a refold reads for longer than the settle window. The refold has
// already read postings with higher KSUIDs. They are older than the settle window when the read ends, but were not when
// it began. If the refold took them for settled, the seal would move past the new posting, and strong reads would miss
// it.
func TestSettledWhenTheReadBegan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)))
		ctx := t.Context()
		store := memdb.New(memdb.Options{Now: time.Now, Page: func(context.Context, int) int { return 1 }})
		if _, err := dynamolocal.CreateTable(ctx, store.DynamoDB(), tableName); err != nil {
			t.Fatal(err)
		}
		process := func(wait func(any) time.Duration) (*ledger.Ledger, *projections.Reader, *projections.Projector) {
			client := delayed(store, wait)
			v := views.NewViews(client, tableName)
			reader := projections.NewReader(v, nil)
			return ledger.New(ledger.Config{Journal: journal.NewJournal(client, tableName),
				Projections: reader}), reader, projections.NewProjector(v, time.Now, nil)
		}
		fast, reader, _ := process(func(any) time.Duration { return 0 })
		slow, _, _ := process(func(parameters any) time.Duration {
			if _, write := parameters.(*dynamodb.TransactWriteItemsInput); write {
				return 2 * time.Second
			}
			return 0
		})
		pages := 0
		_, _, projector := process(func(parameters any) time.Duration {
			if q, query := parameters.(*dynamodb.QueryInput); !query || q.Limit == nil { // of postings
				return 0
			}
			if pages++; pages == 1 {
				return 0
			}
			return 15 * time.Second
		})

		if _, _, err := fast.RegisterAsset(ctx, ledger.RegisterAsset{ID: usd, Name: usd, Actor: "setup"}); err != nil {
			t.Fatal(err)
		}
		for _, account := range []string{bank, jane} {
			if _, _, err := fast.OpenAccount(ctx,
				ledger.OpenAccount{ID: account, Name: account, Overdraft: events.Overdraft{Unlimited: true},
					Actor: "setup"}); err != nil {
				t.Fatal(err)
			}
		}
		post := func(l *ledger.Ledger, id string) events.TransactionPosted {
			answer, err := l.Post(ctx, ledger.PostTransfer{
				Annotation: ledger.Annotation{ID: id, Actor: "somebody"}, From: bank, To: jane, Asset: usd,
				Quantity: events.NewAmount(1),
			})
			if err != nil {
				t.Error(err)
			}
			return answer.Transaction
		}

		late := make(chan events.TransactionPosted, 1)
		go func() { late <- post(slow, "late") }() // its KSUID is minted now, its write committed in 2 s
		time.Sleep(100 * time.Millisecond)
		first := post(fast, "first")
		time.Sleep(100 * time.Millisecond)
		second := post(fast, "second")

		if len(first.Legs) == 0 || len(second.Legs) == 0 {
			t.FailNow()
		}
		k := pair{Account: jane, Asset: usd}
		if err := projector.Refold(ctx, k, []events.KSUID{first.Legs[1].ID, second.Legs[1].ID}); err != nil {
			t.Fatal(err)
		}
		if passed := <-late; len(passed.Legs) == 0 || passed.Legs[1].ID > first.Legs[1].ID {
			t.Fatalf("the KSUID of %+v should sort before that of %+v", passed, first)
		}
		if pages < 2 {
			t.Fatalf("the refold read only %d pages, and so was too fast", pages)
		}
		b, err := reader.Balance(ctx, k, nil)
		if err != nil {
			t.Fatal(err)
		}
		if b.Head.Count != 3 {
			t.Errorf("a strong read counts %d of 3 acknowledged postings", b.Head.Count)
		}
	})
}
