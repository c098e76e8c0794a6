// Package verify holds the tests of the audit: that a table as the ledger makes it is sound, also while it is written to, and
// that each kind of corruption is found and named.
package verify

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	template "ledger.example"
	"ledger.example/cmd/ledger/audit"
	"ledger.example/cmd/ledger/local"
	"ledger.example/cmd/ledger/memory"
	"ledger.example/events"
	"ledger.example/ledger"
	journal "ledger.example/ledger/dynamo"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
	"ledger.example/projections"
	views "ledger.example/projections/dynamo"
)

const books = "books"

// stretch is how many postings close a segment of the book: few, so that it has many segments.
const stretch = 4

// newTable makes a table in a store in memory, which lets everything be written.
func newTable(ctx context.Context, now func() time.Time) (*memory.Store, *dynamodb.Client, error) {
	store := memory.New(memory.Options{Now: now, Violation: func(error) {}})
	client := store.DynamoDB()
	in, err := local.TableFromTemplate(template.YAML)
	if err != nil {
		return nil, nil, err
	}
	_, err = local.CreateTable(ctx, client, in, books)
	return store, client, err
}

// book is every item of a table.
type book map[table.Key]wire.Item

// made is a book that the real ledger and the real projector made: each kind of item, balances with segments and all three
// folds, accounts without a limit, with one and below zero.
var made = sync.OnceValues(func() (book, error) {
	ctx := context.Background()
	var after atomic.Int64 // nanoseconds since the book was begun, an hour ago
	began := time.Now().Add(-time.Hour)
	now := func() time.Time { return began.Add(time.Duration(after.Add(int64(time.Millisecond)))) }
	_, client, err := newTable(ctx, now)
	if err != nil {
		return nil, err
	}
	v := views.NewViews(client, books)
	l := ledger.New(ledger.Config{Journal: journal.NewJournal(client, books), Projections: projections.NewReader(v, nil), Now: now})
	p := projections.NewProjector(v, now, nil)
	p.Tune(projections.Tuning{Stretch: stretch, Segments: 90})
	project := func() error {
		var errs []error
		for _, account := range []string{"bank", "market", "jane", "margin"} {
			for _, asset := range []string{"USD", "AAPL", "GOLD"} {
				first := events.KSUID("")
				for i := range 2 { // the second time to the end, with a segment closed
					if i == 0 {
						first = events.FirstKSUID(now())
					}
					errs = append(errs, p.Refold(ctx, projections.Key{Account: account, Asset: asset}, []events.KSUID{first}))
				}
			}
		}
		for _, user := range []string{"u-1", "u-2"} {
			errs = append(errs, p.Remember(ctx, "jane", user))
		}
		return errors.Join(errs...)
	}
	steps := []func() error{
		func() error { return write(ctx, l) },
		func() error { after.Add(int64(20 * time.Minute)); return project() },
		func() error { return trades(ctx, l, 100, 3) },
		project, // before those are settled
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return read(ctx, client)
})

func amount(n int64) events.Amount { return events.NewAmount(n) }

func write(ctx context.Context, l *ledger.Ledger) error {
	var errs []error
	keep := func(err error) { errs = append(errs, err) }
	for _, a := range []ledger.RegisterAsset{
		{ID: "USD", Name: "US dollar", Scale: 2}, {ID: "AAPL", Name: "Apple Inc.", Description: "Common stock", Currency: "USD"},
		{ID: "GOLD", Name: "Gold", Scale: 3, Currency: "USD"},
	} {
		a.Actor = "tester"
		_, _, err := l.RegisterAsset(ctx, a)
		keep(err)
	}
	unlimited := events.Overdraft{Unlimited: true}
	for _, a := range []ledger.OpenAccount{
		{ID: "bank", Overdraft: unlimited}, {ID: "market", Name: "Market", Overdraft: unlimited},
		{ID: "jane", Name: "Jane Doe", Profile: `{"email":"jane@example.com","addresses":[{"city":"Springfield"}]}`},
		{ID: "margin", Overdraft: events.Overdraft{Limits: map[string]events.Amount{"USD": amount(50_000)}}},
	} {
		a.Actor = "tester"
		_, _, err := l.OpenAccount(ctx, a)
		keep(err)
	}
	for i := range 6 {
		_, err := l.Post(ctx, ledger.PostTransfer{Annotation: ledger.Annotation{ID: fmt.Sprint("d-", i), Actor: "tester"},
			From: "bank", To: "jane", Asset: "USD", Quantity: amount(100_000)})
		keep(err)
	}
	keep(trades(ctx, l, 0, 8))
	_, err := l.Post(ctx, ledger.PostTransaction{
		Annotation: ledger.Annotation{ID: "x-1", Description: "Gold", Metadata: map[string]string{"order": "7", "by": "phone"}, Actor: "tester"},
		Postings: []ledger.LegRequest{
			{Account: "jane", Asset: "GOLD", Quantity: amount(5), Cost: amount(700)}, {Account: "market", Asset: "GOLD", Quantity: amount(-3), Cost: amount(-300)},
			{Account: "bank", Asset: "GOLD", Quantity: amount(-2), Cost: amount(-400)},
		}})
	keep(err)
	_, err = l.Post(ctx, ledger.PostTransfer{Annotation: ledger.Annotation{ID: "m-1", Actor: "tester"}, From: "margin", To: "bank", Asset: "USD", Quantity: amount(30_000)})
	keep(err)
	for _, role := range []events.Role{events.RoleViewer, events.RoleOperator, events.RoleViewer} {
		_, err := l.Grant(ctx, ledger.GrantMember{Account: "jane", User: "u-1", Role: role, Actor: "tester"})
		keep(err)
	}
	_, err = l.Grant(ctx, ledger.GrantMember{Account: "jane", User: "u-2", Role: events.RoleOwner, Actor: "tester"})
	keep(err)
	keep(l.Revoke(ctx, ledger.RevokeMember{Account: "jane", User: "u-2", Actor: "tester"}))
	return errors.Join(errs...)
}

// trades posts n trades; every second one settles.
func trades(ctx context.Context, l *ledger.Ledger, from, n int) error {
	for i := from; i < from+n; i++ {
		_, err := l.Post(ctx, ledger.PostTrade{Annotation: ledger.Annotation{ID: fmt.Sprint("t-", i), Actor: "tester"},
			Asset: "AAPL", Buyer: "jane", Seller: "market", Quantity: amount(int64(1 + i)), Cost: amount(int64(1000 * (i % 4))), Settle: i%2 == 1})
		if err != nil {
			return err
		}
	}
	return nil
}

// read returns every item of a table.
func read(ctx context.Context, client *dynamodb.Client) (book, error) {
	b := make(book)
	pages := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{TableName: new(books)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, item := range page.Items {
			key, err := wire.KeyOf(item)
			if err != nil {
				return nil, err
			}
			b[key] = item
		}
	}
	return b, nil
}

// copyOfBook is made, to be altered.
func copyOfBook(t *testing.T) book {
	t.Helper()
	b, err := made()
	if err != nil {
		t.Fatal(err)
	}
	copied := make(book, len(b))
	for key, item := range b {
		copied[key] = maps.Clone(item)
	}
	return copied
}

// client writes the book to a table of its own.
func (b book) client(t *testing.T) *dynamodb.Client {
	t.Helper()
	_, client, err := newTable(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range b {
		if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: new(books), Item: item}); err != nil {
			t.Fatal(err)
		}
	}
	return client
}

func noPause(context.Context, time.Duration) error { return nil }

// verify audits a table that nothing is written to. To a settle age of two hours all of a book is young.
func verify(t *testing.T, store audit.Store, settle time.Duration) audit.Report {
	t.Helper()
	report, err := audit.New(audit.Options{Store: store, Table: books, Findings: 1000, Settle: settle, Pause: noPause}).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestABookIsSound(t *testing.T) {
	b := copyOfBook(t)
	client := b.client(t)
	for _, settle := range []time.Duration{0, 2 * time.Hour} {
		report := verify(t, client, settle)
		if !report.Sound() || report.Unsettled != 0 || report.Counts.Items != int64(len(b)) {
			t.Errorf("%+v of %d items", report, len(b))
		}
	}
	segments := 0
	for key := range b {
		if _, _, _, ok := table.ParseSegment(key); ok {
			segments++
		}
	}
	if segments < 8 {
		t.Errorf("the book has %d segments, and is no test of them", segments)
	}
}
