package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/desk/books"
	"ledger.example/internal/desk/importer"
)

const (
	// importClients is the default of --clients. DynamoDB Local writes one transaction at a time: with more clients,
	// requests only wait longer there, and may time out.
	importClients    = 8
	importClientsMax = 512
	// importErrors is the default of --max-errors. An error in a file is often the same on all of its lines.
	importErrors = 20
	// importTimeout is how long one line is retried. It is long enough for a restart of the ledger.
	importTimeout = 3 * time.Minute
)

// importCommand is `ledger import`. Package internal/desk/importer reads and schedules the lines.
func (env *environment) importCommand() *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:  "import FILE",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return env.importFile(cmd.Context(), args[0], o)
		},
	}
	f := cmd.Flags()
	numberFlag(f, &o.clients, "clients", importClients, 1, importClientsMax, "concurrent requests")
	numberFlag(f, &o.maxErrors, "max-errors", importErrors, 0, math.MaxInt,
		"bad lines after which import stops; 0: never")
	f.StringVar(&o.format, "format", "", "jsonl, hledger, ledger or beancount (default: by the file's extension)")
	f.StringVar(&o.program, "program", "", "path of the program that reads a book (default: hledger, ledger or "+
		"bean-check in PATH)")
	f.StringToIntVar(&o.scales, "scale", nil, "decimal places of a book's commodity, such as USD=2; may be repeated "+
		"(default: as many as in the book)")
	f.StringVar(&o.ids, "ids", "", "CSV file of names and ids, for a book's accounts and commodities that shall have "+
		"ids of their own")
	f.StringVar(&o.virtual, "virtual", "", "skip: leave out a book's unbalanced virtual postings, also those of "+
		"timeclock and timedot files (default: refuse them)")
	f.StringVar(&o.opening, "opening", "", "day of opening entries with the totals of a book before it, such as "+
		"2015-01-01")
	env.callFlags(cmd)
	env.jsonFlag(cmd, "print the counts as JSON")
	return cmd
}

// importOptions holds the flags.
type importOptions struct {
	clients, maxErrors int
	format, program    string
	virtual            string         // "" or virtualSkip
	ids                string         // path of a CSV file, or ""
	opening            string         // a day, or ""
	scales             map[string]int // by commodity of a book
}

// importFile imports a file, or standard input for "-", and prints the counts. A failed line is an error. It pings the
// ledger first, so that a wrong address is reported once and not for each line.
func (env *environment) importFile(ctx context.Context, name string, o importOptions) error {
	format, err := formatOf(name, o)
	if err != nil {
		return err
	}
	api, err := env.dial(importTimeout, o.clients)
	if err != nil {
		return err
	}
	var file imported
	if format == formatLines {
		file, err = env.openLines(ctx, name)
	} else {
		file, err = env.openBook(ctx, api, format, name, o)
	}
	if err != nil {
		return err
	}
	defer file.close()
	file.bad = make(map[string]bool)
	if err := api.Ping(ctx); err != nil {
		return err
	}
	run := importer.New(importer.Config{
		Ledger: api, Batches: api, Clients: o.clients, Failures: int64(o.maxErrors),
		OnFailure: func(f importer.Failure) {
			file.bad[f.ID] = true
			env.say(describe(file.position(f.Line), f))
			if o.format == "" && f.Line == 1 && f.ID == "" {
				env.say("  If the file is a book of " + books.Formats + ", say which one by --format.")
			}
		},
		Posted: file.posted,
		OnOtherText: func(line int, id string) {
			env.say(otherText(books.Again{Position: file.book.Position(line), ID: id}))
		},
	})
	status := func(since time.Duration) (string, int64) {
		n := run.Counts()
		return importStatus(n, file.lines, since), n.Bytes
	}
	runErr := env.watch(file.size, status, func() error { return run.Run(ctx, file) })
	counts := run.Counts()
	if runErr == nil {
		runErr = env.sendTogether(ctx, api, file, &counts)
	}
	gone, err := file.gone(ctx, runErr)
	if err != nil {
		return err
	}
	if err := env.printFigures(importFigures(counts, file.book, gone)...); err != nil {
		return err
	}
	advice := "run the command again to continue"
	cutOff := ""
	if counts.CutOff > 0 {
		cutOff = counted(counts.CutOff, "line", "lines") + " cut off without an answer"
		advice = cutOff + "; " + advice
	}
	switch {
	case ctx.Err() != nil && cutOff != "":
		return fmt.Errorf("%w: %s", errInterrupted, cutOff)
	case ctx.Err() == nil && errors.Is(runErr, importer.ErrFailures):
		return fmt.Errorf("stopped after %s: correct them and run the command again, or use --max-errors 0",
			counted(counts.Failed, "bad line", "bad lines"))
	case runErr != nil:
		return resumable(ctx, runErr, advice)
	case counts.NotTried > 0:
		return fmt.Errorf("%d of %s failed, and %s not tried: correct the lines and run the command again",
			counts.Failed, counted(counts.Lines(), "line", "lines"),
			counted(counts.NotTried, "change of an account was", "changes of accounts were"))
	case counts.Failed > 0:
		return fmt.Errorf("%d of %s failed", counts.Failed, counted(counts.Lines(), "line", "lines"))
	}
	return env.sayGone(gone)
}

