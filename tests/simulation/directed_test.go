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
	"ledger.example/internal/store"
	"ledger.example/ledger"
	"ledger.example/projections"
)

// Histories with fixed timing, for interleavings that random histories hardly ever produce.

// delayed returns a client that waits before each request for the time that wait returns.
func delayed(db *memdb.Store, wait func(parameters any) time.Duration) *dynamodb.Client {
	return db.DynamoDB(func(o *dynamodb.Options) {
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

// stage is a store for a history with fixed timing.
type stage struct {
	*testing.T
	store *memdb.Store
}

// newStage creates the table, an asset, and the accounts bank, without a limit, and jane.
func newStage(t *testing.T, page func(context.Context, int) int, jane ledger.OpenAccount) *stage {
	t.Helper()
	time.Sleep(time.Until(time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)))
	s := &stage{t, memdb.New(memdb.Options{Now: time.Now, Page: page})}
	if _, err := dynamolocal.CreateTable(t.Context(), s.store.DynamoDB(), tableName); err != nil {
		t.Fatal(err)
	}
	l, _, _ := s.process(func(any) time.Duration { return 0 })
	if _, _, err := l.RegisterAsset(t.Context(), ledger.RegisterAsset{ID: usd, Name: usd, Actor: "setup"}); err != nil {
		t.Fatal(err)
	}
	for _, account := range []ledger.OpenAccount{{ID: bank, Overdraft: events.Overdraft{Unlimited: true}}, jane} {
		account.Name, account.Actor = account.ID, "setup"
		if _, _, err := l.OpenAccount(t.Context(), account); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// process returns the service of a process that waits before each request for the time that wait returns.
func (s *stage) process(wait func(any) time.Duration) (
	*ledger.Ledger, *projections.Reader, *projections.Projector,
) {
	client := delayed(s.store, wait)
	v := store.NewTable(client, tableName)
	reader := projections.NewReader(v, nil)
	return ledger.New(ledger.Config{Table: store.NewTable(client, tableName), Projections: reader}), reader,
		projections.NewProjector(v, time.Now, nil)
}

// transfer is a transfer of usd that was effective that long ago; 0: without an effective date.
func (s *stage) transfer(id, from, to string, quantity int64, ago time.Duration) ledger.PostTransfer {
	r := ledger.PostTransfer{Annotation: ledger.Annotation{ID: id, Actor: "somebody"}, From: from, To: to, Asset: usd,
		Quantity: events.NewAmount(quantity)}
	if ago > 0 {
		r.EffectiveAt = new(time.Now().Add(-ago))
	}
	return r
}

// TestSettledWhenTheReadBegan commits a posting while a refold reads for longer than the settle window. The refold has
// already read postings with higher KSUIDs. They are older than the settle window when the read ends, but were not when
// it began. If the refold took them for settled, the seal would move past the new posting, and strong reads would miss
// it.
func TestSettledWhenTheReadBegan(t *testing.T) {
	refoldBeforeACommit(t, 2*time.Second, 100*time.Millisecond, 15*time.Second)
}

// TestSealStopsAtTheSettleWindow commits a posting after a refold has counted postings with higher KSUIDs. The refold
// ends at once. They are younger than the settle window, so the seal must not move past the new posting.
func TestSealStopsAtTheSettleWindow(t *testing.T) {
	refoldBeforeACommit(t, 2*time.Second, time.Second, 0)
}

// refoldBeforeACommit posts a transaction whose write takes the given time, and meanwhile two others. After the pause it
// refolds their balance, which reads each posting but the first for the time read. A strong read must count all three.
func refoldBeforeACommit(t *testing.T, write, pause, read time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		s := newStage(t, func(context.Context, int) int { return 1 },
			ledger.OpenAccount{ID: jane, Overdraft: events.Overdraft{Unlimited: true}})
		fast, reader, _ := s.process(func(any) time.Duration { return 0 })
		slow, _, _ := s.process(func(parameters any) time.Duration {
			if _, transaction := parameters.(*dynamodb.TransactWriteItemsInput); transaction {
				return write
			}
			return 0
		})
		pages := 0
		_, _, projector := s.process(func(parameters any) time.Duration {
			if q, query := parameters.(*dynamodb.QueryInput); !query || q.Limit == nil { // of postings
				return 0
			}
			if pages++; pages == 1 {
				return 0
			}
			return read
		})

		post := func(l *ledger.Ledger, id string) events.TransactionPosted {
			answer, err := l.Post(ctx, s.transfer(id, bank, jane, 1, 0))
			if err != nil {
				t.Error(err)
			}
			return answer.Transaction
		}

		late := make(chan events.TransactionPosted, 1)
		go func() { late <- post(slow, "late") }() // its KSUID is minted now, and its write takes a time
		time.Sleep(100 * time.Millisecond)
		first := post(fast, "first")
		time.Sleep(100 * time.Millisecond)
		second := post(fast, "second")
		time.Sleep(pause)

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
