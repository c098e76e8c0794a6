package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"ledger.example/cmd/ledger/redrive"
	views "ledger.example/projections/dynamo"
)

func (c *cli) redriveCommand() *cobra.Command {
	var o operator
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "redrive FILE...",
		Short: "Bring up to date what records stand for that were set aside",
		Long: `redrive takes the records that the projector could not take and that were set aside: the file of the pump
(.ledger/set-aside.jsonl), or the objects that Lambda put into the stack's bucket, copied to this machine.
FILE may be a directory, which is read with all that is below it, or - for standard input. Files are not
changed.

Of a record only its key is used. The balance of its account and asset is refolded from the table, or the
membership made anew from its newest grant, by the projector's own rules, while the ledger serves. What was
counted before is found counted: it is safe to run again any number of times, also after it was cut off.
Records of what is not projected are skipped.

What cannot be read or done is named with its file and line, the others go on, and the exit status is 1. Mend
the cause and run it again. Records that only point into the stream, as queues and topics get them, have no
keys: ledger rebuild does without.

--dry-run reads all of that and writes nothing. It prints each balance that is behind.`,
		Example: `  ledger redrive .ledger/set-aside.jsonl --dynamodb-endpoint http://127.0.0.1:8000
  aws s3 sync s3://BUCKET/aws/lambda/ set-aside && ledger redrive set-aside --table TABLE --dry-run`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("it takes at least one FILE")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.redrive(cmd.Context(), o, args, dryRun)
		},
	}
	o.flags(cmd.Flags())
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "write nothing; print what is behind")
	return cmd
}

func (c *cli) redrive(ctx context.Context, o operator, names []string, dryRun bool) error {
	size, err := redrive.Size(ctx, names)
	if err != nil {
		return err
	}
	client, err := o.open(ctx)
	if err != nil {
		return err
	}
	var p *progress
	run := redrive.New(redrive.Config{
		Views: views.NewViews(client, o.table), Present: redrive.Present(client, o.table), DryRun: dryRun,
		Open: func(ctx context.Context, name string) (io.ReadCloser, error) {
			f, _, err := c.open(ctx, name)
			return f, err
		},
		OnProblem: func(at redrive.Place, err error) { p.say(printable(fmt.Sprintf("%s: %v", at, err))) },
		OnRefold: func(pair redrive.Pair) {
			if dryRun {
				c.printBehind(pair)
			}
		},
	})
	p = startProgress(c.err, size, func(time.Duration) (string, int64) {
		n := run.Counts()
		return fmt.Sprintf("%d records, %d balances, %d refolded, %d failed", n.Records, n.Pairs, n.Refolded, n.Failed), n.Bytes
	})
	runErr := run.Run(ctx, names)
	p.stop()
	counts := run.Counts()
	if err := c.printRedriven(counts, dryRun); err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted: run it again to go on")
	case runErr != nil:
		return fmt.Errorf("%w; run it again to go on", runErr)
	case counts.Failed > 0:
		return fmt.Errorf("%d problems: what they name was not brought up to date", counts.Failed)
	}
	return nil
}

// printBehind prints a balance that a dry run found behind: an error shows when the rest is printed.
func (c *cli) printBehind(p redrive.Pair) {
	if !c.json {
		fmt.Fprintln(c.out, "behind:", p)
		return
	}
	raw, err := json.Marshal(map[string]string{"account": p.Account, "asset": p.Asset})
	if err == nil {
		_ = c.printJSON(raw)
	}
}

func (c *cli) printRedriven(n redrive.Counts, dryRun bool) error {
	if c.json {
		raw, err := json.Marshal(struct {
			DryRun      bool  `json:"dry_run"`
			Files       int64 `json:"files"`
			Records     int64 `json:"records"`
			Skipped     int64 `json:"skipped"`
			Balances    int64 `json:"balances"`
			Refolded    int64 `json:"refolded"`
			Counted     int64 `json:"counted"`
			Memberships int64 `json:"memberships"`
			Failed      int64 `json:"failed"`
		}{dryRun, n.Files, n.Records, n.Skipped, n.Pairs, n.Refolded, n.Counted, n.Memberships, n.Failed})
		if err != nil {
			return err
		}
		return c.printJSON(raw)
	}
	refolded := "REFOLDED"
	if dryRun {
		refolded = "BEHIND"
	}
	t := newTable(c.out, "FILES", "RECORDS", "SKIPPED", "BALANCES", refolded, "COUNTED BEFORE", "MEMBERSHIPS", "FAILED")
	cells := make([]string, 0, 8)
	for _, v := range []int64{n.Files, n.Records, n.Skipped, n.Pairs, n.Refolded, n.Counted, n.Memberships, n.Failed} {
		cells = append(cells, fmt.Sprint(v))
	}
	t.row(cells...)
	return t.flush()
}
