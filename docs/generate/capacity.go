package main

import (
	"fmt"
	"math"

	"ledger.example/internal/price"
	"ledger.example/projections"
)

// tradeTable shows the cost of one trade.
func tradeTable(kinds [2]trade) markdown {
	result := markdown{head: "a trade takes|trade:|settled trade:"}
	line := func(what string, write func(float64) string, of func(trade) float64) {
		result.add(what, write(of(kinds[0])), write(of(kinds[1])))
	}
	n := func(what string, of func(trade) float64) { line(what, figure, of) }
	perPosting := func(what string, units float64) {
		line(what, cents, func(k trade) float64 { return k.postings * units })
	}
	refold := kinds[0].refold
	inBatch := fmt.Sprintf("the same, %d postings of one balance in a batch", hotBatch)
	n("write units of the command, in the table", func(k trade) float64 { return k.writeUnits - k.indexUnits })
	n("and in the index of histories, GSI1", func(k trade) float64 { return k.indexUnits })
	perPosting("write units of its projection, each posting by itself", kinds[0].refoldUnits)
	perPosting(inBatch, kinds[0].refoldUnits/hotBatch)
	n(fmt.Sprintf("write units of a segment, for every %d postings of a balance", projections.StretchPostings),
		func(trade) float64 { return refold.closing })
	perPosting("read units of its projection, each posting by itself, with a cold cache", kinds[0].refoldReads)
	perPosting("the same, with a warm cache", refold.single/steadySingle)
	perPosting(inBatch, refold.hot/(steadyHot*hotBatch))
	n("write units of its lists, alone in a page of the journal", func(k trade) float64 { return k.listing.single })
	line(fmt.Sprintf("the same, %d transactions in a page", hotBatch), cents,
		func(k trade) float64 { return k.listing.hot })
	n("bytes kept in the table, lists included", func(k trade) float64 { return k.tableBytes + k.listing.bytes })
	n("and in GSI1", func(k trade) float64 { return k.indexBytes })
	n("records in the stream, projection and lists included",
		func(k trade) float64 { return k.records + k.postings + listRecords })
	return result
}

// refoldTable shows the cost of each posting of one balance, by a warm projector.
func refoldTable(k trade) markdown {
	result := markdown{head: "postings of the balance in a second|write units a posting:|read units a posting:"}
	add := func(batch, reads float64) {
		writes := k.refoldUnits/batch + k.refold.closing/projections.StretchPostings
		result.add(figure(batch), cents(writes), cents(reads))
	}
	add(1, k.refold.single/steadySingle)
	add(hotBatch, k.refold.hot/(steadyHot*hotBatch))
	return result
}

// loadTable shows the use of the table, its stream and the functions by each load.
func loadTable(all loads) markdown {
	return all.table("per second, unless stated otherwise", figure, []figureOf{
		{"write units, commands", load.commandWrites},
		{"write units, GSI1", load.historyWrites},
		{"write units, projections", load.projectionWrites},
		{"write units, lists and journal", load.listWrites},
		{"read units, projections", load.reads},
		{"partitions and shards, for twice the load at once", load.shards},
		{"invocations of the projector", load.invocations},
		{"invocations of the lister", load.listings},
		{"busy instances of all functions", load.instances},
		{"GB added in a year", func(l load) float64 { return l.storedBytes() * 12 * secondsInMonth / gigabyte }},
	})
}

// accountTable shows the largest rates of an account whose items share one partition.
func accountTable(plain, settled trade) markdown {
	result := markdown{head: fmt.Sprintf("what an account does|write units a trade:|trades/s, projected one by "+
		"one:|%d at a time:", hotBatch)}
	add := func(what string, kind trade, units, balances float64) {
		most := func(batch float64) string { // trades a second, with batch postings projected at a time
			refold := kind.refoldUnits/batch + kind.refold.closing/projections.StretchPostings
			return rounded(math.Floor(partitionWrites / (units + refold*balances)))
		}
		result.add(what, figure(units), most(1), most(hotBatch))
	}
	add("receives: the buyer of a trade, with a limit or without", plain, plain.buyerUnits, 1)
	add("spends: the seller of a trade, with a limit", plain, plain.sellerUnits, 1)
	add("buys and pays: a settled trade", settled, settled.buyerUnits, 2)
	return result
}

// quotaTable compares each load with the limits. Each posting is projected by itself.
func quotaTable(all loads, t template) markdown {
	result := markdown{head: ratesHead("limit|default:") + "|raised by"}
	add := func(what string, limit float64, of func(load) float64, raise string) {
		cells := all.cells(func(l load) string {
			if of(l) > limit {
				return "**" + figure(of(l)) + "**"
			}
			return figure(of(l))
		})
		result.add(append(append([]string{what, rounded(limit)}, cells...), raise)...)
	}
	writeUnits, readUnits := t.limit("MaxWriteUnits"), t.limit("MaxReadUnits")
	requests := func(l load) float64 { return l.trades }
	add("requests, `ApiRateLimit`", t.limit("ApiRateLimit"), requests, "parameter of the stack")
	add("table's write units, `MaxWriteUnits`", writeUnits, load.tableWrites, "parameter of the stack")
	add("GSI1's write units, `MaxWriteUnits`", writeUnits, load.historyWrites, "the same")
	add("table's read units, `MaxReadUnits`", readUnits, load.reads, "parameter of the stack")
	add("a new table's write units", newTableWrites, load.tableWrites, "warm throughput, or over time")
	add("requests, account", gatewayQuota, requests, "API Gateway, L-8A5B8E43")
	add("Lambda's instances, account", concurrencyQuota, load.instances, "Lambda, L-B99A9384")
	add("Lambda's requests, account", concurrencyQuota*instanceRequests, load.functionRequests,
		"the same, ten times the instances")
	add("table's write units, quota", tableQuota, load.tableWrites, "DynamoDB, L-AB614373")
	add("GSI1's write units, quota", tableQuota, load.historyWrites, "the same")
	add("table's read units, quota", tableQuota, load.reads, "DynamoDB, L-CF0CBE56")
	return result
}

// dollarTable shows the dollars of a month of each load.
func dollarTable(all loads, t template) markdown {
	var lines []figureOf
	for _, c := range charges(t) {
		lines = append(lines, figureOf{c.what, func(l load) float64 {
			return math.Round(c.price.Dollars(c.of(l) * secondsInMonth))
		}})
	}
	total := func(l load) (usd float64) { // of the rounded figures
		for _, line := range lines {
			usd += line.of(l)
		}
		return usd
	}
	provisioned := func(l load) float64 { // capacity of which targetShare is used
		hours := func(each price.Price, units float64) float64 {
			return each.Dollars(math.Ceil(units/targetShare) * hoursInMonth)
		}
		return hours(price.WriteCapacity, l.tableWrites()) + hours(price.WriteCapacity, l.historyWrites()) +
			hours(price.ReadCapacity, l.reads())
	}
	return all.table("US dollars", rounded, append(lines, figureOf{"**total**", total},
		figureOf{fmt.Sprintf("writes and reads, provisioned at %.0f %%", 100*targetShare), provisioned}))
}
