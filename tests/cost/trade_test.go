package cost

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"testing"

	"ledger.example/functions/stream/streamtest"
	"ledger.example/internal/table"
	"ledger.example/internal/table/tabletest"
	"ledger.example/ledger"
	"ledger.example/projections"
	"ledger.example/tests/harness/system"
)

// storedOverheadBytes are added to an item, in the table and in each index (AWS, "DynamoDB item sizes and formats").
const storedOverheadBytes = 100

// A kindOfTrade is what one trade between two limited accounts takes, with warm caches.
type kindOfTrade struct {
	postings             float64
	tableUnits, gsiUnits float64 // written by the command
	refoldUnits, reads   float64 // of the projection of all postings, each by itself, by a projector with a cold cache
	listUnits            float64 // of a transaction that is alone in its page of the journal
	tableBytes, gsiBytes float64 // stored in the table with the lists, and in GSI1; with the overhead
	answerBytes          float64
	records              float64 // in the stream, with those of projection and lists
}

// TestCostOfTrades counts what a trade takes, in the table from which docs/generate computes dollars a month.
func TestCostOfTrades(t *testing.T) {
	t.Parallel()
	f := figures{heading: "What one trade takes", of: "a trade takes", document: "../../docs/capacity.md"}
	for _, c := range []struct {
		name    string
		settled bool
	}{{"trade", false}, {"settled trade", true}} {
		f.add(c.name, measureTrade(t, c.settled).lines(hotTrade(t)))
	}
	f.check(t)
}

// hotShares are the read units of a posting that is projected with a warm cache, and what each of hotBatch postings of
// a balance, or transactions in a page, takes.
type hotShares struct{ warmReads, hotReads, listUnits, segmentUnits float64 }

const hotBatch = 100

func (k kindOfTrade) lines(hot hotShares) (all []line) {
	add := func(step string, decimals int, n float64) {
		text := strconv.FormatFloat(n, 'f', decimals, 64)
		if decimals == 0 {
			text = thousands(int(n))
		}
		all = append(all, line{step, text})
	}
	add("write units of the command, in the table", 0, k.tableUnits)
	add("write units of the command in GSI1, the index of histories", 0, k.gsiUnits)
	add("write units of its projection, each posting by itself", 2, k.refoldUnits)
	add("write units of its projection, 100 postings of one balance in a batch", 2, k.refoldUnits/hotBatch)
	add("write units of a segment, for every 256 postings of a balance", 0, hot.segmentUnits)
	add("read units of its projection, each posting by itself, with a cold cache", 2, k.reads)
	add("read units of its projection, each posting by itself, with a warm cache", 2, k.postings*hot.warmReads)
	add("read units of its projection, 100 postings of one balance in a batch", 2, k.postings*hot.hotReads)
	add("write units of its lists, alone in a page of the journal", 0, k.listUnits)
	add("write units of its lists, 100 transactions in a page", 2, hot.listUnits)
	add("bytes kept in the table, lists included", 0, k.tableBytes)
	add("bytes kept in GSI1", 0, k.gsiBytes)
	add("bytes of the answer's body", 0, k.answerBytes)
	add("records in the stream, projection and lists included", 0, k.records)
	return all
}

// changed returns the items of the table that differ from those before.
func (b *limitedBank) changed(before map[table.Key]table.Item) map[table.Key]table.Item {
	all := b.Contents()
	for k, item := range all {
		if reflect.DeepEqual(before[k], item) {
			delete(all, k)
		}
	}
	return all
}

func measureTrade(t *testing.T, settled bool) (k kindOfTrade) {
	t.Helper()
	b := newLimitedBank(t)
	before := b.Contents()
	command := b.measure(func() { b.post(map[bool]func(bool) ledger.PostTrade{false: b.trade, true: b.settled}[settled](false)) })
	for key, item := range b.changed(before) {
		k.records++
		k.tableUnits += 2 * math.Ceil(float64(table.SizeOf(item))/1024) // in a transaction
		if before[key] != nil {
			continue // a guard, which is updated
		}
		k.tableBytes += float64(table.SizeOf(item) + storedOverheadBytes)
		for _, index := range table.Indexes() {
			if entry := tabletest.Entry(index, item); entry != nil {
				k.gsiBytes += float64(table.SizeOf(entry) + storedOverheadBytes)
			}
		}
		switch {
		case table.Posting.Is(key.SK):
			k.postings++
			cold := b.process() // each posting is projected by a process that starts
			c := b.measure(func() { streamtest.Deliver(t, cold.Service.Stream(), streamtest.Images(t, item)) })
			k.refoldUnits += float64(c.WriteUnits)
			k.reads += float64(c.ReadHalves) / 2
			k.records += float64(c.ItemsWritten)
		case table.Transaction.Is(key.SK):
			listed := b.Contents()
			c := b.measure(func() { streamtest.Deliver(t, b.lister(), streamtest.Images(t, item)) })
			k.listUnits = float64(c.WriteUnits)
			k.records += float64(c.ItemsWritten)
			for _, entry := range b.changed(listed) {
				k.tableBytes += float64(table.SizeOf(entry) + storedOverheadBytes)
			}
		}
	}
	k.gsiUnits = float64(command.WriteUnits) - k.tableUnits
	named := b.NewProcess(system.Client(b.meter.Count), system.Actor(typicalInputs().actor))
	b.tick()
	k.answerBytes = float64(len(named.Must(201, "POST", "/v1/trades", fmt.Sprintf(`{"id":"orders:%09d","asset":%q,`+
		`"buyer":%q,"seller":%q,"quantity":"10","cost":"1500","settle":%t}`, 1_000, share, holder, partner, settled)).Body))
	return k
}

// hotTrade measures what is shared by the postings of a batch and by the transactions of a page.
func hotTrade(t *testing.T) (h hotShares) {
	t.Helper()
	h.warmReads, _ = underLoad(t, 1, 260)
	h.hotReads, _ = underLoad(t, hotBatch, 16)
	b := newLimitedBank(t)
	before := b.Contents()
	for range hotBatch {
		b.post(b.trade(false))
	}
	var headers []table.Item
	for key, item := range b.changed(before) {
		if table.Transaction.Is(key.SK) {
			headers = append(headers, item)
		}
	}
	c := b.measure(func() { streamtest.Deliver(t, b.lister(), streamtest.Images(t, headers...)) })
	h.listUnits = float64(c.WriteUnits) / hotBatch
	b.tick()
	stretch := b.newPostings(share, projections.StretchPostings, b.now().Add(-age/2))
	b.put(stretch...)
	h.segmentUnits = float64(b.measure(func() { b.project(b.process(), stretch...) }).WriteUnits) - 1 // the balance
	return h
}
