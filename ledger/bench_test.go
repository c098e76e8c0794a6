package ledger_test

import (
	"context"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/ledger/journaltest"
)

// still is a journal that takes everything and keeps nothing: what remains is the cost of deciding.
type still struct{ ledger.Journal }

func (still) Append(context.Context, ledger.Commit) (time.Time, error) {
	return time.Now().Truncate(time.Second), nil
}

func benchLedger(b *testing.B) *ledger.Ledger {
	memory := journaltest.NewMemory(b, nil)
	l := ledger.New(ledger.Config{Journal: still{memory}, Projections: memory})
	ctx := b.Context()
	for _, asset := range []ledger.RegisterAsset{{ID: "USD", Name: "US dollar"}, {ID: "AAPL", Name: "Apple", Currency: "USD"}} {
		asset.Actor = "tester"
		if _, _, err := l.RegisterAsset(ctx, asset); err != nil {
			b.Fatal(err)
		}
	}
	for _, id := range []string{"jane", "bob"} {
		limits := events.Overdraft{Limits: map[string]events.Amount{"USD": amount("500")}}
		if _, _, err := l.OpenAccount(ctx, ledger.OpenAccount{ID: id, Overdraft: limits, Actor: "tester"}); err != nil {
			b.Fatal(err)
		}
	}
	return l
}

// A warm trade with settlement between limited accounts, up to the request to the store.
func BenchmarkWarmTrade(b *testing.B) {
	l := benchLedger(b)
	request := trade("t-1")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Post(b.Context(), request); err != nil {
			b.Fatal(err)
		}
	}
}

// A transaction of 48 legs.
func BenchmarkWarmTransactionOf48(b *testing.B) {
	l := benchLedger(b)
	request := ledger.PostTransaction{Annotation: ledger.Annotation{ID: "t-1", Actor: "tester"}}
	for range 24 {
		request.Postings = append(request.Postings,
			ledger.LegRequest{Account: "jane", Asset: "USD", Quantity: amount("-1")}, ledger.LegRequest{Account: "bob", Asset: "USD", Quantity: amount("1")})
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Post(b.Context(), request); err != nil {
			b.Fatal(err)
		}
	}
}
