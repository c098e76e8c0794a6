package ledger_test

import (
	"bytes"
	"cmp"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"ledger.example/events"
	"ledger.example/internal/local/dynamolocal"
	"ledger.example/internal/local/memdb"
	"ledger.example/internal/table"
	"ledger.example/ledger"
	"ledger.example/projections"
)

// era moves synctest's clock, which begins in 2000, into the range of KSUIDs.
const era = 27 * 365 * 24 * time.Hour

func storeNow() time.Time { return time.Now().Add(era) }

// rig is a ledger on a faulty book, in a bubble of synctest.
type rig struct {
	*ledger.Ledger
	t         *testing.T
	journal   *faulty
	skew      time.Duration // of the process's clock
	storeSkew time.Duration // of the store's clock
	log       *bytes.Buffer
}

// inBubble runs f on a rig with USD, AAPL in USD, and EUR. jane, bob, shop and fees have limits of 0, margin one of 500
// USD; market and bank have none. The definitions are stored but not cached.
func inBubble(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t}
		r.journal = &faulty{book: newBook(t, func() time.Time { return storeNow().Add(r.storeSkew) })}
		r.restart()
		for _, asset := range []ledger.RegisterAsset{
			{ID: "USD", Name: "US dollar", Scale: 2}, {ID: "AAPL", Name: "Apple", Currency: "USD"}, {ID: "EUR", Name: "Euro", Scale: 2},
		} {
			asset.Actor = "tester"
			if _, created, err := r.RegisterAsset(t.Context(), asset); err != nil || !created {
				t.Fatal(created, err)
			}
		}
		for id, overdraft := range map[string]events.Overdraft{
			"jane": {}, "bob": {}, "shop": {}, "fees": {}, "bank": {Unlimited: true}, "market": {Unlimited: true},
			"margin": {Limits: map[string]events.Amount{"USD": amount("500")}},
		} {
			if _, created, err := r.OpenAccount(t.Context(), ledger.OpenAccount{ID: id, Overdraft: overdraft, Actor: "tester"}); err != nil || !created {
				t.Fatal(created, err)
			}
		}
		r.restart()
		defer time.Sleep(2 * time.Minute) // until what is late has arrived
		f(t, r)
	})
}

// restart starts a new process, with empty caches.
func (r *rig) restart() {
	r.log = &bytes.Buffer{}
	r.Ledger = ledger.New(ledger.Config{
		Table:       r.journal.table(),
		Projections: r.journal,
		Now:         func() time.Time { return storeNow().Add(r.skew) },
		Log:         slog.New(slog.NewTextHandler(r.log, nil)),
	})
	r.journal.forget()
}

// another returns another process on the same store, without faults.
func (r *rig) another() *ledger.Ledger {
	return ledger.New(ledger.Config{Table: r.journal.book.table, Projections: r.journal.book, Now: storeNow})
}

func transfer(id, from, to, quantity string) ledger.PostTransfer {
	return ledger.PostTransfer{
		Annotation: ledger.Annotation{ID: id, Actor: "tester"}, From: from, To: to, Asset: "USD", Quantity: amount(quantity),
	}
}

func (r *rig) post(request ledger.Request) (ledger.Posted, error) {
	r.t.Helper()
	return r.Post(r.t.Context(), request)
}

func (r *rig) mustPost(request ledger.Request) ledger.Posted {
	r.t.Helper()
	posted, err := r.post(request)
	if err != nil {
		r.t.Fatalf("post: %v", err)
	}
	return posted
}

// fund credits an account, projects the credit, and creates the guard.
func (r *rig) fund(account, asset, quantity string) {
	r.t.Helper()
	funding := transfer("", "bank", account, quantity)
	funding.Asset = asset
	r.mustPost(funding)
	credits, _ := r.journal.Sums(pair(account, asset))
	r.journal.Project(pair(account, asset), credits)
	r.journal.Guard(pair(account, asset))
	r.journal.forget()
}

// refused fails the test unless the error has this code.
func (r *rig) refused(err error, code ledger.Code) *ledger.Error {
	r.t.Helper()
	var e *ledger.Error
	if !errors.As(err, &e) || e.Code != code {
		r.t.Fatalf("got %v, want %s", err, code)
	}
	if e.Detail == "" {
		r.t.Errorf("%s has no detail", code)
	}
	switch code {
	case ledger.CodeThrottled, ledger.CodeContention, ledger.CodeUnavailable:
		if e.RetryAfter <= 0 {
			r.t.Errorf("%s does not say when to try again", code)
		}
	}
	return e
}

// stored fails the test unless the transaction is stored, or is not, as wanted.
func (r *rig) stored(id string, want bool) events.TransactionPosted {
	r.t.Helper()
	t, ok := r.journal.Headers()[id]
	if ok != want {
		r.t.Fatalf("transaction %s is stored: %v, want %v", id, ok, want)
	}
	return t
}

func pair(account, asset string) events.Pair { return events.Pair{Account: account, Asset: asset} }

// book has a table in memory, and implements ledger.Projections on it. Only Project stores projections.
type book struct {
	*projections.Reader
	table  table.Table
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
	items := table.NewTable(client, tableName)
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
	item, _ := b.memory.Item(table.Spend.Key(p.Account, p.Asset))
	if item == nil {
		return events.Amount{}, false
	}
	return table.Read(item).Amount(table.AttrSpent), true
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
		if _, ok := table.Transaction.Parse(change.Key); ok {
			e, err := table.DecodeEvent(change.After)
			if err != nil {
				b.t.Fatal(err)
			}
			headers[e.(events.TransactionPosted).ID] = e.(events.TransactionPosted)
		}
	}
	return headers
}

// ListHolds lists holds as the projector and the lister do, for DueHolds.
func (b *book) ListHolds(ids ...string) {
	b.t.Helper()
	wanted := make(map[string]bool)
	for _, id := range ids {
		wanted[id] = true
	}
	lanes, err := table.ReadLanes(b.t.Context(), b.table, time.Now())
	if err != nil {
		b.t.Fatal(err)
	}
	found, err := projections.TransactionsByID(b.t.Context(), b.table, wanted, table.Strong)
	for _, h := range found {
		err = cmp.Or(err, projections.NewViews(b.table).Show(b.t.Context(), projections.Holds,
			projections.HoldEntries(h, lanes)...))
	}
	if err != nil {
		b.t.Fatal(err)
	}
}
