package tests

import (
	"fmt"
	"math/big"
	"slices"
	"testing"

	"ledger.example/cmd/ledger/price"
)

// The rows of the tables of docs/capacity.md.

func tradeRows(one, settled load) []row {
	line := func(what string, of func(l load) string) row {
		return row(fmt.Sprintf("| %s | %s | %s |", what, of(one), of(settled)))
	}
	n := func(what string, of func(l load) int64) row {
		return line(what, func(l load) string { return thousands(of(l)) })
	}
	perPosting := func(halves, batch int64) func(l load) string {
		return func(l load) string {
			return new(big.Rat).Mul(whole(l.postings), big.NewRat(halves, 2*batch)).FloatString(2)
		}
	}
	return []row{
		n("write units of the command, in the table", func(l load) int64 { return l.writeUnits - l.historyUnits }),
		n("and in the index of histories, GSI1", func(l load) int64 { return l.historyUnits }),
		n("write units of its projection, each posting by itself", func(l load) int64 { return l.postings * l.refoldUnits }),
		line("the same, 100 postings of one balance in a batch", func(l load) string {
			return times(whole(l.postings*l.refoldUnits), 1, hotBatch).FloatString(2)
		}),
		n("write units more, for 256 postings of a balance", func(l load) int64 { return l.closing - l.refoldUnits }),
		line("read units of its projection, each posting by itself, by another than made the last refold", perPosting(one.refoldHalf, 1)),
		line("the same, by the one that made it", perPosting(one.steady.single, steadySingle)),
		line("the same, 100 postings of one balance in a batch", perPosting(one.steady.hot, steadyHot)),
		line(fmt.Sprintf("the same, when the 100 come to %d lanes", severalLanes), perPosting(one.steady.several, steadyHot)),
		n("bytes kept in the table", func(l load) int64 { return l.tableBytes }),
		n("and in GSI1", func(l load) int64 { return l.indexBytes }),
		n("records in the stream, projection included", func(l load) int64 { return l.records + l.postings }),
	}
}

func tableRows(ls loads) []row {
	stored := func(hours int64) func(l load) *big.Rat {
		return func(l load) *big.Rat { return times(l.storedBytes(), hours*secondsOfHour, gigabyte) }
	}
	return []row{
		ls.figures("write units, commands", load.commandWrites),
		ls.figures("write units, GSI1", load.historyWrites),
		ls.figures("write units, projections one by one", load.singleWrites),
		ls.figures("write units, projections of 100", load.hotWrites),
		ls.figures("read units, projections one by one", load.singleReads),
		ls.figures("read units, projections of 100", load.hotReads),
		ls.row("partitions, to take the double at once", func(l load) string { return thousands(l.shards()) }),
		ls.figures("GB more in a day", stored(24)),
		ls.figures("GB more in a year", stored(12*hoursOfMonth)),
	}
}

// inPartition is how many trades a second a partition takes, of which each writes so many units there and postings of that many
// balances: one by one, and a hundred at a time.
func inPartition(l load, units, balances int64) (single, hot int64) {
	each := func(refold *big.Rat) int64 {
		closing := big.NewRat(l.closing-l.refoldUnits, 256)
		return floor(new(big.Rat).Quo(whole(partitionWrites), sum(whole(units), times(sum(refold, closing), balances, 1))))
	}
	return each(whole(l.refoldUnits)), each(big.NewRat(l.refoldUnits, hotBatch))
}

// mostOfAnAccount is how many postings a second an account takes that only receives.
func mostOfAnAccount(l load) int64 {
	_, hot := inPartition(l, l.buyerUnits, 1)
	return hot
}

