package main

import (
	"fmt"
	"math"
	"strconv"

	"ledger.example/projections"
)

// Facts about AWS: docs/capacity.md says where each was seen.
const (
	partitionWrites  = 1_000  // write units a second of one partition
	newTableWrites   = 4_000  // write units a second of a new table on demand, and of a new index
	headroom         = 2      // an on-demand table serves at once this multiple of its previous peak
	tableQuota       = 40_000 // write units a second, and read units: of a table, and of each index
	gatewayQuota     = 10_000 // requests a second of an account's APIs
	concurrencyQuota = 1_000  // instances of an account's functions
	instanceRequests = 10     // requests a second of an instance
	targetShare      = 0.7    // share of provisioned capacity that auto scaling aims at
)

// Assumptions, in addition to those of the costs.
const (
	accountsAtOnce   = 32    // accounts of a batch that are refolded in parallel, or transactions that are listed
	batchPartSeconds = 0.040 // duration of accountsAtOnce refolds or listings, most of it CPU
	listRecords      = 2     // stream records of a transaction's entry by time and of its page
	hoursInMonth     = 730
	secondsInMonth   = hoursInMonth * 3_600
)

// load is one kind of trade at one rate. All figures are per second unless stated otherwise.
type load struct {
	trade
	trades float64
	lanes  float64 // concurrent batches of a shard
	batch  float64 // maximum of records in a batch
}

// loads are those of a table's columns: a trade and a settled one at each rate.
type loads [3][2]load

var rates = [3]float64{10, 1_000, 100_000}

func loadOf(kind trade, rate float64, t template) load {
	return load{trade: kind, trades: rate, lanes: t.mapping("ParallelizationFactor"), batch: t.mapping("BatchSize")}
}

func loadsOf(kinds [2]trade, t template) (all loads) {
	for i, rate := range rates {
		all[i] = [2]load{loadOf(kinds[0], rate, t), loadOf(kinds[1], rate, t)}
	}
	return all
}

// cells returns a cell for each rate: the value of a trade, and that of a settled trade if it differs.
func (all loads) cells(of func(load) string) (cells []string) {
	for _, kinds := range all {
		cell, settled := of(kinds[0]), of(kinds[1])
		if settled != cell {
			cell += " / " + settled
		}
		cells = append(cells, cell)
	}
	return cells
}

// figureOf is a row of a table of loads.
type figureOf struct {
	what string
	of   func(load) float64
}

// table has a row for each figure and a column for each rate.
func (all loads) table(head string, write func(float64) string, rows []figureOf) markdown {
	result := markdown{head: ratesHead(head)}
	for _, r := range rows {
		result.add(append([]string{r.what}, all.cells(func(l load) string { return write(r.of(l)) })...)...)
	}
	return result
}

// ratesHead is the head of a table with a column for each rate.
func ratesHead(what string) string {
	for _, rate := range rates {
		what += "|" + rounded(rate) + " trades/s:"
	}
	return what
}

// rounded writes a number that is not negative without decimals, and with commas.
func rounded(f float64) string {
	text := fmt.Sprintf("%.0f", math.Round(f))
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// figure formats a number: without decimals from 100 on, with one decimal from 1 on, else with two.
func figure(f float64) string {
	switch {
	case f >= 100, math.Abs(f-math.Round(f)) < 1e-9:
		return rounded(f)
	case f >= 1:
		return strconv.FormatFloat(f, 'f', 1, 64)
	}
	return cents(f)
}

// cents writes a number with two decimals.
func cents(f float64) string { return strconv.FormatFloat(f, 'f', 2, 64) }

// Write units of commands, in the table and in GSI1.
func (l load) commandWrites() float64 { return l.trades * (l.writeUnits - l.indexUnits) }
func (l load) historyWrites() float64 { return l.trades * l.indexUnits }

func (l load) allPostings() float64 { return l.trades * l.postings }

// projectionWrites are the write units of projections, each posting by itself.
func (l load) projectionWrites() float64 {
	return l.allPostings() * (l.refoldUnits + l.refold.closing/projections.StretchPostings)
}

// listWrites are those of the lists and the journal, each transaction in a page by itself.
func (l load) listWrites() float64 { return l.trades * l.listing.single }

func (l load) reads() float64 { return l.allPostings() * l.refoldReads }

func (l load) tableWrites() float64 { return l.commandWrites() + l.projectionWrites() + l.listWrites() }
func (l load) allWrites() float64   { return l.tableWrites() + l.historyWrites() }

// shards is the number of partitions of a table that can serve twice the load at once, and so of its stream's shards.
func (l load) shards() float64 {
	return max(newTableWrites/partitionWrites, math.Ceil(l.tableWrites()*headroom/partitionWrites))
}

// invocations of the projector. A lane waits up to a second for a batch to fill.
func (l load) invocations() float64 { return l.batches(l.allPostings()) }

// listings are the invocations of the lister.
func (l load) listings() float64 { return l.batches(l.trades) }

func (l load) batches(records float64) float64 {
	return max(records/l.batch, min(records, l.shards()*l.lanes))
}

// projecting is the duration of the projector's invocations in seconds, if each posting is of a different account.
func (l load) projecting() float64 { return batchSeconds(l.allPostings(), l.invocations()) }

// listingSeconds is the duration of the lister's invocations.
func (l load) listingSeconds() float64 { return batchSeconds(l.trades, l.listings()) }

func batchSeconds(records, batches float64) float64 {
	return batches * batchPartSeconds * math.Ceil(math.Ceil(records/batches)/accountsAtOnce)
}

// functionRequests are the requests to all functions, instances their busy instances.
func (l load) functionRequests() float64 { return l.trades + l.invocations() + l.listings() }
func (l load) instances() float64 {
	return l.trades*commandSeconds + l.projecting() + l.listingSeconds()
}

// storedBytes are the bytes stored in the table and its indexes.
func (l load) storedBytes() float64 {
	return l.trades * (l.tableBytes + l.listing.bytes + l.indexBytes)
}
