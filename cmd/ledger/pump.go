package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"ledger.example/internal/local/stack"
	"ledger.example/internal/store"
)

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
	env.jsonLogFlag(cmd)
	return cmd
}

// pump runs until ctx ends, which is success, or until the table or its stream is gone. It retries all other errors, so
// that the store may be restarted while pump runs.
func (env *environment) pump(ctx context.Context, endpoint, table, deadLetters, indexed string, verbose bool) error {
	// This only connects to a running store, so there is nothing to stop.
	s, err := env.openStore(ctx, stack.Options{Endpoint: endpoint})
	if err != nil {
		return err
	}
	log := env.logger(verbosity(verbose))
	ledger, err := openLedger(s, table, indexed, log)
	if err != nil {
		return err
	}
	stream, err := s.Stream(ctx, table)
	var schema *store.SchemaError
	switch {
	case errors.As(err, &schema):
		return err
	case err != nil:
		return unlessDone(ctx, fmt.Errorf("%w; check that `ledger dynamodb` is running", err))
	}
	f, err := s.Feed(table, stream, ledger.Stream(), ledger.List(), deadLetters, log)
	if err != nil {
		return err
	}
	fmt.Fprintf(env.err, "The pump is ready: it feeds the stream of table %s in DynamoDB at %s to the projector "+
		"and the lister. Press Ctrl-C to stop it.\n", table, endpoint)
	parts, partsCtx := errgroup.WithContext(ctx)
	parts.Go(func() error { return f.Run(partsCtx) })
	parts.Go(func() error { return stack.Sweep(partsCtx, ledger.Sweep) })
	return parts.Wait()
}
