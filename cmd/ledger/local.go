package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"ledger.example/internal/local/stack"
	"ledger.example/internal/table"
)

// `ledger dynamodb` listens on defaultStorePort, and `ledger pump` connects to defaultEndpoint. functions/local.json
// has the same port for functions in containers.
const (
	defaultStorePort = 8000
	defaultEndpoint  = "http://127.0.0.1:8000"
)

// dynamodbOptions holds the flags.
type dynamodbOptions struct {
	port        int
	data, table string
}

// dynamodbCommand is `ledger dynamodb`. It serves DynamoDB Local behind a check of the Host header. DynamoDB Local has
// no authentication, so a web page could otherwise reach it by DNS rebinding.
func (env *environment) dynamodbCommand() *cobra.Command {
	var o dynamodbOptions
	cmd := &cobra.Command{
		Use:  "dynamodb",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return env.dynamodb(cmd.Context(), o) },
	}
	f := cmd.Flags()
	portFlag(f, &o.port, defaultStorePort)
	f.StringVar(&o.data, "data", "", "directory for the data (default: the data is lost on exit)")
	tableFlag(f, &o.table)
	return endless(cmd)
}

// dynamodb runs until ctx ends, which is success, or until DynamoDB Local ends.
func (env *environment) dynamodb(ctx context.Context, o dynamodbOptions) (err error) {
	log := env.logger(slog.LevelInfo)
	// Listen first: if the port is in use, nothing has been started yet.
	listener, err := stack.Listen("", o.port)
	if err != nil {
		return err
	}
	defer listener.Close()
	s, err := env.openStore(ctx, stack.Options{DataDir: o.data})
	if err != nil {
		return unlessDone(ctx, err)
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	if _, err := s.CreateTable(ctx, o.table); err != nil {
		return unlessDone(ctx, err)
	}
	// Requests in flight are answered before DynamoDB Local is stopped.
	parts, partsCtx := errgroup.WithContext(ctx)
	parts.Go(func() error { return s.Watch(partsCtx) })
	parts.Go(func() error { return stack.ServeStore(partsCtx, listener, s.Endpoint, log) })
	endpoint := "http://127.0.0.1:" + strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	fmt.Fprintf(env.err, `DynamoDB Local is ready at %s with table %s. Press Ctrl-C to stop it. In other terminals, run:
  ledger pump --dynamodb-endpoint %[1]s --table %[2]s
  sam build && sam local start-api
functions/local.json has the port and the table that the functions use.
`, endpoint, o.table)
	fmt.Fprintln(env.out, endpoint)
	parts.Go(env.out.Flush)
	return parts.Wait()
}

// pumpCommand is `ledger pump`, the local substitute for Lambda's event source mapping. Package internal/local/pump
// implements it.
func (env *environment) pumpCommand() *cobra.Command {
	var endpoint, table, deadLetters, indexed string
	var verbose bool
	cmd := &cobra.Command{
		Use:  "pump",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return env.pump(cmd.Context(), endpoint, table, deadLetters, indexed, verbose)
		},
	}
	f := cmd.Flags()
	endpointFlag(f, &endpoint, defaultEndpoint, "URL of DynamoDB Local")
	tableFlag(f, &table)
	f.StringVar(&deadLetters, "set-aside", defaultDeadLetters,
		"dead-letter file for records that cannot be processed")
	indexedFlag(f, &indexed)
	f.BoolVar(&verbose, "verbose", false, "log more")
	env.jsonFlag(cmd, "log JSON on a terminal, too")
	return endless(cmd)
}

// pump runs until ctx ends, which is success, or until the table or its stream is gone. It retries all other errors, so
// that the store may be restarted while pump runs.
func (env *environment) pump(ctx context.Context, endpoint, name, deadLetters, indexed string, verbose bool) error {
	// This only connects to a running store, so there is nothing to stop.
	s, err := env.openStore(ctx, stack.Options{Endpoint: endpoint})
	if err != nil {
		return err
	}
	log := env.logger(verbosity(verbose))
	ledger, err := openLedger(s, name, indexed, log)
	if err != nil {
		return err
	}
	stream, err := s.Stream(ctx, name)
	var schema *table.SchemaError
	switch {
	case errors.As(err, &schema):
		return err
	case err != nil:
		return unlessDone(ctx, fmt.Errorf("%w; check that `ledger dynamodb` is running", err))
	}
	f, err := s.Feed(name, stream, ledger.Stream(), ledger.List(), deadLetters, log)
	if err != nil {
		return err
	}
	fmt.Fprintf(env.err, "The pump is ready: it feeds the stream of table %s in DynamoDB at %s to the projector "+
		"and the lister. Press Ctrl-C to stop it.\n", name, endpoint)
	parts, partsCtx := errgroup.WithContext(ctx)
	parts.Go(func() error { return f.Run(partsCtx) })
	parts.Go(func() error { return stack.Sweep(partsCtx, ledger.Sweep) })
	return parts.Wait()
}
