package main

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"ledger.example/projections"
)

// Limits of AWS: docs/capacity.md says where each was seen.
const (
	tableQuota       = 40_000 // write units a second, and read units: of a table, and of each index
	gatewayQuota     = 10_000 // requests a second of an account's APIs
	concurrencyQuota = 1_000  // instances of an account's functions
	instanceRequests = 10     // requests a second of an instance
)

// The columns of the table of shared keys, without the first.
const (
	keyWork     = 0
	keyOneLane  = 2 // the ceiling in one lane
	keyMostEver = 5 // in the most lanes that are shown
	keyIs       = 6
)

// tradeCeilings returns the ceilings of hard keys that all trades share, in a column of their table.
func tradeCeilings(column int) (all []float64) {
	for _, cells := range documentTable("capacity.md", "key") {
		if strings.TrimSpace(cells[keyWork]) == "trades" && strings.TrimSpace(cells[keyIs]) == "hard" {
			all = append(all, number(cells[column]))
		}
	}
	return all
}

// capacityRates are the trades a second of the tables of capacity.md. The last is the most that the ledger can serve:
// the smallest ceiling of a key that all trades share, in many lanes.
var capacityRates = sync.OnceValue(func() []float64 {
	return []float64{10, 1_000, slices.Min(tradeCeilings(keyMostEver))}
})

// lanesFor returns how many lanes trades need if none is more than half full on average.
func lanesFor(l load) float64 {
	lanes := 1.0
	for lanes*slices.Min(tradeCeilings(keyOneLane)) < 2*l.trades {
		lanes *= 2
	}
	return lanes
}

// row is a row of a table of loads. Its cells have the value of a trade, and that of a settled trade if it differs.
type row struct {
	what string
	of   func(load) float64
}

// cells returns the cells of a row, each written by a function.
func (b bill) cells(r row, write func(float64) string) (cells []string) {
	for _, rate := range capacityRates() {
		cell, settled := write(r.of(loadOf(b.kinds[0], rate, b.stack))), write(r.of(loadOf(b.kinds[1], rate, b.stack)))
		if settled != cell {
			cell += " / " + settled
		}
		cells = append(cells, cell)
	}
	return cells
}

func capacityHead(what string) string {
	for _, rate := range capacityRates() {
		what += fmt.Sprintf("|%s trades/s:", rounded(rate))
	}
	return what
}

// loadTable shows the use of the table, its stream and the functions by each load.
func (b bill) loadTable() markdown {
	result := markdown{head: capacityHead("per second, unless stated otherwise")}
	for _, r := range []row{
		{"write units, commands", func(l load) float64 { return l.trades * l.tableUnits }},
		{"write units, GSI1", load.indexWrites},
		{"write units, projections", func(l load) float64 {
			return l.trades * (l.refoldUnits + l.postings*l.segmentUnits/projections.StretchPostings)
		}},
		{"write units, lists and journal", func(l load) float64 { return l.trades * l.listUnits }},
		{"read units, projections", load.reads},
		{"partitions and shards, for twice the load at once", load.shards},
		{"invocations of the projector", load.projections},
		{"invocations of the lister", load.listings},
		{"lanes, half full", lanesFor},
		{"busy instances of all functions", load.instances},
		{"GB added in a year", func(l load) float64 { return l.storedBytes() * 12 * secondsInMonth / bytesInGB }},
	} {
		result.add(append([]string{r.what}, b.cells(r, figure)...)...)
	}
	return result
}

// quotaTable compares each load with the limits. Figures above a limit are bold.
func (b bill) quotaTable() markdown {
	result := markdown{head: capacityHead("limit|default:") + "|raised by"}
	add := func(what string, limit float64, of func(load) float64, raise string) {
		cells := b.cells(row{what, of}, func(n float64) string {
			if n > limit {
				return "**" + figure(n) + "**"
			}
			return figure(n)
		})
		result.add(append(append([]string{what, rounded(limit)}, cells...), raise)...)
	}
	parameter := func(name string) float64 { return b.stack.number("Parameters", name, "Default") }
	requests := func(l load) float64 { return l.trades }
	writeUnits := parameter("MaxWriteUnits")
	add("requests, `ApiRateLimit`", parameter("ApiRateLimit"), requests, "parameter of the stack")
	add("table's write units, `MaxWriteUnits`", writeUnits, load.tableWrites, "parameter of the stack")
	add("GSI1's write units, `MaxWriteUnits`", writeUnits, load.indexWrites, "the same")
	add("table's read units, `MaxReadUnits`", parameter("MaxReadUnits"), load.reads, "parameter of the stack")
	add("a new table's write units", newTableWrites, load.tableWrites, "warm throughput, or over time")
	add("requests, account", gatewayQuota, requests, "API Gateway, L-8A5B8E43")
	add("Lambda's instances, account", concurrencyQuota, load.instances, "Lambda, L-B99A9384")
	add("Lambda's requests, account", concurrencyQuota*instanceRequests, load.functionRequests,
		"the same, ten times the instances")
	add("table's write units, quota", tableQuota, load.tableWrites, "DynamoDB, L-AB614373")
	add("GSI1's write units, quota", tableQuota, load.indexWrites, "the same")
	add("table's read units, quota", tableQuota, load.reads, "DynamoDB, L-CF0CBE56")
	return result
}
