// Package cost measures what each read and write asks of the store: which requests, how many items and how many units
// of capacity, by how much an account holds already. They are the same in every run. What is to be constant is asserted
// on small accounts. The tables of docs/performance.md are compared with it. Options measure large accounts, too:
//
//	go test ./tests/cost -v -timeout 60m -args -postings=1000000 -assets=10000 -unsettled=10000
package cost

import (
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/functions/stream/streamtest"
	"ledger.example/internal/ddb"
	"ledger.example/internal/meter"
	"ledger.example/internal/table"
	"ledger.example/ledger"
	journal "ledger.example/ledger/dynamo"
	"ledger.example/projections"
	views "ledger.example/projections/dynamo"
	"ledger.example/tests/system"
)

const (
	// The accounts: one that is measured and has a limit, and one without.
	holder  = "customers:00000017"
	outside = "outside"

	share = "SHARE" // an asset with a currency

	// age is how long ago an account's postings were made: they are settled.
	age = 2 * time.Hour
)

// bank is the whole ledger on a table in memory, whose clock stands still between two ticks: so it is the test that
// decides what is settled, however slow the machine is. What it asks the table for by Client is metered.
type bank struct {
	*system.System
	t      testing.TB
	clock  atomic.Int64 // the store's, in nanoseconds since 1970
	meter  *meter.Meter
	minted int64 // postings made by posting
}

