package tests

import (
	"log/slog"
	"math/big"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/cmd/ledger/memory"
	"ledger.example/cmd/ledger/meter"
	"ledger.example/events"
	"ledger.example/functions/api"
	"ledger.example/functions/service"
	"ledger.example/functions/stream/streamtest"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
	"ledger.example/ledger/wire/wiretest"
	"ledger.example/projections"
)

// What docs/capacity.md reckons with: units of requests that were sent, by the cost model, and a load made of them.

const (
	hotBatch      = 100                                           // postings of one balance in a batch, and in a second
	tailSeconds   = int64(projections.SettleWindow / time.Second) // for which postings aren't settled
	backlogOfOne  = 5 * projections.StretchPostings               // postings of one balance
	secondsOfHour = 3_600

	everydayAccount, everydayAsset = "customers:00000017", "AAPL"
	hoursOfMonth                   = 730
)

// steadyCost is what postings of one balance take that go on and on, in halves of read units.
type steadyCost struct {
	single  int64 // steadySingle postings, one a second, projected by the one that made the last refold
	hot     int64 // steadyHot of them, hotBatch a second in one batch, likewise
	several int64 // as many, hotBatch a second, whose records come to severalLanes

	balanceBytes int64 // of the balance, when it has been refolded so often
}

// For how many seconds it is measured, and so how many postings: enough for the seal to move as often as it does.
const (
	steadySingle  = 260
	steadySeconds = 16
	steadyHot     = steadySeconds * hotBatch
)

// deliverImages hands records of postings that were just put to the service's stream handler, as one batch, with their images.
func deliverImages(t testing.TB, s *service.Service, items ...wire.Item) {
	t.Helper()
	streamtest.Deliver(t, s.Stream(), streamtest.Postings(t, items...))
}

// everyday makes postings of trades, of the size that those of measureTrade have, evenly from one time on.
func everyday(from time.Time, every time.Duration, n int) []events.PostingRecorded {
	all := make([]events.PostingRecorded, n)
	for i := range all {
		id := events.FirstKSUID(from.Add(time.Duration(i) * every))
		all[i] = events.PostingRecorded{
			Leg: events.Leg{
				ID: id, Account: everydayAccount, Asset: everydayAsset, Quantity: events.NewAmount(10), Cost: events.NewAmount(150_000),
			},
			Transaction: string(id), Kind: events.KindTrade,
		}
	}
	return all
}

// bench is a table in memory whose clock the test sets, with projectors that remember nothing of each other.
type bench struct {
	t          *testing.T
	clock      atomic.Int64 // nanoseconds since 1970
	meter      *meter.Meter
	client     *dynamodb.Client
	table      string
	projectors []*service.Service
}

// newBench has so many projectors, and its clock, which never goes back, at begin.
func newBench(t *testing.T, projectors int, begin time.Time) *bench {
	t.Helper()
	b := &bench{t: t, table: "books"}
	b.clock.Store(begin.UnixNano())
	b.meter = meter.New(b.table)
	store := memory.New(memory.Options{Now: func() time.Time { return time.Unix(0, b.clock.Load()) }})
	newTableOn(t, store.DynamoDB(), b.table)
	b.client = store.DynamoDB(b.meter.Count)
	for range projectors {
		s, err := service.New(service.Config{
			Client: b.client, Table: b.table, Actor: api.LocalActor, Version: "test", Log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		b.projectors = append(b.projectors, s)
	}
	return b
}

// put puts postings past everything, and their account's summary would be wrong: nothing here reads it.
func (b *bench) put(postings []events.PostingRecorded) {
	b.t.Helper()
	for some := range slices.Chunk(postings, table.TransactionActions) {
		in := &dynamodb.TransactWriteItemsInput{}
		for _, p := range some {
			in.TransactItems = append(in.TransactItems, types.TransactWriteItem{Put: &types.Put{
				TableName: &b.table, Item: wire.EventItem(p), ConditionExpression: aws.String(wire.IfAbsent),
			}})
		}
		if _, err := b.client.TransactWriteItems(b.t.Context(), in); err != nil {
			b.t.Fatal(err)
		}
	}
}

// deliver hands each posting's record to the next of the projectors, each a batch or, where batches would be fuller than hotBatch,
// several in turn.
func (b *bench) deliver(postings []events.PostingRecorded) {
	b.t.Helper()
	lanes := make([][]wire.Item, len(b.projectors))
	for i, p := range postings {
		lanes[i%len(lanes)] = append(lanes[i%len(lanes)], wire.EventItem(p))
	}
	for left := true; left; {
		left = false
		for i, lane := range lanes {
			if n := min(len(lane), hotBatch); n > 0 {
				deliverImages(b.t, b.projectors[i], lane[:n]...)
				lanes[i] = lane[n:]
				left = true
			}
		}
	}
}

// took returns the halves of read units since it was asked last.
func (b *bench) took() int64 {
	b.t.Helper()
	tally := b.meter.Take()
	if tally.Guessed > 0 {
		b.t.Fatalf("the units of %d items are not known", tally.Guessed)
	}
	return tally.ReadHalves
}

// measureSteady refolds one balance each second, with so many postings of that second, whose records come to as many lanes, until
// the oldest have long been settled; and then measures how many halves of read units that takes, within so many seconds. It returns
// the size of the balance, too.
func measureSteady(t *testing.T, rate, lanes, seconds int) (halves, balanceBytes int64) {
	t.Helper()
	begin := time.Now().Add(-time.Hour).Truncate(time.Second)
	b := newBench(t, lanes, begin)
	warm := seconds + int(tailSeconds)
	for i, some := range slices.Collect(slices.Chunk(everyday(begin, time.Second/time.Duration(rate), (warm+seconds)*rate), rate)) {
		b.clock.Store(begin.Add(time.Duration(i+1) * time.Second).UnixNano())
		b.put(some)
		if i == warm {
			b.took()
		}
		b.deliver(some)
	}
	halves = b.took()
	k := table.BalanceKey(everydayAccount, everydayAsset)
	out, err := b.client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &b.table, Key: wire.Key(k)})
	if err != nil {
		t.Fatal(err)
	}
	return halves, int64(wiretest.Sized(t, out.Item).Bytes())
}

