package main

import (
	"cmp"
	"context"
	_ "embed" // for the demo's lines
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"path/filepath"
	"runtime/debug"
	"strings"
	"text/template"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/functions/api"
	"ledger.example/functions/app"
	"ledger.example/internal/desk/console"
	"ledger.example/internal/desk/importer"
	"ledger.example/internal/desk/refusals"
	"ledger.example/internal/desk/units"
	"ledger.example/internal/local/dynamolocal"
	"ledger.example/internal/local/stack"
	"ledger.example/projections"
)

const (
	// defaultPort is the default of --port.
	defaultPort = 8080
	// memoryBytes is the memory limit of the garbage collector, without --memory.
	memoryBytes = 96 << 20
)

// upOptions holds the flags. memory, data and endpoint exclude each other. Without any of them, DynamoDB Local runs in
// memory.
type upOptions struct {
	port                    int
	listen                  netip.Addr
	hosts                   []string
	data, endpoint, table   string
	indexed                 string
	memory                  bool
	noPump, demo, isVerbose bool
}

// upCommand is `ledger up`.
func (env *environment) upCommand() *cobra.Command {
	var o upOptions
	cmd := &cobra.Command{
		Use:  "up",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return env.up(cmd.Context(), o) },
	}
	f := cmd.Flags()
	portFlag(f, &o.port, defaultPort)
	listenFlags(f, &o.listen, &o.hosts)
	f.BoolVar(&o.memory, "memory", false, "use the built-in store, without Java; all data is lost on exit")
	f.StringVar(&o.data, "data", "", "directory for the data (default: all data is lost on exit)")
	endpointFlag(f, &o.endpoint, "", "URL of a DynamoDB Local that already runs")
	tableFlag(f, &o.table)
	indexedFlag(f, &o.indexed)
	f.BoolVar(&o.noPump, "no-pump", false, "do not run the pump; run \"ledger pump\" in another terminal")
	f.BoolVar(&o.demo, "demo", false, "load two months of example data of a trading platform")
	f.BoolVar(&o.isVerbose, "verbose", false, "log every request")
	env.jsonFlag(cmd, "log JSON on a terminal, too")
	env.zoneFlag(f)
	cmd.MarkFlagsMutuallyExclusive("memory", "data", "dynamodb-endpoint")
	cmd.MarkFlagsMutuallyExclusive("memory", "no-pump") // no other process could reach the table to project it
	return endless(cmd)
}

