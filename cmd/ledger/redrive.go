package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"ledger.example/internal/store"
	"ledger.example/projections"
	"ledger.example/projections/repair/redrive"
)

// redriveCommand is `ledger redrive`. It uses only the keys of the records, because the table has the current data.
// Package projections/repair/redrive implements it.
func (env *environment) redriveCommand() *cobra.Command {
	var o operator
	var dryRun bool
	cmd := &cobra.Command{
		Use:  "redrive FILE...",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.redrive(cmd.Context(), o, args, dryRun)
		},
	}
	o.flags(cmd)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "write nothing; print the balances that are behind")
	env.jsonFlag(cmd)
	return cmd
}

// redrive processes the files and directories of names, and prints the counts. A problem is printed when it is found.
// It does not stop the run, but makes it fail.
func (env *environment) redrive(ctx context.Context, o operator, names []string, dryRun bool) error {
	files, err := redrive.Files(names)
	if err != nil {
		return err
	}
	client, keys, err := o.open(ctx)
	if err != nil {
		return err
	}
	t := store.NewTable(client, o.table)
	run := redrive.New(redrive.Config{
		Table: t, DryRun: dryRun,
		List: projections.NewLister(t, keys, nil, env.logger(slog.LevelError)).List,
		Open: func(ctx context.Context, name string) (io.ReadCloser, error) {
			f, _, err := env.openInput(ctx, name)
			return f, err
		},
		OnProblem: func(at redrive.Place, err error) { env.say(printable(fmt.Sprintf("%s: %v", at, err))) },
		OnRefold: func(pair projections.Target) {
			switch { // a later flush of env.out returns the error
			case dryRun && env.json:
				_ = env.printJSON(map[string]string{"account": pair.Account, "asset": pair.Asset})
			case dryRun:
				fmt.Fprintln(env.out, "behind:", pair)
			}
		},
	})
	status := func(time.Duration) (string, int64) {
		n := run.Counts()
		return fmt.Sprintf("%d records, %d balances, %d refolded, %d failed", n.Records, n.Balances, n.Refolded,
			n.Failed), n.Files
	}
	runErr := env.watch(int64(len(files)), status, func() error { return run.Run(ctx, files) })
	n := run.Counts()
	if err := env.printFigures("dry_run", dryRun, "files", n.Files, "records", n.Records, "skipped", n.Skipped,
		"balances", n.Balances, "refolded", n.Refolded, "counted", n.Counted, "memberships", n.Memberships,
		"listed", n.Listed, "failed", n.Failed); err != nil {
		return err
	}
	if err := resumable(ctx, runErr, "run the command again to continue"); err != nil {
		return err
	}
	if n.Failed > 0 {
		return fmt.Errorf("%s: these records were not processed", counted(n.Failed, "problem", "problems"))
	}
	return nil
}
