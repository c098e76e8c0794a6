package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"ledger.example/cmd/ledger/bench"
)

// printBenchTables prints a report for people: times, then what was asked of the store, then what this process took.
func (c *cli) printBenchTables(r *bench.Report) error {
	cut := ""
	if r.CutShort {
		cut = ", CUT SHORT"
	}
	fmt.Fprintf(c.out, "The ledger is %s: %d clients, %d rounds, %d accounts, seed %d%s\n\n", r.Ledger, r.Clients, r.Rounds, r.Accounts, r.Seed, cut)
	for _, print := range []func(*table, *bench.Report){benchTimes, benchStore, benchProcess} {
		t := newTable(c.out)
		print(t, r)
		if err := t.flush(); err != nil {
			return err
		}
	}
	c.printLag(r)
	if h := r.HotToUniform; h != nil {
		fmt.Fprintf(c.out, "hot-receiver ÷ uniform: rate %s, p99 %s (medians of the rounds)\n", decimals(h.Rate, 2), decimals(h.P99, 2))
	}
	projected := "; the projection is not looked at"
	if r.Checked.Projected {
		projected = ", and so does the projection"
	}
	if len(r.Failed) == 0 {
		fmt.Fprintf(c.out, "%d balances read strongly agree with what was acknowledged%s.\n", r.Checked.Balances, projected)
	}
	for _, warning := range r.Warnings {
		fmt.Fprintln(c.err, "warning: "+warning)
	}
	return c.out.Flush()
}

func benchTimes(t *table, r *bench.Report) {
	t.row("WORKLOAD", "DONE", "PER S", "P50 ms", "P90 ms", "P99 ms", "MAX ms", "ERRORS", "REFUSED", "REPLAYED", "RETRIES", "÷ STORE", "÷ HTTP")
	for _, w := range r.Workloads {
		store, http, retries := "-", "-", "-"
		if w.Declined != nil && w.Repeated != nil {
			retries = strconv.FormatInt(*w.Declined+*w.Repeated, 10)
		}
		if w.Ceilings != nil {
			store, http = ratio(w.Ceilings.Store), ratio(w.Ceilings.HTTP)
		}
		t.row(w.Workload, strconv.FormatInt(w.Succeeded, 10), decimals(w.PerSecond, 0),
			ms(w.Latency.P50), ms(w.Latency.P90), ms(w.Latency.P99), ms(w.Latency.Max), errorsShown(w.Errors),
			strconv.FormatInt(w.Refusals, 10), strconv.FormatInt(w.Replays, 10), retries, store, http)
	}
	t.row()
}

func benchStore(t *table, r *bench.Report) {
	if !slices.ContainsFunc(r.Workloads, func(w bench.Workload) bool { return w.Store != nil }) {
		return
	}
	t.row("ASKED OF THE STORE", "", "WRITE", "READ", "PROJECTION:", "", "WRITES", "READ UNITS", "", "DOLLARS")
	t.row("FOR EACH", "REQUESTS", "UNITS", "UNITS", "WRITE UNITS", "READ UNITS", "A POSTING", "A POSTING", "ATTEMPTS", "A MILLION")
	for _, w := range r.Workloads {
		if s := w.Store; s != nil {
			t.row(w.Workload, decimals(s.RequestsPer, 2), decimals(s.WriteUnitsPer, 2), decimals(s.ReadUnitsPer, 2),
				decimals(s.ProjectionWriteUnitsPer, 2), decimals(s.ProjectionReadUnitsPer, 2),
				decimals(s.WritesPerPosting, 3), decimals(s.ReadUnitsPerPosting, 3), fmt.Sprintf("%+d", s.Attempts), s.DollarsPerMillion)
		}
	}
	t.row()
}

func benchProcess(t *table, r *bench.Report) {
	if !slices.ContainsFunc(r.Workloads, func(w bench.Workload) bool { return w.Process != nil }) {
		return
	}
	t.row("THIS PROCESS", "CPU", "", "HTTP CEILING:", "", "", "STORE CEILING:")
	t.row("FOR EACH", "µs", "ALLOCATIONS", "CPU µs", "ALLOCATIONS", "PER S", "PER S")
	for _, w := range r.Workloads {
		p := w.Process
		if p == nil {
			continue
		}
		cpu, allocations, http, store := "-", "-", "-", "-"
		if ceiling := w.Ceilings.HTTP; ceiling != nil {
			cpu, allocations, http = strconv.FormatUint(ceiling.CPU, 10), strconv.FormatUint(ceiling.Allocations, 10), decimals(ceiling.PerSecond, 0)
		}
		if ceiling := w.Ceilings.Store; ceiling != nil {
			store = decimals(ceiling.PerSecond, 0)
		}
		t.row(w.Workload, strconv.FormatUint(p.CPU, 10), strconv.FormatUint(p.Allocations, 10), cpu, allocations, http, store)
	}
	t.row()
}

// printLag tells how far the projection trails, in one line for each workload that was watched.
func (c *cli) printLag(r *bench.Report) {
	for _, w := range r.Workloads {
		if w.Lag == nil {
			continue
		}
		window := "the stream's window is not known here"
		if r.WindowMS != nil {
			window = fmt.Sprintf("the stream is gathered for %d ms", *r.WindowMS)
		}
		unseen := ""
		if w.Lag.Unseen > 0 {
			unseen = fmt.Sprintf(", %d not seen in time", w.Lag.Unseen)
		}
		fmt.Fprintf(c.out, "%s: projection lag p50 %s ms, p99 %s, max %s, of %d postings%s (%s)\n", w.Workload,
			ms(w.Lag.P50), ms(w.Lag.P99), ms(w.Lag.Max), w.Lag.Samples, unseen, window)
	}
}

// errorsShown is how many errors there were, and which.
func errorsShown(byCode map[string]int64) string {
	total := int64(0)
	var codes []string
	for _, code := range slices.Sorted(maps.Keys(byCode)) {
		total += byCode[code]
		codes = append(codes, code)
	}
	if total == 0 {
		return "0"
	}
	return fmt.Sprintf("%d (%s)", total, strings.Join(codes, ", "))
}

func ratio(c *bench.Ceiling) string {
	if c == nil {
		return "-"
	}
	return decimals(c.Ratio, 2)
}

// ms shows microseconds.
func ms(us uint32) string { return decimals(float64(us)/1000, 1) }

func decimals(f float64, places int) string { return strconv.FormatFloat(f, 'f', places, 64) }
