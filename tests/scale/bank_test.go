// Package scale measures what each read and write costs the store, by how much an account holds already: in requests, items and
// units of capacity, which are the same in every run. What is to be constant is asserted on small accounts; what is told in
// docs/performance.md is compared with it. Options measure large accounts, too:
//
//	go test ./tests/scale -v -timeout 60m -args -postings=1000000 -assets=10000 -unsettled=10000 -calls=200
package scale

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	template "ledger.example"
	"ledger.example/cmd/ledger/local"
	"ledger.example/cmd/ledger/memory"
	"ledger.example/cmd/ledger/meter"
	"ledger.example/events"
	"ledger.example/functions/api"
	"ledger.example/functions/service"
	"ledger.example/functions/stream/streamtest"
	"ledger.example/ledger"
	journal "ledger.example/ledger/dynamo"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
	"ledger.example/projections"
	views "ledger.example/projections/dynamo"
	"ledger.example/tests/caller"
)

const (
	books = "books"

	// The accounts: one that is measured and has a limit, and one without.
	holder  = "customers:00000017"
	outside = "outside"

	share = "SHARE" // an asset with a currency

	// age is how long ago an account's postings were made: they are settled.
	age = 2 * time.Hour
)

// bank is the whole ledger on a table in memory, whose clock stands still between two ticks: so it is the test that decides
// what is settled, however slow the machine is.
type bank struct {
	*caller.Caller
	t      testing.TB
	clock  atomic.Int64     // the store's, in nanoseconds since 1970
	plain  *dynamodb.Client // of what isn't measured
	meter  *meter.Meter
	client *dynamodb.Client // metered
	minted int64            // postings made by posting
}

// handlerTransport answers requests by a handler, without a network.
type handlerTransport struct{ http.Handler }

func (h handlerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result(), nil
}

// newBank has the assets given, two more and two accounts, registered long ago.
func newBank(t testing.TB, assets ...string) *bank {
	t.Helper()
	b := &bank{t: t, meter: meter.New(books)}
	b.clock.Store(time.Now().Add(-age).UnixNano())
	store := memory.New(memory.Options{Now: func() time.Time { return time.Unix(0, b.clock.Load()) }})
	b.plain, b.client = store.DynamoDB(), store.DynamoDB(b.meter.Count)
	in, err := local.TableFromTemplate(template.YAML)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := local.CreateTable(t.Context(), b.plain, in, books); err != nil {
		t.Fatal(err)
	}
	then := b.then()
	for _, asset := range append([]string{"USD", share}, assets...) {
		currency := "USD"
		if asset == "USD" {
			currency = ""
		}
		if _, _, err := then.RegisterAsset(t.Context(), ledger.RegisterAsset{ID: asset, Name: "Asset", Currency: currency, Actor: "tester"}); err != nil {
			t.Fatal(err)
		}
	}
	for _, account := range []ledger.OpenAccount{
		{ID: holder, Name: "Jane Doe", Profile: `{"email":"jane@example.com"}`},
		{ID: outside, Overdraft: events.Overdraft{Unlimited: true}},
	} {
		account.Actor = "tester"
		if _, _, err := then.OpenAccount(t.Context(), account); err != nil {
			t.Fatal(err)
		}
	}
	b.Caller = caller.New(t, "http://ledger")
	b.HTTP = &http.Client{Transport: handlerTransport{b.process().API()}}
	return b
}

// tick sets the store's clock.
func (b *bank) tick() { b.clock.Store(time.Now().UnixNano()) }

// now is the store's clock.
func (b *bank) now() time.Time { return time.Unix(0, b.clock.Load()) }

// then is a ledger whose clock is the store's.
func (b *bank) then() *ledger.Ledger {
	return ledger.New(ledger.Config{
		Journal: journal.NewJournal(b.client, books), Now: b.now,
		Projections: projections.NewReader(views.NewViews(b.client, books), nil),
	})
}

// process is a new process: it remembers nothing.
func (b *bank) process() *service.Service { return b.processOn(b.client) }

func (b *bank) processOn(client *dynamodb.Client) *service.Service {
	b.t.Helper()
	s, err := service.New(service.Config{
		Client: client, Table: books, Actor: api.LocalActor, Version: "test", Log: slog.New(slog.NewJSONHandler(io.Discard, nil)),
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

// posting makes one that was minted at a time, and sorts behind those of that microsecond that were made before it. They are all of one
// size: figures must not depend on how many there are.
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

// postThen posts a transaction at the store's time, and returns its postings.
func (b *bank) postThen(r ledger.PostingRequest) (postings []events.PostingRecorded) {
	b.t.Helper()
	posted, err := b.then().Post(b.t.Context(), r)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, leg := range posted.Transaction.Legs {
		postings = append(postings, events.PostingRecorded{Leg: leg, Transaction: posted.Transaction.ID, Kind: posted.Transaction.Kind})
	}
	return postings
}

// put puts postings into the table past everything but the meter, which must know what is read in part later.
func (b *bank) put(postings ...events.PostingRecorded) {
	b.t.Helper()
	for some := range slices.Chunk(postings, table.TransactionActions) {
		in := &dynamodb.TransactWriteItemsInput{}
		for _, p := range some {
			in.TransactItems = append(in.TransactItems, types.TransactWriteItem{
				Put: &types.Put{TableName: aws.String(books), Item: wire.EventItem(p)},
			})
		}
		if _, err := b.client.TransactWriteItems(b.t.Context(), in); err != nil {
			b.t.Fatal(err)
		}
	}
}

// see reads the first items of an account in a range, whole, for the meter: it remembers so many and no more.
func (b *bank) see(account string, r table.Range, most int32) {
	b.t.Helper()
	q := wire.Within(table.AccountKey(account).PK, r, &dynamodb.QueryInput{TableName: aws.String(books), Limit: &most, ConsistentRead: aws.Bool(true)})
	if out, err := b.client.Query(b.t.Context(), q); err != nil || len(out.Items) == 0 {
		b.t.Fatalf("nothing is seen: %v", err)
	}
}

// project hands the records of these postings to a process's stream handler, as one batch, as Lambda would.
func (b *bank) project(process *service.Service, postings ...events.PostingRecorded) {
	b.t.Helper()
	items := make([]wire.Item, len(postings))
	for i, p := range postings {
		items[i] = wire.EventItem(p)
	}
	streamtest.Deliver(b.t, process.Stream(), streamtest.Postings(b.t, items...))
}

// item reads an item past everything.
func (b *bank) item(k table.Key) wire.Item {
	b.t.Helper()
	out, err := b.plain.GetItem(context.Background(), &dynamodb.GetItemInput{TableName: aws.String(books), Key: wire.Key(k)})
	if err != nil || out.Item == nil {
		b.t.Fatalf("%v: %v", k, err)
	}
	return out.Item
}

// cost is what a step takes.
func (b *bank) cost(step func()) cost {
	b.t.Helper()
	b.meter.Take()
	step()
	c := cost{b.meter.Take()}
	if c.Guessed > 0 {
		b.t.Errorf("the units of %d items are not known: %+v", c.Guessed, c.Tally)
	}
	return c
}
