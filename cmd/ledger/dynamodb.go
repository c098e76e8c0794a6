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
	return cmd
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
