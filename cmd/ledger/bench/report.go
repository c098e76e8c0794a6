package bench

import (
	"math"
	"math/big"
	"slices"
	"time"

	"ledger.example/cmd/ledger/meter"
	"ledger.example/cmd/ledger/price"
)

// Report is what a run came to. Its JSON only grows: fields keep their names, units and meaning. Times are in microseconds
// unless the name ends otherwise; rates and ratios have fractions, all else is whole.
type Report struct {
	Run      string  `json:"run"`       // the run's name, with which all of its ids begin
	Ledger   string  `json:"ledger"`    // what was measured: an address, or on what it ran in this process
	CutShort bool    `json:"cut_short"` // interrupted, or the ledger did nothing any more: what was sent until then was measured and checked
	Seconds  float64 `json:"seconds"`   // of all, with what isn't measured
	Clients  int     `json:"clients"`
	Rounds   int     `json:"rounds"`
	Accounts int     `json:"accounts"`
	Seed     uint64  `json:"seed"`
	// WindowMS is how long the stream is gathered before it is projected; null where that is not known, or nothing projects.
	WindowMS *int64 `json:"window_ms"`

	Workloads []Workload `json:"workloads"`

	// HotToUniform is null unless both workloads were run.
	HotToUniform *HotToUniform `json:"hot_receiver_to_uniform"`
	// Warnings say what makes the figures doubtful.
	Warnings []string `json:"warnings"`

	Checked Checked  `json:"checked"`
	Failed  []Failed `json:"failed"` // empty: all is as it should be
}

// HotToUniform are the ratios of hot-receiver to uniform, each the median over the rounds.
type HotToUniform struct {
	Rate float64 `json:"rate"`
	P99  float64 `json:"p99"`
}

// Workload is what all slices of one workload came to.
type Workload struct {
	Workload  string           `json:"workload"`
	Succeeded int64            `json:"succeeded"` // transactions acknowledged, or reads answered
	Postings  int64            `json:"postings"`  // of those transactions
	ElapsedUS int64            `json:"elapsed_us"`
	PerSecond float64          `json:"per_second"` // that succeeded
	Latency   Latency          `json:"latency_us"` // of every request, to its final answer, however often it was sent
	Errors    map[string]int64 `json:"errors"`     // requests, by the code of the last answer
	Refusals  int64            `json:"refusals"`   // insufficient_funds
	Replays   int64            `json:"replays"`    // succeeded, and had been posted before
	Declined  *int64           `json:"declined"`   // attempts answered 503: nothing was written, they were made again; null for import
	Repeated  *int64           `json:"repeated"`   // attempts of unknown outcome, asked again by the same id; null for import
	Lag       *Lag             `json:"lag_us"`     // null: nothing was watched
	Store     *Store           `json:"store"`      // null: the ledger isn't in this process
	Process   *Process         `json:"process"`    // the same
	Ceilings  *Ceilings        `json:"ceilings"`   // the same
}

// Latency are percentiles by nearest rank, of all samples.
type Latency struct {
	P50 uint32 `json:"p50"`
	P90 uint32 `json:"p90"`
	P99 uint32 `json:"p99"`
	Max uint32 `json:"max"`
}

// Lag is how long postings took from their acknowledgement until the projection had them, as a reader sees it who looks every
// 40 ms.
type Lag struct {
	P50     uint32 `json:"p50"`
	P99     uint32 `json:"p99"`
	Max     uint32 `json:"max"`
	Samples int    `json:"samples"`
	Unseen  int    `json:"unseen"` // given up after 30 s
}

// Store is what was asked of the store: by the API (command, which are reads too) and by the projector.
type Store struct {
	Command    Counted `json:"command"`
	Projection Counted `json:"projection"`
	// Attempts are the transactions that were sent to the store beyond one for each that was acknowledged.
	Attempts int64 `json:"attempts_beyond_one"`

	// Per transaction, or read, that succeeded.
	RequestsPer             float64 `json:"requests_per_transaction"`
	WriteUnitsPer           float64 `json:"write_units_per_transaction"`
	ReadUnitsPer            float64 `json:"read_units_per_transaction"`
	ProjectionWriteUnitsPer float64 `json:"projection_write_units_per_transaction"`
	ProjectionReadUnitsPer  float64 `json:"projection_read_units_per_transaction"`
	// Per posting; 0 where there were none.
	WritesPerPosting    float64 `json:"projection_writes_per_posting"`
	ReadUnitsPerPosting float64 `json:"projection_read_units_per_posting"`
	// DollarsPerMillion is what the units of a million transactions, or reads, cost on demand, to the cent.
	DollarsPerMillion string `json:"dollars_per_million"`
}

