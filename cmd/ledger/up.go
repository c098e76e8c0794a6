package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"ledger.example/cmd/ledger/client"
)

const (
	// defaultPort is the API's, unless --port gives another.
	defaultPort = 8080
	portMax     = 65_535
	// memoryBytes is the heap that the collector keeps the process of up in, whatever is read ahead; not with --memory.
	memoryBytes = 96 << 20
	// shutdownTimeout is how long requests may take to finish: a command lives 8 s.
	shutdownTimeout = 15 * time.Second

	// The server's own time limits. A request has at most 256 KB, and its answer takes at most the life of a command and
	// the reads of a page.
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 30 * time.Second
	writeTimeout      = 60 * time.Second
	idleTimeout       = 2 * time.Minute
	// maxHeaderBytes is more than the 10,240 bytes that an API Gateway HTTP API takes.
	maxHeaderBytes = 16 << 10
)

type upOptions struct {
	port                    int
	data, endpoint, table   string
	memory                  bool
	noPump, demo, isVerbose bool
}

func (c *cli) upCommand() *cobra.Command {
	var o upOptions
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run everything on this machine: store, table, API, stream pump",
		Long: `up starts DynamoDB Local (fetched once, and cached), makes the table of template.yaml, serves the API on
127.0.0.1, and pumps the table's stream into the projector. It needs Java 17 or newer.

With --memory it needs nothing: the table is in this process, as strict as DynamoDB and many times as fast,
and nothing is kept when it ends. It is for trying the ledger, not for books: no other process can reach the
table, so "ledger pump", "verify", "rebuild" and "redrive" cannot, either.

When all of that runs, the API's address is printed on standard output. Everything else goes to standard
error: how to try it, and logs as JSON.

Ctrl-C or SIGTERM ends it: requests under way are finished first. A second one ends it at once.`,
		Example: `  ledger up --memory --demo
  ledger up --demo
  ledger up --data ./books --port 9090
  ledger up --dynamodb-endpoint http://127.0.0.1:8000 --no-pump`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkPort(o.port); err != nil {
				return err
			}
			if o.memory && o.noPump {
				return wrongUse("--no-pump cannot be used with --memory: no other process can reach the table to project it")
			}
			if o.endpoint != "" {
				if err := checkEndpoint(o.endpoint); err != nil {
					return err
				}
			}
			return c.up(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.port, "port", defaultPort, "port of the API; 0 takes any free one")
	f.BoolVar(&o.memory, "memory", false, "run on this process's memory, without Java; nothing is kept when it ends")
	f.StringVar(&o.data, "data", "", "directory to keep the data in (default: none, they are gone at the end)")
	f.StringVar(&o.endpoint, "dynamodb-endpoint", "", "URL of a DynamoDB Local that runs already")
	f.StringVar(&o.table, "table", defaultTable, "name of the table")
	f.BoolVar(&o.noPump, "no-pump", false, "don't project; run \"ledger pump\" beside it")
	f.BoolVar(&o.demo, "demo", false, "load a small trading register")
	f.BoolVar(&o.isVerbose, "verbose", false, "log every request")
	cmd.MarkFlagsMutuallyExclusive("memory", "data", "dynamodb-endpoint")
	return cmd
}

// up runs until ctx ends, which is success, or a part fails.
func (c *cli) up(ctx context.Context, o upOptions) (err error) {
	if !o.memory {
		debug.SetMemoryLimit(memoryBytes)
	}
	listener, err := listen(o.port)
	if err != nil {
		return err
	}
	defer listener.Close()
	s, err := c.storeFor(ctx, o)
	if err != nil {
		return unlessEnded(ctx, err)
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	stream, err := s.createTable(ctx, o.table)
	if err != nil {
		return unlessEnded(ctx, err)
	}
	log := c.logger(verbosity(o.isVerbose))
	ledger, err := s.open(o.table, log)
	if err != nil {
		return err
	}

	// The parts end in this order: first no more requests are taken, and those under way finish; then the pump finishes its
	// batches; then DynamoDB Local is stopped.
	parts, partsCtx := errgroup.WithContext(ctx)
	pumpCtx, endPump := context.WithCancel(context.WithoutCancel(ctx))
	defer endPump()
	if !o.noPump {
		f, err := s.feed(o.table, stream, ledger.Stream(), setAsideFile(o.data), log)
		if err != nil {
			return err
		}
		parts.Go(func() error { return f.run(pumpCtx) })
	}
	server := newServer(ledger.API(), log)
	parts.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("the API: %w", err)
		}
		return nil
	})
	parts.Go(func() error {
		<-partsCtx.Done()
		defer endPump()
		return shutDown(server)
	})
	parts.Go(func() error { return s.watch(partsCtx) })
	parts.Go(func() error { return unlessEnded(partsCtx, c.welcome(partsCtx, listener.Addr().String(), s, o)) })
	return parts.Wait()
}

