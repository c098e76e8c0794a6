package ledger_test

import (
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/local/dynamolocal"
	"ledger.example/internal/local/memdb"
	"ledger.example/internal/store"
	"ledger.example/ledger"
	"ledger.example/projections"
)

// book has a table in memory, and implements ledger.Projections on it. Only Project stores projections.
type book struct {
	*projections.Reader
	table  store.Table
	t      testing.TB
	memory *memdb.Store
	views  *projections.Views
}

const tableName = "books"

// newBook returns an empty book whose store has the clock now. A write that changes an event fails the test.
func newBook(t testing.TB, now func() time.Time) *book {
	memory := memdb.New(memdb.Options{Now: now, Violation: func(err error) { t.Error(err) }})
	client := memory.DynamoDB()
	if _, err := dynamolocal.CreateTable(t.Context(), client, tableName); err != nil {
		t.Fatal(err)
	}
	items := store.NewTable(client, tableName)
	return &book{
		table: items, t: t, memory: memory, views: projections.NewViews(items), Reader: projections.NewReader(items, nil),
	}
}

// Project stores credits of a pair as a projector would, for Lookup.
func (b *book) Project(p events.Pair, credits events.Amount) {
	b.t.Helper()
	stored, _, err := b.views.Balance(b.t.Context(), p)
	if err == nil {
		stored.Head.Credits = credits
		err = b.views.Write(b.t.Context(), projections.Change{Balance: stored})
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// Guard creates the guard of a pair, with version 1.
func (b *book) Guard(p events.Pair) {
	b.t.Helper()
	l := ledger.New(ledger.Config{Table: b.table})
	err := l.CreateGuard(b.t.Context(), p)
	if err == nil {
		err = l.SetGuardVersion(b.t.Context(), p, 1)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// Spent returns the total of a guard, and whether the guard exists.
func (b *book) Spent(p events.Pair) (events.Amount, bool) {
	item, _ := b.memory.Item(store.Spend.Key(p.Account, p.Asset))
	if item == nil {
		return events.Amount{}, false
	}
	return store.Read(item).Amount(store.AttrSpent), true
}

// Sums returns the sums over all postings of a pair.
func (b *book) Sums(p events.Pair) (credits, debits events.Amount) {
	b.t.Helper()
	balance, err := b.Balance(b.t.Context(), p, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return balance.Head.Credits, balance.Head.Debits
}

// Headers returns all transactions by their ids.
func (b *book) Headers() map[string]events.TransactionPosted {
	b.t.Helper()
	headers := map[string]events.TransactionPosted{}
	for _, change := range b.memory.Since(0) {
		if _, ok := store.Transaction.Parse(change.Key); ok {
			e, err := store.DecodeEvent(change.After)
			if err != nil {
				b.t.Fatal(err)
			}
			headers[e.(events.TransactionPosted).ID] = e.(events.TransactionPosted)
		}
	}
	return headers
}

// ListHolds lists holds as a projector would, for DueHolds.
func (b *book) ListHolds(ids ...string) {
	b.t.Helper()
	for _, id := range ids {
		p := projections.NewProjector(b.table, nil, nil)
		if err := p.Refresh(b.t.Context(), projections.Target{View: projections.Holds, Hold: id}, projections.Seen{}); err != nil {
			b.t.Fatal(err)
		}
	}
}
