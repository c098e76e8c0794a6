package main

import (
	"math"
	"os"
	"strconv"
	"strings"

	"ledger.example/projections"
)

// Facts about AWS: docs/capacity.md says where each was seen.
const (
	partitionWrites = 1_000 // write units a second of one partition
	newTableWrites  = 4_000 // write units a second of a new table on demand
	headroom        = 2     // an on-demand table serves at once this multiple of its previous peak
	hoursInMonth    = 730
	secondsInMonth  = hoursInMonth * 3_600
	minutesInMonth  = hoursInMonth * 60
)

// Assumptions. docs/cost.md names them.
const (
	accountsAtOnce   = 32    // accounts of a batch that are refolded in parallel, or transactions that are listed
	batchPartSeconds = 0.040 // duration of accountsAtOnce refolds or listings, most of it CPU
	commandSeconds   = 0.030 // duration of a command, and of a sweep
)

// documentTable reads the table of a document whose first column has this title: its rows by their first cell.
func documentTable(file, title string) map[string][]string {
	text, err := os.ReadFile(file)
	check(err)
	_, below, found := strings.Cut(string(text), "\n| "+title+" |")
	if !found {
		check(os.ErrNotExist)
	}
	table, _, _ := strings.Cut(below, "\n\n")
	rows := make(map[string][]string)
	for _, line := range strings.Split(strings.TrimSpace(table), "\n")[2:] { // after the head and the rule
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		rows[strings.TrimSpace(cells[0])] = cells[1:]
	}
	return rows
}

// number parses a cell, such as 1,234.
func number(cell string) float64 {
	n, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimSpace(cell), ",", ""), 64)
	check(err)
	return n
}

// trade is what one trade takes, as tests/cost counts it.
type trade struct {
	tableUnits, gsiUnits, refoldUnits, segmentUnits, readUnits, listUnits float64
	tableBytes, gsiBytes, answerBytes                                     float64
	postings                                                              float64
}

// tradesOf reads the counts of a trade and of a settled trade.
func tradesOf() (kinds [2]trade) {
	counted := documentTable("capacity.md", "a trade takes")
	for i := range kinds {
		of := func(row string) float64 { return number(counted[row][i]) }
		kinds[i] = trade{
			tableUnits:   of("write units of the command, in the table"),
			gsiUnits:     of("write units of the command in GSI1, the index of histories"),
			refoldUnits:  of("write units of its projection, each posting by itself"),
			segmentUnits: of("write units of a segment, for every 256 postings of a balance"),
			readUnits:    of("read units of its projection, each posting by itself, with a cold cache"),
			listUnits:    of("write units of its lists, alone in a page of the journal"),
			tableBytes:   of("bytes kept in the table, lists included"),
			gsiBytes:     of("bytes kept in GSI1"),
			answerBytes:  of("bytes of the answer's body"),
			postings:     float64(2 * (i + 1)),
		}
	}
	return kinds
}

// load is one kind of trade at one rate. All figures are per second.
type load struct {
	trade
	trades                     float64
	projected, listed          float64 // records in a batch, at most
	command, projector, lister float64 // memory of the functions in GB
}

func loadOf(kind trade, rate float64, t template) load {
	const megabytesInGB = 1024
	return load{
		trade: kind, trades: rate,
		projected: t.number("Resources", "ProjectorFunctionPostings", "Properties", "BatchSize"),
		listed:    t.number("Resources", "ListerFunctionTransactions", "Properties", "BatchSize"),
		command:   t.memory("CommandFunction") / megabytesInGB,
		projector: t.memory("ProjectorFunction") / megabytesInGB,
		lister:    t.memory("ListerFunction") / megabytesInGB,
	}
}

func (l load) allPostings() float64 { return l.trades * l.postings }

// tableWrites are the write units of commands, projections and lists in the table: each posting is projected by itself,
// and each transaction is listed in a page by itself.
func (l load) tableWrites() float64 {
	segments := l.postings * l.segmentUnits / projections.StretchPostings
	return l.trades * (l.tableUnits + l.refoldUnits + segments + l.listUnits)
}

func (l load) indexWrites() float64 { return l.trades * l.gsiUnits }
func (l load) writes() float64      { return l.tableWrites() + l.indexWrites() }
func (l load) reads() float64       { return l.trades * l.readUnits }
func (l load) storedBytes() float64 { return l.trades * (l.tableBytes + l.gsiBytes) }

// shards is the number of partitions of a table that can serve twice the load at once, and so of its stream's shards.
func (l load) shards() float64 {
	return max(newTableWrites/partitionWrites, math.Ceil(l.tableWrites()*headroom/partitionWrites))
}

// projections are the invocations of the projector, and listings those of the lister. A shard waits up to a second for
// a batch to fill, and is processed one batch at a time.
func (l load) projections() float64 {
	return max(l.allPostings()/l.projected, min(l.allPostings(), l.shards()))
}
func (l load) listings() float64 { return max(l.trades/l.listed, min(l.trades, l.shards())) }

// functionRequests are the requests to all functions.
func (l load) functionRequests() float64 { return l.trades + l.projections() + l.listings() }

// projecting and listing are the seconds of the projector and of the lister, if each posting is of a different account.
func (l load) projecting() float64 { return batchSeconds(l.allPostings(), l.projections()) }
func (l load) listing() float64    { return batchSeconds(l.trades, l.listings()) }

func batchSeconds(records, batches float64) float64 {
	return batches * batchPartSeconds * math.Ceil(math.Ceil(records/batches)/accountsAtOnce)
}

// streamSeconds are their GB-seconds, and instances the busy instances of all functions.
func (l load) streamSeconds() float64 { return l.projecting()*l.projector + l.listing()*l.lister }
func (l load) instances() float64     { return l.trades*commandSeconds + l.projecting() + l.listing() }
