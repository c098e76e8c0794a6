package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ledger.example/client"
	"ledger.example/internal/export"
	"ledger.example/internal/units"
)

// exportCommand is `ledger export`. Package internal/export writes the formats.
func (env *environment) exportCommand() *cobra.Command {
	var format, output, from string
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write all transactions as JSON lines, CSV or a book",
		Long: `export writes all assets, accounts and transactions, in the order in which they
were recorded, up to some 20 seconds ago.

JSON lines are what import takes: a second ledger that imports them has the same
balances, statements and past balances. Books of hledger and beancount have the
same balances too; docs/books.md says how accounts, assets, costs and metadata
are written there. CSV has one row for each posting.

What is not in the export is said on standard error: open holds, what reversals
reverse, members and groups. So is the cursor with which --from goes on later.`,
		Example: `  ledger export -o books.jsonl
  ledger export --format hledger -o books.journal
  ledger export --format csv --from CURSOR`,
		Args: named,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains(export.Formats(), format) {
				return wrongUse("--format %s: it is none of %s", format, strings.Join(export.Formats(), ", "))
			}
			if env.json && output == "" {
				return wrongUse("--json is for what was written to --output: the export itself has its format")
			}
			api, err := env.dial(0, units.LoadingAtOnce)
			if err != nil {
				return err
			}
			out := io.Writer(env.out)
			if output != "" {
				f, err := os.Create(output)
				if err != nil {
					return err
				}
				defer f.Close()
				out = f
			}
			return env.export(cmd.Context(), api, export.Config{Format: format, From: from, Out: out})
		},
	}
	f := cmd.Flags()
	f.StringVar(&format, "format", "jsonl", strings.Join(export.Formats(), ", "))
	f.StringVarP(&output, "output", "o", "", "file to write, instead of standard output")
	f.StringVar(&from, "from", "", "cursor at which an earlier export ended; else from the beginning")
	env.apiFlags(cmd)
	return cmd
}

// export writes everything, and says on standard error what is not in it and where another export goes on.
func (env *environment) export(ctx context.Context, api *client.Client, c export.Config) error {
	c.Ledger = export.Ledger{
		Assets: api.Assets("").All(ctx), Accounts: api.Accounts("").All(ctx), OpenHolds: api.OpenHolds().All(ctx),
		Asset: api.Asset, Account: api.Account,
		Journal: func(ctx context.Context, after string) (client.JournalPage, error) {
			r, err := api.JournalPage(ctx, client.JournalFrom{After: after}, client.PageLimit)
			return r.Value, err
		},
	}
	result, err := export.Run(ctx, c)
	for _, note := range result.Notes {
		_, _ = fmt.Fprintln(env.err, note)
	}
	if err != nil {
		return err
	}
	if env.json {
		return env.printFigures("transactions", result.Transactions, "postings", result.Postings, "cursor",
			result.Cursor)
	}
	_, _ = fmt.Fprintf(env.err, "%s, %s\n", counted(result.Transactions, "transaction", "transactions"),
		counted(result.Postings, "posting", "postings"))
	if result.Cursor != "" {
		_, _ = fmt.Fprintf(env.err, "Go on with: ledger export --format %s --from %s\n", c.Format, result.Cursor)
	}
	return nil
}
