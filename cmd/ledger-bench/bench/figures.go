package bench

import (
	"math"
	"slices"

	"ledger.example/cmd/ledger-bench/meter"
	"ledger.example/internal/table"
)

// Figure is one reported number of a workload.
type Figure struct {
	Name     string // in JSON; ends in the unit ms or us; counts, ratios and capacity units have none
	Heading  string // in the table for people
	Decimals int    // in the table for people
	inside   bool   // known only of a ledger in this process
	value    float64
}

// Figures returns all figures in the order in which they are shown, without values.
func Figures() []Figure { return newMeasured("").figures() }

// absent is the value of a figure that cannot be computed.
var absent = math.NaN()

// measured has the sums of all slices of one workload.
type measured struct {
	workload string
	own      measurement
	postings int64 // acknowledged

	command, projection meter.Tally

	lags   *times
	unseen int64 // watched postings that were not projected in time

	rounds []round
	store  measurement
}

func newMeasured(workload string) *measured {
	return &measured{workload: workload, own: measurement{times: newTimes()}, lags: newTimes(),
		store: measurement{times: newTimes()}}
}

// round has the figures of one slice that are compared with other slices. Those that were not measured are 0 or absent.
type round struct {
	rate, p99               float64
	uniformRate, uniformP99 float64 // of the latest slice of uniform
	store                   float64 // rate of the ceiling
}

// figures returns everything that a run reports of a workload. The JSON and the table are made from it. Figures of the
// store and of the process are divided by the number of requests, unless noted otherwise.
func (m *measured) figures() []Figure {
	done := m.own.times.count()
	n, projected := float64(done), float64(m.postings)
	if m.projection.Total() == 0 { // without a projector
		projected = 0
	}
	units := 1.0
	if m.command.Units == (table.Units{}) { // the store does not count them
		units = absent
	}
	watched, unseen := float64(m.lags.count()+m.unseen), float64(m.unseen)
	if watched == 0 {
		watched, unseen = absent, absent
	}
	return []Figure{
		// Seen by the clients. A latency is the time from the first attempt to the last answer.
		{"succeeded", "DONE", 0, false, n},
		{"per_second", "PER S", 0, false, m.own.perSecond()},
		{"p50_ms", "P50 ms", 1, false, m.own.times.ms(50)},
		{"p99_ms", "P99 ms", 1, false, m.own.times.ms(99)},
		{"max_ms", "MAX ms", 1, false, m.own.times.ms(100)},

		// The rate or latency divided by that of uniform or of the ceiling in the same round: the median of all rounds.
		{"uniform_ratio", "÷ UNIFORM", 2, false, m.median(func(r round) float64 { return r.rate / r.uniformRate })},
		{"uniform_p99_ratio", "P99 ÷ UNIFORM", 2, false, m.median(func(r round) float64 {
			return r.p99 / r.uniformP99
		})},
		{"store_ratio", "÷ STORE", 2, true, m.median(func(r round) float64 { return r.rate / r.store })},
		{"store_per_second", "STORE PER S", 0, true, m.store.perSecond()},

		// Requests to the store, by the API and by the projector.
		{"requests", "STORE REQUESTS", 2, true, over(m.command.Total()+m.projection.Total(), n)},
		{"write_units", "WRITE UNITS", 2, true, units * over(m.command.WriteUnits, n)},
		{"read_units", "READ UNITS", 2, true, units * over(m.command.ReadHalves, 2*n)},
		{"transactions_sent", "TRANSACTIONS SENT", 2, true, over(m.command.Requests["TransactWriteItems"], n)},
		{"projection_writes_per_posting", "PROJECTED WRITES", 3, true, over(m.projection.ItemsWritten, projected)},
		{"projection_read_units_per_posting", "PROJECTED READS", 3, true,
			units * over(m.projection.ReadHalves, 2*projected)},
		{"dollars_per_million", "$ A MILLION", 2, true, units * m.dollars() * over(1_000_000, n)},

		// Resources of this process: clients, API and projector.
		{"cpu_us", "CPU µs", 0, true, over(m.own.cpu.Microseconds(), n)},
		{"allocations", "ALLOCATIONS", 0, true, over(m.own.allocations, n)},

		// The time from the acknowledgement of a posting until a polling reader finds it in the projection.
		{"lag_p50_ms", "LAG P50 ms", 0, false, m.lags.ms(50)},
		{"lag_p99_ms", "LAG P99 ms", 0, false, m.lags.ms(99)},
		{"lag_max_ms", "LAG MAX ms", 0, false, m.lags.ms(100)},
		{"lag_postings", "POSTINGS WATCHED", 0, false, watched},
		{"lag_unseen", "NEVER SEEN", 0, false, unseen},
	}
}

