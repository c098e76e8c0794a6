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
		Use:   "redrive FILE...",
		Short: "Process dead letters of the projector and the lister again",
		Long: `redrive reads dead letters: records that the projector or the lister could not
process. They are in the file of the pump (.ledger/set-aside.jsonl), or in the
bucket of the stack. Copy the objects of the bucket to this machine first. FILE
can be a directory, which is read with all its subdirectories, or - for standard
input. redrive does not change the files.

redrive uses only the key of each record. If the key names a balance or a
membership, redrive computes it from the table and stores it. If the key names a
transaction, redrive lists it by time and by the keys of --indexed-metadata, and
adds it to the journal again. You can run redrive while the ledger serves
requests, and as often as you like. If redrive cannot read or process a record,
it prints the file and the line, continues with the others, and exits with
status 1. The records that Lambda sends to queues and topics have no keys: use
"ledger rebuild" instead.

--dry-run writes nothing. It prints each balance that is behind.`,
		Example: `  ledger redrive .ledger/set-aside.jsonl \
    --dynamodb-endpoint http://127.0.0.1:8000
  aws s3 sync s3://BUCKET/aws/lambda/ dead-letters &&
    ledger redrive dead-letters --table TABLE --dry-run`,
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
