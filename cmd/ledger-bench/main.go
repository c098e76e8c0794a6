// Ledger-bench puts a ledger under load, checks its balances, and reports the cost. Package bench does the work.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

	"ledger.example/client"
	"ledger.example/client/sign"
	"ledger.example/cmd/ledger-bench/bench"
)

// The exit codes are those of the program ledger.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// quickCount is the number of requests of each workload with --quick.
const quickCount = 200

// The environment variables are those of the program ledger. Its LEDGER_URL is ignored: a load must be meant.
const (
	signVariable  = "LEDGER_SIGN"
	tokenVariable = "LEDGER_TOKEN"
)

var errInterrupted = errors.New("interrupted")

//go:embed help.txt
var help string

func main() {
	// The first signal ends the load, and restores the default behavior, so that a second one kills the process.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

// program is one run of the program.
type program struct {
	options
	getenv   func(string) string
	out, err io.Writer
}

// options holds the flags. check completes them.
type options struct {
	clients, seconds, count, rounds, accounts int
	seed                                      uint64
	memory, noPump, quick, json, sign         bool
	url, token, user                          string
	endpoint, table, confirmed                string
}

// run executes one command line and returns the exit code. An error before the load begins is a usage error.
func run(ctx context.Context, args []string, getenv func(string) string, out, errs io.Writer) int {
	p := &program{getenv: getenv, out: out, err: errs}
	isValid := false
	cmd := p.command(&isValid)
	cmd.SetArgs(args)
	cmd.SetOut(out)
	cmd.SetErr(errs)
	switch err := cmd.ExecuteContext(ctx); {
	case err == nil:
		return exitDone
	case ctx.Err() != nil && errors.Is(err, errInterrupted):
		fmt.Fprintln(errs, err)
		return exitInterrupted
	case isValid:
		fmt.Fprintln(errs, err)
		if _, ok := errors.AsType[*client.UnreachableError](err); ok {
			fmt.Fprintln(errs, "Start a ledger with `ledger up`, or name another with --url.")
		}
		return exitFailed
	default:
		fmt.Fprintf(errs, "%s\nTry 'ledger-bench --help'.\n", strings.TrimRight(err.Error(), "\n"))
		return exitUsage
	}
}

// bounded is the value of a flag for a whole number from least to most.
type bounded struct {
	value       *int
	least, most int
}

// String, Type and Set implement pflag.Value.
func (b bounded) String() string { return strconv.Itoa(*b.value) }
func (b bounded) Type() string   { return "int" }
func (b bounded) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < b.least || n > b.most {
		return fmt.Errorf("must be a whole number from %d to %d", b.least, b.most)
	}
	*b.value = n
	return nil
}