// over divides amount. It is absent if the divisor is not above zero.
func over(amount int64, by float64) float64 {
	if by <= 0 {
		return absent
	}
	return float64(amount) / by
}

// Dollars for a unit on demand, as in docs/cost.md.
const (
	writeUnitDollars = 0.625 / 1_000_000
	readUnitDollars  = 0.125 / 1_000_000
)

// dollars returns the on-demand price of all capacity units.
func (m *measured) dollars() float64 {
	return writeUnitDollars*float64(m.command.WriteUnits+m.projection.WriteUnits) +
		readUnitDollars*float64(m.command.ReadHalves+m.projection.ReadHalves)/2
}

// median returns the median of a ratio over the rounds in which both of its parts were measured.
func (m *measured) median(ratio func(round) float64) float64 {
	var ratios []float64
	for _, r := range m.rounds {
		if q := ratio(r); q > 0 && !math.IsInf(q, 0) {
			ratios = append(ratios, q)
		}
	}
	if len(ratios) == 0 {
		return absent
	}
	slices.Sort(ratios)
	n := len(ratios)
	return (ratios[(n-1)/2] + ratios[n/2]) / 2
}

// Report is the result of a run.
type Report struct {
	Run      string `json:"run"`       // name of the run, with which all its ids begin
	Ledger   string `json:"ledger"`    // the measured ledger: an address, or its store in this process
	CutShort bool   `json:"cut_short"` // the load ended early; the requests until then were measured and checked
	Clients  int    `json:"clients"`
	Rounds   int    `json:"rounds"`
	Accounts int    `json:"accounts"`
	Seed     uint64 `json:"seed"`
	WindowMS int64  `json:"window_ms"` // the stream's batching window; 0 if it is unknown, or without a projector

	Workloads []Workload `json:"workloads"`
	Warnings  []string   `json:"warnings"` // reasons to doubt the figures

	Balances  int      `json:"balances_checked"`   // number of balances compared with the book
	Projected bool     `json:"projection_checked"` // the projection was compared too
	Failed    []Failed `json:"failed"`             // empty if all checks passed
}

// Workload is the result of all slices of one workload.
type Workload struct {
	Workload string             `json:"workload"`
	Figures  map[string]float64 `json:"figures"` // by the names of Figures, without unknown ones
}

// report returns the report of the workloads that were started. check completes it.
func (r *Run) report(workloads []*measured, isCut bool) *Report {
	out := &Report{
		Run: r.fixture.run, Ledger: r.Ledger, CutShort: isCut, Clients: r.Clients, Rounds: r.Rounds,
		Accounts: r.Accounts, Seed: r.Seed, Workloads: []Workload{}, Failed: []Failed{},
		Warnings: append([]string{}, r.warnings...),
	}
	if r.Projected {
		out.WindowMS = r.Window.Milliseconds()
	}
	for _, m := range workloads {
		if len(m.rounds) == 0 {
			continue
		}
		w := Workload{Workload: m.workload, Figures: make(map[string]float64)}
		for _, f := range m.figures() {
			if !math.IsNaN(f.value) && (r.inside != nil || !f.inside) {
				w.Figures[f.Name] = math.Round(f.value*1000) / 1000
			}
		}
		out.Workloads = append(out.Workloads, w)
	}
	return out
}
