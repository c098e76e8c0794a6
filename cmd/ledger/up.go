package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"ledger.example/client"
	"ledger.example/functions/api"
	"ledger.example/internal/app"
	"ledger.example/internal/console"
	"ledger.example/internal/local/stack"
	"ledger.example/internal/units"
	"ledger.example/projections"
)

const (
	// defaultPort is the API's, unless --port gives another.
	defaultPort = 8080
	// memoryBytes is the heap that the collector keeps the process of up in, whatever is read ahead; not with --memory.
	memoryBytes = 96 << 20
)

// upOptions are the flags. memory, data and endpoint exclude each other; without any of them, the data is in a DynamoDB
// Local that keeps nothing.
type upOptions struct {
	port                    int
	data, endpoint, table   string
	indexed                 string
	memory                  bool
	noPump, demo, isVerbose bool
}

// upCommand is `ledger up`.
func (env *environment) upCommand() *cobra.Command {
	var o upOptions
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run everything on this machine: store, table, API, stream pump",
		Long: `up runs a ledger on this machine. It starts DynamoDB Local, creates the table of
template.yaml, serves the API on 127.0.0.1, and passes the table's stream to the
projector and the lister. It downloads DynamoDB Local once, and it needs Java 17
or newer.

--memory uses the built-in store instead, which needs neither Java nor a
download. It is as strict as DynamoDB and much faster, but it keeps nothing: use
it to try the ledger. Other processes cannot reach its table, so "ledger pump",
"verify", "rebuild" and "redrive" do not work with it.

When everything runs, it prints the API's address on standard output. Standard
error gets examples to try, and logs as JSON.

It answers only requests for localhost and IP addresses. A web page therefore
cannot reach it under a domain name of its own.

Ctrl-C or SIGTERM ends it after the requests that are under way. A second one
ends it at once.`,
		Example: `  ledger up --memory --demo
  ledger up --demo
  ledger up --data ./books --port 9090
  ledger up --dynamodb-endpoint http://127.0.0.1:8000 --no-pump`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return env.up(cmd.Context(), o) },
	}
	f := cmd.Flags()
	portFlag(f, &o.port, defaultPort)
	f.BoolVar(&o.memory, "memory", false, "use the built-in store, without Java; it keeps nothing")
	f.StringVar(&o.data, "data", "", "directory to keep the data in (default: data is lost at the end)")
	endpointFlag(f, &o.endpoint, "", "URL of a DynamoDB Local that already runs")
	tableFlag(f, &o.table)
	indexedFlag(f, &o.indexed)
	f.BoolVar(&o.noPump, "no-pump", false, "do not run the pump; run \"ledger pump\" beside it")
	f.BoolVar(&o.demo, "demo", false, "load a week of a small trading platform")
	f.BoolVar(&o.isVerbose, "verbose", false, "log every request")
	cmd.MarkFlagsMutuallyExclusive("memory", "data", "dynamodb-endpoint")
	cmd.MarkFlagsMutuallyExclusive("memory", "no-pump") // no other process could reach the table to project it
	return cmd
}