// measureBacklog returns the halves of read units that it takes to catch up with a backlog of backlogOfOne postings of one
// balance, whose records come to as many lanes.
func measureBacklog(t *testing.T, lanes int) int64 {
	t.Helper()
	b := newBench(t, lanes, time.Now())
	all := everyday(time.Now().Add(-time.Hour), time.Millisecond, backlogOfOne)
	b.put(all)
	b.took()
	b.deliver(all)
	return b.took()
}

// load is one kind of trade at one rate, and everything is a second's unless it says otherwise.
type load struct {
	tradeCost
	steady  steadyCost
	closing int64 // write units of a refold that closes a segment
	trades  int64
	lanes   int64 // of a shard
	batch   int64 // records at most
}

func whole(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

func sum(of ...*big.Rat) *big.Rat {
	total := new(big.Rat)
	for _, r := range of {
		total.Add(total, r)
	}
	return total
}

func times(r *big.Rat, n, per int64) *big.Rat { return new(big.Rat).Mul(r, big.NewRat(n, per)) }

func floor(r *big.Rat) int64 { return new(big.Int).Quo(r.Num(), r.Denom()).Int64() }

func ceiling(r *big.Rat) int64 {
	n := floor(r)
	if r.Cmp(whole(n)) > 0 {
		n++
	}
	return n
}

// Of commands: write units in the table and in the index of histories.
func (l load) commandWrites() *big.Rat { return whole(l.trades * (l.writeUnits - l.historyUnits)) }
func (l load) historyWrites() *big.Rat { return whole(l.trades * l.historyUnits) }

func (l load) postingsOfAll() *big.Rat { return whole(l.trades * l.postings) }

// segmentWrites are what the segments of n postings take.
func (l load) segmentWrites(n *big.Rat) *big.Rat {
	return times(n, l.closing-l.refoldUnits, projections.StretchPostings)
}

// Of projections: each posting by itself, or hotBatch of one balance at a time.
func (l load) singleWrites() *big.Rat {
	return sum(times(l.postingsOfAll(), l.refoldUnits, 1), l.segmentWrites(l.postingsOfAll()))
}
func (l load) hotWrites() *big.Rat {
	return sum(times(l.postingsOfAll(), l.refoldUnits, hotBatch), l.segmentWrites(l.postingsOfAll()))
}
func (l load) singleReads() *big.Rat { return times(l.postingsOfAll(), l.refoldHalf, 2) }
func (l load) hotReads() *big.Rat    { return times(l.postingsOfAll(), l.steady.hot, 2*steadyHot) }

// tableWrites are those of the table, projected one by one.
func (l load) tableWrites() *big.Rat { return sum(l.commandWrites(), l.singleWrites()) }

// shards are the partitions of a table that takes the load's double at once, and one shard for each.
func (l load) shards() int64 {
	return max(newTableWrites/partitionWrites, ceiling(times(l.tableWrites(), headroom, partitionWrites)))
}

// invocations of the projector: a lane waits a second for a batch to fill.
func (l load) invocations() *big.Rat {
	lanes, full := whole(l.shards()*l.lanes), times(l.postingsOfAll(), 1, l.batch)
	if full.Cmp(lanes) > 0 {
		return full
	}
	if l.postingsOfAll().Cmp(lanes) < 0 {
		return l.postingsOfAll()
	}
	return lanes
}

// batchMilliseconds is how long a batch of so many postings takes at the most, each of another account.
func batchMilliseconds(postings int64) int64 {
	return togetherMilliseconds * ((postings + accountsAtOnce - 1) / accountsAtOnce)
}

// invocationMilliseconds is that of the load's batches.
func (l load) invocationMilliseconds() int64 {
	return batchMilliseconds(ceiling(new(big.Rat).Quo(l.postingsOfAll(), l.invocations())))
}

// instances are the functions' at work at once.
func (l load) instances() *big.Rat {
	return sum(times(whole(l.trades), commandMilliseconds, 1000), times(l.invocations(), l.invocationMilliseconds(), 1000))
}

// streamRecords are all that are written to the stream; streamBytes are those of their images.
func (l load) streamRecords() *big.Rat {
	return sum(whole(l.trades*l.records), l.postingsOfAll(), times(l.postingsOfAll(), 1, projections.StretchPostings))
}
func (l load) streamBytes() *big.Rat {
	return sum(whole(l.trades*l.recordBytes), times(l.postingsOfAll(), l.steady.balanceBytes, 1))
}

// storedBytes are those of the table and its indexes.
func (l load) storedBytes() *big.Rat { return whole(l.trades * (l.tableBytes + l.indexBytes)) }

// catchUp is how many postings the shards' lanes project, when each batch is full and each posting of another balance: as many
// as their time allows, and as the partitions' writes beside those of the commands.
func (l load) catchUp() *big.Rat {
	lanes := big.NewRat(l.shards()*l.lanes*l.batch*1000, batchMilliseconds(l.batch))
	left := new(big.Rat).Sub(whole(l.shards()*partitionWrites), l.commandWrites())
	writes := new(big.Rat).Quo(left, new(big.Rat).Quo(l.singleWrites(), l.postingsOfAll()))
	if writes.Cmp(lanes) < 0 {
		return writes
	}
	return lanes
}
