package books

import (
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

// Lines converts a book to the lines of an import. If there are problems, nothing of the book should be imported. An
// error means that the ledger could not be read, or that there is no room for temporary files.
func (b *Book) Lines(ctx context.Context, o Options) (*Lines, []Problem, error) {
	if len(b.Problems) > 0 {
		return nil, b.Problems, nil
	}
	o.Ledger = &remembered{Ledger: o.Ledger}
	m := &mapping{
		Options: o, book: b, accounts: newNames(b.Accounts, o.IDs), assets: newNames(b.Assets, o.IDs),
		scales: make(map[string]int), decimals: make(map[string]*decimals), weights: make(map[string]map[string]int),
		currencies: make(map[string]string), ids: make(map[string]bool), reserved: make(map[string]bool),
		days: make(map[string]int), notes: make(map[string]*noted), rests: make(map[string]*tolerated),
		hasAsset: make(map[string]bool), unusable: make(map[string]string), files: make(map[string]string),
		out: &Lines{Notes: b.Notes},
	}
	openings, err := m.convert(ctx)
	if err == nil && len(m.problems) == 0 {
		openings, err = m.compareOpenings(ctx, openings)
		m.sendOpenings(openings)
	}
	if err == nil && len(m.problems) == 0 {
		err = m.compare(ctx)
	}
	if err == nil && len(m.problems) == 0 {
		err = m.checkAccounts()
	}
	if err != nil || len(m.problems) > 0 {
		m.out.Close()
		return nil, m.sortedProblems(), err
	}
	m.noteAll()
	return m.out, nil, nil
}

// convert converts the entries, and returns the opening entries.
func (m *mapping) convert(ctx context.Context) (openings []*request, err error) {
	if err := m.collect(ctx); err != nil {
		return nil, err
	}
	if err := m.defineAssets(ctx); err != nil {
		return nil, err
	}
	if openings, err = m.openings(); err != nil {
		return nil, err
	}
	for t, err := range m.entries() {
		if err != nil {
			return nil, err
		}
		if t.Date >= m.Opening {
			for _, r := range m.transaction(t) {
				m.add(r)
			}
		}
	}
	return openings, m.defineAccounts(ctx)
}

// noteAll adds the notes of the conversion.
func (m *mapping) noteAll() {
	for _, all := range []map[string]*noted{m.book.lost, m.notes} {
		for _, text := range slices.Sorted(maps.Keys(all)) {
			m.out.Notes = append(m.out.Notes, all[text].String(text))
		}
	}
	m.noteRests()
}

// request is a transaction to import.
type request struct {
	client.TransactionRequest
	at    Position
	split int32 // number of the entry of which it is a part, 0 if it is whole
}

// mapping is the state of the conversion of a book.
type mapping struct {
	Options
	book             *Book
	accounts, assets *names
	decimals         map[string]*decimals      // by commodity
	weights          map[string]map[string]int // number of postings with a weight, by commodity and that of the weight
	hasOlder         bool                      // there are entries before the day of opening entries
	scales           map[string]int            // by asset id
	currencies       map[string]string         // by asset id
	reserved         map[string]bool           // ids of accounts that the import itself needs
	splits           int32                     // entries that are posted in parts
	hasAccounts      bool                      // the ledger has an account of the book
	unusable         map[string]string         // by account id: why it may refuse postings, and a way out
	ids              map[string]bool           // of tags
	days             map[string]int            // number of transactions, by date
	hasAsset         map[string]bool           // by asset id: the ledger has it already
	at               Position                  // of the entry that is converted
	notes            map[string]*noted         // by text
	rests            map[string]*tolerated     // by commodity
	files            map[string]string         // paths, by themselves, so that each is in memory once
	out              *Lines
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

// define adds a line before those of the entries.
func (m *mapping) define(at Position, kind client.Kind, body any) {
	text, err := json.Marshal(map[client.Kind]any{kind: body})
	if err != nil {
		m.wrong(at, "%v", err)
		return
	}
	m.out.definitions = append(m.out.definitions, append(text, '\n'))
	m.out.defined = append(m.out.defined, at)
}