// rereadMost tells about how many postings a second make the refolds of one balance read more than its partition gives, when they
// come to several lanes: what a refold reads grows with them, and above full batches the number of refolds does, too.
func rereadMost(l load) (postings int64) {
	reads := func(rate int64) *big.Rat {
		refolds := big.NewRat(max(rate, severalLanes*l.batch), severalLanes*l.batch) // times those of hotBatch a second
		return new(big.Rat).Mul(refolds, big.NewRat(l.steady.several*rate, 2*steadySeconds*hotBatch))
	}
	for postings = 1; reads(postings).Cmp(whole(partitionReads)) < 0; postings++ {
	}
	return postings
}

func accountRows(one, settled load) []row {
	line := func(what string, l load, units, balances int64) row {
		single, hot := inPartition(l, units, balances)
		return row(fmt.Sprintf("| %s | %d | %s | %s |", what, units, thousands(single), thousands(hot)))
	}
	return []row{
		line("receives: the buyer of a trade, with a limit or without", one, one.buyerUnits, 1),
		line("spends: the seller of a trade, with a limit", one, one.sellerUnits, 1),
		line("buys and pays: a settled trade", settled, settled.buyerUnits, 2),
		line("sells and is paid: a settled trade", settled, settled.sellerUnits, 2),
		line("its guard alone, in a partition of its own", one, one.sellerUnits-one.buyerUnits, 0),
		line("its entries in GSI1, in the index's partition", one, one.historyUnits/one.postings, 0),
	}
}

func quotaRows(t *testing.T, ls loads) (rows []row) {
	parameters := readStack(t).Parameters
	parameter := func(name string) int64 {
		n, _ := parameters[name].Default.(int)
		if n == 0 {
			t.Fatalf("%s is no number", name)
		}
		return int64(n)
	}
	requests := func(l load) *big.Rat { return whole(l.trades) }
	line := func(what string, limit int64, of func(l load) *big.Rat, raise string) {
		r := ls.row(what+" | "+thousands(limit), func(l load) string {
			if needed := of(l); needed.Cmp(whole(limit)) > 0 {
				return "**" + figure(needed) + "**"
			} else {
				return figure(needed)
			}
		})
		rows = append(rows, row(string(r)+" "+raise+" |"))
	}
	line("requests, `ApiRateLimit`", parameter("ApiRateLimit"), requests, "parameter of the stack")
	line("table's write units, `MaxWriteUnits`", parameter("MaxWriteUnits"), load.tableWrites, "parameter of the stack")
	line("GSI1's write units, `MaxWriteUnits`", parameter("MaxWriteUnits"), load.historyWrites, "the same")
	line("table's read units, `MaxReadUnits`", parameter("MaxReadUnits"), load.singleReads, "parameter of the stack")
	line("a new table's write units", newTableWrites, load.tableWrites, "warm throughput, or by and by")
	line("requests, account", gatewayQuota, requests, "API Gateway, L-8A5B8E43")
	line("Lambda's instances, account", concurrencyQuota, load.instances, "Lambda, L-B99A9384")
	line("Lambda's requests, account", concurrencyQuota*instanceRequests, func(l load) *big.Rat { return sum(requests(l), l.invocations()) },
		"the same, ten times as many")
	line("table's write units, quota", tableQuota, load.tableWrites, "DynamoDB, L-AB614373")
	line("GSI1's write units, quota", tableQuota, load.historyWrites, "the same")
	line("table's read units, quota", tableQuota, load.singleReads, "DynamoDB, L-CF0CBE56")
	return rows
}

func streamRows(ls loads) []row {
	return []row{
		ls.row("shards, one for each partition", func(l load) string { return thousands(l.shards()) }),
		ls.row("lanes", func(l load) string { return thousands(l.shards() * l.lanes) }),
		ls.figures("records written to the stream", load.streamRecords),
		ls.figures("of them postings, for the projector", load.postingsOfAll),
		ls.figures("invocations", load.invocations),
		ls.row("postings in one, on average", func(l load) string { return figure(new(big.Rat).Quo(l.postingsOfAll(), l.invocations())) }),
		ls.row("ms of one, at most", func(l load) string { return thousands(l.invocationMilliseconds()) }),
		ls.figures("instances at work", func(l load) *big.Rat { return times(l.invocations(), l.invocationMilliseconds(), 1000) }),
	}
}

