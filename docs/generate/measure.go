package main

import (
	"context"
	"fmt"
	"log"
	"reflect"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/functions/stream/streamtest"
	"ledger.example/internal/ddb"
	"ledger.example/internal/ddb/ddbtest"
	"ledger.example/internal/meter"
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/tests/system"
)

// What is measured with: ids of everyday length, and how much is projected at a time.
const (
	buyer, seller, share = "customers:00000017", "customers:00000042", "AAPL"
	caller               = "arn:aws:sts::123456789012:assumed-role/trading-desk/i-0123456789abcdef0"
	storedOverheadBytes  = 100 // of an item, in the table and in each index (AWS, "DynamoDB item sizes and formats")
	hotBatch             = 100 // postings of one balance in a batch, and in a second
	steadySingle         = 260 // seconds for which one posting a second is measured: the seal moves as often as it does
	steadyHot            = 16  // and for which hotBatch postings a second are
)

// command is what the helpers of tests have here instead of a test: what fails ends the program.
type command struct{ testing.TB }

func (command) Helper()                           {}
func (command) Name() string                      { return "books" }
func (command) Context() context.Context          { return context.Background() }
func (command) Cleanup(func())                    {} // it ends with the program
func (command) Fatal(args ...any)                 { log.Fatal(args...) }
func (command) Fatalf(format string, args ...any) { log.Fatalf(format, args...) }
func (command) Logf(string, ...any)               {}

// ledger is a ledger on a table in memory, with a clock that is set, and a meter of what it asks the table for.
type ledger struct {
	*system.System
	now   time.Time // of the store
	meter *meter.Meter
}

func newLedger(now time.Time) *ledger {
	l := &ledger{now: now}
	store := system.MemoryAt(func() time.Time { return l.now })
	books := store.NewTable(command{})
	l.meter = meter.New(books)
	l.System = store.Serve(command{}, books, l.options()...)
	l.Plain = l.Client // what is put past the ledger is metered, too
	return l
}

func (l *ledger) options() []system.Option {
	return []system.Option{system.Client(l.meter.Count), system.Actor(caller), system.Metrics("Ledger/ledger-prod")}
}

// trade is what one kind of trade takes.
type trade struct {
	postings    float64
	writeUnits  float64 // of the command, with those below
	indexUnits  float64 // in the indexes: of histories, as only postings are new
	buyerUnits  float64 // in the table, in the buyer's partition
	sellerUnits float64
	refoldUnits float64 // written by one refold
	refoldReads float64 // read units of one refold, by a projector with a cold cache
	tableBytes  float64 // stored in the table, overhead included
	indexBytes  float64 // and in the indexes
	replyBytes  float64
	records     float64 // of the stream, from the command's items
	refold      *refolds
	listing     listing
}

// listing is what the lists of transactions and the journal take for each transaction, the same for every kind.
type listing struct {
	single float64 // write units of one in a page of the journal by itself
	hot    float64 // and of one of hotBatch in a page
	bytes  float64 // stored, overhead included, in a page by itself
}

// refolds are what refolds of one balance take, the same for every kind of trade.
type refolds struct {
	closing float64 // write units more when a segment is closed
	single  float64 // read units of steadySingle postings, one a second, by a projector with a warm cache
	hot     float64 // and of hotBatch postings a second for steadyHot seconds
}

// measureTrades measures a trade and a settled one.
func measureTrades() [2]trade {
	all := &refolds{single: measureSteady(1, steadySingle), hot: measureSteady(hotBatch, steadyHot)}
	plain, settled := measureTrade(false), measureTrade(true)
	all.closing = measureClosing() - plain.refoldUnits
	plain.refold, settled.refold = all, all
	plain.listing = measureListing()
	settled.listing = plain.listing
	return [2]trade{plain, settled}
}

// openLimited opens two limited accounts with money and shares.
func (l *ledger) openLimited() {
	l.Must(201, "PUT", "/v1/assets/USD", `{"name":"US dollar","scale":2}`)
	l.Must(201, "PUT", "/v1/assets/"+share, `{"name":"Apple Inc.","scale":0,"currency":"USD"}`)
	l.Must(201, "PUT", "/v1/accounts/market", `{"name":"Market","overdraft":"unlimited"}`)
	for _, account := range []string{buyer, seller} {
		l.Must(201, "PUT", "/v1/accounts/"+account, `{"name":"Limited"}`)
		for _, asset := range []string{"USD", share} {
			l.Must(201, "POST", "/v1/transfers", fmt.Sprintf(
				`{"from":"market","to":%q,"asset":%q,"quantity":"100000000"}`, account, asset))
		}
	}
}

