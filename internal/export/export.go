// Package export writes everything that a ledger has posted: as JSON lines for an import, as CSV, or as a book of
// hledger or beancount. It reads page by page. It keeps in memory a few pages, a thousand transactions, the open holds,
// the assets, and a few bytes for each account and transaction. For JSON lines, it also keeps groups and roles.
package export

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"ledger.example/client"
	"ledger.example/events"
)

const (
	// pagesAhead is the number of pages of the journal that are read ahead.
	pagesAhead = 2
	// waitingMax is how many transactions wait for earlier ones of the same instant. The requests of an atomic batch
	// have one instant, and the journal may have them in any order, some pages apart.
	waitingMax = 1000
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

func (e *exporter) run(ctx context.Context) error {
	if err := e.define(ctx); err != nil {
		return err
	}
	for page, err := range e.pages(ctx) {
		if err != nil {
			return err
		}
		for _, entry := range page.Data {
			if err := e.entry(ctx, entry); err != nil {
				return err
			}
		}
		e.result.Cursor = page.NextCursor
	}
	if err := e.write(ctx, 0); err != nil {
		return err
	}
	for _, hold := range slices.SortedFunc(maps.Values(e.open), func(a, b client.Transaction) int {
		return cmp.Or(cmp.Compare(a.PostedAt, b.PostedAt), cmp.Compare(a.ID, b.ID))
	}) {
		if err := e.unposted(ctx, hold); err != nil {
			return err
		}
	}
	return e.format.end(ctx)
}

// define writes all assets, each after its currency, and all accounts.
func (e *exporter) define(ctx context.Context) error {
	for a, err := range e.Ledger.Assets {
		if err != nil {
			return err
		}
		e.assets[a.ID] = a
	}
	for _, id := range slices.Sorted(maps.Keys(e.assets)) {
		if err := e.defineAsset(ctx, id); err != nil {
			return err
		}
	}
	var page []client.Account
	for a, err := range e.Ledger.Accounts {
		if err != nil {
			return err
		}
		e.accounts.isNew(a.ID)
		if page = append(page, a); len(page) == client.PageLimit {
			if err := e.format.account(ctx, page); err != nil {
				return err
			}
			page = nil
		}
	}
	return e.format.account(ctx, page)
}

// defineAsset writes an asset after its currency, unless it is written. It reads assets that were registered after
// define read their list.
func (e *exporter) defineAsset(ctx context.Context, id string) error {
	if e.defined[id] {
		return nil
	}
	e.defined[id] = true
	if _, known := e.assets[id]; !known {
		r, err := e.Ledger.Asset(ctx, id)
		if err != nil {
			return err
		}
		e.assets[id] = r.Value
	}
	if currency := e.assets[id].Currency; currency != "" {
		if err := e.defineAsset(ctx, currency); err != nil {
			return err
		}
	}
	return e.format.asset(e.assets[id])
}

// pages yields the pages of the journal. It reads pagesAhead pages ahead.
func (e *exporter) pages(ctx context.Context) iter.Seq2[client.JournalPage, error] {
	type read struct {
		page client.JournalPage
		err  error
	}
	return func(yield func(client.JournalPage, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		pages := make(chan read, pagesAhead)
		go func() {
			defer close(pages)
			for after := e.From; ; {
				page, err := e.Ledger.Journal(ctx, after)
				select {
				case pages <- read{page, err}:
				case <-ctx.Done():
					return
				}
				if err != nil || len(page.Data) == 0 && page.NextCursor == after {
					return
				}
				after = page.NextCursor
			}
		}()
		for r := range pages {
			if !yield(r.page, r.err) || r.err != nil {
				return
			}
		}
	}
}

// entry takes an entry of the journal.
func (e *exporter) entry(ctx context.Context, entry client.JournalEntry) error {
	t, ok, err := entry.Transaction()
	switch {
	case err != nil:
		return err
	case !ok:
		return e.definition(ctx, entry)
	case e.posted.has(t.ID):
		return nil
	case entry.Type == events.TypeHeld:
		e.open[t.ID] = t
		return nil
	}
	delete(e.open, t.ID)
	if entry.Type == events.TypePosted || entry.Type == events.TypeCaptured {
		return e.take(ctx, t)
	}
	e.posted.isNew(t.ID)
	return e.unposted(ctx, t)
}

// definition takes an entry that is of no transaction. It writes an asset or an account that did not exist when define
// read the lists.
func (e *exporter) definition(ctx context.Context, entry client.JournalEntry) error {
	var made struct{ ID string }
	if err := json.Unmarshal(entry.Data, &made); err != nil {
		return err
	}
	switch entry.Type {
	case events.TypeAssetRegistered:
		return e.defineAsset(ctx, made.ID)
	case events.TypeAccountOpened:
		return e.defineAccount(ctx, made.ID)
	case events.TypePeriodClosed:
		e.note("closed periods are not exported")
	}
	return e.format.other(entry)
}

// unposted writes a hold that posted nothing.
func (e *exporter) unposted(ctx context.Context, t client.Transaction) error {
	if err := e.defineLate(ctx, t.Postings); err != nil {
		return err
	}
	return e.format.hold(t)
}

// take takes the postings of a transaction, or of the capture of a hold, after those of the transaction that it
// reverses: the journal may have a reversal first.
func (e *exporter) take(ctx context.Context, t client.Transaction) (err error) {
	if t.Reverses != "" && e.From == "" && !e.posted.has(t.Reverses) {
		r, err := e.Ledger.Transaction(ctx, t.Reverses)
		if err == nil {
			delete(e.open, t.Reverses)
			err = e.take(ctx, r.Value)
		}
		if err != nil {
			return err
		}
	}
	e.posted.isNew(t.ID)
	p := posted{Transaction: t}
	at := t.PostedAt
	if t.Status == client.StatusCaptured {
		at = t.EndedAt
		e.note("captured holds are exported as transactions at their capture, without the amounts held")
	}
	if p.at, err = time.Parse(time.RFC3339Nano, at); err != nil {
		return fmt.Errorf("transaction %q: %w", t.ID, err)
	}
	p.first, p.legs = t.AsPosted()[0].ID, movements(t.AsPosted())
	for i := range e.waiting { // those of one instant are in the order of their KSUIDs
		if q := &e.waiting[i]; q.at.Equal(p.at) && p.first < q.first {
			*q, p = p, *q
		}
	}
	e.waiting = append(e.waiting, p)
	return e.write(ctx, waitingMax)
}

// movements returns the postings that are not zero.
func movements(postings []client.Posting) (legs []client.Posting) {
	for _, leg := range postings {
		if !leg.Quantity.IsZero() || !leg.Cost.IsZero() {
			legs = append(legs, leg)
		}
	}
	return legs
}

// write writes waiting transactions until at most the given number is left.
func (e *exporter) write(ctx context.Context, left int) error {
	for ; len(e.waiting) > left; e.waiting = e.waiting[1:] {
		p := e.waiting[0]
		if err := e.defineLate(ctx, p.legs); err != nil {
			return err
		}
		e.result.Transactions++
		e.result.Postings += int64(len(p.legs))
		if err := e.format.transaction(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// defineLate writes the accounts and the assets of legs that did not exist when define read the lists.
func (e *exporter) defineLate(ctx context.Context, legs []client.Posting) error {
	for _, leg := range legs {
		if err := e.defineAsset(ctx, leg.Asset); err != nil {
			return err
		}
		if err := e.defineAccount(ctx, leg.Account); err != nil {
			return err
		}
	}
	return nil
}

// defineAccount writes an account, unless it is written.
func (e *exporter) defineAccount(ctx context.Context, id string) error {
	if !e.accounts.isNew(id) {
		return nil
	}
	r, err := e.Ledger.Account(ctx, id)
	if err != nil {
		return err
	}
	return e.format.account(ctx, []client.Account{r.Value})
}
