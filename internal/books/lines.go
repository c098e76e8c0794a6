package books

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"ledger.example/client"
)

// Conversion is the account against which conversions between commodities are closed, so that every asset sums to
// zero.
const Conversion = "conversion"

// Ledger is what must be known of the ledger that takes the book. Errors are those of *client.Client, whose code says
// when there is no such asset or account.
type Ledger interface {
	Asset(ctx context.Context, id string) (client.Reply[client.Asset], error)
	Account(ctx context.Context, id string) (client.Reply[client.Account], error)
}

// Options say how a book is imported.
type Options struct {
	Ledger Ledger
	Scales map[string]int // by commodity, for assets that the ledger does not have; else the most decimals in the book
	Now    time.Time      // no posting may be later
}

// Lines are the lines of an import, each with its place in the book.
type Lines struct {
	Text      []byte
	Positions []Position
	Notes     []string // what is not taken, for people
}

// Lines turns a book to the lines of an import. Problems are why it cannot be imported, by their places: then nothing
// of it should be. Error: the ledger could not be asked.
func (b Book) Lines(ctx context.Context, o Options) (Lines, []Problem, error) {
	if len(b.Problems) > 0 {
		return Lines{}, b.Problems, nil
	}
	m := &mapping{
		Options: o, declared: b.Declared, accounts: newNames(b.Accounts), assets: newNames(b.Assets),
		first: make(map[string]Position), scales: make(map[string]int),
		currencies: make(map[string]string), ids: make(map[string]int), days: make(map[string]int),
		told: make(map[string]int), out: Lines{Notes: b.Notes},
	}
	m.collect(b.Transactions)
	if err := m.defineAssets(ctx, b.Transactions); err != nil {
		return Lines{}, nil, err
	}
	var transactions []request
	for _, t := range b.Transactions {
		if r, ok := m.transaction(t); ok {
			transactions = append(transactions, r)
		}
	}
	if err := m.defineAccounts(ctx); err != nil {
		return Lines{}, nil, err
	}
	for _, r := range transactions {
		m.line(r.at, "transaction", r.TransactionRequest)
	}
	for _, note := range slices.Sorted(maps.Keys(m.told)) {
		m.out.Notes = append(m.out.Notes, fmt.Sprintf("%s (%d times)", note, m.told[note]))
	}
	return m.out, m.problems, nil
}

// request is a transaction as it is sent.
type request struct {
	client.TransactionRequest
	at Position
}

// mapping is one book on its way to lines.
type mapping struct {
	Options
	accounts, assets *names
	declared         []string
	first            map[string]Position // where an account's name stands first
	scales           map[string]int      // by asset's id
	currencies       map[string]string   // by asset's id
	needsConversion  bool
	ids              map[string]int // of transactions: how often
	days             map[string]int // transactions by date
	out              Lines
	told             map[string]int
	problems         []Problem
}

func (m *mapping) wrong(at Position, format string, a ...any) {
	m.problems = append(m.problems, Problem{at, fmt.Sprintf(format, a...)})
}

func (m *mapping) tell(note string) { m.told[note]++ }

func (m *mapping) line(at Position, kind string, body any) {
	text, err := json.Marshal(map[string]any{kind: body})
	if err != nil {
		m.wrong(at, "%v", err)
		return
	}
	m.out.Text = append(append(m.out.Text, text...), '\n')
	m.out.Positions = append(m.out.Positions, at)
}

// Reader reads the lines.
func (l Lines) Reader() *bytes.Reader { return bytes.NewReader(l.Text) }
