package books

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"ledger.example/client"
)

// Conversion is the account that balances conversions between commodities, so that every asset sums to zero.
const Conversion = "conversion"

// Options configures the conversion of a book.
type Options struct {
	Ledger Ledger
	File   string // path of the book, whose name tells the entries of several books apart
	// SkipVirtual leaves out unbalanced virtual postings, which are refused otherwise.
	SkipVirtual bool
	Opening     string // a day: what is older becomes opening entries; "": none
	// Scales has the scales of new assets, by commodity. By default it is the most decimals of a written amount, and at
	// least that of the currency in ISO 4217.
	Scales map[string]int
	IDs    map[string]string // of accounts and assets, by name
	Now    time.Time         // bounds the times of postings
}

// Lines has the lines of an import, each with its position in the book.
type Lines struct {
	Text      []byte
	Positions []Position
	Notes     []string   // parts of the book that are not imported, for people
	Replayed  int64      // entries without a line, because the ledger has them
	OtherText []Again    // likewise, but with another text, which stays
	Together  []Together // sent after the lines
	again     *again
}

// Lines converts a book to the lines of an import. If there are problems, nothing of the book should be imported. An
// error means that the ledger could not be read.
func (b Book) Lines(ctx context.Context, o Options) (Lines, []Problem, error) {
	if len(b.Problems) > 0 {
		return Lines{}, b.Problems, nil
	}
	o.Ledger = &remembered{Ledger: o.Ledger}
	m := &mapping{
		Options: o, declared: b.Declared, accounts: newNames(b.Accounts, o.IDs), assets: newNames(b.Assets, o.IDs),
		scales:     make(map[string]int),
		currencies: make(map[string]string), ids: make(map[string]bool), reserved: make(map[string]bool),
		days: make(map[string]int), notes: make(map[string]*noted), rests: make(map[string]*tolerated),
		hasAsset: make(map[string]bool), out: Lines{Notes: b.Notes},
	}
	b.Transactions = m.withoutVirtual(b.Transactions)
	if err := m.collect(ctx, b.Transactions); err != nil {
		return Lines{}, nil, err
	}
	if err := m.defineAssets(ctx, b.Transactions); err != nil {
		return Lines{}, nil, err
	}
	older, newer := b.before(o.Opening)
	openings := m.openings(older)
	var transactions []*request
	for _, t := range newer {
		transactions = append(transactions, m.transaction(t)...)
	}
	if err := m.defineAccounts(ctx); err != nil {
		return Lines{}, nil, err
	}
	if len(m.problems) > 0 {
		return Lines{}, m.sortedProblems(), nil
	}
	openings, err := m.compareOpenings(ctx, openings, b.Transactions)
	if err != nil {
		return Lines{}, nil, err
	}
	if len(m.problems) > 0 {
		return Lines{}, m.sortedProblems(), nil
	}
	transactions, err = m.compare(ctx, transactions)
	if err != nil {
		return Lines{}, nil, err
	}
	for _, r := range m.together(append(openings, transactions...)) {
		m.line(r.at, client.KindTransaction, r.TransactionRequest)
	}
	for _, kind := range slices.Sorted(maps.Keys(b.lost)) {
		m.out.Notes = append(m.out.Notes, b.lost[kind].String(kind+" are left out"))
	}
	for _, text := range slices.Sorted(maps.Keys(m.notes)) {
		m.out.Notes = append(m.out.Notes, m.notes[text].String(text))
	}
	m.noteRests()
	return m.out, m.sortedProblems(), nil
}

// request is a transaction to import.
type request struct {
	client.TransactionRequest
	at    Position
	found Found // what the ledger has under its id
	split int   // number of the entry of which it is a part, 0 if it is whole
}

// mapping is the state of the conversion of a book.
type mapping struct {
	Options
	accounts, assets *names
	declared         []string
	scales           map[string]int        // by asset id
	currencies       map[string]string     // by asset id
	reserved         map[string]bool       // ids of accounts that the import itself needs
	splits           int                   // entries that are posted in parts
	hasAccounts      bool                  // the ledger has an account of the book
	ids              map[string]bool       // of tags
	days             map[string]int        // number of transactions, by date
	hasAsset         map[string]bool       // by asset id: the ledger has it already
	at               Position              // of the entry that is converted
	notes            map[string]*noted     // by text
	rests            map[string]*tolerated // by commodity
	out              Lines
	problems         []Problem
}

func (m *mapping) wrong(at Position, format string, a ...any) {
	m.problems = append(m.problems, Problem{at, fmt.Sprintf(format, a...)})
}

// sortedProblems returns the problems in the order of the book.
func (m *mapping) sortedProblems() []Problem {
	slices.SortStableFunc(m.problems, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return slices.Compact(m.problems)
}

// note notes something about the entry that is converted.
func (m *mapping) note(text string) {
	if m.notes[text] == nil {
		m.notes[text] = &noted{first: m.at}
	}
	m.notes[text].times++
}

// noted says where something was noted first, and how often.
type noted struct {
	first Position
	times int
}

func (n *noted) String(text string) string {
	switch {
	case n.first == (Position{}):
		return fmt.Sprintf("%s (%d)", text, n.times)
	case n.times == 1:
		return fmt.Sprintf("%s (1, at %s)", text, n.first)
	default:
		return fmt.Sprintf("%s (%d, first at %s)", text, n.times, n.first)
	}
}

func (m *mapping) line(at Position, kind client.Kind, body any) {
	text, err := json.Marshal(map[client.Kind]any{kind: body})
	if err != nil {
		m.wrong(at, "%v", err)
		return
	}
	m.out.Text = append(append(m.out.Text, text...), '\n')
	m.out.Positions = append(m.out.Positions, at)
}

// Reader returns a reader of the lines.
func (l Lines) Reader() *bytes.Reader { return bytes.NewReader(l.Text) }
