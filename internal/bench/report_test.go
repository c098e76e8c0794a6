package bench

import (
	"slices"
	"testing"
	"time"

	"ledger.example/internal/meter"
)

func TestFiguresOfAReport(t *testing.T) {
	r := newRun(2, 1)
	r.inside = new(inside)
	m := &measured{workload: HotReceiver}
	m.counts = counts{done: 200, errors: map[string]int64{"contention": 1}, retries: 7}
	m.postings = 400
	m.own = measurement{elapsed: 2 * time.Second, latencies: make([]time.Duration, 201), cpu: time.Second,
		allocations: 2000}
	for i := range m.own.latencies {
		m.own.latencies[i] = time.Duration(i) * time.Millisecond
	}
	m.command = meter.Tally{Requests: map[string]int64{"TransactWriteItems": 203, "GetItem": 1}, WriteUnits: 2000,
		ReadHalves: 4}
	m.projection = meter.Tally{Requests: map[string]int64{"PutItem": 10, "Query": 6}, ItemsWritten: 10, WriteUnits: 20,
		ReadHalves: 40}
	m.rounds = []round{ // own, uniform's, ceilings'
		{100, 9, 100, 6, 200, 1000}, {100, 6, 125, 6, 125, 500}, {90, 7, 100, 0, 100, absent}}
	m.store = measurement{elapsed: time.Second, latencies: make([]time.Duration, 150)}
	m.lags = []time.Duration{3 * time.Millisecond, time.Millisecond}
	reads := &measured{workload: Read, rounds: []round{{rate: 1}}}
	reads.counts.done = 10

	got := r.report([]*measured{m, reads, {workload: Market}}, false)
	if len(got.Workloads) != 2 || got.Failed == nil || got.Workloads[0].Errors["contention"] != 1 {
		t.Fatalf("%+v", got) // market was not started
	}
	figures := got.Workloads[0].Figures
	for name, want := range map[string]float64{
		"succeeded": 200, "per_second": 100, "errors": 1, "retries": 7, "requests": 1.1, "write_units": 10,
		"read_units": 0.01, "transactions_sent": 1.015, "projection_writes_per_posting": 0.025,
		"projection_read_units_per_posting": 0.05, "cpu_us": 5000, "allocations": 10,
		"dollars_per_million": 6.326, // (2020 × 0.625 + 22 × 0.125) ÷ 200
		"store_ratio":         0.8,   // the median of 0.5, 0.8 and 0.9
		"http_ratio":          0.15,  // the median of 0.1 and 0.2; one round has none
		"uniform_ratio":       0.9, "uniform_p99_ratio": 1.25, "store_per_second": 150,
		"lag_p50_ms": 1, "lag_max_ms": 3, "lag_postings": 2, "lag_unseen": 0,
	} {
		if value, ok := figures[name]; !ok || value != want {
			t.Errorf("%s: %v, wanted %v", name, value, want)
		}
	}
	for _, unknown := range []string{"lag_p50_ms", "projection_writes_per_posting", "store_ratio", "uniform_ratio"} {
		if value, ok := got.Workloads[1].Figures[unknown]; ok {
			t.Errorf("reads: %s is %v", unknown, value)
		}
	}
	r.inside = nil
	if w := r.report([]*measured{m}, false).Workloads[0]; w.Figures["retries"] != 7 || len(w.Figures) >= len(figures) {
		t.Errorf("of a ledger elsewhere: %v", w.Figures)
	}
}

// Names and headings of figures are unique, because JSON and tables identify figures by them.
func TestFigureNamesAreUnique(t *testing.T) {
	all := Figures()
	for i, f := range all {
		if slices.ContainsFunc(all[:i], func(g Figure) bool { return g.Name == f.Name || g.Heading == f.Heading }) {
			t.Errorf("%s, %q: twice", f.Name, f.Heading)
		}
	}
}
