// Package verify tests the audit: it reports nothing in a table that the ledger wrote, also during writes, and it
// reports each kind of corruption.
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

	"ledger.example/events"
	"ledger.example/internal/audit"
	"ledger.example/internal/ddb"
	"ledger.example/internal/local/dynamolocal"
	"ledger.example/internal/local/memdb"
	"ledger.example/internal/table"
	"ledger.example/ledger"
	journal "ledger.example/ledger/dynamo"
	"ledger.example/projections"
	views "ledger.example/projections/dynamo"
	"ledger.example/projections/repair"
)

const books = "books"

// stretch is how many postings close a segment of the book: few, so that it has many segments.
const stretch = 4

// newTable makes a table in a store in memory, which lets everything be written.
func newTable(ctx context.Context, now func() time.Time) (*dynamodb.Client, error) {
	client := memdb.New(memdb.Options{Now: now, Violation: func(error) {}}).DynamoDB()
	_, err := dynamolocal.CreateTable(ctx, client, books)
	return client, err
}

// newLedger is the real write side on a table. now may be nil.
func newLedger(client *dynamodb.Client, now func() time.Time) *ledger.Ledger {
	return ledger.New(ledger.Config{Journal: journal.NewJournal(client, books),
		Projections: projections.NewReader(views.NewViews(client, books), nil), Now: now})
}

func about(id string) ledger.Annotation { return ledger.Annotation{ID: id, Actor: "tester"} }

// book is every item of a table.
type book map[table.Key]ddb.Item

