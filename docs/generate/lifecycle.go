package main

import (
	"fmt"
	"time"

	"ledger.example/functions/stream/streamtest"
	"ledger.example/internal/meter"
	"ledger.example/internal/price"
	"ledger.example/internal/store"
)

// step is one step in the lifecycle of a trade between two limited accounts.
type step struct {
	what               string
	command, projected meter.Tally // projected in one batch, by a projector with a cold cache
}

// measureLifecycle measures a trade, a hold of one, the ways in which it ends, and its reversal, by a warm process.
func measureLifecycle() (steps []step) {
	l := newLedger(time.Now())
	l.openLimited()
	trade := func(id, more string) {
		l.Must(201, "POST", "/v1/trades", fmt.Sprintf(`{"id":%q,"asset":%q,"buyer":%q,"seller":%q,"quantity":"10",`+
			`"cost":"150000"%s}`, id, share, buyer, seller, more))
	}
	hold := func(id string) { trade(id, `,"hold":{}`) }
	end := func(id, how string) { l.Must(200, "POST", "/v1/transactions/"+id+"/"+how, `{}`) }
	trade("orders:000001000", "") // now guards exist and are cached
	hold("orders:000001001")
	end("orders:000001001", "capture")
	reverse := func(id, by string) {
		l.Must(201, "POST", "/v1/transactions/"+id+"/reversals", fmt.Sprintf(`{"id":%q}`, by))
	}
	reverse("orders:000001000", "returns:000001000")
	seen := make(map[store.Key]bool)
	l.projectNew(seen)
	measure := func(what string, do func()) {
		s := step{what: what}
		l.meter.Take()
		do()
		s.command = l.meter.Take()
		l.projectNew(seen)
		s.projected = l.meter.Take()
		steps = append(steps, s)
	}
	measure("a trade", func() { trade("orders:000001002", "") })
	measure("placing a hold", func() { hold("orders:000001003") })
	measure("capturing a hold", func() { end("orders:000001003", "capture") })
	hold("orders:000001004")
	l.projectNew(seen)
	measure("releasing a hold", func() { end("orders:000001004", "release") })
	measure("reversing a trade", func() { reverse("orders:000001002", "returns:000001002") })
	return steps
}

// projectNew delivers the records of all postings that are new, as one batch, to a projector with a cold cache.
func (l *ledger) projectNew(seen map[store.Key]bool) {
	var images []store.Item
	for key, item := range l.Contents() {
		if store.Posting.Is(key.SK) && !seen[key] {
			seen[key] = true
			images = append(images, item)
		}
	}
	streamtest.Deliver(exitTB{}, l.NewProcess(l.options()...).Service.Stream(), streamtest.Images(exitTB{}, images...))
}

// lifecycleTable shows the requests and units of each step.
func lifecycleTable(steps []step) markdown {
	result := markdown{head: "step|requests:|write units:|read units:|projected: write units:|read units:|" +
		"DynamoDB, $ a million:"}
	for _, s := range steps {
		writes := float64(s.command.WriteUnits + s.projected.WriteUnits)
		reads := float64(s.command.ReadHalves+s.projected.ReadHalves) / 2
		result.add(s.what, figure(float64(s.command.Total())), figure(float64(s.command.WriteUnits)),
			figure(float64(s.command.ReadHalves)/2), figure(float64(s.projected.WriteUnits)),
			figure(float64(s.projected.ReadHalves)/2),
			cents(price.WriteUnits.Dollars(million*writes)+price.ReadUnits.Dollars(million*reads)))
	}
	return result
}
