package bench

import (
	"testing"
	"time"

	"ledger.example/cmd/ledger/meter"
)

func TestFiguresOfAReport(t *testing.T) {
	r := newRun(2, 1)
	r.inside, r.Clients = new(inside), brokenClients
	m := newMeasured(HotReceiver)
	m.counts.done, m.postings = 200, 400
	m.counts.failed("contention", false)
	m.timing = timing{elapsed: 2 * time.Second, latencies: make([]uint32, 201)}
	m.command = meter.Tally{Requests: map[string]int64{"TransactWriteItems": 203, "GetItem": 1}, WriteUnits: 2000, ReadHalves: 3}
	m.projection = meter.Tally{Requests: map[string]int64{"PutItem": 10, "Query": 6}, ItemsWritten: 10, WriteUnits: 20, ReadHalves: 40}
	m.rounds = []round{{100, 9, 200, 1000}, {100, 6, 125, 500}, {90, 7, 100, 0}}
	m.store.timing = timing{elapsed: time.Second, latencies: make([]uint32, 150)}
	uniform := newMeasured(Uniform)
	uniform.rounds = []round{{rate: 100, p99: 6}, {rate: 125, p99: 6}, {rate: 100, p99: 0}}

	got := r.report([]*measured{uniform, m, newMeasured(Read)}, Checked{}, nil, false, time.Minute)
	if len(got.Workloads) != 2 || got.Failed == nil || len(got.Warnings) != 1 { // read was not begun; the store's ceiling is too low
		t.Fatalf("%+v", got)
	}
	w := got.Workloads[1]
	if w.PerSecond != 100 || w.Errors["contention"] != 1 || w.Store.Attempts != 3 || w.Store.RequestsPer != 1.1 || w.Store.WriteUnitsPer != 10 ||
		w.Store.ReadUnitsPer != 0.008 || w.Store.ProjectionWriteUnitsPer != 0.1 || w.Store.WritesPerPosting != 0.025 || w.Store.ReadUnitsPerPosting != 0.05 {
		t.Errorf("%+v %+v", w, w.Store)
	}
	// (2020 × 0.625 + 21.5 × 0.125) ÷ 200
	if w.Store.DollarsPerMillion != "6.33" {
		t.Errorf("$%s", w.Store.DollarsPerMillion)
	}
	// The medians of 0.5, 0.8 and 0.9; of 0.1 and 0.2, as one round had none.
	if c := w.Ceilings; c.Store.Ratio != 0.8 || c.Store.PerSecond != 150 || c.HTTP.Ratio != 0.15 {
		t.Errorf("%+v %+v", c.Store, c.HTTP)
	}
	// A round without uniform's p99 is no round to compare.
	if h := got.HotToUniform; h.Rate != 0.9 || h.P99 != 1.25 {
		t.Errorf("%+v", h)
	}
}