// importStatus describes the progress of an import of a file with the given number of lines, -1 if it is unknown.
func importStatus(n importer.Counts, lines int64, since time.Duration) string {
	done := strconv.FormatInt(n.Lines(), 10)
	if lines >= 0 {
		done = fmt.Sprintf("%s of %d", done, lines)
	}
	return fmt.Sprintf("%s lines (%.0f/s), %d failed", done, float64(n.Lines())/since.Seconds(), n.Failed)
}

// describe describes a bad line for people: its position, its kind and id if they could be read, and the error.
func describe(position string, f importer.Failure) string {
	if refused, ok := errors.AsType[*client.Error](f.Err); ok && refused.Code == client.CodeMalformedBody {
		// The error of the API names the unknown fields only.
		f.Err = fmt.Errorf("%w\n  the fields of %s: %s", f.Err, f.Kind, strings.Join(f.Kind.Fields(), ", "))
	}
	f.Err = withWay(f.Err)
	if f.ID == "" {
		return fmt.Sprintf("%s: %v", position, f.Err)
	}
	return fmt.Sprintf("%s: %s %q: %v", position, f.Kind, f.ID, f.Err)
}

// virtualSkip is the value of --virtual.
const virtualSkip = "skip"

// formatLines is the format of JSON lines.
const formatLines = "jsonl"

// countedBytes is the maximum size of a file whose lines are counted before the import.
const countedBytes = 1 << 30

// formatOfExtension has the formats of books by file extension. Files with other extensions have JSON lines.
var formatOfExtension = map[string]string{
	".journal": "hledger", ".hledger": "hledger", ".j": "hledger", ".timeclock": "hledger", ".timedot": "hledger",
	".ledger": "ledger", ".ldg": "ledger", ".dat": "ledger",
	".beancount": "beancount", ".bean": "beancount",
}

// formatOf returns the format of a file: --format, or that of its extension.
func formatOf(name string, o importOptions) (string, error) {
	format := o.format
	if format == "" {
		format = formatOfExtension[strings.ToLower(filepath.Ext(name))]
	}
	if way, isBank := wayOfExtension[strings.ToLower(filepath.Ext(name))]; isBank && format == "" {
		return "", usageErrorf("%s is a bank's file: %s. docs/books.md#bank-files has an example", name, way)
	}
	switch {
	case format == "" || format == formatLines:
		if len(o.scales) > 0 || cmp.Or(o.program, o.virtual, o.ids, o.opening) != "" {
			return "", usageErrorf("--scale, --program, --ids, --virtual and --opening are for books of %s",
				books.Formats)
		}
		return formatLines, nil
	case !books.IsFormat(format):
		return "", usageErrorf("--format %s: must be one of %s, %s", format, formatLines, books.Formats)
	case o.virtual != "" && o.virtual != virtualSkip:
		return "", usageErrorf("--virtual %s: must be %s", o.virtual, virtualSkip)
	case name == "-":
		return "", usageErrorf("a book of %s must be a file, because it may include other files", format)
	}
	if o.opening != "" {
		if err := books.CheckOpening(o.opening, time.Now()); err != nil {
			return "", usageErrorf("--opening: %v", err)
		}
	}
	for commodity, scale := range o.scales {
		if scale < 0 || scale > events.ScaleMax {
			return "", usageErrorf("--scale %s=%d: must be 0 to %d", commodity, scale, events.ScaleMax)
		}
	}
	return format, nil
}

