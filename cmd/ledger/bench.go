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
	// --quick makes so many requests of each workload, on so many accounts.
	quickCount    = 200
	quickAccounts = 20
)

// benchOptions are the flags. check completes them.
type benchOptions struct {
	clients, seconds, count, rounds, accounts int
	seed                                      uint64
	memory, noPump, quick                     bool
	endpoint, table, mean, plots              string
}

// benchCommand is `ledger bench`. Package internal/bench does the work; the report is printed here.
func (env *environment) benchCommand() *cobra.Command {
	var o benchOptions
	cmd := &cobra.Command{
		Use:   "bench [WORKLOAD...]",
		Short: "Put a ledger under load, check its balances, report the cost",
		Long: `bench sends requests to the HTTP API, many at the same time. It reports
rates, latencies, requests to the store, and what they cost in AWS. At the end
it reads every balance strongly and compares it with books of its own. The exit
status is 1 if a balance is wrong, if a workload has no success, or if a request
failed with anything but a 503.

By default, the ledger runs in this process, on a DynamoDB Local that bench
starts. --dynamodb-endpoint uses a DynamoDB Local that already runs. --memory
uses the memory of this process, which shows what the ledger itself takes.
--url uses a ledger that runs elsewhere; LEDGER_URL is ignored.

bench writes to the ledger, and nothing that it writes can be deleted. If the
address is not on this machine, --i-mean must repeat it. All ids of a run begin
with a name of that run, so you can run bench again on the same ledger.

These are the workloads. Without arguments, bench runs all of them:

  uniform       transfers and trades between random accounts
  hot-receiver  the same, but one account receives every payment
  hot-spender   one account with a limit makes every payment. It receives
                money meanwhile, so every debit is covered
  market        trades settled in cash against 4 market makers
  read          summaries, histories and balances of accounts, by turns
  import        transactions as in uniform, from a generated file, which is read
                and scheduled as "ledger import" does it, in a request each

Each round runs one slice of every workload. If the ledger is in this process,
bench also measures two ceilings after each slice. For STORE, the SDK alone
writes the same transactions to another table. For HTTP, a server only parses
the same requests and sends similar answers. "÷ STORE" and "÷ HTTP" are the
rate of the ledger divided by the rate of the ceiling, as the median of all
rounds. "÷ UNIFORM" compares with uniform in the same round. Nobody projects
what the SDK writes, so compare under --no-pump. The same --seed makes the same
requests.

A latency is the time from the first attempt to the last answer. A request that
is answered 503, or not at all, is sent again with its id. RETRIES counts these.
TRANSACTIONS SENT counts the writes to the store for each request. A client
sends its next request after the answer; in import it also waits for its next
line. Units follow the rules that AWS publishes. PROJECTED is for each posting.
"$ A MILLION" is the price of the on-demand units of DynamoDB, and of nothing
else. CPU and allocations are of this whole process. LAG is the time from the
acknowledgement until the posting is projected. A reader looks every 40 ms. The
stream is gathered for a time before that.

--json prints one object with all figures. Their names end in their unit: _us
for microseconds, _ms for milliseconds. The list "failed" is empty if every
check passed.

--plot draws rates.svg, latencies.svg and, if something projects, lag.svg.

Ctrl-C ends the load. bench also ends it if the ledger does nothing for 20 s.
Then it checks what was posted, and the report says that it was cut short.`,
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
			if err := mayPlot(o.plots); err != nil {
				return err
			}
			return env.bench(cmd.Context(), o, workloads, isElsewhere)
		},
	}
	f := cmd.Flags()
	numberFlag(f, &o.clients, "clients", benchClients, 1, benchClientsMax, "requests at the same time")
	numberFlag(f, &o.seconds, "seconds", benchSeconds, 1, benchSecondsMax, "length of each slice")
	numberFlag(f, &o.count, "count", 0, 1, benchCountMax, "requests of each slice, instead of --seconds")
	numberFlag(f, &o.rounds, "rounds", benchRounds, 1, benchRoundsMax, "slices of each workload")
	numberFlag(f, &o.accounts, "accounts", benchAccounts, 2, benchAccountMax, "accounts that pay each other")
	f.Uint64Var(&o.seed, "seed", 1, "the same seed makes the same requests")
	f.BoolVar(&o.memory, "memory", false, "use the memory of this process as the store")
	endpointFlag(f, &o.endpoint, "", "URL of a DynamoDB Local that already runs")
	f.StringVar(&o.table, "table", defaultTable, "name of the table")
	f.StringVar(&o.mean, "i-mean", "", "the address again, if it is not on this machine")
	f.BoolVar(&o.noPump, "no-pump", false, "do not run the projector")
	f.BoolVar(&o.quick, "quick", false, fmt.Sprintf("%d requests of each workload on --memory: a test of a few "+
		"seconds", quickCount))
	plotFlag(f, &o.plots, "rates, latencies and lag")
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

