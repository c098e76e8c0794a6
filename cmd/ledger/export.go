package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"ledger.example/internal/desk/export"
	"ledger.example/internal/desk/units"
	"ledger.example/internal/durable"
)

// exportCommand is `ledger export`. Package internal/desk/export writes the formats.
func (env *environment) exportCommand() *cobra.Command {
	var format, output string
	var isContinued bool
	cmd := &cobra.Command{
		Use:  "export",
		Args: argsOfUse,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case isContinued && output == "":
				return usageErrorf("--continue needs --output: it continues a file")
			case env.isJSON() && output == "":
				return usageErrorf("--json needs --output, because it prints the counts on standard output")
			}
			var file *export.File // nil for standard output, or what is no regular file
			if output != "" {
				var err error
				if file, err = export.Open(output); err != nil && (isContinued || !errors.Is(err, durable.ErrNoFile)) {
					return err
				}
			}
			if isContinued && !cmd.Flags().Changed("format") {
				format = "" // that of the file
			}
			api, err := env.dial(0, units.LoadingAtOnce)
			if err != nil {
				return err
			}
			c := export.Config{Format: format, Ledger: export.Of(cmd.Context(), api)}
			if file == nil {
				return env.exportStream(cmd.Context(), c, output)
			}
			return env.exportFile(cmd.Context(), c, file, output, isContinued)
		},
	}
	f := cmd.Flags()
	choiceFlag(cmd, &format, "format", export.Lines, strings.Join(export.Formats(), ", "), export.Formats()...)
	outputFlag(f, &output, "output")
	f.BoolVar(&isContinued, "continue", false, "add to the file what is new since it was exported; not for jsonl")
	env.callFlags(cmd)
	env.jsonFlag(cmd, "print the counts as JSON")
	return cmd
}

// exportStream exports to standard output, or to what is no regular file: a device or a pipe.
func (env *environment) exportStream(ctx context.Context, c export.Config, output string) error {
	if output == "" {
		result, err := export.Run(ctx, c, env.out)
		env.printNotes(result)
		if err != nil {
			return err
		}
		return env.printExported(result, "")
	}
	f, err := os.OpenFile(output, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	result, err := export.Run(ctx, c, f)
	env.printNotes(result)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return env.printExported(result, "")
}

// exportFile exports to a file, which is unchanged after an error.
func (env *environment) exportFile(
	ctx context.Context, c export.Config, file *export.File, output string, isContinued bool,
) (err error) {
	var result export.Result
	if isContinued {
		var anew string
		if result, anew, err = file.Continue(ctx, c); err == nil && anew != "" {
			fmt.Fprintf(env.err, "%s was exported from the beginning: %s.\n", output, anew)
		}
	} else {
		result, err = file.Write(ctx, c)
	}
	env.printNotes(result)
	if errors.Is(err, export.ErrWhole) {
		return usageErrorf("--continue: %w", err)
	}
	if err != nil {
		return err
	}
	again := ""
	if c.Format != export.Lines {
		again = env.again("continue", "")
	}
	return env.printExported(result, again)
}

// printNotes prints on standard error what an export leaves out.
func (env *environment) printNotes(r export.Result) {
	for _, note := range r.Notes {
		fmt.Fprintln(env.err, note)
	}
}

// printExported prints the counts of an export, what it cannot have yet, and the command that adds that, if not "".
func (env *environment) printExported(r export.Result, again string) error {
	if env.isJSON() {
		err := env.printFigures("transactions", r.Transactions, "postings", r.Postings, "added", r.Added)
		if err != nil {
			return err
		}
	} else {
		added := ""
		if r.Added != r.Transactions {
			added = fmt.Sprintf("; %d added", r.Added)
		}
		fmt.Fprintf(env.err, "%s, %s%s\n", counted(r.Transactions, "transaction", "transactions"),
			counted(r.Postings, "posting", "postings"), added)
	}
	text := "What was posted in the last 20 seconds is missing: the journal is that far behind."
	if again != "" {
		text += " To add it later, run:\n  " + again
	}
	fmt.Fprintln(env.err, text)
	return nil
}