// imported is what to import. size and lines are -1 if they are unknown.
type imported struct {
	io.ReadCloser
	size, lines int64
	position    func(line int) string // for people
	book        *books.Lines          // nil: not a book
	bad         map[string]bool       // ids of lines that failed
	posted      func(context.Context, client.Command) (isPosted, isOtherText bool, err error)
}

// close closes the file, and the temporary file of a book.
func (in imported) close() {
	_ = in.Close()
	if in.book != nil {
		in.book.Close()
	}
}

// openLines opens a file of lines. It counts the lines if that takes less than a second or so.
func (env *environment) openLines(ctx context.Context, name string) (imported, error) {
	file, size, err := env.openInput(ctx, name)
	in := imported{ReadCloser: file, size: size, lines: -1,
		position: func(line int) string { return "line " + strconv.Itoa(line) }}
	if f, ok := file.(io.Seeker); err == nil && ok && size >= 0 && size <= countedBytes {
		if in.lines, err = importer.Count(file); err == nil {
			_, err = f.Seek(0, io.SeekStart)
		}
	}
	return in, err
}

// bookStatus describes what is done before the first entry of a book is sent. entries is 0 until the book was read.
func bookStatus(program, file string, entries int64, since time.Duration) string {
	if entries == 0 {
		return fmt.Sprintf("%s reads %s (%.0f s)", program, file, since.Seconds())
	}
	return fmt.Sprintf("%s read, and compared with the ledger (%.0f s)", counted(entries, "entry", "entries"),
		since.Seconds())
}

// openBook reads a book with its program, validates all of it, and returns it as lines to import. It is an error if any
// part of the book cannot be imported.
func (env *environment) openBook(
	ctx context.Context, api *client.Client, format, name string, o importOptions,
) (in imported, err error) {
	ids, err := books.ReadIDs(o.ids)
	if err != nil {
		return in, err
	}
	ledger := books.Of(api)
	var lines *books.Lines
	var problems []books.Problem
	var entries atomic.Int64 // 0 until the book was read
	status := func(since time.Duration) (string, int64) {
		return bookStatus(cmp.Or(o.program, format), name, entries.Load(), since), 0
	}
	if err := env.watch(-1, status, func() error {
		book, err := books.Read(ctx, format, o.program, name)
		if err != nil {
			return err
		}
		defer book.Close()
		if o.opening != "" {
			if err := books.Check(ctx, format, o.program, name, book, o.opening); err != nil {
				return err
			}
		}
		entries.Store(int64(book.Len()))
		lines, problems, err = book.Lines(ctx, books.Options{
			Ledger: ledger, File: name, SkipVirtual: o.virtual == virtualSkip, Opening: o.opening, Scales: o.scales,
			IDs: ids, Now: time.Now(),
		})
		return err
	}); err != nil {
		return in, err
	}
	for n, p := range problems {
		if o.maxErrors > 0 && n == o.maxErrors {
			_, _ = fmt.Fprintln(env.err, "…")
			break
		}
		_, _ = fmt.Fprintln(env.err, p)
	}
	if len(problems) > 0 {
		return in, fmt.Errorf("the book has %s: nothing was imported",
			counted(int64(len(problems)), "problem", "problems"))
	}
	for _, note := range lines.Notes {
		_, _ = fmt.Fprintln(env.err, note)
	}
	for _, e := range lines.OtherText {
		_, _ = fmt.Fprintln(env.err, otherText(e))
	}
	n, size := lines.Count()
	return imported{
		ReadCloser: lines.Reader(), size: size, lines: n, book: lines,
		position: func(line int) string { return cmp.Or(lines.Position(line).String(), name) },
		posted:   postedIn(ledger),
	}, nil
}