// storeFor returns what up is to run on.
func (c *cli) storeFor(ctx context.Context, o upOptions) (*store, error) {
	if o.memory {
		return newMemory(), nil
	}
	return openStore(ctx, o.endpoint, o.data, c.logger(slog.LevelInfo))
}

// unlessEnded is err, or nil when ctx has ended: then what was under way was cut off on purpose.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// listen takes a port on the loopback interface: nobody vouches for callers here, so nobody else may call.
func listen(port int) (net.Listener, error) {
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("port %d is in use: something else listens on %s; choose another port with --port (0 takes any free one)", port, address)
	}
	if err != nil {
		return nil, fmt.Errorf("port %d: %w; choose another with --port", port, err)
	}
	return l, nil
}

func newServer(handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// shutDown stops taking requests and waits for those under way.
func shutDown(server *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return errors.Join(fmt.Errorf("requests were cut off: %w", err), server.Close())
	}
	return nil
}

// welcome waits until the API answers, loads the demo if it is wanted, and tells where everything is.
func (c *cli) welcome(ctx context.Context, address string, s *store, o upOptions) error {
	url := "http://" + address
	api, err := client.New(client.Config{URL: url})
	if err != nil {
		return err
	}
	if err := api.Ping(ctx); err != nil {
		return err
	}
	try := []string{
		fmt.Sprintf(`curl -X PUT %s/v1/assets/USD -H 'Content-Type: application/json' -d '{"name":"US dollar","scale":2}'`, url),
		fmt.Sprintf(`curl -X PUT %s/v1/accounts/jane -H 'Content-Type: application/json' -d '{"name":"Jane Doe"}'`, url),
		fmt.Sprintf(`curl %s/v1/accounts/jane/summary`, url),
	}
	if o.demo {
		if err := loadDemo(ctx, api, !o.noPump); err != nil {
			return fmt.Errorf("the demo: %w", err)
		}
		try = []string{
			fmt.Sprintf(`curl %s/v1/accounts/jane/summary`, url),
			fmt.Sprintf(`curl '%s/v1/accounts/jane/balances/USD?consistency=strong'`, url),
			fmt.Sprintf(`curl -i -X POST %s/v1/trades -H 'Content-Type: application/json' -d '%s'`, url, demoTrade),
		}
	}
	fmt.Fprintf(c.err, "The ledger is ready at %s (table %s %s). Ctrl-C ends it. Try:\n", url, o.table, s.place())
	for _, line := range try {
		fmt.Fprintln(c.err, "  "+line)
	}
	if o.noPump {
		fmt.Fprintf(c.err, "Nothing is projected until a pump runs beside it:\n  ledger pump --dynamodb-endpoint %s --table %s\n", s.endpoint, o.table)
	}
	fmt.Fprintln(c.out, url)
	return c.out.Flush()
}

// setAsideFile is where the pump of up keeps what the projector cannot take: beside the data.
func setAsideFile(data string) string {
	if data == "" {
		return defaultSetAside
	}
	return filepath.Join(data, filepath.Base(defaultSetAside))
}

// logger writes JSON lines to standard error.
func (c *cli) logger(level slog.Level) *slog.Logger {
	return slog.New(slog.NewJSONHandler(c.err, &slog.HandlerOptions{Level: level}))
}

// verbosity is what is logged: every request, or only what is amiss.
func verbosity(verbose bool) slog.Level {
	if verbose {
		return slog.LevelInfo
	}
	return slog.LevelWarn
}
