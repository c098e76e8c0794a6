// Package verify tests the audit: it reports nothing in a table that the ledger wrote, also during writes, and it
// reports each kind of corruption.
// Only it finds a corruption that the audit does not see.
package verify

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/forward"
	"ledger.example/internal/local/memdb"
	"ledger.example/internal/table"
	"ledger.example/internal/watch/audit"
	"ledger.example/internal/watch/repair"
	"ledger.example/ledger"
	"ledger.example/projections"
	"ledger.example/projections/rebuild"
	"ledger.example/tests/harness/setup"
	"ledger.example/tests/harness/system"
)

const books = "books"

// segmentPostings is the number of postings in a segment of the book. It is low, so that the book has many segments.
const segmentPostings = 4

// growthAfter is when lanes of the book grow from 1 to 32, after its beginning: in the middle of its transactions.
const growthAfter = 2 * time.Minute

// newTable creates a table in a memory store that allows events to be changed and deleted.
func newTable(t testing.TB, now func() time.Time) *dynamodb.Client {
	t.Helper()
	client := memdb.New(memdb.Options{Now: now, Violation: func(error) {}}).DynamoDB()
	setup.Table(t, client, books)
	return client
}

// newLedger returns the real write side on a table. now may be nil.
func newLedger(client *dynamodb.Client, now func() time.Time) *ledger.Ledger {
	return ledger.New(ledger.Config{Table: table.NewTable(client, books),
		Projections: projections.NewReader(table.NewTable(client, books), nil), Now: now})
}

func about(id string) ledger.Annotation { return ledger.Annotation{ID: id, Actor: "tester"} }

// book has all items of a table.
type book map[table.Key]table.Item

