package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"
)

// defaultStorePort and defaultEndpoint are where `ledger dynamodb` listens, where `ledger pump` looks for it, and what
// functions/local.json names to the functions in containers.
const (
	defaultStorePort = 8000
	defaultEndpoint  = "http://127.0.0.1:8000"
)

type dynamodbOptions struct {
	port        int
	data, table string
}

func (c *cli) dynamodbCommand() *cobra.Command {
	var o dynamodbOptions
	cmd := &cobra.Command{
		Use:   "dynamodb",
		Short: "Run DynamoDB Local with the ledger's table, and nothing else",
		Long: `dynamodb starts DynamoDB Local (fetched once, and cached) and makes the table of template.yaml in it: for
"sam local", whose functions run in containers, with "ledger pump" beside it. "ledger up" brings its own.
It needs Java 17 or newer.

When the table can be used, the endpoint is printed on standard output; everything else goes to standard
error. DynamoDB Local listens on all interfaces, which is how containers reach it, and asks nobody for
credentials: keep the port behind the machine's firewall.

Ctrl-C or SIGTERM ends it. With --data the books are there again the next time, also if this command was
killed. Only if its JVM is killed by force, DynamoDB Local may forget the last transaction that it
acknowledged, some milliseconds old: start the functions and the pump anew then, as they remember it.
Without --data, the next time is a new ledger: start the functions anew, too, as they remember assets and
accounts.`,
		Example: `  ledger dynamodb --data ./books
  ledger dynamodb --port 8010 --table books`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkPort(o.port); err != nil {
				return err
			}
			return c.dynamodb(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.port, "port", defaultStorePort, "port of DynamoDB Local; 0 takes any free one")
	f.StringVar(&o.data, "data", "", "directory to keep the data in (default: in memory, gone at the end)")
	f.StringVar(&o.table, "table", defaultTable, "name of the table")
	return cmd
}

// dynamodb runs until ctx ends, which is success, or DynamoDB Local does.
func (c *cli) dynamodb(ctx context.Context, o dynamodbOptions) (err error) {
	s, err := startStore(ctx, o.port, o.data, c.logger(slog.LevelInfo))
	if err != nil {
		return unlessEnded(ctx, err)
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	if _, err := s.createTable(ctx, o.table); err != nil {
		return unlessEnded(ctx, err)
	}
	c.tellStore(s.endpoint, o)
	fmt.Fprintln(c.out, s.endpoint)
	if err := c.out.Flush(); err != nil {
		return err
	}
	return s.watch(ctx)
}

// tellStore tells what to run beside it.
func (c *cli) tellStore(endpoint string, o dynamodbOptions) {
	pump := "ledger pump"
	if o.port != defaultStorePort {
		pump += " --dynamodb-endpoint " + endpoint
	}
	if o.table != defaultTable {
		pump += " --table " + o.table
	}
	fmt.Fprintf(c.err, "DynamoDB Local is ready at %s with table %s. Ctrl-C ends it. Beside it, each in a terminal of its own:\n", endpoint, o.table)
	fmt.Fprintf(c.err, "  %s\n  sam build && sam local start-api\n", pump)
	if o.port != defaultStorePort || o.table != defaultTable {
		fmt.Fprintf(c.err, "The functions look for table %s at port %d until functions/local.json says otherwise.\n", defaultTable, defaultStorePort)
	}
}
