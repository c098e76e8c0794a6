package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ledger.example/cmd/ledger-bench/bench"
)

// quickCount is the number of requests of each workload with --quick.
const quickCount = 200

// benchOptions holds the flags. check completes them.
type benchOptions struct {
	clients, seconds, count, rounds, accounts int
	seed                                      uint64
	memory, noPump, quick                     bool
	endpoint, table, confirmed                string
}

// benchCommand is `ledger bench`. Package cmd/ledger-bench/bench does the work; the report is printed here.
func (env *environment) benchCommand() *cobra.Command {
	var o benchOptions
	cmd := &cobra.Command{
		Use: "bench [WORKLOAD...]",
		RunE: func(cmd *cobra.Command, workloads []string) error {
			isElsewhere := cmd.Flags().Changed("url")
			if err := o.check(env, workloads, cmd.Flags().Changed); err != nil {
				return err
			}
			if len(workloads) == 0 {
				workloads = bench.Workloads()
			}
			return env.bench(cmd.Context(), o, workloads, isElsewhere)
		},
	}
	f := cmd.Flags()
	numberFlag(f, &o.clients, "clients", 8, 1, 512, "concurrent requests")
	numberFlag(f, &o.seconds, "seconds", 3, 1, 3600, "length of each slice")
	numberFlag(f, &o.count, "count", 0, 1, 10_000_000, "requests of each slice, instead of --seconds")
	numberFlag(f, &o.rounds, "rounds", 3, 1, 100, "slices of each workload")
	numberFlag(f, &o.accounts, "accounts", 100, 2, 10_000, "accounts that pay each other")
	f.Uint64Var(&o.seed, "seed", 1, "the same seed makes the same requests")
	f.BoolVar(&o.memory, "memory", false, "use the built-in store, in the memory of this process")
	endpointFlag(f, &o.endpoint, "", "URL of a DynamoDB Local that already runs")
	f.StringVar(&o.table, "table", defaultTable, "name of the table")
	f.StringVar(&o.confirmed, "i-mean", "", "repeat the address here if it is not on this machine")
	f.BoolVar(&o.noPump, "no-pump", false, "do not run the projector")
	f.BoolVar(&o.quick, "quick", false, fmt.Sprintf("%d requests of each workload on --memory: a test of a few "+
		"seconds", quickCount))
	cmd.MarkFlagsMutuallyExclusive("memory", "dynamodb-endpoint", "quick")
	cmd.MarkFlagsMutuallyExclusive("count", "seconds", "quick")
	for _, other := range []string{"rounds", "accounts", "table", "no-pump"} {
		cmd.MarkFlagsMutuallyExclusive("quick", other)
	}
	env.apiFlags(cmd)
	url := f.Lookup(flagURL)
	url.Usage, url.DefValue = "address of a ledger that runs elsewhere", ""
	return cmd
}

// check validates the flags and expands --quick. isGiven reports whether a flag is given.
func (o *benchOptions) check(env *environment, workloads []string, isGiven func(flag string) bool) error {
	for i, name := range workloads {
		if !slices.Contains(bench.Workloads(), name) {
			return usageErrorf("%q is not a workload; there are %s", name, strings.Join(bench.Workloads(), ", "))
		}
		if slices.Contains(workloads[:i], name) {
			return usageErrorf("workload %s is given twice", name)
		}
	}
	if o.quick {
		o.memory, o.count, o.rounds, o.accounts = true, quickCount, 1, 20
	}
	if isGiven("url") {
		if o.memory || o.endpoint != "" || isGiven("table") {
			return usageErrorf("--url names a ledger that already runs, and cannot be used with --memory, " +
				"--dynamodb-endpoint, --table and --quick")
		}
		if _, err := env.dial(0, 0); err != nil {
			return err
		}
		return o.checkConfirmed("--url", env.url)
	}
	for _, flag := range []string{flagSign, flagToken, flagUser} {
		if isGiven(flag) {
			return usageErrorf("--%s needs --url", flag)
		}
	}
	if o.endpoint != "" {
		return o.checkConfirmed("--dynamodb-endpoint", o.endpoint)
	}
	if o.confirmed != "" {
		return usageErrorf("--i-mean needs --url or --dynamodb-endpoint, whose address it repeats")
	}
	return nil
}

// checkConfirmed returns a usage error unless an address is on this machine, or --i-mean repeats it.
func (o *benchOptions) checkConfirmed(flag, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return usageErrorf("%s: %w", flag, err)
	}
	isHere := u.Hostname() == "localhost"
	if ip := net.ParseIP(u.Hostname()); ip != nil {
		isHere = ip.IsLoopback()
	}
	if o.confirmed == address || o.confirmed == "" && isHere {
		return nil
	}
	if o.confirmed != "" {
		return usageErrorf("--i-mean is %s, but %s is %s", o.confirmed, flag, address)
	}
	return usageErrorf("bench writes to the ledger, its writes cannot be deleted, and %s is not on this machine: "+
		"to confirm, add --i-mean %s", address, address)
}

// bench runs the workloads and prints the report. A failed check and an interruption are errors.
func (env *environment) bench(ctx context.Context, o benchOptions, workloads []string, isElsewhere bool) (err error) {
	// A closed pipe must not kill the process before it has deleted its second table and its temporary directory. With
	// SIGPIPE caught, writes return an error.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)
	config := bench.Config{
		Workloads: workloads, Clients: o.clients, Count: o.count, Period: time.Duration(o.seconds) * time.Second,
		Rounds: o.rounds, Accounts: o.accounts, Seed: o.seed, Projected: !o.noPump,
	}
	if isElsewhere {
		config.URL, config.Ledger, config.User = env.url, env.url, env.user
		signer, err := env.signer()
		if err != nil {
			return err
		}
		config.Sign = signer
		api, err := env.dial(0, 0)
		if err != nil {
			return err
		}
		if err := api.Ping(ctx); err != nil {
			return err
		}
	} else {
		stop, startErr := env.benchLocal(ctx, o, &config)
		switch {
		case ctx.Err() != nil && startErr != nil:
			return errInterrupted
		case startErr != nil:
			return startErr
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	run := bench.New(config)
	p := startProgress(env.err, run.Total(), func(time.Duration) (string, int64) { return run.Progress() })
	report, ended := run.Run(ctx)
	p.stop()
	switch {
	case report == nil && ctx.Err() != nil && errors.Is(ended, context.Canceled):
		return errInterrupted
	case report == nil:
		return ended
	}
	defer func() { err = errors.Join(err, ended) }()
	printReport := env.printBenchTable
	if env.json {
		printReport = func(r *bench.Report) error { return env.printJSON(r) }
	}
	if err := printReport(report); err != nil {
		return err
	}
	for _, f := range report.Failed {
		fmt.Fprintln(env.err, f)
	}
	switch {
	case len(report.Failed) > 0:
		return fmt.Errorf("%d checks failed", len(report.Failed))
	case report.CutShort:
		return fmt.Errorf("%w: the figures include only the requests until then", errInterrupted)
	}
	return nil
}

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
