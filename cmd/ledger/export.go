package main

import (
	"context"
	"errors"
	"fmt"
	"os"
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
		Use:  "export",
		Args: argsOfUse,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if from != "" && format == export.Lines {
				return usageErrorf("--from: %w", export.ErrWhole)
			}
			if env.json && output == "" {
				return usageErrorf("--json needs --output, because it prints the counts on standard output")
			}
			api, err := env.dial(0, units.LoadingAtOnce)
			if err != nil {
				return err
			}
			c := export.Config{Format: format, From: from, Out: env.out}
			if output == "" {
				return env.export(cmd.Context(), api, c)
			}
			f, err := os.Create(output)
			if err != nil {
				return err
			}
			c.Out = f
			return errors.Join(env.export(cmd.Context(), api, c), f.Close())
		},
	}
	f := cmd.Flags()
	choiceFlag(f, &format, "format", export.Lines, strings.Join(export.Formats(), ", "), export.Formats()...)
	f.StringVarP(&output, "output", "o", "", "file to write, instead of standard output")
	f.StringVar(&from, "from", "", "cursor at which an earlier export ended (default: the beginning); not for jsonl")
	env.apiFlags(cmd)
	return cmd
}

// export writes the export, and on standard error what it leaves out and how to continue it.
func (env *environment) export(ctx context.Context, api *client.Client, c export.Config) error {
	c.Ledger = export.Of(ctx, api)
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
	if result.Cursor != "" && c.Format != export.Lines {
		_, _ = fmt.Fprintf(env.err, "To continue later, run: ledger export --format %s --from %s\n", c.Format,
			result.Cursor)
	}
	return nil
}