// up runs until ctx ends, which is success, or a part fails.
func (env *environment) up(ctx context.Context, o upOptions) (err error) {
	if !o.listen.IsLoopback() && len(o.hosts) == 0 {
		return usageErrorf("--listen %s lets other machines call this ledger, which asks nobody who they are: "+
			"give --host NAME for each name by which they call it, or --host localhost for none", o.listen)
	}
	// Listen first: if the port is in use, nothing has been started yet.
	listener, err := stack.Listen(o.listen.String(), o.port)
	if err != nil {
		return err
	}
	defer listener.Close()
	s, err := env.openStore(ctx, stack.Options{Memory: o.memory, Endpoint: o.endpoint, DataDir: o.data})
	if reason := withoutDynamoDBLocal(err); reason != "" && o.data == "" && !o.noPump {
		fmt.Fprintf(env.err, "%s, so this ledger uses the built-in store: all data is lost on exit. %s\n", reason,
			"`ledger up --data DIR` keeps data, and says what is missing.")
		o.memory = true
		s, err = env.openStore(ctx, stack.Options{Memory: true})
	}
	if err != nil {
		return unlessDone(ctx, err)
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	stream, err := s.CreateTable(ctx, o.table)
	if err != nil {
		return unlessDone(ctx, err)
	}
	// The limit leaves memory for DynamoDB Local on a small machine. The built-in store needs its heap.
	if !o.memory {
		debug.SetMemoryLimit(memoryBytes)
	}
	log := env.logger(verbosity(o.isVerbose))
	refused := refusals.NewRecent(log.Handler()) // also of lines that are not printed
	ledger, err := openLedger(s, o.table, o.indexed, slog.New(refused))
	if err != nil {
		return err
	}

	// All parts run until ctx ends or one of them fails. They stop in this order: the API refuses new requests and
	// finishes those in flight, the pump finishes its batches, and DynamoDB Local stops.
	parts, partsCtx := errgroup.WithContext(ctx)
	pumpCtx, endPump := context.WithCancel(context.WithoutCancel(ctx))
	defer endPump()
	if !o.noPump {
		dir, file := filepath.Split(defaultDeadLetters)
		f, err := s.Feed(o.table, stream, ledger.Stream(), ledger.List(),
			filepath.Join(cmp.Or(o.data, dir), file), log)
		if err != nil {
			return err
		}
		parts.Go(func() error { return f.Run(pumpCtx) })
		parts.Go(func() error { return stack.Sweep(partsCtx, ledger.Sweep) })
	}
	address := ownAddress(listener)
	pages, err := localConsole(partsCtx, address, env.screen.zone, refused)
	if err != nil {
		return err
	}
	parts.Go(func() error {
		defer endPump()
		return stack.Serve(partsCtx, "the API", listener, site(ledger.API(), pages), log, o.hosts...)
	})
	parts.Go(func() error { return s.Watch(partsCtx) })
	parts.Go(func() error { return unlessDone(partsCtx, env.welcome(partsCtx, address, s, o)) })
	return parts.Wait()
}

// withoutDynamoDBLocal returns why DynamoDB Local cannot run on this machine, "" for other errors.
func withoutDynamoDBLocal(err error) string {
	switch {
	case errors.Is(err, dynamolocal.ErrNoJava):
		return "DynamoDB Local needs Java 17 or newer"
	case errors.Is(err, dynamolocal.ErrNoDownload):
		return "DynamoDB Local cannot be downloaded"
	}
	return ""
}

// openLedger returns the ledger on a table of a local store.
func openLedger(s *stack.Store, table, indexed string, log *slog.Logger) (*app.Service, error) {
	keys, err := projections.ParseIndexed(indexed)
	if err != nil {
		return nil, fmt.Errorf("--indexed-metadata %w", err)
	}
	return app.New(app.Config{
		Client: s.Client(), Table: table, Caller: api.LocalCaller, Version: version(), Log: log, Indexed: keys,
		Console: console.Path,
	})
}

// localConsole returns the console for the ledger that listens on an address, with its days in a zone.
func localConsole(
	ctx context.Context, address string, zone *time.Location, refused refusals.Log,
) (*console.Console, error) {
	url := "http://" + address
	api, err := client.New(client.Config{URL: url, Connections: units.LoadingAtOnce})
	if err != nil {
		return nil, err
	}
	return console.New(ctx, api, console.Address{URL: url, Zone: zone, Refusals: refused}), nil
}

// site serves the console below its path, and the API everywhere else. A ServeMux would redirect and clean paths, which
// the API must see unchanged.
func site(ledger, pages http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path+"/" == console.Path:
			http.Redirect(w, r, console.Path, http.StatusMovedPermanently)
		case strings.HasPrefix(r.URL.Path, console.Path):
			pages.ServeHTTP(w, r)
		default:
			ledger.ServeHTTP(w, r)
		}
	})
}

// welcome waits until the API answers, loads the demo if o.demo is set, and prints how to use the ledger on standard
// error. Standard output gets only the address, for programs that wait for that line.
func (env *environment) welcome(ctx context.Context, address string, s *stack.Store, o upOptions) error {
	url := "http://" + address
	ledger, err := client.New(client.Config{URL: url})
	if err != nil {
		return err
	}
	if err := ledger.Ping(ctx); err != nil {
		return err
	}
	months := o.demo && !o.noPump
	if o.demo {
		if err := loadDemo(ctx, ledger, months); err != nil {
			return err
		}
	}
	place := "in DynamoDB at " + s.Endpoint
	if o.memory {
		place = "in memory: all data is lost on exit"
	}
	fmt.Fprintf(env.err, "Open the console in a browser: %s%s\n", url, console.Path)
	if months {
		fmt.Fprintf(env.err, "There, you can act as the user %s, who has a role in a group of accounts.\n", demoAdvisor)
	}
	fmt.Fprintf(env.err, "The ledger is ready at %s (table %s %s). Press Ctrl-C to stop it. Try:\n", url, o.table,
		place)
	if url != client.DefaultURL { // commands need no LEDGER_URL for the default
		fmt.Fprintf(env.err, "  export %s=%s\n", urlVariable, url)
	}
	fmt.Fprintf(env.err, hints, url)
	if o.noPump {
		fmt.Fprintf(env.err, "Nothing is projected until you run a pump in another terminal:\n"+
			"  ledger pump --dynamodb-endpoint %s --table %s\n", s.Endpoint, o.table)
	}
	fmt.Fprintln(env.out, url)
	return env.out.Flush()
}