// measureTrade posts a trade between two limited accounts, and projects each of its postings by itself.
func measureTrade(settle bool) (c trade) {
	l := newLedger(time.Now())
	l.openLimited()
	post := func(buyer, seller string) float64 {
		return float64(len(l.Must(201, "POST", "/v1/trades", fmt.Sprintf(
			`{"asset":%q,"buyer":%q,"seller":%q,"quantity":"10","cost":"150000","settle":%t}`, share, buyer, seller,
			settle)).Body))
	}
	// One more trade each way first: guards and balances are there, as they are for all but the first of a million.
	post(buyer, seller)
	post(seller, buyer)
	l.DeliverAll()
	before := l.Contents()
	c.replyBytes = post(buyer, seller)
	projector := l.Beside(l.options()...)
	for k, item := range l.Contents() {
		if reflect.DeepEqual(before[k], item) {
			continue
		}
		// The command wrote all that changed in one transaction.
		units := func(of ...table.Index) float64 { return float64(ddbtest.WriteUnits(before[k], item, true, of...)) }
		c.records++
		c.writeUnits += units(table.Indexes()...)
		switch k.PK {
		case table.AccountKey(buyer).PK:
			c.buyerUnits += units()
		case table.AccountKey(seller).PK:
			c.sellerUnits += units()
		}
		if before[k] != nil {
			continue
		}
		c.tableBytes += float64(ddb.ItemBytes(item) + storedOverheadBytes)
		for _, index := range table.Indexes() {
			if entry := ddbtest.Entry(index, item); entry != nil {
				c.indexUnits += units(index) - units()
				c.indexBytes += float64(ddb.ItemBytes(entry) + storedOverheadBytes)
			}
		}
		if table.IsPosting(k.SK) {
			c.postings++
			l.meter.Take()
			streamtest.Deliver(command{}, projector.Service.Stream(), streamtest.Images(command{}, item))
			tally := l.meter.Take()
			c.refoldUnits = max(c.refoldUnits, float64(tally.WriteUnits))
			c.refoldReads = max(c.refoldReads, float64(tally.ReadHalves)/2)
		}
	}
	return c
}

// measureListing lists a trade in a batch by itself, and hotBatch of them in one. Their keys alone are delivered, so
// that the table is read for them, which images make needless: reads are not counted.
func measureListing() (m listing) {
	l := newLedger(time.Now())
	l.openLimited()
	var keys []table.Key
	for i := range 1 + hotBatch {
		id := fmt.Sprintf("orders:%09d", 1000+i)
		l.Must(201, "POST", "/v1/trades", fmt.Sprintf(`{"id":%q,"asset":%q,"buyer":%q,"seller":%q,"quantity":"10",`+
			`"cost":"150000"}`, id, share, buyer, seller))
		keys = append(keys, table.TransactionKey(id))
	}
	deliver := func(keys []table.Key) float64 {
		l.meter.Take()
		streamtest.Deliver(command{}, l.Service.List(), streamtest.Keys(keys...))
		return float64(l.meter.Take().WriteUnits)
	}
	before := l.Contents()
	m.single = deliver(keys[:1])
	for k, item := range l.Contents() {
		if before[k] == nil {
			m.bytes += float64(ddb.ItemBytes(item) + storedOverheadBytes)
		}
	}
	m.hot = deliver(keys[1:]) / hotBatch
	return m
}

// measureClosing returns the write units of a refold that closes a segment.
func measureClosing() float64 {
	l := newLedger(time.Now())
	all := system.OldPostings(buyer, share, projections.StretchPostings)
	keys, last := system.KeysOf(all), len(all)-1
	l.PutPostings(all[:last])
	l.Deliver(keys[0])
	l.PutPostings(all[last:])
	l.meter.Take()
	l.Deliver(keys[last])
	return float64(l.meter.Take().WriteUnits)
}

// measureSteady projects so many postings of one balance a second, in a batch with their images, until the oldest have
// long been settled. Then it measures the read units of so many seconds.
func measureSteady(rate, seconds int) float64 {
	begin := time.Now().Add(-time.Hour).Truncate(time.Second)
	l := newLedger(begin)
	warm := seconds + int(table.SettleWindow/time.Second)
	for second := range warm + seconds {
		if second == warm {
			l.meter.Take()
		}
		postings, images := make([]events.PostingRecorded, rate), make([]ddb.Item, rate)
		for i := range postings {
			id := events.FirstKSUID(l.now.Add(time.Duration(i) * time.Second / time.Duration(rate)))
			postings[i] = events.PostingRecorded{
				Leg: events.Leg{ID: id, Account: buyer, Asset: share, Quantity: events.NewAmount(10),
					Cost: events.NewAmount(150_000)},
				Transaction: string(id), Kind: events.KindTrade,
			}
			images[i] = ddb.EventItem(postings[i])
		}
		l.now = l.now.Add(time.Second)
		l.PutPostings(postings)
		streamtest.Deliver(command{}, l.Service.Stream(), streamtest.Images(command{}, images...))
	}
	tally := l.meter.Take()
	if tally.Guessed > 0 {
		log.Fatalf("the units of %d items are not known", tally.Guessed)
	}
	return float64(tally.ReadHalves) / 2
}
