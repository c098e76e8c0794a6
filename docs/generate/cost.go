package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"ledger.example/functions/metrics"
)

// Assumptions about bytes and rates. docs/cost.md names them.
const (
	million           = 1_000_000
	replyHeaderBytes  = 500 // of an answer, as the gateway sends them
	logEventBytes     = 26  // counted for each line in addition to its text (AWS, PutLogEvents)
	lambdaLogBytes    = 900 + 2*logEventBytes
	commandLogBytes   = 600 + logEventBytes // a line of the command, at most
	streamLogBytes    = 500                 // a line of the projector or the lister, at most
	accessLogBytes    = 350 + logEventBytes // a line of the gateway, at most
	kept              = 12                  // months of trades that are stored
	mails             = 100                 // of alarms in a month
	trailEvents       = 10_000              // writes by operators in a month
	targetShare       = 0.7                 // share of provisioned capacity that auto scaling aims at
	serverGigabytes   = 100                 // of storage, at least
	bytesInGB         = 1_000_000_000       // the more expensive reading
	daysInMonth       = hoursInMonth / 24.0
	reservedUnits     = 100  // reserved capacity is sold in blocks
	sweepReads        = 1.5  // read units of a sweep that finds nothing in one lane, the log of lanes included
	pageOfEvents      = 1000 // events that the forwarder sends before it moves its cursor, if there are many
	readsOfForwarding = 3    // read units of a run of the forwarder that finds nothing, the log of lanes included
)

// prices are the dollars for one of each thing in the table of prices.
type prices map[string]float64

func readPrices() prices {
	all := make(prices)
	for what, cells := range documentTable("cost.md", "price") {
		per := 1.0
		switch of := cells[0]; {
		case strings.Contains(of, "million"):
			per = million
		case strings.Contains(of, "100,000"):
			per = 100_000
		case strings.HasPrefix(of, "GB") && !strings.HasPrefix(of, "GB-"):
			per = bytesInGB
		}
		all[what] = number(cells[1]) / per
	}
	return all
}

// of returns a price, which must exist.
func (p prices) of(what string) float64 {
	if p[what] == 0 {
		check(fmt.Errorf("cost.md has no price %q", what))
	}
	return p[what]
}

// bill has all that the tables of cost.md are computed from.
type bill struct {
	prices
	stack, watch template
	kinds        [2]trade
}

func readBill(stack template) bill {
	return bill{prices: readPrices(), stack: stack, watch: readTemplate("../watch.yaml"), kinds: tradesOf()}
}

// charge is one line of AWS's bill for transactions: the quantity used in a second, and its price.
type charge struct {
	what  string
	of    func(load) float64
	price string
	year  string // name of what is stored of a year's trades, and so paid again each month; else ""
}

var charges = []charge{
	{what: "DynamoDB: write units", of: load.writes, price: "DynamoDB write request units"},
	{what: "DynamoDB: read units", of: load.reads, price: "DynamoDB read request units"},
	{what: "DynamoDB: bytes stored, each month", of: load.storedBytes, price: "DynamoDB storage",
		year: "DynamoDB: storage of a year's trades"},
	{what: "Point-in-time recovery: bytes, each month", of: func(l load) float64 { return l.trades * l.tableBytes },
		price: "Point-in-time recovery", year: "Point-in-time recovery of a year's trades"},
	{what: "HTTP API: requests", of: func(l load) float64 { return l.trades }, price: "HTTP API"},
	{what: "Lambda: requests", of: load.functionRequests, price: "Lambda requests"},
	{what: "Lambda: GB-seconds", of: load.gigabyteSeconds, price: "Lambda on arm64"},
	{what: "CloudWatch Logs: bytes", of: load.logBytes, price: "CloudWatch Logs"},
	{what: "Sent to the internet: bytes", of: load.sentBytes, price: "Sent to the internet"},
}

// The charges of the capacity and of the storage, by their place in charges.
const (
	writing = iota
	reading
	storing
	recovering
)

func (l load) gigabyteSeconds() float64 { return l.trades*commandSeconds*l.command + l.streamSeconds() }
func (l load) sentBytes() float64       { return l.trades * (l.answerBytes + replyHeaderBytes) }

func (l load) logBytes() float64 {
	return l.trades*(commandLogBytes+accessLogBytes+lambdaLogBytes) +
		(l.projections()+l.listings())*(streamLogBytes+lambdaLogBytes)
}