// hints are requests to try, which post a transfer and read the balance. After --demo, the first three are replayed.
const hints = `  curl -X PUT %[1]s/v1/assets/USD -H 'Content-Type: application/json' -d '{"name":"US dollar","scale":2}'
  curl -X PUT %[1]s/v1/accounts/bank -H 'Content-Type: application/json' -d '{"name":"Bank","overdraft":"unlimited"}'
  curl -X PUT %[1]s/v1/accounts/jane -H 'Content-Type: application/json' -d '{"name":"Jane Doe"}'
  curl -X POST %[1]s/v1/transfers -H 'Content-Type: application/json' \
    -d '{"id":"try-1","from":"bank","to":"jane","asset":"USD","quantity":"2500"}'
  curl '%[1]s/v1/accounts/jane/balances/USD?consistency=strong'
`

// demoAdvisor is a user of the demo who reaches accounts through a group.
const demoAdvisor = "u-advisor"

// The demo as lines of an import, which can be sent again. demoLines are the requests of the README. demoMonths are two
// months of a small trading platform: deposits, rent in another currency, trades, holds, reversals, a frozen account,
// and roles. In them, {{at D H}} is hour H of the day that is D days before the last one, {{month D H}} that of day D
// of the month before, and {{soon H}} is H hours after the account ann was opened. A blank line waits until what the
// transfers before it have brought can be spent.
var (
	//go:embed demo.jsonl
	demoLines string
	//go:embed demo_months.jsonl.tmpl
	demoMonths string
)

// loadDemo sends the demo through the API, with its months if months is set. The months need a running projector: their
// deposits are backdated, so they can be spent only after they are projected. The last transactions may not be
// projected yet when loadDemo returns.
func loadDemo(ctx context.Context, api *client.Client, months bool) error {
	if err := sendDemo(ctx, api, strings.NewReader(demoLines)); err != nil || !months {
		return err
	}
	// The demo ends on the day on which its first account was opened, so that a second run sends the same requests.
	first, _, err := api.OpenAccount(ctx, client.Account{ID: "ann", Name: "Ann Poe"})
	if err != nil {
		return fmt.Errorf("the demo: %w", err)
	}
	opened, err := time.Parse(time.RFC3339Nano, first.CreatedAt)
	if err != nil {
		return err
	}
	opened = opened.UTC()
	today := opened.Truncate(24 * time.Hour)
	month := today.AddDate(0, 0, 1-today.Day())
	after := func(day time.Time, days, hours int) string {
		return day.AddDate(0, 0, days).Add(time.Duration(hours) * time.Hour).Format(time.RFC3339)
	}
	lines, err := template.New("months").Funcs(template.FuncMap{
		"at":    func(days, hour int) string { return after(today, -days, hour) },
		"month": func(day, hour int) string { return after(month.AddDate(0, -1, 0), day-1, hour) },
		"soon":  func(hours int) string { return after(opened, 0, hours) },
	}).Parse(demoMonths)
	if err != nil {
		return err
	}
	var text strings.Builder
	if err := lines.Execute(&text, nil); err != nil {
		return err
	}
	got := make(map[events.Pair]int64)
	for part := range strings.SplitSeq(text.String(), "\n\n") {
		if err := awaitDemo(ctx, api, got); err != nil {
			return err
		}
		if err := sendDemo(ctx, api, strings.NewReader(part)); err != nil {
			return err
		}
		for line := range strings.Lines(part) {
			var sent struct{ Transfer client.Transfer }
			if err := json.Unmarshal([]byte(line), &sent); err != nil {
				return err
			}
			if t := sent.Transfer; t.Hold == nil && t.ID != "" {
				got[events.Pair{Account: t.To, Asset: t.Asset}]++
			}
		}
	}
	return endDemo(ctx, api, month)
}

