// Package export writes everything that a ledger has posted: as JSON lines for an import, as CSV, or as a book of
// hledger or beancount. It reads page by page. It keeps in memory a few pages, a thousand transactions, the open holds,
// the assets, and a few bytes for each account and transaction. For JSON lines, it also keeps groups and roles.
//
// In all formats but JSON lines, a file depends on the journal alone: on the first entry of each event, in their order.
// What is read from elsewhere never changes. So a later export begins with the same bytes, and File.Continue can write
// the rest.
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

// fileVersion is the version of the formats and of a file's state. A file of another version is not continued, but
// exported anew. Raise it with every change of what a format but JSON lines writes.
const fileVersion = 2

// Ledger reads the ledger to export. Errors are those of *client.Client.
type Ledger struct {
	Assets      iter.Seq2[client.Asset, error]
	Accounts    iter.Seq2[client.Account, error] // without profiles; iterated twice
	Account     func(ctx context.Context, id string) (client.Reply[client.Account], error)
	Asset       func(ctx context.Context, id string) (client.Reply[client.Asset], error)
	Transaction func(ctx context.Context, id string) (client.Reply[client.Transaction], error)
	// Journal reads a page of the journal after a cursor, "" for its beginning. An empty page is the end.
	Journal func(ctx context.Context, after string) (client.JournalPage, error)
	// Opening reads the id and the name with which an account was opened.
	Opening func(ctx context.Context, id string) (client.Account, error)
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
		Opening: func(ctx context.Context, id string) (client.Account, error) { return opening(ctx, api, id) },
	}
}

func opening(ctx context.Context, api *client.Client, id string) (client.Account, error) {
	r, err := api.Account(ctx, id)
	if err != nil || r.Value.Version == 1 {
		return r.Value, err
	}
	opened := client.Account{ID: id}
	for change, err := range api.Changes(id).All(ctx) {
		if err != nil {
			return opened, err
		}
		if change.Version == 1 && change.Changed.Name != nil {
			opened.Name = *change.Changed.Name
		}
	}
	return opened, nil
}

// Config configures an export.
type Config struct {
	Ledger Ledger
	Format string // a key of formats
}

// Result says what was written.
type Result struct {
	Transactions, Postings int64    // of the whole file
	Added                  int64    // transactions that the file did not have before
	Notes                  []string // what is not exported, for people
}

// format writes one kind of file. Assets and accounts are written before the transactions that use them, and these
// before their reversals. Except for JSON lines, an account has only its id and the name with which it was opened. An
// exporter has what a format does by default.
type format interface {
	begin() error
	asset(a client.Asset) error
	written(a client.Asset) // an earlier part of the file has the asset
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

// ErrWhole means that a file of JSON lines cannot be continued: its last lines are what accounts, groups and roles are
// at the end of the export.
var ErrWhole = errors.New("a file of JSON lines is always exported whole: it is for an empty ledger")

var formats = map[string]func(e *exporter) format{
	Lines: newLines, "csv": newCSV, "hledger": newHledger, "beancount": newBeancount,
}

// Formats returns the names of the formats.
func Formats() []string { return slices.Sorted(maps.Keys(formats)) }

// exporter is one export.
type exporter struct {
	Config
	out       *bufio.Writer
	format    format
	assets    map[string]client.Asset
	defined   map[string]bool               // assets that are written
	definedIn []string                      // the same in their order
	accounts  seen                          // that are written
	names     names                         // of accounts in a book
	posted    seen                          // transactions, and holds that have ended; the journal may list one twice
	open      map[string]client.Transaction // holds, by id
	waiting   []waiting                     // to be written, in this order
	cursor    string                        // of the journal: what comes before it was read
	notes     map[string]int                // number of occurrences, by text
	result    Result
	settle    func() error // is called when the journal was read, before what is waiting is written
}

// waiting is one thing to be written: a transaction, or the definition of an asset or an account. One is not nil.
type waiting struct {
	Transaction *client.Transaction `json:"transaction,omitempty"`
	Asset       *client.Asset       `json:"asset,omitempty"`
	Account     *client.Account     `json:"account,omitempty"`
	posted      posted              // of Transaction
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

// newExporter returns an exporter that writes to out. Error: the format is unknown.
func newExporter(c Config, out io.Writer) (*exporter, error) {
	e := &exporter{
		Config: c, out: bufio.NewWriterSize(out, 64<<10), assets: make(map[string]client.Asset),
		defined: make(map[string]bool), accounts: make(seen), posted: make(seen), notes: make(map[string]int),
		open: make(map[string]client.Transaction), settle: func() error { return nil },
	}
	newFormat, ok := formats[c.Format]
	if !ok {
		return nil, fmt.Errorf("unknown format %q: must be one of %s", c.Format, strings.Join(Formats(), ", "))
	}
	e.format = newFormat(e)
	return e, nil
}

// Run exports a ledger to a stream. The result is valid after an error, too.
func Run(ctx context.Context, c Config, out io.Writer) (Result, error) {
	e, err := newExporter(c, out)
	if err != nil {
		return Result{}, err
	}
	return e.whole(ctx)
}

// whole exports the ledger from the beginning of the journal.
func (e *exporter) whole(ctx context.Context) (Result, error) {
	err := e.format.begin()
	if err == nil && e.Format == Lines {
		err = e.define(ctx)
	}
	if err == nil {
		err = e.run(ctx)
	}
	return e.finish(err)
}

// finish writes what is buffered, after an error, too, and returns the result and the error.
func (e *exporter) finish(err error) (Result, error) {
	if flushed := e.out.Flush(); err == nil { // else it is likely the same one
		err = flushed
	}
	for _, note := range slices.Sorted(maps.Keys(e.notes)) {
		e.result.Notes = append(e.result.Notes, fmt.Sprintf("%s (%d)", note, e.notes[note]))
	}
	return e.result, err
}

// note counts something that is not exported.
func (e *exporter) note(text string) { e.notes[text]++ }

func (e *exporter) begin() error { return nil }

func (e *exporter) asset(client.Asset) error { return nil }

func (e *exporter) written(client.Asset) {}

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