// made is a book that the real ledger and the real projector made: each kind of item, balances with segments and all
// three folds, accounts without a limit, with one, below zero, changed and closed, holds of every status, reversals, and groups.
var made = sync.OnceValues(func() (book, error) {
	ctx := context.Background()
	var after atomic.Int64 // nanoseconds since the book was begun, an hour ago
	began := time.Now().Add(-time.Hour)
	now := func() time.Time { return began.Add(time.Duration(after.Add(int64(time.Millisecond)))) }
	client, err := newTable(ctx, now)
	if err != nil {
		return nil, err
	}
	l := newLedger(client, now)
	p := projections.NewProjector(views.NewViews(client, books), now, nil)
	p.Tune(projections.Tuning{Stretch: stretch, Segments: 90})
	project := func() error {
		var errs []error
		for _, account := range []string{"bank", "market", "jane", "margin", "ann", "shop", "firm", "old", "past"} {
			for _, asset := range []string{"USD", "AAPL", "GOLD"} {
				first := events.KSUID("")
				for i := range 2 { // the second time to the end, with a segment closed
					if i == 0 {
						first = events.FirstKSUID(now())
					}
					errs = append(errs, p.Refold(ctx, events.Pair{Account: account, Asset: asset},
						[]events.KSUID{first}))
				}
			}
		}
		for _, user := range []string{"u-1", "u-2"} {
			errs = append(errs, p.RefreshMembership(ctx, projections.Membership{Account: "jane", User: user}))
		}
		for _, user := range []string{"u-1", "u-2"} {
			errs = append(errs, p.RefreshMembership(ctx, projections.Membership{Group: "desk", User: user}))
		}
		for _, account := range []string{"jane", "bank"} {
			errs = append(errs, p.RefreshGrouped(ctx, account, 1))
		}
		for _, hold := range holds {
			errs = append(errs, p.RefreshHold(ctx, hold))
		}
		return errors.Join(errs...)
	}
	steps := []func() error{
		func() error { return write(ctx, l) },
		func() error { return live(ctx, l, func(d time.Duration) { after.Add(int64(d)) }) },
		func() error { after.Add(int64(20 * time.Minute)); return project() },
		func() error { return trades(ctx, l, 100, 3) },
		project, // before those are settled
		func() error { return list(ctx, client, now) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return read(ctx, client)
})

// indexed are the metadata keys by which the book lists transactions.
var indexed = []string{"order", "by"}

// pages are the journal of a table.
type pages struct {
	*views.Views
	now func() time.Time
}

func (p pages) Append(ctx context.Context, entries []projections.JournalEntry) error {
	return p.PutPage(ctx, projections.JournalPage{ID: events.FirstKSUID(p.now()), Entries: entries})
}

// list makes the lists of transactions and the journal.
func list(ctx context.Context, client *dynamodb.Client, now func() time.Time) error {
	v := views.NewViews(client, books)
	return repair.New(repair.Config{Views: v, Lists: v, Journal: pages{v, now}, Indexed: indexed, ListsOnly: true}).Run(ctx)
}

func amount(n int64) events.Amount { return events.NewAmount(n) }

func write(ctx context.Context, l *ledger.Ledger) error {
	var errs []error
	keep := func(err error) { errs = append(errs, err) }
	for _, a := range []ledger.RegisterAsset{
		{ID: "USD", Name: "US dollar", Scale: 2}, {ID: "AAPL", Name: "Apple Inc.", Description: "Common stock",
			Currency: "USD"},
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
		_, err := l.Post(ctx, ledger.PostTransfer{Annotation: about(fmt.Sprint("d-", i)), From: "bank", To: "jane", Asset: "USD", Quantity: amount(100_000)})
		keep(err)
	}
	keep(trades(ctx, l, 0, 8))
	_, err := l.Post(ctx, ledger.PostTransaction{
		Annotation: ledger.Annotation{ID: "x-1", Description: "Gold",
			Metadata: map[string]string{"order": "7", "by": "phone"}, Actor: "tester"},
		Postings: []ledger.LegRequest{
			{Account: "jane", Asset: "GOLD", Quantity: amount(5), Cost: amount(700)},
			{Account: "market", Asset: "GOLD", Quantity: amount(-3), Cost: amount(-300)},
			{Account: "bank", Asset: "GOLD", Quantity: amount(-2), Cost: amount(-400)},
		}})
	keep(err)
	_, err = l.Post(ctx, ledger.PostTransfer{Annotation: about("m-1"), From: "margin", To: "bank", Asset: "USD", Quantity: amount(30_000)})
	keep(err)
	for _, role := range []events.Role{events.RoleViewer, events.RoleOperator, events.RoleViewer} {
		_, err := l.Grant(ctx, ledger.GrantMember{Account: "jane", User: "u-1", Role: role, Actor: "tester"})
		keep(err)
	}
	_, err = l.Grant(ctx, ledger.GrantMember{Account: "jane", User: "u-2", Role: events.RoleOwner, Actor: "tester"})
	keep(err)
	keep(l.Revoke(ctx, ledger.RevokeMember{Account: "jane", User: "u-2", Actor: "tester"}))
	keep(gather(ctx, l))
	return errors.Join(errs...)
}

// holds are the holds of the book.
var holds = []string{"h-open", "h-whole", "h-part", "h-back", "h-some", "h-late", "h-trade"}

// live writes holds and their ends, reversals and changes of accounts. pass lets time pass.
func live(ctx context.Context, l *ledger.Ledger, pass func(time.Duration)) error {
	var errs []error
	keep := func(err error) { errs = append(errs, err) }
	for _, id := range []string{"ann", "shop", "firm", "old"} {
		_, _, err := l.OpenAccount(ctx, ledger.OpenAccount{ID: id, Actor: "tester"})
		keep(err)
	}
	pay := func(id, from, to string, n int64, hold *ledger.HoldRequest) {
		note := about(id)
		note.Hold = hold
		_, err := l.Post(ctx, ledger.PostTransfer{Annotation: note, From: from, To: to, Asset: "USD", Quantity: amount(n)})
		keep(err)
	}
	ended := func(end ledger.Ended, err error) { keep(err) }
	change := func(c ledger.ChangeAccount) {
		c.Actor = "tester"
		_, err := l.ChangeAccount(ctx, c)
		keep(err)
	}
	reverse := func(id, of string, part ledger.Part) {
		_, err := l.Reverse(ctx, ledger.ReverseRequest{Annotation: about(id), Transaction: of, Part: part})
		keep(err)
	}
	pay("a-1", "bank", "ann", 1000, nil)
	for _, id := range holds[:5] {
		pay(id, "ann", "shop", 100, &ledger.HoldRequest{})
	}
	soon := time.Now().Add(-time.Hour + 10*time.Second)
	pay("h-late", "ann", "shop", 30, &ledger.HoldRequest{ExpiresAt: &soon})
	bought := about("h-trade")
	bought.Hold = &ledger.HoldRequest{}
	_, err := l.Post(ctx, ledger.PostTrade{Annotation: bought, Asset: "AAPL", Buyer: "ann", Seller: "market", Quantity: amount(9), Cost: amount(90), Settle: true})
	keep(err)
	part := func(quantity, cost int64) ledger.Part {
		return ledger.Part{Quantity: new(amount(quantity)), Cost: amount(cost)}
	}
	ended(l.Capture(ctx, ledger.CaptureRequest{Transaction: "h-whole", Actor: "tester"}))
	ended(l.Capture(ctx, ledger.CaptureRequest{Transaction: "h-part", Part: part(40, 0), Actor: "tester"}))
	ended(l.Capture(ctx, ledger.CaptureRequest{Transaction: "h-some", Part: part(40, 0), Actor: "tester"}))
	ended(l.Capture(ctx, ledger.CaptureRequest{Transaction: "h-trade", Part: part(5, 50), Actor: "tester"}))
	ended(l.Release(ctx, ledger.ReleaseRequest{Transaction: "h-back", Description: "Left early", Actor: "tester"}))
	pass(time.Minute)
	ended(l.Expire(ctx, "h-late"))

	pay("p-1", "ann", "shop", 50, nil)
	reverse("r-1", "p-1", part(20, 0))
	reverse("r-2", "p-1", ledger.Part{})
	reverse("r-3", "h-some", part(10, 0))
	reverse("r-4", "h-trade", part(1, 10))
	_, err = l.Post(ctx, ledger.PostTransaction{Annotation: about("x-7"), Postings: []ledger.LegRequest{
		{Account: "ann", Asset: "AAPL", Quantity: amount(5), Cost: amount(700)},
		{Account: "market", Asset: "AAPL", Quantity: amount(-3), Cost: amount(-300)},
		{Account: "bank", Asset: "AAPL", Quantity: amount(-2), Cost: amount(-400)},
	}})
	keep(err)
	reverse("r-5", "x-7", ledger.Part{Postings: []events.Taken{{Quantity: amount(2), Cost: amount(300)}, {}, {Quantity: amount(-2), Cost: amount(-300)}}})
	reverse("r-6", "r-1", ledger.Part{})

	change(ledger.ChangeAccount{ID: "firm", Name: new("Firm"), Overdraft: &events.Overdraft{Limits: map[string]events.Amount{"USD": amount(500)}}})
	pay("f-1", "firm", "bank", 300, nil)
	change(ledger.ChangeAccount{ID: "firm", State: new(events.StateFrozen)})
	change(ledger.ChangeAccount{ID: "firm", State: new(events.StateOpen), Overdraft: &events.Overdraft{Limits: map[string]events.Amount{"USD": amount(100)}}})
	keep(backdate(ctx, l, time.Now().Add(-1000*time.Hour)))
	pay("o-1", "bank", "old", 5, nil)
	pay("o-2", "old", "bank", 5, nil)
	change(ledger.ChangeAccount{ID: "old", State: new(events.StateClosed)})
	return errors.Join(errs...)
}

// backdate writes transactions with an effective date, to an account of their own.
func backdate(ctx context.Context, l *ledger.Ledger, at time.Time) error {
	note := func(id string) ledger.Annotation {
		n := about(id)
		n.EffectiveAt = &at
		return n
	}
	_, _, err := l.OpenAccount(ctx, ledger.OpenAccount{ID: "past", Actor: "tester"})
	_, paid := l.Post(ctx, ledger.PostTransfer{Annotation: note("e-1"), From: "market", To: "past", Asset: "GOLD", Quantity: amount(70)})
	_, back := l.Reverse(ctx, ledger.ReverseRequest{Annotation: note("e-2"), Transaction: "e-1", Part: ledger.Part{Quantity: new(amount(20))}})
	_, gift := l.Post(ctx, ledger.PostTrade{Annotation: note("e-3"), Asset: "GOLD", Buyer: "past", Seller: "market", Quantity: amount(2)})
	return errors.Join(err, paid, back, gift)
}

// trades posts n trades; every second one settles.
func trades(ctx context.Context, l *ledger.Ledger, from, n int) error {
	for i := from; i < from+n; i++ {
		_, err := l.Post(ctx, ledger.PostTrade{Annotation: about(fmt.Sprint("t-", i)), Asset: "AAPL", Buyer: "jane",
			Seller: "market", Quantity: amount(int64(1 + i)), Cost: amount(int64(1000 * (i % 4))), Settle: i%2 == 1})
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
			key, err := ddb.KeyOf(item)
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
	client, err := newTable(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	b.write(t, client)
	return client
}

// write puts the book into a table.
func (b book) write(t *testing.T, client *dynamodb.Client) {
	t.Helper()
	for _, item := range b {
		if _, err := client.PutItem(t.Context(),
			&dynamodb.PutItemInput{TableName: new(books), Item: item}); err != nil {
			t.Fatal(err)
		}
	}
}

func noPause(context.Context, time.Duration) error { return nil }

// verify audits a table that nothing is written to. To a settle age of two hours all of a book is young.
func verify(t *testing.T, store audit.Store, settle time.Duration) audit.Report {
	t.Helper()
	report, err := audit.New(audit.Options{Store: store, Table: books, Findings: 1000, Settle: settle,
		Indexed: indexed, Pause: noPause}).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// scans are a store that counts its scans.
type scans struct {
	audit.Store
	n atomic.Int64
}

func (s *scans) Scan(ctx context.Context, in *dynamodb.ScanInput, o ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	s.n.Add(1)
	return s.Store.Scan(ctx, in, o...)
}

func TestABookIsSound(t *testing.T) {
	b := copyOfBook(t)
	client := b.client(t)
	for _, settle := range []time.Duration{0, 2 * time.Hour} {
		store := &scans{Store: client}
		report := verify(t, store, settle)
		if n := store.n.Load(); n != audit.DefaultSegments { // what is sound is scanned once
			t.Errorf("%d scans", n)
		}
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