// command returns the program's command. It sets isValid when the command line is valid.
func (p *program) command(isValid *bool) *cobra.Command {
	short, long, _ := strings.Cut(strings.TrimSpace(help), "\n\n")
	long, examples, _ := strings.Cut(long, "\n\nExamples:\n")
	cmd := &cobra.Command{
		Use: "ledger-bench [WORKLOAD...]", Short: short, Long: long, Example: examples,
		SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, workloads []string) error {
			err := errors.Join(cmd.ValidateFlagGroups(), p.check(workloads, cmd.Flags().Changed))
			if err != nil {
				return err
			}
			if len(workloads) == 0 {
				workloads = bench.Workloads()
			}
			*isValid = true
			return p.bench(cmd.Context(), workloads)
		},
	}
	cmd.SetUsageTemplate(strings.ReplaceAll(cmd.UsageTemplate(), ".FlagUsages", ".FlagUsagesWrapped 80"))
	f := cmd.Flags()
	p.clients, p.seconds, p.rounds, p.accounts = 8, 3, 3, 100
	f.Var(bounded{&p.clients, 1, 512}, "clients", "concurrent requests")
	f.Var(bounded{&p.seconds, 1, 3600}, "seconds", "length of each slice")
	f.Var(bounded{&p.count, 1, 10_000_000}, "count", "requests of each slice, instead of --seconds")
	f.Var(bounded{&p.rounds, 1, 100}, "rounds", "slices of each workload")
	f.Var(bounded{&p.accounts, 2, 10_000}, "accounts", "accounts that pay each other")
	f.Uint64Var(&p.seed, "seed", 1, "the same seed makes the same requests")
	f.BoolVar(&p.memory, "memory", false, "use the built-in store, in the memory of this process")
	f.StringVar(&p.endpoint, "dynamodb-endpoint", "", "URL of a DynamoDB Local that already runs")
	f.StringVar(&p.table, "table", "ledger", "name of the table")
	f.StringVar(&p.confirmed, "i-mean", "", "repeat the address here if it is not on this machine")
	f.BoolVar(&p.noPump, "no-pump", false, "do not run the projector")
	f.BoolVar(&p.quick, "quick", false,
		fmt.Sprintf("%d requests of each workload on --memory: a test of a few seconds", quickCount))
	f.BoolVar(&p.json, "json", false, "print JSON")
	f.StringVar(&p.url, "url", "", "address of a ledger that runs elsewhere")
	f.BoolVar(&p.sign, "sign", false,
		"sign requests with the AWS credentials of this environment; or set "+signVariable)
	f.StringVar(&p.token, "token", "", "bearer token, for an API with a JWT authorizer; or set "+tokenVariable+
		", which other users of this machine cannot see")
	f.StringVar(&p.user, "user", "", "act for this user, with only their roles; needs a service or an administrator")
	cmd.MarkFlagsMutuallyExclusive("memory", "dynamodb-endpoint", "quick")
	cmd.MarkFlagsMutuallyExclusive("count", "seconds", "quick")
	cmd.MarkFlagsMutuallyExclusive("sign", "token")
	for _, other := range []string{"rounds", "accounts", "table", "no-pump"} {
		cmd.MarkFlagsMutuallyExclusive("quick", other)
	}
	return cmd
}

// check validates the flags and expands --quick. isGiven reports whether a flag is given.
func (p *program) check(workloads []string, isGiven func(flag string) bool) error {
	for flag, text := range map[string]string{"url": p.url, "dynamodb-endpoint": p.endpoint, "table": p.table,
		"i-mean": p.confirmed, "token": p.token, "user": p.user} {
		if isGiven(flag) && text == "" {
			return fmt.Errorf("--%s must not be empty", flag)
		}
	}
	for i, name := range workloads {
		if !slices.Contains(bench.Workloads(), name) {
			return fmt.Errorf("%q is not a workload; there are %s", name, strings.Join(bench.Workloads(), ", "))
		}
		if slices.Contains(workloads[:i], name) {
			return fmt.Errorf("workload %s is given twice", name)
		}
	}
	if p.quick {
		p.memory, p.count, p.rounds, p.accounts = true, quickCount, 1, 20
	}
	if isGiven("url") {
		if p.memory || p.endpoint != "" || isGiven("table") {
			return errors.New("--url names a ledger that already runs, and cannot be used with --memory, " +
				"--dynamodb-endpoint, --table and --quick")
		}
		if _, err := p.dial(); err != nil {
			return err
		}
		return p.checkConfirmed("--url", p.url)
	}
	for _, flag := range []string{"sign", "token", "user"} {
		if isGiven(flag) {
			return fmt.Errorf("--%s needs --url", flag)
		}
	}
	if isGiven("dynamodb-endpoint") {
		return p.checkConfirmed("--dynamodb-endpoint", p.endpoint)
	}
	if p.confirmed != "" {
		return errors.New("--i-mean needs --url or --dynamodb-endpoint, whose address it repeats")
	}
	return nil
}

