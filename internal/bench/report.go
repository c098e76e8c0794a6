package bench

import "math"

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
