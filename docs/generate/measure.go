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
	"ledger.example/internal/meter"
	"ledger.example/internal/store"
	"ledger.example/internal/store/storetest"
	"ledger.example/projections"
	"ledger.example/tests/system"
)

// Parameters of the measurements. The ids have usual lengths.
const (
	buyer, seller, share = "customers:00000017", "customers:00000042", "AAPL"
	caller               = "arn:aws:sts::123456789012:assumed-role/trading-desk/i-0123456789abcdef0"
	storedOverheadBytes  = 100 // of an item, in the table and in each index (AWS, "DynamoDB item sizes and formats")
	hotBatch             = 100 // postings of one balance in a batch, and in a second
	steadySingle         = 260 // seconds of one posting a second: long enough for the seal to move
	steadyHot            = 16  // seconds of hotBatch postings a second
)

// exitTB is the testing.TB of the test helpers outside a test. A failure ends the program.
type exitTB struct{ testing.TB }

func (exitTB) Helper()                           {}
func (exitTB) Name() string                      { return "books" }
func (exitTB) Context() context.Context          { return context.Background() }
func (exitTB) Cleanup(func())                    {} // the program's exit cleans up
func (exitTB) Fatal(args ...any)                 { log.Fatal(args...) }
func (exitTB) Fatalf(format string, args ...any) { log.Fatalf(format, args...) }
func (exitTB) Logf(string, ...any)               {}

// ledger is a ledger on a table in memory. It has a settable clock, and a meter of its requests to the table.
type ledger struct {
	*system.System
	now   time.Time // of the store
	meter *meter.Meter
}

func newLedger(now time.Time) *ledger {
	l := &ledger{now: now}
	db := system.MemoryAt(func() time.Time { return l.now })
	books := db.NewTable(exitTB{})
	l.meter = meter.New(books)
	l.System = db.Serve(exitTB{}, books, l.options()...)
	l.Plain = l.Client // items that are put directly are metered, too
	return l
}

func (l *ledger) options() []system.Option {
	return []system.Option{system.Client(l.meter.Count), system.Actor(caller), system.Metrics("Ledger/ledger-prod")}
}

// trade has the cost of one kind of trade.
type trade struct {
	postings    float64
	writeUnits  float64 // of the command, in table and indexes
	indexUnits  float64 // of the command, in GSI1: a trade adds nothing to GSI2
	buyerUnits  float64 // in the table, in the buyer's partition
	sellerUnits float64
	refoldUnits float64 // written by one refold
	refoldReads float64 // read units of one refold, by a projector with a cold cache
	tableBytes  float64 // stored in the table, overhead included
	indexBytes  float64 // stored in the indexes, overhead included
	replyBytes  float64
	records     float64 // in the stream, from the command's items
	refold      *refolds
	listing     listing
}

// listing has the cost of lists and journal for each transaction. It is the same for every kind of trade.
type listing struct {
	single float64 // write units of a transaction that is alone in its page of the journal
	hot    float64 // write units of one of hotBatch transactions in a page
	bytes  float64 // stored bytes of a transaction that is alone in its page, overhead included
}

// refolds has the cost of refolds of one balance. It is the same for every kind of trade.
type refolds struct {
	closing float64 // additional write units when a segment is closed
	single  float64 // read units of steadySingle postings, one a second, by a projector with a warm cache
	hot     float64 // read units of hotBatch postings a second for steadyHot seconds, with a warm cache
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
	// Trade once in each direction first, so that guards and balances exist, as they do for all but the first trade.
	post(buyer, seller)
	post(seller, buyer)
	l.DeliverAll()
	before := l.Contents()
	c.replyBytes = post(buyer, seller)
	projector := l.NewProcess(l.options()...)
	for k, item := range l.Contents() {
		if reflect.DeepEqual(before[k], item) {
			continue
		}
		// The command wrote all that changed in one transaction.
		units := func(of ...store.Index) float64 { return float64(storetest.WriteUnits(before[k], item, true, of...)) }
		c.records++
		c.writeUnits += units(store.Indexes()...)
		switch k.PK {
		case store.Account.PK(buyer):
			c.buyerUnits += units()
		case store.Account.PK(seller):
			c.sellerUnits += units()
		}
		if before[k] != nil {
			continue
		}
		c.tableBytes += float64(store.SizeOf(item) + storedOverheadBytes)
		for _, index := range store.Indexes() {
			if entry := storetest.Entry(index, item); entry != nil {
				c.indexUnits += units(index) - units()
				c.indexBytes += float64(store.SizeOf(entry) + storedOverheadBytes)
			}
		}
		if store.Posting.Is(k.SK) {
			c.postings++
			l.meter.Take()
			streamtest.Deliver(exitTB{}, projector.Service.Stream(), streamtest.Images(exitTB{}, item))
			tally := l.meter.Take()
			c.refoldUnits = max(c.refoldUnits, float64(tally.WriteUnits))
			c.refoldReads = max(c.refoldReads, float64(tally.ReadHalves)/2)
		}
	}
	return c
}

// measureListing lists one trade in a batch, and then hotBatch trades in a batch. The batches have keys without images,
// so the lister reads the table. These reads are not counted, because real batches have images.
func measureListing() (m listing) {
	l := newLedger(time.Now())
	l.openLimited()
	var keys []store.Key
	for i := range 1 + hotBatch {
		id := fmt.Sprintf("orders:%09d", 1000+i)
		l.Must(201, "POST", "/v1/trades", fmt.Sprintf(`{"id":%q,"asset":%q,"buyer":%q,"seller":%q,"quantity":"10",`+
			`"cost":"150000"}`, id, share, buyer, seller))
		keys = append(keys, store.Transaction.Key(id))
	}
	deliver := func(keys []store.Key) float64 {
		l.meter.Take()
		streamtest.Deliver(exitTB{}, l.Service.List(), streamtest.Keys(keys...))
		return float64(l.meter.Take().WriteUnits)
	}
	before := l.Contents()
	m.single = deliver(keys[:1])
	for k, item := range l.Contents() {
		if before[k] == nil {
			m.bytes += float64(store.SizeOf(item) + storedOverheadBytes)
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

// measureSteady projects rate postings of one balance a second, each second's in one batch with images, until the
// oldest are settled. Then it returns the read units of the given number of seconds.
func measureSteady(rate, seconds int) float64 {
	begin := time.Now().Add(-time.Hour).Truncate(time.Second)
	l := newLedger(begin)
	warm := seconds + int(store.SettleWindow/time.Second)
	for second := range warm + seconds {
		if second == warm {
			l.meter.Take()
		}
		postings, images := make([]events.PostingRecorded, rate), make([]store.Item, rate)
		for i := range postings {
			id := events.FirstKSUID(l.now.Add(time.Duration(i) * time.Second / time.Duration(rate)))
			postings[i] = events.PostingRecorded{
				Leg: events.Leg{ID: id, Account: buyer, Asset: share, Quantity: events.NewAmount(10),
					Cost: events.NewAmount(150_000)},
				Transaction: string(id), Kind: events.KindTrade,
			}
			images[i] = store.EventItem(postings[i])
		}
		l.now = l.now.Add(time.Second)
		l.PutPostings(postings)
		streamtest.Deliver(exitTB{}, l.Service.Stream(), streamtest.Images(exitTB{}, images...))
	}
	tally := l.meter.Take()
	if tally.Guessed > 0 {
		log.Fatalf("the units of %d items are not known", tally.Guessed)
	}
	return float64(tally.ReadHalves) / 2
}
