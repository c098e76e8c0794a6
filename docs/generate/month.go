package main

import (
	"fmt"
	"math"
	"strings"
)

// rates are the trades a second of the table of a month, all month long.
var rates = []float64{1, 10, 100, 1_000}

// monthTable shows the dollars of a month of trades at each rate, with everything switched on.
func (b bill) monthTable() markdown {
	result := markdown{head: "US dollars a month"}
	loads := make([]load, len(rates))
	for i, rate := range rates {
		loads[i] = loadOf(b.kinds[0], rate, b.stack)
		result.head += fmt.Sprintf("|%s trades/s:", rounded(rate))
	}
	result.head = strings.Replace(result.head, "|1 trades/s", "|1 trade/s", 1)
	first, last := make([]float64, len(rates)), make([]float64, len(rates)) // totals of the first and the twelfth month
	add := func(what string, months float64, of func(load) float64) {
		cells := []string{what}
		for i, l := range loads {
			cells = append(cells, money(of(l)))
			last[i], first[i] = last[i]+shown(of(l)), first[i]+of(l)/months
		}
		result.add(cells...)
	}
	for _, c := range charges {
		what, months := strings.TrimSuffix(c.what, ": bytes"), 1.0
		if c.year != "" {
			what, months = c.year, kept
		}
		add(what, months, func(l load) float64 { return b.monthly(c, l, kept) })
		if c.price == "DynamoDB read request units" {
			add("DynamoDB Streams, which Lambda reads without charge", 1, func(load) float64 { return 0 })
		}
	}
	idle, _ := b.idle()
	fixed := func(what string, usd float64) { add(what, 1, func(load) float64 { return usd }) }
	days := b.stack.number("Parameters", "LogRetentionDays", "Default")
	add(fmt.Sprintf("CloudWatch Logs: kept for %.0f days", days), days/daysInMonth, func(l load) float64 {
		return l.logBytes() * secondsInMonth * days / daysInMonth * b.of("CloudWatch Logs, kept")
	})
	fixed("Alarms, dashboard, key and sweeper", idle.both)
	fixed(fmt.Sprintf("Topics: %d e-mails of alarms", mails), mails*b.of("SNS e-mail"))
	fixed("Custom metrics", idle.metrics)
	fixed("`HotKeys`", idle.insights)
	fixed(fmt.Sprintf("`Trail`: %s writes by operators", rounded(trailEvents)),
		trailEvents*b.of("CloudTrail data events"))
	add("`EventBus`: every event is forwarded", 1, func(l load) float64 { return idle.forwarder + b.forwarding(l) })
	totals := func(what string, of func(i int) float64) {
		cells := []string{what}
		for i := range loads {
			cells = append(cells, money(of(i)))
		}
		result.add(cells...)
	}
	totals("**total, in the first month**", func(i int) float64 { return first[i] })
	totals("**total, in the twelfth month**", func(i int) float64 { return last[i] })
	totals("write and read units, on demand (in the totals)", func(i int) float64 { return b.onDemand(loads[i]) })
	for _, mode := range []struct {
		what string
		of   func(load) float64
	}{
		{fmt.Sprintf("the same provisioned, %.0f %% used", 100*targetShare), b.provisioned},
		{"the same reserved for a year", b.reserved},
	} {
		totals(mode.what, func(i int) float64 { return mode.of(loads[i]) })
		totals("**total, in the twelfth month**, so", func(i int) float64 {
			return last[i] - b.onDemand(loads[i]) + mode.of(loads[i])
		})
	}
	return result
}

// monthly is a charge for a month of a load, with the storage of this many months.
func (b bill) monthly(c charge, l load, kept float64) float64 {
	if c.year == "" {
		kept = 1
	}
	return c.of(l) * secondsInMonth * kept * b.of(c.price)
}

// onDemand is a month of write and read units.
func (b bill) onDemand(l load) float64 {
	return b.monthly(charges[writing], l, 1) + b.monthly(charges[reading], l, 1)
}

// forwarding is what a month's events cost in addition to the runs of the forwarder: EventBridge, the reads and the
// cursor.
func (b bill) forwarding(l load) float64 {
	events := l.trades * secondsInMonth
	cursors := max(events/pageOfEvents, min(events, minutesInMonth))
	return events*(b.of("EventBridge, custom events")+b.of("DynamoDB read request units")) +
		cursors*b.of("DynamoDB write request units")
}

// provisioned is a month of capacity of which targetShare is used: of the table, and of GSI1.
func (b bill) provisioned(l load) float64 { return b.capacity(l, 0) }

// reserved is the same with as many blocks of reserved capacity as are always used.
func (b bill) reserved(l load) float64 { return b.capacity(l, 1-b.of("Reserved capacity, a year")) }

// capacity is a month of capacity, with a discount on the blocks of it that can be reserved.
func (b bill) capacity(l load, discount float64) float64 {
	hours := func(units float64, price string) float64 {
		units = math.Ceil(units)
		return (units - discount*reservedUnits*math.Floor(units/reservedUnits)) * hoursInMonth * b.of(price)
	}
	return hours(l.writes()/targetShare, "Provisioned write capacity") +
		hours(l.reads()/targetShare, "Provisioned read capacity")
}

// database is what a month of DynamoDB, the projector and the lister cost, in place of which a database server would
// be used. units are the dollars of its write and read units.
func (b bill) database(l load, kept float64, units func(load) float64) float64 {
	batches := (l.projections() + l.listings()) * secondsInMonth
	return units(l) + b.monthly(charges[storing], l, kept) + b.monthly(charges[recovering], l, kept) +
		batches*(b.of("Lambda requests")+(streamLogBytes+lambdaLogBytes)*b.of("CloudWatch Logs")) +
		l.streamSeconds()*secondsInMonth*b.of("Lambda on arm64")
}

// servers is what a month of a pair of database servers costs. They keep as many bytes as the table and GSI1.
func (b bill) servers(l load, kept float64) float64 {
	stored := max(serverGigabytes*bytesInGB, l.storedBytes()*secondsInMonth*kept)
	return 2 * (hoursInMonth*b.of("RDS for PostgreSQL, db.r6g.large") + stored*b.of("RDS storage, gp3"))
}

// breakEven is the rate from which a pair of database servers is cheaper, in whole trades a second.
func (b bill) breakEven(kept float64, units func(load) float64) string {
	for tenths := 1.0; tenths < 100_000; tenths++ {
		l := loadOf(b.kinds[0], tenths/10, b.stack)
		if b.database(l, kept, units) > b.servers(l, kept) {
			return rounded(tenths / 10)
		}
	}
	return "none"
}

// serversTable shows from which rate a pair of database servers is cheaper.
func (b bill) serversTable() markdown {
	result := markdown{head: "write and read units|in the first month:|in the twelfth month:"}
	for _, mode := range []struct {
		what  string
		units func(load) float64
	}{{"on demand", b.onDemand}, {"provisioned", b.provisioned}, {"reserved for a year", b.reserved}} {
		result.add(mode.what, b.breakEven(1, mode.units)+" trades/s", b.breakEven(kept, mode.units)+" trades/s")
	}
	return result
}