// Counted is a meter.Tally.
type Counted struct {
	Requests     map[string]int64 `json:"requests"` // by operation
	ItemsWritten int64            `json:"items_written"`
	ItemsRead    int64            `json:"items_read"`
	WriteUnits   int64            `json:"write_units"`
	ReadHalves   int64            `json:"read_unit_halves"`
	Cancelled    int64            `json:"cancelled"`
	Guessed      int64            `json:"guessed"` // items whose units could not be told for sure
}

// Process is what this process used for each transaction, or read: the clients of the load, the API, and what the projector did
// meanwhile. The ceiling that answers the same by HTTP has the same clients, so that the difference is the ledger's.
type Process struct {
	CPU         uint64 `json:"cpu_us_per_transaction"`
	Allocations uint64 `json:"allocations_per_transaction"`
}

// Ceilings are what was done beside us with a part of the work left out.
type Ceilings struct {
	Store *Ceiling `json:"store"` // the same TransactWriteItems by the SDK alone; null for reads
	HTTP  *Ceiling `json:"http"`  // the same bodies parsed and answered, and nothing else
}

// Ceiling is one of them. What this process used is of the clients too, as in Process: the difference is the ledger's own.
type Ceiling struct {
	PerSecond   float64 `json:"per_second"`
	Ratio       float64 `json:"ratio"` // ours to it: the median over the rounds
	Count       int     `json:"count"`
	Latency     Latency `json:"latency_us"`
	CPU         uint64  `json:"cpu_us_per_transaction"`
	Allocations uint64  `json:"allocations_per_transaction"`
	Repeated    int64   `json:"repeated"` // attempts that met a conflict, made again; of the store
	Failed      int64   `json:"failed"`   // transactions whose conditions were not met; of the store
}

// brokenRate is the rate of transactions below which the ceiling of the store says that the measurement is broken: DynamoDB
// Local makes 390 with 8 clients on two cores, and less with fewer than brokenClients.
const (
	brokenRate    = 300
	brokenClients = 8
)

func (r *run) report(measured []*measured, checked Checked, failed []Failed, isCut bool, took time.Duration) *Report {
	out := &Report{
		Run: r.cast.run, Ledger: r.Ledger, CutShort: isCut, Seconds: rounded(took.Seconds()), Clients: r.Clients, Rounds: r.Rounds,
		Accounts: r.Accounts, Seed: r.Seed, Workloads: []Workload{}, Warnings: append([]string{}, r.warnings...),
		Checked: checked, Failed: failed,
	}
	if out.Failed == nil {
		out.Failed = []Failed{}
	}
	if r.Projected && r.Window > 0 {
		ms := r.Window.Milliseconds()
		out.WindowMS = &ms
	}
	for _, m := range measured {
		if len(m.rounds) == 0 {
			continue
		}
		w := m.report()
		if r.inside != nil {
			m.inside(&w)
			if c := w.Ceilings.Store; c != nil && r.Clients >= brokenClients && c.PerSecond < brokenRate {
				out.Warnings = append(out.Warnings, m.workload+": the store alone makes less than 300 transactions a second: the measurement is broken")
			}
		}
		out.Workloads = append(out.Workloads, w)
	}
	out.HotToUniform = hotToUniform(measured)
	return out
}

// report gives the figures of a ledger anywhere.
func (m *measured) report() Workload {
	p := m.timing.percentiles(50, 90, 99, 100)
	w := Workload{
		Workload: m.workload, Succeeded: m.counts.done, Postings: m.postings, ElapsedUS: m.timing.elapsed.Microseconds(),
		PerSecond: rounded(rate(m.counts.done, m.timing.elapsed)), Latency: Latency{p[0], p[1], p[2], p[3]},
		Errors: m.counts.errors, Refusals: m.counts.refusals, Replays: m.counts.replays,
	}
	if m.workload != Import { // whose client keeps that to itself
		w.Declined, w.Repeated = &m.counts.declined, &m.counts.repeated
	}
	if w.Errors == nil {
		w.Errors = map[string]int64{}
	}
	if len(m.lags) > 0 || m.unseen > 0 {
		p := timing{latencies: m.lags}.percentiles(50, 99, 100)
		w.Lag = &Lag{p[0], p[1], p[2], len(m.lags), m.unseen}
	}
	return w
}

