package main

import (
	"fmt"
	"math"

	"ledger.example/functions/metrics"
	"ledger.example/internal/price"
	"ledger.example/internal/store"
)

// Assumptions, where nothing here can be measured.
const (
	million           = 1_000_000
	gigabyte          = 1_000_000_000 // the more expensive reading
	megabytesInGB     = 1024          // of a function's memory
	commandSeconds    = 0.030
	replyHeaderBytes  = 500 // of an answer, as the gateway sends them
	logEventBytes     = 26  // counted for each line in addition to its text (AWS, PutLogEvents)
	lambdaLogBytes    = 900 + 2*logEventBytes
	commandLogBytes   = 600 + logEventBytes // a line of the command, at most
	projectorLogBytes = 500                 // a line of the projector, at most
	accessLogBytes    = 350 + logEventBytes // a line of the gateway, at most
	sweepsInMonth     = 730 * 60
	sweepSeconds      = 0.030
)

// charge is one line of AWS's bill: the quantity used, and its price.
type charge struct {
	what  string
	of    func(load) float64
	price price.Price
}

// charges are the charges for transactions.
func charges(t template) []charge {
	command, projector := t.memory("CommandFunction")/megabytesInGB, t.memory("ProjectorFunction")/megabytesInGB
	lister := t.memory("ListerFunction") / megabytesInGB
	return []charge{
		{"DynamoDB: write units", load.allWrites, price.WriteUnits},
		{"DynamoDB: read units", load.reads, price.ReadUnits},
		{"DynamoDB: bytes stored, each month", load.storedBytes, price.Stored},
		{"Point-in-time recovery: bytes, each month", func(l load) float64 {
			return l.trades * (l.tableBytes + l.listing.bytes)
		}, price.Recovery},
		{"HTTP API: requests", func(l load) float64 { return l.trades }, price.Gateway},
		{"Lambda: requests", load.functionRequests, price.Invocations},
		{"Lambda: GB-seconds", func(l load) float64 {
			return l.trades*commandSeconds*command + l.projecting()*projector + l.listingSeconds()*lister
		}, price.GBSeconds},
		{"CloudWatch Logs: bytes", func(l load) float64 {
			return l.trades*(commandLogBytes+accessLogBytes+lambdaLogBytes) +
				(l.invocations()+l.listings())*(projectorLogBytes+lambdaLogBytes)
		}, price.Logs},
		{"Sent to the internet: bytes", func(l load) float64 { return l.trades * (l.replyBytes + replyHeaderBytes) },
			price.Sent},
	}
}

// millionTable shows the cost of a million trades, one a second.
func millionTable(kinds [2]trade, t template) markdown {
	result := markdown{head: "what|a trade uses:|a settled trade:|$, a million trades:|$, settled trades:"}
	plain, settled := loadOf(kinds[0], 1, t), loadOf(kinds[1], 1, t)
	var totals [2]float64
	add := func(c charge) {
		usd := [2]float64{c.price.Dollars(million * c.of(plain)), c.price.Dollars(million * c.of(settled))}
		for i := range totals { // of the rounded figures
			totals[i] += math.Round(100*usd[i]) / 100
		}
		result.add(c.what, figure(c.of(plain)), figure(c.of(settled)), cents(usd[0]), cents(usd[1]))
	}
	for _, c := range charges(t) {
		add(c)
	}
	result.add("**total**", "", "", cents(totals[0]), cents(totals[1]))
	add(charge{"X-Ray: traces, at most (not in the total)", load.functionRequests, price.Traces})
	return result
}

// idleTable shows the cost of the stacks when nobody posts, and of metrics in months with postings.
func idleTable(stack, watch template) markdown {
	result := markdown{head: "what|how much|$ a month:"}
	total := 0.0
	sweeps := chargeOfSweeps(stack)
	watched := func(kind string) int { return len(watch.resources("AWS::" + kind)) }
	add := func(what, howMany string, n int, each price.Price) {
		usd := each.Dollars(float64(n))
		total += usd
		result.add(what, fmt.Sprintf(howMany, n), cents(usd))
	}
	add("The ledger's CloudWatch alarms", "%d metrics", stack.alarmMetrics(), price.Alarm)
	result.add("The sweeper", figure(sweepsInMonth)+" sweeps", cents(sweeps))
	total += sweeps
	result.add("**the ledger, a month**", "", cents(total))
	add("`watch.yaml`: CloudWatch alarms", "%d metrics", watch.alarmMetrics(), price.Alarm)
	add("`watch.yaml`: composite alarm", "%d", watched("CloudWatch::CompositeAlarm"), price.CompositeAlarm)
	add("`watch.yaml`: CloudWatch dashboard", "%d", watched("CloudWatch::Dashboard"), price.Dashboard)
	add("`watch.yaml`: KMS key", "%d", watched("KMS::Key"), price.Key)
	result.add("**both, a month**", "", cents(total))
	add("Contributor Insights, with `HotKeys=Enabled`", "%d rules", stack.rules(), price.InsightsRule)
	own := len(metrics.Metrics()) - 1 + watched("Logs::MetricFilter") // Refusals has a series for each code
	add("Custom metrics, in months with postings", "%d, and one for each refusal code", own, price.Metric)
	return result
}

// chargeOfSweeps is the cost of a month of sweeps that find nothing. They log nothing, and are not traced.
func chargeOfSweeps(stack template) float64 {
	reads := 0.5 * float64(store.Shards) // reading an empty list costs half a unit
	return price.ReadUnits.Dollars(sweepsInMonth*reads) + price.Invocations.Dollars(sweepsInMonth) +
		price.GBSeconds.Dollars(sweepsInMonth*sweepSeconds*stack.memory("SweeperFunction")/megabytesInGB) +
		price.Logs.Dollars(sweepsInMonth*(lambdaLogBytes))
}

// priceTable shows every price and its source.
func priceTable() markdown {
	result := markdown{head: "price|of|US dollars:|seen at"}
	for _, p := range price.All() {
		result.add(p.What, p.Per, p.USD, p.Source)
	}
	return result
}
