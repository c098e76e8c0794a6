package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"ledger.example/ledger/wire"
)

func (c *cli) pumpCommand() *cobra.Command {
	var endpoint, table, setAside string
	var verbose bool
	cmd := &cobra.Command{
		Use:   "pump",
		Short: "Feed a local table's stream to the projector",
		Long: `pump reads the stream of a table in DynamoDB Local and hands it to the projector, with the settings of
template.yaml, as Lambda does in an account: for "sam local", which has no streams, and for "up --no-pump".

It begins at the oldest record that the stream has each time it is started: what was projected already is
found counted. Records that the projector cannot take are kept whole in the file of --set-aside.

It keeps trying while DynamoDB Local is away, and goes on when that is back. When the table was made anew
meanwhile, it follows the new table's stream. It ends when there is no table or no stream any more.

Ctrl-C or SIGTERM ends it: the batches under way are finished first.`,
		Example: `  ledger pump
  ledger pump --dynamodb-endpoint http://127.0.0.1:8010 --table books --set-aside aside.jsonl`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkEndpoint(endpoint); err != nil {
				return err
			}
			return c.pump(cmd.Context(), endpoint, table, setAside, verbose)
		},
	}
	f := cmd.Flags()
	f.StringVar(&endpoint, "dynamodb-endpoint", defaultEndpoint, "URL of DynamoDB Local")
	f.StringVar(&table, "table", defaultTable, "name of the table")
	f.StringVar(&setAside, "set-aside", defaultSetAside, "file for records that the projector cannot take")
	f.BoolVar(&verbose, "verbose", false, "log more")
	return cmd
}

// pump runs until ctx ends, which is success, or the stream does.
func (c *cli) pump(ctx context.Context, endpoint, table, setAside string, verbose bool) error {
	s := newStore(endpoint, nil)
	log := c.logger(verbosity(verbose))
	ledger, err := s.open(table, log)
	if err != nil {
		return err
	}
	stream, err := s.stream(ctx, table)
	var schema *wire.SchemaError
	switch {
	case errors.As(err, &schema):
		return err
	case err != nil:
		return unlessEnded(ctx, fmt.Errorf("%w; is `ledger dynamodb` running?", err))
	}
	f, err := s.feed(table, stream, ledger.Stream(), setAside, log)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.err, "The pump is ready: it feeds the stream of table %s in DynamoDB at %s to the projector. Ctrl-C ends it.\n", table, endpoint)
	return f.run(ctx)
}
