package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"ledger.example/cmd/ledger/client"
	"ledger.example/cmd/ledger/importer"
)

const (
	// importClients is how many commands are under way at once unless told otherwise, importClientsMax the most. DynamoDB
	// Local writes one transaction at a time: more callers only wait longer there, until they are timed out.
	importClients    = 8
	importClientsMax = 512
	// importPatience is how long one line is asked again for: a ledger may be restarted meanwhile.
	importPatience = 3 * time.Minute
	// importSilence ends an import whose ledger has gone for good. It is longer than importPatience, so that one line that
	// is never answered doesn't end it.
	importSilence = 4 * time.Minute
	// silenceTold is how long the ledger may be silent before the progress says so.
	silenceTold = 5 * time.Second
)

func (c *cli) importCommand() *cobra.Command {
	var clients int
	cmd := &cobra.Command{
		Use:   "import FILE.jsonl",
		Short: "Import assets, accounts and transactions, one command a line",
		Long: `import sends a file of commands to the API, many at once. FILE may be - for standard input. Each line is
one JSON object:

  {"asset":{"id":"USD","name":"US dollar","scale":2}}
  {"account":{"id":"jane","name":"Jane Doe"}}
  {"transfer":{"id":"t-1","from":"bank","to":"jane","asset":"USD","quantity":"500000"}}
  {"trade":{"id":"t-2","asset":"AAPL","buyer":"jane","seller":"market","quantity":"10","cost":"150000","settle":true}}
  {"transaction":{"id":"t-3","postings":[{"account":"jane","asset":"USD","quantity":"-100"}, …]}}

that is the body of the API's request with the id in it. A line waits for the earlier lines that register
its assets and open its accounts; transactions that move one account with a limit are posted in the file's
order.

It is safe to run again, also after it was cut off: what is there already is counted as replayed. A bad
line is named with its number, the others go on, and the exit status is 1.`,
		Example: `  ledger import books.jsonl
  zcat books.jsonl.gz | ledger import -`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("it takes one FILE, and %d were given", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if clients < 1 || clients > importClientsMax {
				return wrongUse("--clients must be 1 to %d", importClientsMax)
			}
			return c.importFile(cmd.Context(), args[0], clients)
		},
	}
	cmd.Flags().IntVar(&clients, "clients", importClients, "commands under way at once")
	return cmd
}

func (c *cli) importFile(ctx context.Context, name string, clients int) error {
	api, err := c.dial(importPatience, clients)
	if err != nil {
		return err
	}
	file, size, err := c.open(ctx, name)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := api.Ping(ctx); err != nil {
		return err
	}
	var p *progress
	run := importer.New(importer.Config{
		Ledger: api, Clients: clients, Silence: importSilence,
		OnFailure: func(f importer.Failure) { p.say(describe(f)) },
	})
	p = startProgress(c.err, size, func(since time.Duration) (string, int64) { return importShown(run, since) })
	runErr := run.Run(ctx, file)
	p.stop()
	counts := run.Counts()
	if err := c.printCounts(counts); err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return errors.New("interrupted: run it again to go on")
	case runErr != nil:
		return fmt.Errorf("%w; run it again to go on", runErr)
	case counts.Failed > 0:
		return fmt.Errorf("%d of %d lines failed", counts.Failed, counts.Lines())
	}
	return nil
}

// importShown tells how far an import is.
func importShown(run *importer.Import, since time.Duration) (text string, bytes int64) {
	n := run.Counts()
	text = fmt.Sprintf("%d lines (%.0f/s), %d failed", n.Lines(), float64(n.Lines())/since.Seconds(), n.Failed)
	if silent := run.Silent(); silent >= silenceTold {
		text += fmt.Sprintf(", no answer for %s", silent.Round(time.Second))
	}
	return text, n.Bytes
}

// open opens the file to import and tells its size, -1 when that is not known.
func (c *cli) open(ctx context.Context, name string) (io.ReadCloser, int64, error) {
	if name == "-" {
		// Standard input may keep silent for ever; an end of ctx must be noticed all the same.
		r, w := io.Pipe()
		go func() {
			_, err := io.Copy(w, c.in)
			w.CloseWithError(err)
		}()
		context.AfterFunc(ctx, func() { r.CloseWithError(context.Cause(ctx)) })
		return r, -1, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	if info.IsDir() {
		f.Close()
		return nil, 0, fmt.Errorf("%s is a directory", name)
	}
	if !info.Mode().IsRegular() {
		return f, -1, nil
	}
	return f, info.Size(), nil
}

func (c *cli) printCounts(n importer.Counts) error {
	if c.json {
		raw, err := json.Marshal(map[string]int64{"new": n.New, "replayed": n.Replayed, "failed": n.Failed})
		if err != nil {
			return err
		}
		return c.printJSON(raw)
	}
	t := newTable(c.out, "NEW", "REPLAYED", "FAILED")
	t.row(fmt.Sprint(n.New), fmt.Sprint(n.Replayed), fmt.Sprint(n.Failed))
	return t.flush()
}

// describe names a bad line.
func describe(f importer.Failure) string {
	if f.ID == "" {
		return fmt.Sprintf("line %d: %v", f.Line, f.Err)
	}
	return fmt.Sprintf("line %d: %s %q: %v", f.Line, f.Kind, f.ID, f.Err)
}

var _ importer.Ledger = (*client.Client)(nil)
