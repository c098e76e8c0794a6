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
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ledger.example/internal/bench"
)

const (
	benchClients    = 8
	benchClientsMax = 512
	benchSeconds    = 3
	benchSecondsMax = 3600
	benchCountMax   = 10_000_000
	benchRounds     = 3
	benchRoundsMax  = 100
	benchAccounts   = 100
	benchAccountMax = 10_000
	quickCount      = 200 // requests of each workload with --quick
	quickAccounts   = 20
)

// benchOptions holds the flags. check completes them.
type benchOptions struct {
	clients, seconds, count, rounds, accounts int
	seed                                      uint64
	memory, noPump, quick                     bool
	endpoint, table, confirmed                string
}

// benchCommand is `ledger bench`. Package internal/bench does the work; the report is printed here.
func (env *environment) benchCommand() *cobra.Command {
	var o benchOptions
	cmd := &cobra.Command{
		Use:   "bench [WORKLOAD...]",
		Short: "Put a ledger under load, check its balances, and report the cost",
		Long: `bench sends concurrent requests to the HTTP API. It reports rates, latencies,
requests to the store, and their price in AWS. At the end it reads every balance
with a strong read, and compares it with the transactions that were
acknowledged. The first request that fails ends the load; the transactions until
then are checked. The exit status is 1 if a request failed or a balance is
wrong.

By default, the ledger runs in this process, on a DynamoDB Local that bench
starts. --dynamodb-endpoint uses a DynamoDB Local that already runs. --memory
uses the built-in store, and so shows the cost of the ledger itself. --url uses
a ledger that runs elsewhere; LEDGER_URL is ignored.

bench writes to the ledger, and its writes cannot be deleted. If the address is
not on this machine, --i-mean must repeat it. All ids of a run begin with the
name of the run, so you can run bench again on the same ledger.

These are the workloads. Without arguments, bench runs all of them:

  uniform       transfers and trades between random accounts
  hot-receiver  as uniform, but one account receives every payment
  hot-spender   one account with a limit makes every payment. It also receives
                money, so that every debit is covered
  market        trades settled in cash against 4 market makers
  read          summaries, histories and balances of accounts, in turn

Each round runs one slice of every workload. If the ledger is in this process,
bench also measures a ceiling after each slice: for STORE, the SDK alone writes
the same transactions to another table. "÷ STORE" is the rate of the ledger
divided by the rate of the ceiling, the median of all rounds. "÷ UNIFORM"
compares with uniform in the same round. The writes of STORE are not projected,
so use --no-pump for this comparison. The same --seed makes the same requests.

A latency is the time from the first attempt to the last answer. A request that
gets a 503 or no answer is retried with the same id, for up to 30 s. A client
sends its next request after the answer. TRANSACTIONS SENT is the number of
write transactions sent to the store for each request. Units are those of the
built-in store (--memory), which counts by the rules that AWS publishes.
PROJECTED figures are for each posting. "$ A MILLION" is the price of DynamoDB's
on-demand units for a million requests, and of nothing else. CPU and allocations
are those of the whole process. LAG is the time from the acknowledgement of a
posting until a reader, who polls every 40 ms, finds it in the projection. It
includes the batching window of the stream.

--json prints one object with all figures. Their names end in their unit: _us
for microseconds, _ms for milliseconds. The list "failed" is empty if every
check passed.

Ctrl-C ends the load. bench then checks the transactions that were posted, and
the report says that it was cut short.`,
		Example: `  ledger bench
  ledger bench --memory --no-pump uniform hot-receiver
  ledger bench --count 5000 --rounds 5 --json hot-spender
  ledger bench --url https://ledger.example.com \
    --i-mean https://ledger.example.com --sign --seconds 30 market`,
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
	numberFlag(f, &o.clients, "clients", benchClients, 1, benchClientsMax, "concurrent requests")
	numberFlag(f, &o.seconds, "seconds", benchSeconds, 1, benchSecondsMax, "length of each slice")
	numberFlag(f, &o.count, "count", 0, 1, benchCountMax, "requests of each slice, instead of --seconds")
	numberFlag(f, &o.rounds, "rounds", benchRounds, 1, benchRoundsMax, "slices of each workload")
	numberFlag(f, &o.accounts, "accounts", benchAccounts, 2, benchAccountMax, "accounts that pay each other")
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
		o.memory, o.count, o.rounds, o.accounts = true, quickCount, 1, quickAccounts
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
	for _, flag := range []string{flagSign, flagToken} {
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
		config.URL, config.Ledger = env.url, env.url
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
			return errors.New("interrupted")
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
		return errors.New("interrupted")
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
		return errors.New("interrupted: the figures include only the requests until then")
	}
	return nil
}