// checkConfirmed returns an error unless an address is on this machine, or --i-mean repeats it.
func (p *program) checkConfirmed(flag, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("%s: %q is not an http or https URL", flag, address)
	}
	isHere := u.Hostname() == "localhost"
	if ip := net.ParseIP(u.Hostname()); ip != nil {
		isHere = ip.IsLoopback()
	}
	if p.confirmed == address || p.confirmed == "" && isHere {
		return nil
	}
	if p.confirmed != "" {
		return fmt.Errorf("--i-mean is %s, but %s is %s", p.confirmed, flag, address)
	}
	return fmt.Errorf("a load writes to the ledger, its writes cannot be deleted, and %s is not on this machine: "+
		"to confirm, add --i-mean %s", address, address)
}

// signer returns the signer of requests, nil for none. A flag overrides both environment variables.
func (p *program) signer() (client.Signer, error) {
	if text := p.getenv(signVariable); !p.sign && p.token == "" {
		isSigned, err := strconv.ParseBool(text)
		if err != nil && text != "" {
			return nil, fmt.Errorf("%s must be true or false, not %q", signVariable, text)
		}
		if p.token = p.getenv(tokenVariable); isSigned && p.token != "" {
			return nil, fmt.Errorf("%s and %s cannot both be set: unset one, or give --sign or --token", signVariable,
				tokenVariable)
		}
		p.sign = isSigned
	}
	switch {
	case p.sign:
		return sign.New(), nil
	case p.token != "":
		bearer, err := client.Bearer(p.token)
		if err != nil {
			return nil, fmt.Errorf("--token or %s: %w", tokenVariable, err)
		}
		return bearer, nil
	}
	return nil, nil
}

// dial returns a client of the API at --url.
func (p *program) dial() (*client.Client, error) {
	signer, err := p.signer()
	if err != nil {
		return nil, err
	}
	api, err := client.New(client.Config{URL: p.url, Sign: signer, User: p.user})
	if err != nil {
		return nil, fmt.Errorf("--url: %w", err)
	}
	return api, nil
}

// bench runs the workloads and prints the report. A failed check and an interruption are errors.
func (p *program) bench(ctx context.Context, workloads []string) (err error) {
	// A closed pipe must not kill the process before it has deleted its second table and its temporary directory. With
	// SIGPIPE caught, writes return an error.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)
	config := bench.Config{
		Workloads: workloads, Clients: p.clients, Count: p.count, Period: time.Duration(p.seconds) * time.Second,
		Rounds: p.rounds, Accounts: p.accounts, Seed: p.seed, Projected: !p.noPump,
	}
	if p.url != "" {
		config.URL, config.Ledger, config.User = p.url, p.url, p.user
		if config.Sign, err = p.signer(); err != nil {
			return err
		}
		api, err := p.dial()
		if err != nil {
			return err
		}
		switch err := api.Ping(ctx); {
		case wasInterrupted(ctx, err):
			return errInterrupted
		case err != nil:
			return err
		}
	} else {
		stop, startErr := p.local(ctx, &config)
		switch {
		case ctx.Err() != nil && startErr != nil:
			return errInterrupted
		case startErr != nil:
			return startErr
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	running := bench.New(config)
	stop := p.showProgress(running)
	report, ended := running.Run(ctx)
	stop()
	switch {
	case report == nil && wasInterrupted(ctx, ended):
		return errInterrupted
	case report == nil:
		return ended
	}
	defer func() { err = errors.Join(err, ended) }()
	if p.json {
		err = json.NewEncoder(p.out).Encode(report)
	} else {
		err = p.printTable(report)
	}
	if err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	for _, f := range report.Failed {
		fmt.Fprintln(p.err, f)
	}
	switch {
	case len(report.Failed) > 0:
		return fmt.Errorf("%d checks failed", len(report.Failed))
	case report.CutShort:
		return fmt.Errorf("%w: the figures include only the requests until then", errInterrupted)
	}
	return nil
}

// wasInterrupted reports whether err is that of the signal that ended ctx.
func wasInterrupted(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx)))
}
