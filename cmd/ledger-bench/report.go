package main

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"time"
	"unicode/utf8"

	"ledger.example/cmd/ledger-bench/bench"
)

// progressEvery is the time between two lines of progress.
const progressEvery = 5 * time.Second

// showProgress writes a line of progress every few seconds, until stop is called.
func (p *program) showProgress(running *bench.Run) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				text, slices := running.Progress()
				fmt.Fprintf(p.err, "%s, slice %d of %d\n", text, min(slices+1, running.Total()), running.Total())
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// printTable prints a report for people: a table with a line for each figure and a column for each workload.
func (p *program) printTable(r *bench.Report) error {
	var text bytes.Buffer
	cut := ""
	if r.CutShort {
		cut = ", CUT SHORT"
	}
	fmt.Fprintf(&text, "The ledger is %s.\nClients: %d, rounds: %d, accounts: %d, seed: %d%s\n\n", r.Ledger, r.Clients,
		r.Rounds, r.Accounts, r.Seed, cut)
	rows := [][]string{{""}}
	for _, w := range r.Workloads {
		rows[0] = append(rows[0], w.Workload)
	}
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
			rows = append(rows, cells)
		}
	}
	printRows(&text, rows)
	fmt.Fprintln(&text)
	if r.WindowMS > 0 {
		fmt.Fprintf(&text, "The batching window of the stream is %d ms.\n", r.WindowMS)
	}
	if len(r.Failed) == 0 {
		projected := "The projection was not checked."
		if r.Projected {
			projected = "The projection agrees too."
		}
		fmt.Fprintf(&text, "Strong reads of %d balances agree with the acknowledged transactions.\n%s\n", r.Balances,
			projected)
	}
	for _, warning := range r.Warnings {
		fmt.Fprintln(p.err, "warning: "+warning)
	}
	_, err := text.WriteTo(p.out)
	return err
}

// printRows prints cells in columns. All but the first are numbers, which are aligned to the right.
func printRows(w io.Writer, rows [][]string) {
	widths := make([]int, len(rows[0]))
	for _, cells := range rows {
		for i, cell := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, cells := range rows {
		fmt.Fprintf(w, "%-*s", widths[0], cells[0])
		for i, cell := range cells[1:] {
			fmt.Fprintf(w, "  %*s", widths[i+1], cell)
		}
		fmt.Fprintln(w)
	}
}