func backlogRows(ls loads, ofOne [2]int64) []row {
	hour := func(l load) *big.Rat { return times(l.postingsOfAll(), secondsOfHour, 1) }
	reads := func(halves int64) func(l load) *big.Rat {
		return func(l load) *big.Rat { return times(hour(l), halves, 2*backlogOfOne) }
	}
	most := mostOfAnAccount(ls[0][0]) * secondsOfHour
	account := func(halves int64) string { return thousands(ceiling(big.NewRat(most*halves, 2*backlogOfOne))) }
	seconds := func(halves int64) string {
		return thousands(ceiling(big.NewRat(most*halves, 2*backlogOfOne*partitionReads)))
	}
	return []row{
		ls.figures("postings that wait", hour),
		ls.row("invocations, all batches full", func(l load) string { return thousands(ceiling(times(hour(l), 1, l.batch))) }),
		ls.figures("read units, each of another balance", func(l load) *big.Rat { return times(hour(l), l.refoldHalf, 2) }),
		ls.figures("read units, of few balances, one lane", reads(ofOne[0])),
		ls.figures(fmt.Sprintf("read units, of few balances, %d lanes", severalLanes), reads(ofOne[1])),
		ls.figures("postings a second that the lanes do", load.catchUp),
		ls.row("minutes until it has caught up, while trades go on", func(l load) string {
			return thousands(ceiling(new(big.Rat).Quo(hour(l), times(new(big.Rat).Sub(l.catchUp(), l.postingsOfAll()), 60, 1))))
		}),
		row(fmt.Sprintf("| one account at its most: %s postings, read units | %s | one lane | %s s of its partition |",
			thousands(most), account(ofOne[0]), seconds(ofOne[0]))),
		row(fmt.Sprintf("| the same | %s | %d lanes | %s s of its partition |", account(ofOne[1]), severalLanes, seconds(ofOne[1]))),
	}
}

func retentionRows(ls loads) []row {
	day := func(of func(l load) *big.Rat, per int64) func(l load) *big.Rat {
		return func(l load) *big.Rat { return times(of(l), retentionHours*secondsOfHour, per) }
	}
	return []row{
		ls.figures("records", day(load.streamRecords, 1)),
		ls.figures("of them postings", day(load.postingsOfAll, 1)),
		ls.figures("GB of images", day(load.streamBytes, gigabyte)),
		ls.figures("read units of a rebuild of the day, once", func(l load) *big.Rat {
			return times(whole(l.trades*l.tableBytes), retentionHours*secondsOfHour, readUnitBytes)
		}),
	}
}

// bill is what a month of a load costs, line by line, in whole dollars.
type bill struct {
	names   []string
	dollars []*big.Rat
}

func (b *bill) add(name string, usd *big.Rat) {
	rounded, _ := new(big.Rat).SetString(usd.FloatString(0))
	b.names, b.dollars = append(b.names, name), append(b.dollars, rounded)
}

