package main

import (
	"fmt"
	"strconv"

	"ledger.example/internal/bench"
)

// printBenchTable prints a report for people: a table with a line for each figure and a column for each workload.
func (env *environment) printBenchTable(r *bench.Report) error {
	cut := ""
	if r.CutShort {
		cut = ", CUT SHORT"
	}
	fmt.Fprintf(env.out, "The ledger is %s.\n%s, %s, %s, seed %d%s\n\n", r.Ledger,
		counted(int64(r.Clients), "client", "clients"), counted(int64(r.Rounds), "round", "rounds"),
		counted(int64(r.Accounts), "account", "accounts"), r.Seed, cut)
	columns := []column{words("")}
	for _, w := range r.Workloads {
		columns = append(columns, numbers(w.Workload))
	}
	t := env.newTable(columns...)
	for _, f := range bench.Figures() {
		cells, isKnown := []string{f.Heading}, false
		for _, w := range r.Workloads {
			shown := "-"
			if value, ok := w.Figures[f.Name]; ok {
				shown, isKnown = strconv.FormatFloat(value, 'f', f.Decimals, 64), true
			}
			cells = append(cells, shown)
		}
		if isKnown {
			t.row(cells...)
		}
	}
	if err := t.flush(); err != nil {
		return err
	}
	fmt.Fprintln(env.out)
	if r.WindowMS > 0 {
		fmt.Fprintf(env.out, "The batching window of the stream is %d ms.\n", r.WindowMS)
	}
	if len(r.Failed) == 0 {
		projected := "The projection was not checked."
		if r.Projected {
			projected = "The projection agrees too."
		}
		fmt.Fprintf(env.out, "Strong reads of %d balances agree with the acknowledged transactions.\n%s\n", r.Balances,
			projected)
	}
	for _, warning := range r.Warnings {
		fmt.Fprintln(env.err, "warning: "+warning)
	}
	return env.out.Flush()
}
