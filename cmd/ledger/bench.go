package main

import (
	"context"
	"encoding/json"
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

	"ledger.example/cmd/ledger/bench"
	"ledger.example/cmd/ledger/sign"
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

type benchOptions struct {
	clients, seconds, count, rounds, accounts int
	seed                                      uint64
	memory, noPump, quick                     bool
	endpoint, table, mean                     string
}

func (c *cli) benchCommand() *cobra.Command {
	var o benchOptions
	cmd := &cobra.Command{
		Use:   "bench [WORKLOAD...]",
		Short: "Put a ledger under load, check its books, and tell what that cost",
		Long: `bench posts transactions and reads them, many at once, by the HTTP API, and says how fast that was, how long
each took, what was asked of the store, and what that costs in AWS. At the end it reads every balance strongly
and compares it with books of its own: a run with a wrong balance is a failed run, and exits with status 1.

The ledger is in this process: on a DynamoDB Local that is started for it, as by "ledger up"; on one that runs
already (--dynamodb-endpoint); or on this process's memory (--memory), which shows what the ledger itself takes.
With --url, and only then, it is elsewhere: LEDGER_URL makes no other ledger the target. bench writes, and nothing
it writes can be deleted: for anything but this machine --i-mean must repeat the address. All its assets, accounts
and transactions begin with a name of the run, so it can be run on a table that has other books, again and again.

The workloads, all of them unless some are named:

  uniform       transfers and trades between random accounts
  hot-receiver  the same, and everyone pays one account
  hot-spender   everyone draws on one account with a limit, which is paid into meanwhile; every debit has cover
  market        trades settled in cash against 4 market makers
  read          account pages, histories, balances, and strong reads of balances
  import        what "ledger import" does with a file

Each round runs a slice of each workload. Within a round each slice is followed by its ceilings, where the ledger is
in this process: the SDK alone writing the same transactions to a table beside (STORE), and an HTTP server that only
parses the same bodies and answers the same (HTTP). "÷ STORE" and "÷ HTTP" are our rate by theirs, the median over the
rounds. Nothing projects what the SDK alone writes: compare with it under --no-pump. The same --seed makes the same
requests.

Latencies are of a request until its last answer: one that is answered 503, or not at all, is sent again with its id.
RETRIES counts these repetitions, but import's, whose client doesn't tell; ATTEMPTS what was sent to the store beyond one
transaction each. Each client waits for its answer before it asks again: the latencies leave out the waiting that requests
see which come at a rate of their own. Units are by AWS's published rules, not as DynamoDB Local tells them; DOLLARS are
for DynamoDB's on-demand units only, without storage, streams, Lambda and API Gateway. CPU and allocations are of this whole process, with the clients and
the projector; beside them stand those of the HTTP ceiling, which has the same clients. LAG is from the acknowledgement
until a reader finds the posting projected, who looks every 40 ms; the stream is gathered for a time before that.

--json prints one object with all of that and more: in "workloads" by workload "per_second", "latency_us", "errors" (by
code), "store" (requests by operation, units), "process", "ceilings", "lag_us"; then "checked" and "failed", a list that
is empty when all is well. Fields ending in _us are microseconds; what is counted is a whole number.

Ctrl-C ends the load: what was posted is still checked, as far as some seconds allow, and the report says that it was cut
short. A ledger that does nothing for 20 s ends it, too. A run also fails when a workload has no success, or when
requests failed otherwise than by 503.`,
		Example: `  ledger bench
  ledger bench --memory --no-pump uniform hot-receiver
  ledger bench --count 5000 --rounds 5 --json hot-spender
  ledger bench --url https://ledger.example.com --i-mean https://ledger.example.com --sign --seconds 30 market`,
		RunE: func(cmd *cobra.Command, workloads []string) error {
			isElsewhere := cmd.Flags().Changed("url")
			if err := o.check(c, workloads, cmd.Flags().Changed); err != nil {
				return err
			}
			if len(workloads) == 0 {
				workloads = bench.Workloads()
			}
			return c.bench(cmd.Context(), o, workloads, isElsewhere)
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.clients, "clients", benchClients, "requests under way at once")
	f.IntVar(&o.seconds, "seconds", benchSeconds, "length of each slice")
	f.IntVar(&o.count, "count", 0, "requests of each slice, whatever time they take, instead of --seconds")
	f.IntVar(&o.rounds, "rounds", benchRounds, "slices of each workload")
	f.IntVar(&o.accounts, "accounts", benchAccounts, "accounts that pay each other")
	f.Uint64Var(&o.seed, "seed", 1, "the same seed makes the same requests")
	f.BoolVar(&o.memory, "memory", false, "run on this process's memory")
	f.StringVar(&o.endpoint, "dynamodb-endpoint", "", "URL of a DynamoDB Local that runs already")
	f.StringVar(&o.table, "table", defaultTable, "name of the table")
	f.StringVar(&o.mean, "i-mean", "", "repeats the address that is written to, unless that is this machine")
	f.BoolVar(&o.noPump, "no-pump", false, "don't project, and don't wait for it")
	f.BoolVar(&o.quick, "quick", false, fmt.Sprintf("%d requests of each workload on --memory, in a few seconds: shows that all works", quickCount))
	cmd.MarkFlagsMutuallyExclusive("memory", "dynamodb-endpoint", "quick")
	cmd.MarkFlagsMutuallyExclusive("count", "seconds", "quick")
	for _, other := range []string{"rounds", "accounts", "table", "no-pump"} {
		cmd.MarkFlagsMutuallyExclusive("quick", other)
	}
	return cmd
}

// check finds wrong use, and sets what --quick stands for. isGiven tells of a flag by its name.
func (o *benchOptions) check(c *cli, workloads []string, isGiven func(flag string) bool) error {
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
	leastCount := 0 // --seconds is the bound
	if isGiven("count") {
		leastCount = 1
	}
	for _, bounded := range []struct {
		flag              string
		value, least, max int
	}{
		{"clients", o.clients, 1, benchClientsMax},
		{"seconds", o.seconds, 1, benchSecondsMax},
		{"count", o.count, leastCount, benchCountMax},
		{"rounds", o.rounds, 1, benchRoundsMax},
		{"accounts", o.accounts, 2, benchAccountMax},
	} {
		if bounded.value < bounded.least || bounded.value > bounded.max {
			return wrongUse("--%s must be %d to %d", bounded.flag, max(bounded.least, 1), bounded.max)
		}
	}
	if isGiven("url") {
		if o.memory || o.endpoint != "" || isGiven("table") {
			return wrongUse("--url takes a ledger that runs, and cannot be used with --memory, --dynamodb-endpoint, --table and --quick")
		}
		if _, err := c.dial(0, 0); err != nil {
			return err
		}
		return o.checkMeant("--url", c.url)
	}
	if isGiven("sign") {
		return wrongUse("--sign signs the requests to a --url, and none is given")
	}
	if o.endpoint != "" {
		if err := checkEndpoint(o.endpoint); err != nil {
			return err
		}
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
	return wrongUse("bench writes to the ledger, for good, and %s is not this machine: if that is meant, add --i-mean %s", address, address)
}

func (c *cli) bench(ctx context.Context, o benchOptions, workloads []string, isElsewhere bool) (err error) {
	// A reader who is gone must not end the process before its table and directory beside are cleared away: writing fails.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)
	config := bench.Config{
		Workloads: workloads, Clients: o.clients, Count: o.count, Period: time.Duration(o.seconds) * time.Second,
		Rounds: o.rounds, Accounts: o.accounts, Seed: o.seed, Projected: !o.noPump,
	}
	if isElsewhere {
		config.URL, config.Ledger = c.url, c.url
		if c.sign {
			config.Sign = sign.New()
		}
		api, err := c.dial(0, 0)
		if err != nil {
			return err
		}
		if err := api.Ping(ctx); err != nil {
			return err
		}
	} else {
		made, startErr := c.benchLocal(ctx, o)
		switch {
		case ctx.Err() != nil && startErr != nil:
			return errors.New("interrupted")
		case startErr != nil:
			return startErr
		}
		defer func() { err = errors.Join(err, made.stop()) }()
		config.Local, config.Ledger, config.Window = &made.Local, made.place, made.window
	}
	run := bench.New(config)
	p := startProgress(c.err, run.Whole(), func(time.Duration) (string, int64) { return run.Progress() })
	report, ended := run.Run(ctx)
	p.stop()
	switch {
	case report == nil && ctx.Err() != nil && errors.Is(ended, context.Canceled):
		return errors.New("interrupted")
	case report == nil:
		return ended
	}
	defer func() { err = errors.Join(err, ended) }()
	if err := c.printBench(report); err != nil {
		return err
	}
	for _, f := range report.Failed {
		fmt.Fprintln(c.err, f)
	}
	switch {
	case len(report.Failed) > 0:
		return fmt.Errorf("%d checks failed", len(report.Failed))
	case report.CutShort:
		return errors.New("interrupted: the figures are of what was done until then")
	}
	return nil
}

func (c *cli) printBench(r *bench.Report) error {
	if !c.json {
		return c.printBenchTables(r)
	}
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return c.printJSON(raw)
}