// check finds wrong use, and sets what --quick stands for. isGiven reports whether a flag is given.
func (o *benchOptions) check(env *environment, workloads []string, isGiven func(flag string) bool) error {
	for i, name := range workloads {
		if !slices.Contains(bench.Workloads(), name) {
			return wrongUse("%q is none of the workloads %s", name, strings.Join(bench.Workloads(), ", "))
		}
		if slices.Contains(workloads[:i], name) {
			return wrongUse("workload %s is given twice", name)
		}
	}
	if o.quick {
		o.memory, o.count, o.rounds, o.accounts = true, quickCount, 1, quickAccounts
	}
	if isGiven("url") {
		if o.memory || o.endpoint != "" || isGiven("table") {
			return wrongUse("--url takes a ledger that runs, and cannot be used with --memory, --dynamodb-endpoint, " +
				"--table and --quick")
		}
		if _, err := env.dial(0, 0); err != nil {
			return err
		}
		return o.checkMeant("--url", env.url)
	}
	for _, flag := range []string{flagSign, flagToken} {
		if isGiven(flag) {
			return wrongUse("--%s is for the requests to a --url, and none is given", flag)
		}
	}
	if o.endpoint != "" {
		return o.checkMeant("--dynamodb-endpoint", o.endpoint)
	}
	if o.mean != "" {
		return wrongUse("--i-mean repeats --url or --dynamodb-endpoint, and neither is given")
	}
	return nil
}

// checkMeant returns an error of wrong use unless an address is this machine, or is given twice.
func (o *benchOptions) checkMeant(flag, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return wrongUse("%s: %w", flag, err)
	}
	isHere := u.Hostname() == "localhost"
	if ip := net.ParseIP(u.Hostname()); ip != nil {
		isHere = ip.IsLoopback()
	}
	if o.mean == address || o.mean == "" && isHere {
		return nil
	}
	if o.mean != "" {
		return wrongUse("--i-mean is %s, and %s is %s", o.mean, flag, address)
	}
	return wrongUse("bench writes to the ledger, for good, and %s is not this machine: if that is meant, add "+
		"--i-mean %s", address, address)
}

// bench runs the workloads and prints the report. Error: also a check that failed, and an interruption.
func (env *environment) bench(ctx context.Context, o benchOptions, workloads []string, isElsewhere bool) (err error) {
	// A reader who is gone must not end the process before its table and directory beside are cleared away: writing
	// fails.
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
	// What was measured is printed first: it does not depend on a plot.
	defer func() { err = errors.Join(err, ended, env.plot(o.plots, report.Plots())) }()
	printed := env.printBenchTable
	if env.json {
		printed = func(r *bench.Report) error { return env.printJSON(r) }
	}
	if err := printed(report); err != nil {
		return err
	}
	for _, f := range report.Failed {
		fmt.Fprintln(env.err, f)
	}
	switch {
	case len(report.Failed) > 0:
		return fmt.Errorf("%d checks failed", len(report.Failed))
	case report.CutShort:
		return errors.New("interrupted: the figures are of what was done until then")
	}
	return nil
}
