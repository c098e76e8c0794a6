package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"ledger.example/client"
	"ledger.example/internal/importer"
)

const (
	// importClients is how many requests are under way at once by default, importClientsMax the most. DynamoDB
	// Local writes one transaction at a time: more callers only wait longer there, until they are timed out.
	importClients    = 8
	importClientsMax = 512
	// importErrors is how many bad lines end an import by default: what is wrong with a file is often
	// wrong with all of its lines.
	importErrors = 20
	// importTimeout is how long one line is retried: a ledger may be restarted meanwhile.
	importTimeout = 3 * time.Minute
)

// importCommand is `ledger import`. Package internal/importer reads the lines and orders them.
func (env *environment) importCommand() *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Import JSON lines, or a book of hledger, ledger or beancount",
		Long: `import sends a file of commands to the API, several at a time. FILE may be -
for standard input. Each line is one JSON object:

  {"asset":{"id":"USD","name":"US dollar","scale":2}}
  {"account":{"id":"jane","name":"Jane Doe"}}
  {"transfer":{"id":"t-1","from":"bank","to":"jane","asset":"USD", …}}
  {"trade":{"id":"t-2","asset":"AAPL","buyer":"jane","seller":"market", …}}
  {"transaction":{"id":"t-3","postings":[{"account":"jane", …}, …]}}

  {"change":{"id":"jane","state":"frozen"}}

The inner object is the body of the API's request, with the id in it. A change
of an account waits for all earlier lines. A line
waits for the earlier lines that register its assets and open its accounts.
Transactions that move the same limited account are posted in the order of the
file. Transactions that wait for nothing are sent together, up to 100 in a
request. What a line with "effective_at" brought can be spent a second or two
later: lines that are refused until then are tried again after all others.

You can run an import again at any time, also after it was interrupted. Lines
that were posted before are counted as replayed. A bad line is reported with its
number, the other lines continue, and the exit status is 1. After --max-errors
bad lines it sends no more lines, but still counts the answers to those that it
sent. It does the same if a line gets no answer within 3 minutes. If a request
that got no answer is later refused, import waits about 10 seconds until that
refusal is final.

A book of hledger (.journal, .hledger, .j), ledger (.ledger, .ldg, .dat) or
beancount (.beancount, .bean) is read by that program, which must be installed.
The whole book is checked first. If something in it cannot be imported, each
such place is named, and nothing is sent. docs/books.md says what becomes of
commodities, accounts, costs and tags.`,
		Example: `  ledger import books.jsonl
  ledger import household.beancount
  ledger import all.txt --format hledger --scale EUR=2
  zcat books.jsonl.gz | ledger import -`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.importFile(cmd.Context(), args[0], o)
		},
	}
	f := cmd.Flags()
	numberFlag(f, &o.clients, "clients", importClients, 1, importClientsMax, "requests to send at the same time")
	numberFlag(f, &o.maxErrors, "max-errors", importErrors, 0, math.MaxInt,
		"bad lines after which it stops; 0: never")
	f.StringVar(&o.format, "format", "", "jsonl, hledger, ledger or beancount; else by the file's extension")
	f.StringToIntVar(&o.scales, "scale", nil, "decimal places of a book's commodity, such as USD=2; else as many as"+
		" the book has; may be repeated")
	env.apiFlags(cmd)
	return cmd
}

// importOptions are the flags of an import.
type importOptions struct {
	clients, maxErrors int
	format             string
	scales             map[string]int // by commodity of a book
}

// importFile imports a file, or standard input for "-", and prints the counts. Error: also when a line
// failed. It first asks whether the ledger is alive, so that a wrong address is one error and not one for each line.
func (env *environment) importFile(ctx context.Context, name string, o importOptions) error {
	format, err := formatOf(name, o)
	if err != nil {
		return err
	}
	api, err := env.dial(importTimeout, o.clients)
	if err != nil {
		return err
	}
	where := func(line int) string { return "line " + strconv.Itoa(line) }
	var file io.ReadCloser
	var size int64
	if format == formatLines {
		file, size, err = env.openInput(ctx, name)
	} else {
		file, size, err = env.openBook(ctx, api, format, name, o, &where)
	}
	if err != nil {
		return err
	}
	defer file.Close()
	if err := api.Ping(ctx); err != nil {
		return err
	}
	// The client sends a line again until its timeout. The importer only orders the lines and counts the answers.
	run := importer.New(importer.Config{
		Ledger: api, Batches: api, Clients: o.clients, Failures: int64(o.maxErrors),
		OnFailure: func(f importer.Failure) { env.say(describe(where(f.Line), f)) },
	})
	status := func(since time.Duration) (string, int64) {
		n := run.Counts()
		rate := float64(n.Lines()) / since.Seconds()
		return fmt.Sprintf("%d lines (%.0f/s), %d failed", n.Lines(), rate, n.Failed), n.Bytes
	}
	runErr := env.watch(size, status, func() error { return run.Run(ctx, file) })
	counts := run.Counts()
	if err := env.printFigures("new", counts.New, "replayed", counts.Replayed, "failed", counts.Failed,
		"cut_off", counts.CutOff); err != nil {
		return err
	}
	// Every line has an id, so that the same file can be sent again.
	again := "run it again to continue"
	if counts.CutOff > 0 {
		again = counted(counts.CutOff, "line", "lines") + " cut off: " + again
	}
	switch {
	case ctx.Err() == nil && errors.Is(runErr, importer.ErrFailures):
		return fmt.Errorf("stopped after %s: correct them and run it again, or let it go on with --max-errors 0",
			counted(counts.Failed, "bad line", "bad lines"))
	case runErr != nil:
		return ended(ctx, runErr, again)
	case counts.Failed > 0:
		return fmt.Errorf("%d of %s failed", counts.Failed, counted(counts.Lines(), "line", "lines"))
	}
	return nil
}

// fieldsOf are the fields that a line of each kind may have.
var fieldsOf = map[client.Kind]string{
	client.KindAsset:       "id, name, description, scale, currency",
	client.KindAccount:     "id, name, profile, overdraft",
	client.KindChange:      "id, name, profile, overdraft, state",
	client.KindTransaction: "id, description, metadata, hold, effective_at, postings",
	client.KindTransfer:    "id, description, metadata, hold, effective_at, from, to, asset, quantity",
	client.KindTrade: "id, description, metadata, hold, effective_at, asset, buyer, seller, quantity, cost, " +
		"settle",
}

// describe names a bad line for people: where it stands, its kind and id if they could be read, and what is wrong.
func describe(where string, f importer.Failure) string {
	if refused, ok := errors.AsType[*client.Error](f.Err); ok && refused.Code == client.CodeMalformedBody {
		// The API names the fields that it does not know; the line says which there are.
		f.Err = fmt.Errorf("%w\n  the fields of %s: %s", f.Err, f.Kind, fieldsOf[f.Kind])
	}
	if f.ID == "" {
		return fmt.Sprintf("%s: %v", where, f.Err)
	}
	return fmt.Sprintf("%s: %s %q: %v", where, f.Kind, f.ID, f.Err)
}

// The importer sends by the client.
var (
	_ importer.Ledger  = (*client.Client)(nil)
	_ importer.Batches = (*client.Client)(nil)
)