// up runs until ctx ends, which is success, or a part fails.
func (env *environment) up(ctx context.Context, o upOptions) (err error) {
	// A small machine also runs DynamoDB Local, so the collector works harder. The built-in store needs its heap.
	if !o.memory {
		debug.SetMemoryLimit(memoryBytes)
	}
	// The port is taken first: if another program has it, nothing needs to be started or stopped.
	listener, err := stack.Listen("127.0.0.1", o.port)
	if err != nil {
		return err
	}
	defer listener.Close()
	s, err := env.openStore(ctx, stack.Options{Memory: o.memory, Endpoint: o.endpoint, DataDir: o.data})
	if err != nil {
		return unlessEnded(ctx, err)
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	stream, err := s.CreateTable(ctx, o.table)
	if err != nil {
		return unlessEnded(ctx, err)
	}
	log := env.logger(verbosity(o.isVerbose))
	ledger, err := openLedger(s, o.table, o.indexed, log)
	if err != nil {
		return err
	}

	// The API, the pump, the watch on DynamoDB Local and the welcome run until ctx ends or one of them fails.
	// The parts end in this order: first no more requests are taken, and those under way finish; then the pump finishes
	// its batches; then DynamoDB Local is stopped.
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
	pages, err := localConsole(partsCtx, listener.Addr().String())
	if err != nil {
		return err
	}
	parts.Go(func() error {
		defer endPump()
		return stack.Serve(partsCtx, "the API", listener, stack.OwnHost(site(ledger.API(), pages), false), log)
	})
	parts.Go(func() error { return s.Watch(partsCtx) })
	parts.Go(func() error { return unlessEnded(partsCtx, env.welcome(partsCtx, listener.Addr().String(), s, o)) })
	return parts.Wait()
}

// openLedger returns the ledger on a table of a store on this machine.
func openLedger(s *stack.Store, table, indexed string, log *slog.Logger) (*app.Service, error) {
	keys, err := projections.ParseIndexed(indexed)
	if err != nil {
		return nil, fmt.Errorf("--indexed-metadata %w", err)
	}
	return app.New(app.Config{
		Client: s.Client(), Table: table, Caller: api.LocalCaller, Version: version(), Log: log, Indexed: keys,
	})
}

// localConsole returns the console of the ledger that listens at an address.
func localConsole(ctx context.Context, address string) (*console.Console, error) {
	url := "http://" + address
	api, err := client.New(client.Config{URL: url, Connections: units.LoadingAtOnce})
	if err != nil {
		return nil, err
	}
	return console.New(ctx, api, console.Address{URL: url}), nil
}

// site serves the API, and the console below its path. A ServeMux would answer paths that the API knows nothing of.
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

// welcome waits until the API answers, loads the demo if it is wanted, and prints where everything is. People read
// standard error. Standard output gets the address alone, for programs that start a ledger and wait for that line.
func (env *environment) welcome(ctx context.Context, address string, s *stack.Store, o upOptions) error {
	url := "http://" + address
	ledger, err := client.New(client.Config{URL: url})
	if err != nil {
		return err
	}
	if err := ledger.Ping(ctx); err != nil {
		return err
	}
	week := o.demo && !o.noPump
	if o.demo {
		if err := loadDemo(ctx, ledger, week); err != nil {
			return err
		}
	}
	place := "in DynamoDB at " + s.Endpoint
	if o.memory {
		place = "in memory: nothing is kept when this ends"
	}
	fmt.Fprintf(env.err, "Look at the ledger in a browser: %s%s\n", url, console.Path)
	if week {
		fmt.Fprintf(env.err, "There, see it as the user %s, who may act for the customers of a branch.\n", demoAdvisor)
	}
	fmt.Fprintf(env.err, "It is ready at %s (table %s %s). Ctrl-C ends it. Try:\n", url, o.table, place)
	if url != client.DefaultURL { // the command line looks there
		fmt.Fprintf(env.err, "  export %s=%s\n", urlVariable, url)
	}
	fmt.Fprintf(env.err, tries, url)
	if o.noPump {
		fmt.Fprintf(env.err, "Nothing is projected until a pump runs beside it:\n  ledger pump --dynamodb-endpoint "+
			"%s --table %s\n", s.Endpoint, o.table)
	}
	fmt.Fprintln(env.out, url)
	return env.out.Flush()
}

// tries are requests to try on the ledger at an address. They post a transfer and show it. With the demo loaded, the
// first three are replayed.
const tries = `  curl -X PUT %[1]s/v1/assets/USD -H 'Content-Type: application/json' -d '{"name":"US dollar","scale":2}'
  curl -X PUT %[1]s/v1/accounts/bank -H 'Content-Type: application/json' -d '{"name":"Bank","overdraft":"unlimited"}'
  curl -X PUT %[1]s/v1/accounts/jane -H 'Content-Type: application/json' -d '{"name":"Jane Doe"}'
  curl -X POST %[1]s/v1/transfers -H 'Content-Type: application/json' \
    -d '{"id":"try-1","from":"bank","to":"jane","asset":"USD","quantity":"2500"}'
  curl '%[1]s/v1/accounts/jane/balances/USD?consistency=strong'
`