func billOf(l load, commandMegabytes, projectorMegabytes int64) (b bill) {
	month := func(perSecond *big.Rat, each string, per int64) *big.Rat {
		return new(big.Rat).Mul(times(perSecond, hoursOfMonth*secondsOfHour, 1), price.Dollars(each, 1, per))
	}
	trades, invocations := whole(l.trades), l.invocations()
	logBytes := sum(
		times(trades, commandLogBytes+accessLogBytes+2*logEventBytes+lambdaLogBytes+2*logEventBytes, 1),
		times(invocations, projectorLogBytes+lambdaLogBytes+2*logEventBytes, 1))
	gigabyteSeconds := sum(
		times(trades, commandMilliseconds*commandMegabytes, 1000*megabytesOfAGigabyte),
		times(invocations, l.invocationMilliseconds()*projectorMegabytes, 1000*megabytesOfAGigabyte))
	b.add("DynamoDB: writes", month(sum(l.tableWrites(), l.historyWrites()), price.WriteUnits, 1e6))
	b.add("DynamoDB: reads", month(l.singleReads(), price.ReadUnits, 1e6))
	b.add("DynamoDB: the month's bytes, each month", month(l.storedBytes(), price.Stored, gigabyte))
	b.add("Point-in-time recovery of them", month(whole(l.trades*l.tableBytes), price.Recovery, gigabyte))
	b.add("HTTP API", month(trades, price.Gateway, 1e6))
	b.add("Lambda: requests", month(sum(trades, invocations), price.Invocations, 1e6))
	b.add("Lambda: time", month(gigabyteSeconds, price.GBSeconds, 1))
	b.add("CloudWatch Logs", month(logBytes, price.Logs, gigabyte))
	b.add("Sent to the internet", month(whole(l.trades*(l.replyBytes+replyHeaderBytes)), price.Sent, gigabyte))
	return b
}

func (b bill) total() *big.Rat { return sum(b.dollars...) }

// writesPercent is the share of the first line, which is the greatest.
func (b bill) writesPercent(t *testing.T) *big.Rat {
	for i, usd := range b.dollars {
		if usd.Cmp(b.dollars[0]) > 0 {
			t.Errorf("%s is greater than %s", b.names[i], b.names[0])
		}
	}
	return times(new(big.Rat).Quo(b.dollars[0], b.total()), 100, 1)
}

// provisioned is what a month of so many units of capacity costs, of which targetPercent are used.
func provisioned(each string, units ...*big.Rat) *big.Rat {
	total := new(big.Rat)
	for _, u := range units {
		total.Add(total, price.Dollars(each, ceiling(times(u, 100, targetPercent))*hoursOfMonth, 1))
	}
	return total
}

// traces a second that X-Ray samples of a function with so many requests.
func traces(requests *big.Rat) *big.Rat {
	if requests.Cmp(whole(tracedAtOnce)) <= 0 {
		return requests
	}
	return sum(whole(tracedAtOnce), times(new(big.Rat).Sub(requests, whole(tracedAtOnce)), tracedPercent, 100))
}

func dollarRows(ls loads, of func(l load) bill) (rows []row) {
	round := func(usd *big.Rat) string { return thousands(floor(sum(usd, big.NewRat(1, 2)))) }
	for i, name := range of(ls[0][0]).names {
		rows = append(rows, ls.row(name, func(l load) string { return round(of(l).dollars[i]) }))
	}
	month := big.NewRat(hoursOfMonth*secondsOfHour, 1)
	monthOf := func(units *big.Rat, each string) *big.Rat {
		return new(big.Rat).Mul(new(big.Rat).Mul(units, month), price.Dollars(each, 1, 1e6))
	}
	return slices.Concat(rows, []row{
		ls.row("**all of it**", func(l load) string { return round(of(l).total()) }),
		ls.row("less, if projected 100 of a balance at a time", func(l load) string {
			writes := new(big.Rat).Sub(l.singleWrites(), l.hotWrites())
			reads := new(big.Rat).Sub(l.singleReads(), l.hotReads())
			return round(sum(monthOf(writes, price.WriteUnits), monthOf(reads, price.ReadUnits)))
		}),
		ls.row("X-Ray besides, at most", func(l load) string {
			return round(monthOf(sum(traces(whole(l.trades)), traces(l.invocations())), price.Traces))
		}),
		ls.row("writes and reads, on demand", func(l load) string { return round(sum(of(l).dollars[:2]...)) }),
		ls.row("the same, provisioned at 70 %", func(l load) string {
			return round(sum(provisioned(price.WriteCapacity, l.tableWrites(), l.historyWrites()), provisioned(price.ReadCapacity, l.singleReads())))
		}),
	})
}
