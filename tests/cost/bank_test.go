// Package cost measures the requests to the store that each read and write takes, with their items and capacity units,
// for accounts of different sizes. The results are the same in every run. They are compared with the tables of
// docs/performance.md, and with -args -update they are written there. Costs that must not depend on the size are tested
// on small accounts. Flags measure large accounts, too:
//
//	go test ./tests/cost -v -timeout 60m -args -postings=1000000 -assets=10000 -unsettled=10000
//
// Only it finds a request, an item or a unit too many.
package cost

import (
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ledger.example/cmd/ledger-bench/meter"
	"ledger.example/events"
	"ledger.example/functions/stream/streamtest"
	"ledger.example/internal/table"
	"ledger.example/ledger"
	"ledger.example/projections"
	"ledger.example/tests/harness/system"
)

const (
	// holder is the account that is measured. It has a limit. outside is unlimited.
	holder  = "customers:00000017"
	outside = "outside"

	share = "SHARE" // an asset with a currency

	// age is the age of an account's postings, which are therefore settled.
	age = 2 * time.Hour
)

// bank is a complete ledger on an in-memory table. The store's clock stands still until the next tick, so that which
// postings are settled does not depend on the machine's speed. Requests through Client are metered.
type bank struct {
	*system.System
	t      testing.TB
	clock  atomic.Int64 // the store's, in nanoseconds since 1970
	meter  *meter.Meter
	minted int64 // number of postings returned by posting
}

// newBank starts a ledger in which the given assets, USD, share, and two accounts were registered long ago.
func newBank(t testing.TB, assets ...string) *bank {
	t.Helper()
	b := &bank{t: t}
	b.clock.Store(time.Now().Add(-age).UnixNano())
	db := system.MemoryAt(b.now)
	books := db.NewTable(t)
	b.meter = new(meter.Meter)
	b.System = db.Serve(t, books, system.Client(b.meter.Count))
	cold := b.coldLedger()
	for _, asset := range append([]string{"USD", share}, assets...) {
		currency := "USD"
		if asset == "USD" {
			currency = ""
		}
		if _, _, err := cold.RegisterAsset(t.Context(),
			ledger.RegisterAsset{ID: asset, Name: "Asset", Currency: currency, Actor: "tester"}); err != nil {
			t.Fatal(err)
		}
	}
	for _, account := range []ledger.OpenAccount{
		{ID: holder, Name: "Jane Doe", Profile: `{"email":"jane@example.com"}`, Actor: "tester"},
		{ID: outside, Overdraft: events.Overdraft{Unlimited: true}, Actor: "tester"},
	} {
		if _, _, err := cold.OpenAccount(t.Context(), account); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// tick sets the store's clock to the current time.
func (b *bank) tick() { b.clock.Store(time.Now().UnixNano()) }

// now returns the time of the store's clock.
func (b *bank) now() time.Time { return time.Unix(0, b.clock.Load()) }

// coldLedger returns a ledger with cold caches and the store's clock.
func (b *bank) coldLedger() *ledger.Ledger {
	return ledger.New(ledger.Config{
		Table: table.NewTable(b.Client, b.Table), Now: b.now,
		Projections: projections.NewReader(table.NewTable(b.Client, b.Table), nil),
	})
}

// process starts a process with cold caches.
func (b *bank) process() *system.System { return b.NewProcess(system.Client(b.meter.Count)) }

// posting returns a posting that was minted at a time. It sorts after earlier ones with the same time. All postings
// have the same size, so that costs do not depend on their number.
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

// newPostings returns n postings of an asset, a microsecond apart.
func (b *bank) newPostings(asset string, n int, from time.Time) []events.PostingRecorded {
	all := make([]events.PostingRecorded, n)
	for i := range all {
		all[i] = b.posting(asset, from.Add(time.Duration(i)*time.Microsecond))
	}
	return all
}

// putPostings puts postings with the times at(i) to at(n-1), and returns the last.
func (b *bank) putPostings(asset string, i, n int, at func(i int) time.Time) (last events.PostingRecorded) {
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

// put puts postings directly into the table.
func (b *bank) put(postings ...events.PostingRecorded) {
	b.t.Helper()
	b.PutPostings(postings)
}

// project delivers the postings to a process's projector in one batch, as Lambda would.
func (b *bank) project(process *system.System, postings ...events.PostingRecorded) {
	b.t.Helper()
	projectAll(process, postings)
}

func projectAll(process *system.System, postings []events.PostingRecorded) {
	process.T.Helper()
	items := make([]table.Item, len(postings))
	for i, p := range postings {
		items[i] = table.EventItem(p)
	}
	streamtest.Deliver(process.T, process.Service.Stream(), streamtest.Images(process.T, items...))
}

// measured has the units of a step, the lines of its requests, and the numbers of reads and writes.
type measured struct {
	meter.Tally
	lines         []string
	reads, writes int
}

// measure measures a step.
func (b *bank) measure(step func()) measured {
	b.t.Helper()
	b.meter.Take()
	b.Requests.Take()
	step()
	c := measured{Tally: b.meter.Take()}
	for _, r := range b.Requests.Take() {
		c.lines = append(c.lines, r.Line())
		if r.Writes() {
			c.writes++
		} else {
			c.reads++
		}
	}
	return c
}

// costOf returns the cost of a step as text.
func (b *bank) costOf(step func()) string {
	b.t.Helper()
	return costText(b.measure(step).Tally)
}

// steps measures steps, and collects their costs.
type steps struct {
	*bank
	lines []line
}

// do measures a step.
func (s *steps) do(name string, step func()) {
	s.t.Helper()
	s.lines = append(s.lines, line{name, s.costOf(step)})
}

// omit adds a step that does not exist for an account of this size.
func (s *steps) omit(name string) { s.lines = append(s.lines, line{name, notMeasured}) }

// get measures a read by a process with warm caches. The path is empty if the page does not exist.
func (s *steps) get(name, path string) {
	s.t.Helper()
	if path == "" {
		s.omit(name)
		return
	}
	s.Must(200, "GET", path, "")
	s.do(name, func() { s.Must(200, "GET", path, "") })
}

// next returns the path of the second page, given that of the first, which must have a parameter. Empty: there is no
// second page.
func (s *steps) next(path string) string {
	s.t.Helper()
	cursor := s.Must(200, "GET", path, "").Text("next_cursor")
	if cursor == "" {
		return ""
	}
	return path + "&cursor=" + url.QueryEscape(cursor)
}

// projectPostings measures the projection of new postings, which are not settled.
func (s *steps) projectPostings(asset string) {
	s.t.Helper()
	made := 0
	arrive := func(n int) []events.PostingRecorded {
		postings := s.newPostings(asset, n, s.now().Add(time.Duration(made)*time.Microsecond))
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

// writes measures transactions of a process with warm caches.
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
		s.tick() // a post is refused if the clocks differ
		body := strings.Replace(w.body, "ASSET", asset, 1)
		s.Must(201, "POST", "/v1/"+w.path, body)
		s.do(w.name, func() { s.Must(201, "POST", "/v1/"+w.path, body) })
	}
}