// inside adds the figures of a ledger in this process.
func (m *measured) inside(w *Workload) {
	n := m.counts.done
	w.Store = &Store{
		Command: counted(m.command), Projection: counted(m.projection),
		RequestsPer:             per(m.command.Total()+m.projection.Total(), n),
		WriteUnitsPer:           per(m.command.WriteUnits, n),
		ReadUnitsPer:            per(m.command.ReadHalves, 2*n),
		ProjectionWriteUnitsPer: per(m.projection.WriteUnits, n),
		ProjectionReadUnitsPer:  per(m.projection.ReadHalves, 2*n),
		WritesPerPosting:        per(m.projection.ItemsWritten, m.postings),
		ReadUnitsPerPosting:     per(m.projection.ReadHalves, 2*m.postings),
		DollarsPerMillion:       m.dollars().FloatString(2),
	}
	if !reads(m.workload) {
		w.Store.Attempts = m.command.Requests["TransactWriteItems"] - n
	}
	w.Process = &Process{
		CPU: whole(m.used.cpu.Microseconds(), n), Allocations: whole(int64(m.used.allocations), n),
	}
	w.Ceilings = &Ceilings{
		Store: m.ceiling(m.store, func(r round) float64 { return r.store }),
		HTTP:  m.ceiling(m.http, func(r round) float64 { return r.http }),
	}
}

// ceiling returns nil where there was none.
func (m *measured) ceiling(all beside, of func(round) float64) *Ceiling {
	var ratios []float64
	for _, r := range m.rounds {
		if of(r) > 0 {
			ratios = append(ratios, r.rate/of(r))
		}
	}
	if len(ratios) == 0 {
		return nil
	}
	n, p := int64(all.count()), all.percentiles(50, 90, 99, 100)
	return &Ceiling{
		PerSecond: rounded(all.perSecond()), Ratio: rounded(median(ratios)), Count: all.count(), Latency: Latency{p[0], p[1], p[2], p[3]},
		CPU: whole(all.used.cpu.Microseconds(), n), Allocations: whole(int64(all.used.allocations), n),
		Repeated: all.repeated, Failed: all.failed,
	}
}

// dollars is what a million of what succeeded cost in units: a million times its share, by a price for a million.
func (m *measured) dollars() *big.Rat {
	n := m.counts.done
	if n == 0 {
		return new(big.Rat)
	}
	total := price.Dollars(price.WriteUnits, m.command.WriteUnits+m.projection.WriteUnits, n)
	return total.Add(total, price.Dollars(price.ReadUnits, m.command.ReadHalves+m.projection.ReadHalves, 2*n))
}

// hotToUniform compares the rounds in which both were run.
func hotToUniform(all []*measured) *HotToUniform {
	var uniform, hot []round
	for _, m := range all {
		switch m.workload {
		case Uniform:
			uniform = m.rounds
		case HotReceiver:
			hot = m.rounds
		}
	}
	var rates, p99s []float64
	for i := range min(len(uniform), len(hot)) {
		if uniform[i].rate > 0 && uniform[i].p99 > 0 {
			rates = append(rates, hot[i].rate/uniform[i].rate)
			p99s = append(p99s, hot[i].p99/uniform[i].p99)
		}
	}
	if len(rates) == 0 {
		return nil
	}
	return &HotToUniform{rounded(median(rates)), rounded(median(p99s))}
}

func counted(t meter.Tally) Counted {
	if t.Requests == nil {
		t.Requests = map[string]int64{}
	}
	return Counted{t.Requests, t.ItemsWritten, t.ItemsRead, t.WriteUnits, t.ReadHalves, t.Cancelled, t.Guessed}
}

// median returns the middle one, or the middle between two.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

func rate(n int64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}

// per is a share to three decimal places, 0 of nothing.
func per(amount, of int64) float64 {
	if of == 0 {
		return 0
	}
	return rounded(float64(amount) / float64(of))
}

func whole(amount, of int64) uint64 {
	if of == 0 {
		return 0
	}
	return uint64(amount / of)
}

// rounded keeps three decimal places.
func rounded(f float64) float64 { return math.Round(f*1000) / 1000 }
