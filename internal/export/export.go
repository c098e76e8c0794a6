// Package export writes everything that a ledger has posted: as JSON lines for an import, as CSV, or as a book of
// hledger or beancount. It reads page by page. It keeps in memory a few pages, a thousand transactions, the open holds,
// the assets, and a few bytes for each account and transaction. For JSON lines, it also keeps groups and roles.
package export

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"ledger.example/client"
)

// Ledger reads the ledger to export. Errors are those of *client.Client.
type Ledger struct {
	Assets      iter.Seq2[client.Asset, error]
	Accounts    iter.Seq2[client.Account, error] // without profiles; iterated twice
	Account     func(ctx context.Context, id string) (client.Reply[client.Account], error)
	Asset       func(ctx context.Context, id string) (client.Reply[client.Asset], error)
	Transaction func(ctx context.Context, id string) (client.Reply[client.Transaction], error)
	// Journal reads a page of the journal after a cursor, "" for its beginning. An empty page is the end.
	Journal func(ctx context.Context, after string) (client.JournalPage, error)
}

// Of returns the ledger of a client.
func Of(ctx context.Context, api *client.Client) Ledger {
	return Ledger{
		Assets: api.Assets("").All(ctx), Accounts: api.Accounts("").All(ctx),
		Asset: api.Asset, Account: api.Account, Transaction: api.Transaction,
		Journal: func(ctx context.Context, after string) (client.JournalPage, error) {
			r, err := api.JournalPage(ctx, client.JournalQuery{After: after}, client.PageLimit)
			return r.Value, err
		},
	}
}

// Config configures an export.
type Config struct {
	Ledger Ledger
	Format string // a key of formats
	From   string // a cursor of the journal; "": from its beginning; not for JSON lines
	Out    io.Writer
}

// Result says what was written.
type Result struct {
	Transactions, Postings int64
	Cursor                 string   // where another export continues; "": nothing was read
	Notes                  []string // what is not exported, for people
}

// format writes one kind of file. Assets are written before accounts, both before the transactions that use them, and
// these before their reversals. An exporter has what a format does by default.
type format interface {
	asset(a client.Asset) error
	account(ctx context.Context, accounts []client.Account) error
	transaction(ctx context.Context, t posted) error
	hold(t client.Transaction) error   // one that posted nothing: it was released, expired, or is open
	other(e client.JournalEntry) error // an event that is of no transaction
	end(ctx context.Context) error
}

// posted has the postings of a transaction, or of the capture of a hold.
type posted struct {
	client.Transaction
	at    time.Time
	first string           // KSUID of the first posting
	legs  []client.Posting // without those that are zero
}

// Lines is the format of the JSON lines that an import takes.
const Lines = "jsonl"

// ErrWhole means that Config.From is given for JSON lines. Their definitions are those at the end of the export.
var ErrWhole = errors.New("JSON lines are always exported from the beginning: they are for an empty ledger")

var formats = map[string]func(e *exporter) format{
	Lines: newLines, "csv": newCSV, "hledger": newHledger, "beancount": newBeancount,
}

// Formats returns the names of the formats.
func Formats() []string { return slices.Sorted(maps.Keys(formats)) }

// exporter is one export.
type exporter struct {
	Config
	out      *bufio.Writer
	format   format
	assets   map[string]client.Asset
	defined  map[string]bool // assets that are written
	accounts seen
	posted   seen                          // transactions, and holds that have ended; the journal may list one twice
	open     map[string]client.Transaction // holds, by id
	waiting  []posted                      // to be written, in this order
	notes    map[string]int                // number of occurrences, by text
	result   Result
}

// seen is a set of ids, by hashes of 16 bytes. Collisions are practically impossible.
type seen map[[16]byte]struct{}

// isNew adds an id, and reports whether it was not in the set.
func (s seen) isNew(id string) bool {
	before := len(s)
	s[hashOf(id)] = struct{}{}
	return len(s) > before
}

func (s seen) has(id string) bool {
	_, known := s[hashOf(id)]
	return known
}

func hashOf(id string) [16]byte {
	h := sha256.Sum256([]byte(id))
	return [16]byte(h[:16])
}

// Run exports a ledger. The result is valid after an error, too.
func Run(ctx context.Context, c Config) (Result, error) {
	e := &exporter{
		Config: c, out: bufio.NewWriterSize(c.Out, 64<<10), assets: make(map[string]client.Asset),
		defined: make(map[string]bool), accounts: make(seen), posted: make(seen), notes: make(map[string]int),
		open: make(map[string]client.Transaction),
	}
	newFormat, ok := formats[c.Format]
	if !ok {
		return Result{}, fmt.Errorf("unknown format %q: must be one of %s", c.Format, strings.Join(Formats(), ", "))
	}
	if c.From != "" && c.Format == Lines {
		return Result{}, ErrWhole
	}
	e.format = newFormat(e)
	err := e.run(ctx)
	for _, note := range slices.Sorted(maps.Keys(e.notes)) {
		e.result.Notes = append(e.result.Notes, fmt.Sprintf("%s (%d)", note, e.notes[note]))
	}
	return e.result, errors.Join(err, e.out.Flush())
}

// note counts something that is not exported.
func (e *exporter) note(text string) { e.notes[text]++ }

func (e *exporter) asset(client.Asset) error { return nil }

func (e *exporter) account(context.Context, []client.Account) error { return nil }

func (e *exporter) hold(t client.Transaction) error {
	if t.Status == client.StatusHeld {
		e.result.Notes = append(e.result.Notes, fmt.Sprintf("hold %q is open, and not exported", t.ID))
		return nil
	}
	e.note("holds that were released or expired are not exported")
	return nil
}

func (e *exporter) other(client.JournalEntry) error { return nil }

func (e *exporter) end(context.Context) error { return nil }
