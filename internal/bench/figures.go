package bench

import (
	"math"
	"slices"

	"ledger.example/internal/price"
)

// Figure is one number that is reported of a workload.
type Figure struct {
	Name     string // in JSON; it ends in its unit: ms, us, or none for counts, ratios and DynamoDB's units
	Heading  string // for people
	Decimals int    // as people read it
	inside   bool   // only of a ledger in this process
	value    float64
}

// Figures returns all figures in the order in which they are shown, without values.
func Figures() []Figure { return new(measured).figures() }

// absent is the value of a figure when there is nothing to compute it from.
var absent = math.NaN()

// figures is the only list of what a run reports: the JSON and the table for people are both made from it. Figures of
// the store and of the process are for each request that succeeded, unless they say otherwise.
func (m *measured) figures() []Figure {
	n, projected := float64(m.counts.done), float64(m.postings)
	if m.projection.Total() == 0 { // nothing projects
		projected = 0
	}
	watched, unseen := float64(len(m.lags)+m.unseen), float64(m.unseen)
	if watched == 0 {
		watched, unseen = absent, absent
	}
	return []Figure{
		// What the callers saw. A latency is from a request to its last answer.
		{"succeeded", "DONE", 0, false, n},
		{"per_second", "PER S", 0, false, over(m.counts.done, m.own.elapsed.Seconds())},
		{"p50_ms", "P50 ms", 1, false, percentile(m.own.latencies, 50)},
		{"p99_ms", "P99 ms", 1, false, percentile(m.own.latencies, 99)},
		{"max_ms", "MAX ms", 1, false, percentile(m.own.latencies, 100)},
		{"errors", "ERRORS", 0, false, float64(m.counts.failed())},
		{"retries", "RETRIES", 0, false, float64(m.counts.retries)},

		// Our rate, or latency, by that of uniform or of a ceiling in the same round: the median over the rounds.
		{"uniform_ratio", "÷ UNIFORM", 2, false, m.median(func(r round) float64 { return r.rate / r.uniformRate })},
		{"uniform_p99_ratio", "P99 ÷ UNIFORM", 2, false, m.median(func(r round) float64 {
			return r.p99 / r.uniformP99
		})},
		{"store_ratio", "÷ STORE", 2, true, m.median(func(r round) float64 { return r.rate / r.store })},
		{"http_ratio", "÷ HTTP", 2, true, m.median(func(r round) float64 { return r.rate / r.http })},
		{"store_per_second", "STORE PER S", 0, true, m.store.perSecond()},
		{"http_per_second", "HTTP PER S", 0, true, m.http.perSecond()},

		// What was asked of the store, by the API and by the projector.
		{"requests", "STORE REQUESTS", 2, true, over(m.command.Total()+m.projection.Total(), n)},
		{"write_units", "WRITE UNITS", 2, true, over(m.command.WriteUnits, n)},
		{"read_units", "READ UNITS", 2, true, over(m.command.ReadHalves, 2*n)},
		{"transactions_sent", "TRANSACTIONS SENT", 2, true, over(m.command.Requests["TransactWriteItems"], n)},
		{"projection_writes_per_posting", "PROJECTED WRITES", 3, true, over(m.projection.ItemsWritten, projected)},
		{"projection_read_units_per_posting", "PROJECTED READS", 3, true, over(m.projection.ReadHalves, 2*projected)},
		{"dollars_per_million", "$ A MILLION", 2, true, m.dollars() * over(1_000_000, n)},

		// What this process used: clients, API and projector. The HTTP ceiling has the same clients, so the difference
		// is the ledger's.
		{"cpu_us", "CPU µs", 0, true, over(m.own.cpu.Microseconds(), n)},
		{"allocations", "ALLOCATIONS", 0, true, over(m.own.allocations, n)},
		{"http_cpu_us", "HTTP CPU µs", 0, true, over(m.http.cpu.Microseconds(), float64(m.http.count()))},
		{"http_allocations", "HTTP ALLOCATIONS", 0, true, over(m.http.allocations, float64(m.http.count()))},

		// From the acknowledgement of a posting until a reader, who polls, finds it in the projection.
		{"lag_p50_ms", "LAG P50 ms", 0, false, percentile(m.lags, 50)},
		{"lag_p99_ms", "LAG P99 ms", 0, false, percentile(m.lags, 99)},
		{"lag_max_ms", "LAG MAX ms", 0, false, percentile(m.lags, 100)},
		{"lag_postings", "POSTINGS WATCHED", 0, false, watched},
		{"lag_unseen", "NEVER SEEN", 0, false, unseen},
	}
}

// over divides; by nothing the result is absent.
func over(amount int64, by float64) float64 {
	if by <= 0 {
		return absent
	}
	return float64(amount) / by
}

// dollars is the on-demand price of all units.
func (m *measured) dollars() float64 {
	return price.WriteUnits.Dollars(float64(m.command.WriteUnits+m.projection.WriteUnits)) +
		price.ReadUnits.Dollars(float64(m.command.ReadHalves+m.projection.ReadHalves)/2)
}

// median is that over the rounds, without those in which a part of the ratio was not measured.
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