// millionTable shows the cost of a million trades, one a second.
func (b bill) millionTable() markdown {
	result := markdown{head: "what|a trade uses:|a settled trade:|$, a million trades:|$, settled trades:"}
	plain, settled := loadOf(b.kinds[0], 1, b.stack), loadOf(b.kinds[1], 1, b.stack)
	var totals [2]float64
	for _, c := range charges {
		usd := [2]float64{million * c.of(plain) * b.of(c.price), million * c.of(settled) * b.of(c.price)}
		for i := range totals { // of the rounded figures
			totals[i] += math.Round(100*usd[i]) / 100
		}
		result.add(c.what, figure(c.of(plain)), figure(c.of(settled)), cents(usd[0]), cents(usd[1]))
	}
	result.add("**total**", "", "", cents(totals[0]), cents(totals[1]))
	traced := func(l load) string { return cents(million * l.functionRequests() * b.of("X-Ray")) }
	result.add("X-Ray: traces, at most (not in the total)", figure(plain.functionRequests()),
		figure(settled.functionRequests()), traced(plain), traced(settled))
	return result
}

// runs is the cost of a month of sweeps, or runs of the forwarder, that find nothing. They log nothing themselves.
func (b bill) runs(function string, reads float64) float64 {
	gigabytes := b.stack.memory(function) / 1024
	return minutesInMonth * (reads*b.of("DynamoDB read request units") + b.of("Lambda requests") +
		commandSeconds*gigabytes*b.of("Lambda on arm64") + lambdaLogBytes*b.of("CloudWatch Logs"))
}

// idleTotals are the dollars of a month in which nobody posts: of the ledger's stack, and with watch.yaml.
type idleTotals struct{ ledger, both, forwarder, insights, metrics float64 }

// idle computes the cost of the stacks when nobody posts.
func (b bill) idle() (idleTotals, markdown) {
	result := markdown{head: "what|how much|$ a month:"}
	var totals idleTotals
	total := 0.0
	add := func(what, howMuch string, usd float64) float64 {
		usd = math.Round(100*usd) / 100
		total += usd
		result.add(what, howMuch, cents(usd))
		return usd
	}
	counted := func(what, howMuch string, n int, price string) float64 {
		return add(what, fmt.Sprintf(howMuch, n), float64(n)*b.of(price))
	}
	watched := func(kind string) int { return len(b.watch.resources("AWS::" + kind)) }
	counted("The ledger's CloudWatch alarms", "%d metrics", b.stack.alarmMetrics(), "Alarm")
	add("The sweeper", rounded(minutesInMonth)+" sweeps", b.runs("SweeperFunction", sweepReads))
	totals.ledger = total
	result.add("**the ledger, a month**", "", cents(total))
	counted("`watch.yaml`: CloudWatch alarms", "%d metrics", b.watch.alarmMetrics(), "Alarm")
	counted("`watch.yaml`: composite alarm", "%d", watched("CloudWatch::CompositeAlarm"), "Composite alarm")
	counted("`watch.yaml`: CloudWatch dashboard", "%d", watched("CloudWatch::Dashboard"), "Dashboard")
	counted("`watch.yaml`: KMS key", "%d", watched("KMS::Key"), "KMS key")
	totals.both = total
	result.add("**both, a month**", "", cents(total))
	runs := fmt.Sprintf("%s runs, %d read units each, and a metric", rounded(minutesInMonth), readsOfForwarding)
	totals.forwarder = add("The forwarder, with `EventBus`", runs,
		b.runs("ForwarderFunction", readsOfForwarding)+b.of("Custom metric"))
	totals.insights = counted("Contributor Insights, with `HotKeys=Enabled`", "%d rules", b.stack.rules(),
		"Contributor Insights rule")
	own := len(metrics.Metrics()) - 1 + watched("Logs::MetricFilter") // Refusals has a series for each code
	totals.metrics = counted("Custom metrics, in months with postings", "%d, and one for each refusal code", own,
		"Custom metric")
	return totals, result
}

// number returns a number that the template must have.
func (t template) number(names ...string) float64 {
	n, ok := t.at(names...).(int)
	if !ok {
		check(fmt.Errorf("the template has no number %s", strings.Join(names, ".")))
	}
	return float64(n)
}

// memory returns the memory of a function in MB.
func (t template) memory(function string) float64 {
	if t.at("Resources", function, "Properties", "MemorySize") == nil {
		return t.number("Globals", "Function", "MemorySize")
	}
	return t.number("Resources", function, "Properties", "MemorySize")
}

// alarmMetrics counts the metrics of alarms. AWS charges for each.
func (t template) alarmMetrics() (n int) {
	for _, alarm := range t.resources("AWS::CloudWatch::Alarm") {
		stats := slices.DeleteFunc(listOf(t.at("Resources", alarm, "Properties", "Metrics")),
			func(query any) bool { return query.(map[string]any)["MetricStat"] == nil })
		n += max(1, len(stats))
	}
	return n
}

// rules counts the rules of Contributor Insights: one for partition keys and one for full keys, of the table and of
// each index.
func (t template) rules() int {
	return 2 * (1 + len(listOf(t.at("Resources", "LedgerTable", "Properties", "GlobalSecondaryIndexes"))))
}