// newBank has the assets given, two more and two accounts, registered long ago.
func newBank(t testing.TB, assets ...string) *bank {
	t.Helper()
	b := &bank{t: t}
	b.clock.Store(time.Now().Add(-age).UnixNano())
	store := system.MemoryAt(b.now)
	books := store.NewTable(t)
	b.meter = meter.New(books)
	b.System = store.Serve(t, books, system.Client(b.meter.Count))
	then := b.then()
	for _, asset := range append([]string{"USD", share}, assets...) {
		currency := "USD"
		if asset == "USD" {
			currency = ""
		}
		if _, _, err := then.RegisterAsset(t.Context(),
			ledger.RegisterAsset{ID: asset, Name: "Asset", Currency: currency, Actor: "tester"}); err != nil {
			t.Fatal(err)
		}
	}
	for _, account := range []ledger.OpenAccount{
		{ID: holder, Name: "Jane Doe", Profile: `{"email":"jane@example.com"}`, Actor: "tester"},
		{ID: outside, Overdraft: events.Overdraft{Unlimited: true}, Actor: "tester"},
	} {
		if _, _, err := then.OpenAccount(t.Context(), account); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// tick sets the store's clock.
func (b *bank) tick() { b.clock.Store(time.Now().UnixNano()) }

// now is the store's clock.
func (b *bank) now() time.Time { return time.Unix(0, b.clock.Load()) }

// then is a ledger with cold caches, whose clock is the store's.
func (b *bank) then() *ledger.Ledger {
	return ledger.New(ledger.Config{
		Journal: journal.NewJournal(b.Client, b.Table), Now: b.now,
		Projections: projections.NewReader(views.NewViews(b.Client, b.Table), nil),
	})
}

// process is a new process, with empty caches.
func (b *bank) process() *system.System { return b.Beside(system.Client(b.meter.Count)) }

// posting makes one that was minted at a time, and sorts behind those of that microsecond that were made before it.
// They are all of one size: figures must not depend on how many there are.
func (b *bank) posting(asset string, at time.Time) events.PostingRecorded {
	b.minted++
	return events.PostingRecorded{
		Leg: events.Leg{
			ID: events.FirstKSUID(at), Account: holder, Asset: asset,
			Quantity: events.NewAmount(125_000), Cost: events.NewAmount(0),
		},
		Transaction: fmt.Sprintf("orders:%09d", b.minted), Kind: events.KindTransfer,
	}
}

// every makes n postings of an asset, from a time on, a microsecond apart.
func (b *bank) every(asset string, n int, from time.Time) []events.PostingRecorded {
	all := make([]events.PostingRecorded, n)
	for i := range all {
		all[i] = b.posting(asset, from.Add(time.Duration(i)*time.Microsecond))
	}
	return all
}

// postings puts those from the i-th to before the n-th, of a time each, and returns the last.
func (b *bank) postings(asset string, i, n int, at func(i int) time.Time) (last events.PostingRecorded) {
	b.t.Helper()
	for ; i < n; i += table.TransactionActions {
		var some []events.PostingRecorded
		for j := i; j < min(n, i+table.TransactionActions); j++ {
			some = append(some, b.posting(asset, at(j)))
		}
		b.put(some...)
		last = some[len(some)-1]
	}
	return last
}

// put puts postings into the table past everything but the meter, which must know what is read in part later.
func (b *bank) put(postings ...events.PostingRecorded) {
	b.t.Helper()
	past := *b.System
	past.Plain = b.Client
	past.PutPostings(postings)
	b.Requests.Take() // they would be kept
}

// see reads the first items of an account in a range, with all attributes, for the meter: its cache of sizes is
// bounded.
func (b *bank) see(account string, r table.Range, most int32) {
	b.t.Helper()
	q := ddb.Within(table.AccountKey(account).PK, r, &dynamodb.QueryInput{TableName: &b.Table, Limit: &most,
		ConsistentRead: aws.Bool(true)})
	if out, err := b.Client.Query(b.t.Context(), q); err != nil || len(out.Items) == 0 {
		b.t.Fatalf("nothing is seen: %v", err)
	}
}

// absent reads items that are not there, for the meter.
func (b *bank) absent(keys ...table.Key) {
	b.t.Helper()
	for _, key := range keys {
		if item, _, err := ddb.Get(b.t.Context(), b.Client, b.Table, key, true); err != nil || item != nil {
			b.t.Fatalf("%v is there already, or %v", key, err)
		}
	}
}

// project hands the records of these postings to a process's stream handler, as one batch, as Lambda would.
func (b *bank) project(process *system.System, postings ...events.PostingRecorded) {
	b.t.Helper()
	projectAll(process, postings)
}

func projectAll(process *system.System, postings []events.PostingRecorded) {
	process.T.Helper()
	items := make([]ddb.Item, len(postings))
	for i, p := range postings {
		items[i] = ddb.EventItem(p)
	}
	streamtest.Deliver(process.T, process.Service.Stream(), streamtest.Images(process.T, items...))
}

// taken is what a step takes: its units, its requests, and its reads and writes among them.
type taken struct {
	meter.Tally
	lines         []string
	reads, writes int
}

// take measures a step.
func (b *bank) take(step func()) taken {
	b.t.Helper()
	b.meter.Take()
	b.Requests.Take()
	step()
	c := taken{Tally: b.meter.Take()}
	for _, r := range b.Requests.Take() {
		c.lines = append(c.lines, r.Line())
		if r.Writes() {
			c.writes++
		} else {
			c.reads++
		}
	}
	if c.Guessed > 0 {
		b.t.Errorf("the units of %d items are not known: %+v", c.Guessed, c)
	}
	return c
}

// cost writes what a step takes.
func (b *bank) cost(step func()) string {
	b.t.Helper()
	return costOf(b.take(step).Tally)
}

// steps measures one step after the other.
type steps struct {
	*bank
	lines []line
}

// do measures a step.
func (s *steps) do(name string, step func()) {
	s.t.Helper()
	s.lines = append(s.lines, line{name, s.cost(step)})
}

// omit notes a step that an account so small has no use for.
func (s *steps) omit(name string) { s.lines = append(s.lines, line{name, notMeasured}) }

// get measures a read that is answered with 200, by a process that has what the path names in its caches; an empty path
// is of a page that isn't there.
func (s *steps) get(name, path string) {
	s.t.Helper()
	if path == "" {
		s.omit(name)
		return
	}
	s.Must(200, "GET", path, "")
	s.do(name, func() { s.Must(200, "GET", path, "") })
}

// next returns the path of the page after the first one, whose path has a parameter, "" when there is none.
func (s *steps) next(path string) string {
	s.t.Helper()
	cursor := s.Must(200, "GET", path, "").Text("next_cursor")
	if cursor == "" {
		return ""
	}
	return path + "&cursor=" + url.QueryEscape(cursor)
}

// tail measures the projection of postings as they come, none of them settled.
func (s *steps) tail(asset string) {
	s.t.Helper()
	made := 0
	arrive := func(n int) []events.PostingRecorded {
		postings := s.every(asset, n, s.now().Add(time.Duration(made)*time.Microsecond))
		made += n
		s.put(postings...)
		return postings
	}
	const batch = 100
	process := s.process()
	one := arrive(1)
	s.do("projecting one new posting, by a process that starts", func() { s.project(process, one...) })
	one = arrive(1)
	s.do("projecting the next one", func() { s.project(process, one...) })
	some := arrive(batch)
	s.do(fmt.Sprintf("projecting a batch of %d on the balance", batch), func() { s.project(process, some...) })
	some = arrive(batch)
	process = s.process()
	s.do(fmt.Sprintf("projecting %d more, by a process that starts", batch), func() { s.project(process, some...) })
	s.do("the same batch delivered again", func() { s.project(process, some...) })
}

// writes measures transactions of a process that has posted such ones before.
func (s *steps) writes(asset string) {
	s.t.Helper()
	for _, w := range []struct{ name, path, body string }{
		{"a transfer to it", "transfers",
			`{"from":"outside","to":"customers:00000017","asset":"ASSET","quantity":"125000"}`},
		{"a transfer from it, guarded", "transfers",
			`{"from":"customers:00000017","to":"outside","asset":"ASSET","quantity":"100"}`},
		{"a trade, settled, guarded", "trades",
			`{"asset":"ASSET","buyer":"outside","seller":"customers:00000017","quantity":"100","cost":"100","settle":true}`},
	} {
		s.tick() // who posts is refused when the clocks differ
		body := strings.Replace(w.body, "ASSET", asset, 1)
		s.Must(201, "POST", "/v1/"+w.path, body)
		s.do(w.name, func() { s.Must(201, "POST", "/v1/"+w.path, body) })
	}
}