// awaitDemo waits until the balances of accounts include as many postings, which the next lines may spend.
func awaitDemo(ctx context.Context, api *client.Client, got map[events.Pair]int64) error {
	const pause = 20 * time.Millisecond
	for pair, postings := range got {
		for {
			now, err := api.Balance(ctx, pair.Account, pair.Asset, false)
			if err != nil {
				return fmt.Errorf("the demo: %w", err)
			}
			if now.Value.Postings >= postings {
				break
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(pause):
			}
		}
	}
	return nil
}

// endDemo closes the month before, and sends two payments that the ledger refuses.
func endDemo(ctx context.Context, api *client.Client, month time.Time) error {
	audited := month.AddDate(0, -1, 0).Format("January") + " is audited"
	if _, _, err := api.ClosePeriod(ctx, 1, month, audited); err != nil {
		return fmt.Errorf("the demo: %w", err)
	}
	for code, payment := range map[string]client.Transfer{
		client.CodeInsufficientFunds: {ID: "card-4", From: "ben", To: "shop", Asset: "USD",
			Quantity: events.NewAmount(9_500_000), Annotation: client.Annotation{Description: "Card payment"}},
		"account_frozen": {ID: "card-5", From: "cara", To: "shop", Asset: "USD", Quantity: events.NewAmount(350),
			Annotation: client.Annotation{Description: "Card payment"}},
	} {
		_, _, err := api.Post(ctx, payment)
		if refused, ok := errors.AsType[*client.Error](err); !ok || refused.Code != code {
			return fmt.Errorf("the demo: %s: want the refusal %s, not %w", payment.ID, code, err)
		}
	}
	return nil
}

// sendDemo imports lines, one after the other. The first that fails is the error.
func sendDemo(ctx context.Context, api *client.Client, lines io.Reader) error {
	var failed error
	err := importer.New(importer.Config{Ledger: api, Clients: 1, Failures: 1, OnFailure: func(f importer.Failure) {
		failed = fmt.Errorf("the demo: %s %s: %w", f.Kind, f.ID, f.Err)
	}}).Run(ctx, lines)
	if failed != nil {
		return failed
	}
	return err
}

// consolePort is the default of --port.
const consolePort = 8081

// consoleCommand is `ledger console`.
func (env *environment) consoleCommand() *cobra.Command {
	var port int
	cmd := &cobra.Command{
		Use:  "console",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			api, err := env.dial(0, units.LoadingAtOnce)
			if err != nil {
				return err
			}
			listener, err := stack.Listen("127.0.0.1", port)
			if err != nil {
				return err
			}
			defer listener.Close()
			fmt.Fprintf(env.out, "http://%s%s\n", listener.Addr(), console.Path)
			if err := env.out.Flush(); err != nil {
				return err
			}
			fmt.Fprintf(env.err, "The console of the ledger at %s is ready. Press Ctrl-C to stop it.\n", env.url)
			at := console.Address{URL: env.url, Curl: env.curl(), User: env.user, Zone: env.screen.zone}
			return stack.Serve(ctx, "the console", listener, console.New(ctx, api, at), env.logger(slog.LevelWarn))
		},
	}
	env.callFlags(cmd)
	portFlag(cmd.Flags(), &port, consolePort)
	env.zoneFlag(cmd.Flags())
	return endless(cmd)
}

// curl returns the arguments in bash or zsh with which curl sends the credentials of this command. They name
// environment variables and contain no secret. The shell passes the values in a file, because other users of the
// machine can read the arguments of a process.
func (env *environment) curl() string {
	switch {
	case env.sign:
		return `--aws-sigv4 "aws:amz:$AWS_REGION:execute-api" ` +
			`-K <(printf 'user="%s:%s"\nheader="X-Amz-Security-Token: %s"\n' "$AWS_ACCESS_KEY_ID" ` +
			`"$AWS_SECRET_ACCESS_KEY" "${AWS_SESSION_TOKEN-}")`
	case env.token != "":
		return `-K <(printf 'header="Authorization: Bearer %s"\n' "$` + tokenVariable + `")`
	}
	return ""
}
