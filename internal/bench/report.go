package bench

import (
	"maps"
	"math"
)

// Report is the result of a run.
type Report struct {
	Run      string `json:"run"`       // the run's name, with which all of its ids begin
	Ledger   string `json:"ledger"`    // what was measured: an address, or on what it ran in this process
	CutShort bool   `json:"cut_short"` // the load ended early: what was sent until then was measured and checked
	Clients  int    `json:"clients"`
	Rounds   int    `json:"rounds"`
	Accounts int    `json:"accounts"`
	Seed     uint64 `json:"seed"`
	WindowMS int64  `json:"window_ms"` // the stream's batching window; 0 if it is not known, or nothing projects

	Workloads []Workload `json:"workloads"`
	Warnings  []string   `json:"warnings"` // what makes the figures doubtful

	Balances  int      `json:"balances_checked"`   // read strongly, and compared with the client's own books
	Projected bool     `json:"projection_checked"` // whether the projection was waited for and compared, too
	Failed    []Failed `json:"failed"`             // empty: all is as it should be
}

// Workload is the result of all slices of one workload.
type Workload struct {
	Workload string             `json:"workload"`
	Figures  map[string]float64 `json:"figures"` // by the names of Figures; those that are not known are absent
	Errors   map[string]int64   `json:"errors"`  // requests that failed, by the code of the last answer
}

// report makes the report of the workloads that were begun. check completes it.
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
		w := Workload{Workload: m.workload, Figures: make(map[string]float64), Errors: make(map[string]int64)}
		maps.Copy(w.Errors, m.counts.errors)
		for _, f := range m.figures() {
			if !math.IsNaN(f.value) && (r.inside != nil || !f.inside) {
				w.Figures[f.Name] = math.Round(f.value*1000) / 1000
			}
		}
		out.Workloads = append(out.Workloads, w)
	}
	return out
}