// newBook returns a book that the real ledger and the real projector wrote. It has items of each type, balances with
// segments and all three folds, unlimited, limited, overdrawn, changed and closed accounts, some with metadata, holds of every status,
// reversals, and groups.
func newBook(t testing.TB) book {
	var after atomic.Int64 // nanoseconds since the beginning of the book, an hour ago
	began := time.Now().Add(-time.Hour)
	pass := func(d time.Duration) time.Time { return began.Add(time.Duration(after.Add(int64(d)))) }
	now := func() time.Time { return pass(time.Millisecond) }
	client := newTable(t, now)
	p := projections.NewProjector(table.NewTable(client, books), now, nil)
	p.Tune(projections.Tuning{Stretch: segmentPostings, Segments: 90})
	w := writer{t, newLedger(client, now)}
	from := began.Add(growthAfter).Truncate(time.Microsecond).UTC()
	for _, g := range []events.LanesGrown{
		{Number: 1, Lanes: 2, From: from}, {Number: 2, Lanes: 32, From: from},
		{Number: 3, Lanes: 64, From: time.Date(2120, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		_, err := table.NewTable(client, books).Write(t.Context(), table.Write{Item: table.EventItem(g)})
		w.check(err)
	}
	w.openAccounts()
	addPage := func() { // to the journal
		w.check(list(t, client, now, rebuild.Scope{}, nil))
	}
	w.postTransactions()
	addPage()
	w.registerGroups()
	w.postHolds(pass)
	addPage()
	projectAll := func() {
		pass(20 * time.Minute)
		project(t, client, p)
	}
	w.postBackdated(projectAll)
	projectAll()
	w.postCounted()
	w.postFits()
	w.trade(100, 3)
	project(t, client, p) // the newest trades are not settled: they are in no seal
	addPage()
	w.check(forward.NewItem(table.NewTable(client, books), "events").Store(t.Context(),
		forward.Cursor{After: string(events.FirstKSUID(now())) + "#3", At: now().Truncate(time.Microsecond).UTC()}))
	return system.Contents(t, client, books)
}

// project passes all items of the table to the projector, as the stream does. The second pass completes what the first
// one left.
func project(t testing.TB, client *dynamodb.Client, p *projections.Projector) {
	t.Helper()
	var batch []projections.Record
	for k := range system.Contents(t, client, books) {
		batch = append(batch, projections.Record{SequenceNumber: k.PK + " " + k.SK, PK: k.PK, SK: k.SK})
	}
	for range 2 {
		if failed, err := p.Project(t.Context(), batch); failed != "" || err != nil {
			t.Fatalf("%s failed: %v", failed, err)
		}
	}
}

// indexed are the metadata keys by which the book lists transactions and accounts.
var indexed = []string{"order", "by"}

// list builds the lists of transactions and the journal.
func list(t testing.TB, client *dynamodb.Client, now func() time.Time, scope rebuild.Scope, report func(rebuild.Report),
) error {
	t.Helper()
	v := table.NewTable(client, books)
	c := repair.Config{Table: v, Append: projections.NewLister(v, nil, now, nil).Append, Indexed: indexed,
		ListsOnly: true, Scope: scope, Report: report}
	return repair.New(c).Run(t.Context())
}

func amount(n int64) events.Amount { return events.NewAmount(n) }

// transfer returns a request to move an amount.
func transfer(note ledger.Annotation, from, to, asset string, n int64) ledger.PostTransfer {
	return ledger.PostTransfer{Annotation: note, From: from, To: to, Asset: asset, Quantity: amount(n)}
}

// writer writes to a ledger. An error fails the test.
type writer struct {
	testing.TB
	*ledger.Ledger
}

func (w writer) check(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w writer) ended(_ ledger.Posted, err error) { w.check(err) }

func (w writer) open(a ledger.OpenAccount) {
	a.Actor = "tester"
	_, _, err := w.OpenAccount(w.Context(), a)
	w.check(err)
}

func (w writer) change(c ledger.ChangeAccount) {
	c.Actor = "tester"
	_, err := w.ChangeAccount(w.Context(), c)
	w.check(err)
}

func (w writer) grant(g ledger.GrantMember) {
	g.Actor = "tester"
	_, err := w.Grant(w.Context(), g)
	w.check(err)
}

func (w writer) post(r ledger.Request) {
	_, err := w.Post(w.Context(), r)
	w.check(err)
}

// pay moves USD.
func (w writer) pay(id, from, to string, n int64) { w.post(transfer(about(id), from, to, "USD", n)) }

func (w writer) reverse(note ledger.Annotation, of string, part ledger.Part) {
	_, err := w.Post(w.Context(), ledger.ReverseRequest{Annotation: note, Transaction: of, Part: part})
	w.check(err)
}

// trade posts n trades; every second one settles.
func (w writer) trade(from, n int) {
	for i := from; i < from+n; i++ {
		w.post(ledger.PostTrade{Annotation: about(fmt.Sprint("t-", i)), Asset: "AAPL", Buyer: "jane", Seller: "market",
			Quantity: amount(int64(1 + i)), Cost: amount(int64(1000 * (i % 4))), Settle: i%2 == 1})
	}
}

// part returns a part of a transfer or of a trade.
func part(quantity, cost int64) ledger.Part {
	return ledger.Part{Quantity: new(amount(quantity)), Cost: new(amount(cost))}
}

// limit returns a limit for USD.
func limit(n int64) events.Overdraft {
	return events.Overdraft{Limits: map[string]events.Amount{"USD": amount(n)}}
}

// openAccounts registers assets, opens accounts and grants roles.
func (w writer) openAccounts() {
	for _, a := range []ledger.RegisterAsset{
		{ID: "USD", Name: "US dollar", Scale: 2},
		{ID: "AAPL", Name: "Apple Inc.", Description: "Common stock", Currency: "USD"},
		{ID: "GOLD", Name: "Gold", Scale: 3, Currency: "USD"},
	} {
		a.Actor = "tester"
		_, _, err := w.RegisterAsset(w.Context(), a)
		w.check(err)
	}
	unlimited := events.Overdraft{Unlimited: true}
	w.open(ledger.OpenAccount{ID: "bank", Overdraft: unlimited})
	w.open(ledger.OpenAccount{ID: "market", Name: "Market", Overdraft: unlimited})
	w.open(ledger.OpenAccount{ID: "jane", Name: "Jane Doe",
		Profile: `{"email":"jane@example.com","addresses":[{"city":"Springfield"}]}`})
	w.open(ledger.OpenAccount{ID: "margin", Overdraft: limit(50_000)})
	for _, id := range []string{"ann", "shop", "firm", "old"} {
		w.open(ledger.OpenAccount{ID: id})
	}
	w.open(ledger.OpenAccount{ID: "past", Metadata: map[string]string{"by": "phone", "city": "Springfield"}})
	for _, role := range []events.Role{events.RoleViewer, events.RoleOperator, events.RoleViewer} {
		w.grant(ledger.GrantMember{Account: "jane", User: "u-1", Role: role})
	}
	w.grant(ledger.GrantMember{Account: "jane", User: "u-2", Role: events.RoleOwner})
	w.check(w.Revoke(w.Context(), ledger.RevokeMember{Account: "jane", User: "u-2", Actor: "tester"}))
}

// postTransactions posts transactions of each kind.
func (w writer) postTransactions() {
	for i := range 6 {
		w.pay(fmt.Sprint("d-", i), "bank", "jane", 100_000)
	}
	w.trade(0, 8)
	w.post(ledger.PostTransaction{
		Annotation: ledger.Annotation{ID: "x-1", Actor: "tester", Annotation: events.Annotation{
			Description: "Gold", Metadata: map[string]string{"order": "7", "by": "phone"},
		}},
		Postings: []ledger.LegRequest{
			{Account: "jane", Asset: "GOLD", Quantity: amount(5), Cost: amount(700)},
			{Account: "market", Asset: "GOLD", Quantity: amount(-3), Cost: amount(-300)},
			{Account: "bank", Asset: "GOLD", Quantity: amount(-2), Cost: amount(-400)},
		}})
	w.pay("m-1", "margin", "bank", 30_000)
}

// postHolds posts holds, ends of holds, reversals and changes of accounts. pass advances the clock and returns the
// time.
func (w writer) postHolds(pass func(time.Duration) time.Time) {
	held := func(id string, expires *time.Time) ledger.Annotation {
		note := about(id)
		note.Hold = &ledger.HoldRequest{ExpiresAt: expires}
		return note
	}
	w.pay("a-1", "bank", "ann", 1000)
	for _, id := range []string{"h-open", "h-whole", "h-part", "h-back", "h-some"} {
		w.post(transfer(held(id, nil), "ann", "shop", "USD", 100))
	}
	w.post(transfer(held("h-late", new(pass(0).Add(10*time.Second))), "ann", "shop", "USD", 30))
	w.post(ledger.PostTrade{Annotation: held("h-trade", nil), Asset: "AAPL", Buyer: "ann", Seller: "market",
		Quantity: amount(9), Cost: amount(90), Settle: true})
	for id, part := range map[string]ledger.Part{
		"h-whole": {}, "h-part": part(40, 0), "h-some": part(40, 0), "h-trade": part(5, 50),
	} {
		w.ended(w.Post(w.Context(), ledger.CaptureRequest{Transaction: id, Part: part, Actor: "tester"}))
	}
	w.ended(w.Post(w.Context(), ledger.ReleaseRequest{Transaction: "h-back", Description: "Left early",
		Actor: "tester"}))
	pass(time.Minute)
	w.ended(w.Expire(w.Context(), "h-late"))

	w.pay("p-1", "ann", "shop", 50)
	w.reverse(about("r-1"), "p-1", part(20, 0))
	w.reverse(about("r-2"), "p-1", ledger.Part{})
	w.reverse(about("r-3"), "h-some", part(10, 0))
	w.reverse(about("r-4"), "h-trade", part(1, 10))
	w.post(ledger.PostTransaction{Annotation: about("x-7"), Postings: []ledger.LegRequest{
		{Account: "ann", Asset: "AAPL", Quantity: amount(5), Cost: amount(700)},
		{Account: "market", Asset: "AAPL", Quantity: amount(-3), Cost: amount(-300)},
		{Account: "bank", Asset: "AAPL", Quantity: amount(-2), Cost: amount(-400)},
	}})
	w.reverse(about("r-5"), "x-7", ledger.Part{Postings: []ledger.LegPart{
		{Quantity: amount(2), Cost: new(amount(300))}, {Cost: new(amount(0))},
		{Quantity: amount(-2), Cost: new(amount(-300))},
	}})
	w.reverse(about("r-6"), "r-1", ledger.Part{})

	w.change(ledger.ChangeAccount{ID: "firm", Name: new("Firm"), Overdraft: new(limit(500)),
		Metadata: &map[string]string{"order": "7", "city": "#"}})
	w.pay("f-1", "firm", "bank", 300)
	w.change(ledger.ChangeAccount{ID: "firm", State: new(events.StateFrozen), Metadata: &map[string]string{"by": "mail"}})
	w.change(ledger.ChangeAccount{ID: "firm", State: new(events.StateOpen), Overdraft: new(limit(100))})
	w.pay("o-1", "bank", "old", 5)
	w.pay("o-2", "old", "bank", 5)
	w.change(ledger.ChangeAccount{ID: "old", State: new(events.StateClosed)})
}

// postBackdated posts transactions with an effective date on the account past.
func (w writer) postBackdated(project func()) {
	at := time.Now().Add(-1000 * time.Hour)
	note := func(id string) ledger.Annotation {
		n := about(id)
		n.EffectiveAt = &at
		return n
	}
	w.post(transfer(note("e-1"), "market", "past", "GOLD", 70))
	project() // until then nothing of it can be spent
	w.reverse(note("e-2"), "e-1", part(20, 0))
	w.post(ledger.PostTrade{Annotation: note("e-3"), Asset: "GOLD", Buyer: "past", Seller: "market", Quantity: amount(2)})
	for number, before := range []time.Time{at.Add(-time.Hour), at.Add(-2 * time.Hour)} {
		_, _, err := w.ClosePeriod(w.Context(), ledger.ClosePeriod{
			Number: int64(number) + 1, Before: before, Reason: "audited", Actor: "tester"})
		w.check(err)
	}
	w.post(ledger.PostTrade{Annotation: note("e-4"), Asset: "GOLD", Buyer: "past", Seller: "market", Quantity: amount(1)})
}

// postCounted posts what limits over time count, and what they do not: of the account daily, which has two.
func (w writer) postCounted() {
	rate := func(per events.Per, n int64) events.Rate {
		return events.Rate{Asset: "USD", Per: per, Zone: "Europe/Berlin", Quantity: amount(n)}
	}
	w.open(ledger.OpenAccount{ID: "daily", Rates: []events.Rate{rate(events.PerMonth, 900)}})
	w.pay("q-0", "bank", "daily", 1000)
	w.pay("q-1", "daily", "bank", 100)
	w.change(ledger.ChangeAccount{ID: "daily", Rates: &[]events.Rate{
		rate(events.PerMonth, 900), rate(events.PerWeek, 800)}})
	for _, id := range []string{"q-part", "q-back", "q-open"} {
		note := about(id)
		note.Hold = &ledger.HoldRequest{}
		w.post(transfer(note, "daily", "bank", "USD", 50))
	}
	w.ended(w.Post(w.Context(), ledger.CaptureRequest{Transaction: "q-part", Part: part(20, 0), Actor: "tester"}))
	w.ended(w.Post(w.Context(), ledger.ReleaseRequest{Transaction: "q-back", Actor: "tester"}))
	w.reverse(about("q-2"), "q-0", part(10, 0))
}

// postFits posts splits of as much as fits of the accounts card and purse. One is a hold, of which a part is captured.
func (w writer) postFits() {
	for _, id := range []string{"card", "purse"} {
		w.open(ledger.OpenAccount{ID: id})
	}
	w.pay("s-0", "bank", "card", 300)
	w.pay("s-1", "bank", "purse", 1000)
	split := func(note ledger.Annotation, upTo int64) ledger.PostSplit {
		return ledger.PostSplit{Annotation: note, Asset: "USD", Fit: &ledger.Fit{UpTo: new(amount(upTo))},
			Sources: []ledger.Source{{Account: "card", Keep: amount(100)}, {Account: "purse"}},
			To:      []ledger.Portion{{Account: "market", Quantity: new(amount(5))}, {Account: "bank", Rest: 1}}}
	}
	w.post(split(about("s-2"), 250)) // 200 and 50
	w.pay("s-3", "bank", "card", 40)
	held := about("s-4")
	held.Hold = &ledger.HoldRequest{}
	w.post(split(held, 110)) // 40 and 70
	w.ended(w.Post(w.Context(), ledger.CaptureRequest{Transaction: "s-4", Part: part(55, 0), Actor: "tester"}))
	w.reverse(about("s-5"), "s-4", part(11, 0))
}

// registerGroups registers the groups desk and idle. jane is in desk and was in idle. bank was in desk. u-1 is a member
// of desk, and u-2 was one.
func (w writer) registerGroups() {
	for _, id := range []string{"desk", "idle"} {
		_, _, err := w.RegisterGroup(w.Context(), ledger.RegisterGroup{ID: id, Name: "Some", Actor: "tester"})
		w.check(err)
	}
	for _, r := range []ledger.GroupAccount{
		{Group: "desk", Account: "jane"}, {Group: "idle", Account: "jane"}, {Group: "idle", Account: "jane", Out: true},
		{Group: "desk", Account: "bank"}, {Group: "desk", Account: "bank", Out: true},
	} {
		r.Actor = "tester"
		_, _, err := w.GroupAccount(w.Context(), r)
		w.check(err)
	}
	for _, user := range []string{"u-1", "u-2"} {
		w.grant(ledger.GrantMember{Group: "desk", User: user, Role: events.RoleOwner})
	}
	w.check(w.Revoke(w.Context(), ledger.RevokeMember{Group: "desk", User: "u-2", Actor: "tester"}))
}

var (
	bookOnce  sync.Once
	soundBook book
)

// copyOfBook returns a copy of a sound book. The caller may alter it.
func copyOfBook(t testing.TB) book {
	t.Helper()
	bookOnce.Do(func() { soundBook = newBook(t) })
	if soundBook == nil {
		t.Fatal("newBook failed in an earlier test")
	}
	copied := make(book, len(soundBook))
	for key, item := range soundBook {
		copied[key] = maps.Clone(item)
	}
	return copied
}

// client writes the book to a new table.
func (b book) client(t *testing.T) *dynamodb.Client {
	t.Helper()
	client := newTable(t, nil)
	b.write(t, client)
	return client
}

// write writes the book to a table.
func (b book) write(t *testing.T, client *dynamodb.Client) {
	t.Helper()
	for items := range slices.Chunk(slices.Collect(maps.Values(b)), table.TransactionActions) {
		in := &dynamodb.TransactWriteItemsInput{}
		for _, item := range items {
			put := &types.Put{TableName: new(books), Item: item}
			in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Put: put})
		}
		if _, err := client.TransactWriteItems(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
}

func noPause(context.Context, time.Duration) error { return nil }

// verify audits a table without concurrent writes. With a settle age of two hours all events of a book are young.
func verify(t *testing.T, db audit.Store, settle time.Duration) audit.Report {
	t.Helper()
	report, err := audit.New(audit.Options{Store: db, Table: books, Findings: 5000, Settle: settle,
		Indexed: indexed, Pause: noPause}).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// some shows the first findings of many.
func some(found []audit.Finding) string {
	text := fmt.Sprintf("%d findings", len(found))
	for _, f := range found[:min(3, len(found))] {
		text += fmt.Sprintf("\n\t%+v", f)
	}
	return text
}

func TestSoundTableHasNoFindings(t *testing.T) {
	b := copyOfBook(t)
	client := b.client(t)
	for _, settle := range []time.Duration{0, 2 * time.Hour} {
		db := &readHook{Store: client}
		report := verify(t, db, settle)
		if n := db.scans.Load(); n != audit.DefaultSegments { // a sound table is scanned once
			t.Errorf("%d scans", n)
		}
		if !report.Sound() || report.Unsettled != 0 || report.Counts.Items != int64(len(b)) {
			t.Errorf("%s, %d unsettled, %d of %d items", some(report.Findings), report.Unsettled, report.Counts.Items, len(b))
		}
	}
	segments, accounts := 0, int64(0)
	for key := range b {
		if _, ok := table.Account.Parse(key); ok {
			accounts++
		}
		if _, _, _, ok := table.Segment.Parse(key); ok {
			segments++
		}
	}
	if segments < 8 {
		t.Errorf("the book has %d segments, want at least 8", segments)
	}
	if report := verify(t, client, 0); report.Counts.Accounts != accounts {
		t.Errorf("%d of %d accounts", report.Counts.Accounts, accounts)
	}
}
