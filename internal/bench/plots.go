package bench

import (
	"fmt"

	"ledger.example/internal/plot"
)

// Plots returns plots of the rates with their ceilings, of the latencies, and of the lag.
func (r *Report) Plots() []plot.Plot {
	note := "The ledger is " + r.Ledger + "."
	if r.CutShort {
		note += " CUT SHORT."
	}
	if n := len(r.Failed); n > 0 {
		note += fmt.Sprintf(" FAILED CHECKS: %d.", n)
	}
	drawn := func(name, title, unit string, figures ...[2]string) plot.Plot { // figures by name, with their labels
		p := plot.Plot{Name: name, Title: title, Note: note, Of: "workload", Unit: unit, Log: true}
		for _, w := range r.Workloads {
			p.Labels = append(p.Labels, w.Workload)
		}
		for _, f := range figures {
			s := plot.Series{Name: f[1]}
			for _, w := range r.Workloads {
				value, ok := w.Figures[f[0]]
				if !ok {
					value = absent
				}
				s.Values = append(s.Values, value)
			}
			p.Series = append(p.Series, s)
		}
		return p
	}
	return []plot.Plot{
		drawn("rates", "Rates and their ceilings", "requests a second", [2]string{"per_second", "the ledger"},
			[2]string{"store_per_second", "STORE: the SDK alone"}, [2]string{"http_per_second", "HTTP: no ledger"}),
		drawn("latencies", "Latencies, from the first attempt to the last answer", "ms",
			[2]string{"p50_ms", "p50"}, [2]string{"p99_ms", "p99"}, [2]string{"max_ms", "max"}),
		drawn("lag", "Lag, from the acknowledgement until a reader finds the posting", "ms",
			[2]string{"lag_p50_ms", "p50"}, [2]string{"lag_p99_ms", "p99"}, [2]string{"lag_max_ms", "max"}),
	}
}
