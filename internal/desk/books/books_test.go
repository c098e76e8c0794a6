package books

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/tests/harness/full"
)

// record writes the current results to testdata instead of comparing them: go test -record
var record = flag.Bool("record", false, "write testdata anew")

// stored is a ledger with the given assets, accounts and transactions.
type stored struct {
	assets       map[string]client.Asset
	accounts     map[string]client.Account
	transactions []client.Transaction
}

func (s stored) Transaction(_ context.Context, id string) (client.Reply[client.Transaction], error) {
	for _, t := range s.transactions {
		if t.ID == id {
			return client.Reply[client.Transaction]{Value: t}, nil
		}
	}
	return client.Reply[client.Transaction]{}, &client.Error{Status: 404, Code: client.CodeTransactionNotFound}
}

func (s stored) Posted(_ context.Context, from, to time.Time) iter.Seq2[client.Transaction, error] {
	return func(yield func(client.Transaction, error) bool) {
		for _, t := range s.transactions {
			if t.PostedAt < events.FormatTime(from) || !to.IsZero() && t.PostedAt >= events.FormatTime(to) {
				continue
			}
			if t.Reversed = nil; !yield(t, nil) { // as the ledger's list
				return
			}
		}
	}
}

func (s stored) AllAssets(context.Context) iter.Seq2[client.Asset, error] { return byID(s.assets) }
func (s stored) AllAccounts(context.Context) iter.Seq2[client.Account, error] {
	return byID(s.accounts)
}

func byID[T any](all map[string]T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, id := range slices.Sorted(maps.Keys(all)) {
			if !yield(all[id], nil) {
				return
			}
		}
	}
}

func (s stored) Asset(_ context.Context, id string) (client.Reply[client.Asset], error) {
	if a, ok := s.assets[id]; ok {
		return client.Reply[client.Asset]{Value: a}, nil
	}
	return client.Reply[client.Asset]{}, &client.Error{Status: 404, Code: "asset_not_found"}
}

func (s stored) Account(_ context.Context, id string) (client.Reply[client.Account], error) {
	if a, ok := s.accounts[id]; ok {
		return client.Reply[client.Account]{Value: a}, nil
	}
	return client.Reply[client.Account]{}, &client.Error{Status: 404, Code: "account_not_found"}
}

var now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// converted returns the result of the conversion of a book as text: its problems, or its notes and lines.
func converted(t *testing.T, b *Book, o Options) string {
	t.Helper()
	if o.Ledger == nil {
		o.Ledger = stored{}
	}
	o.Now = now
	lines, problems, err := b.Lines(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var s strings.Builder
	if len(problems) > 0 {
		for _, p := range problems {
			fmt.Fprintln(&s, p)
		}
		return s.String()
	}
	for _, note := range lines.Notes {
		fmt.Fprintln(&s, "note:", note)
	}
	i := 0
	for line := range bytes.Lines(textOfLines(t, lines)) {
		i++
		fmt.Fprintf(&s, "%s\n  %s", lines.Position(i), line)
	}
	return s.String()
}

// textOfLines reads the lines.
func textOfLines(t *testing.T, lines *Lines) []byte {
	t.Helper()
	in := lines.Reader()
	defer in.Close()
	text, err := io.ReadAll(in)
	if n, size := lines.Count(); err != nil || int64(bytes.Count(text, []byte("\n"))) != n || int64(len(text)) != size {
		t.Fatalf("%d lines of %d bytes: %s, %v", n, size, text, err)
	}
	return text
}

// bookWith returns a book with the given entries.
func bookWith(all ...Transaction) *Book {
	b := new(Book)
	for _, t := range all {
		b.add(t)
	}
	return b
}

// listOf returns all items of an iterator.
func listOf[T any](t *testing.T, items iter.Seq2[T, error]) (all []T) {
	t.Helper()
	for item, err := range items {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, item)
	}
	return all
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *record {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\ngot\n%s\nwant\n%s", name, got, want)
	}
}

// programs has the program and the parser of each format.
var programs = map[string]struct {
	program string
	parse   func(io.Reader) (*Book, error)
}{
	"hledger": {"hledger", parseHledger}, "ledger": {"ledger", parseLedger}, "beancount": {"bean-check", parseBeancount},
}

// The recorded output of the programs is converted to the lines in testdata. If a program is installed, its current
// output must have the same result.
func TestConversion(t *testing.T) {
	for file, format := range map[string]string{
		"sample.journal": "hledger", "bad.journal": "hledger", "sample.ledger": "ledger", "sample.beancount": "beancount",
	} {
		p := programs[format]
		t.Run(file+" as recorded", func(t *testing.T) {
			recorded, err := os.ReadFile(filepath.Join("testdata", file+".recorded"))
			if err != nil {
				t.Fatal(err)
			}
			b, err := p.parse(bytes.NewReader(recorded))
			if err != nil {
				t.Fatal(err)
			}
			b.completeHledger(nil)                               // as after a run of hledger
			if format == "hledger" && file == "sample.journal" { // from a second run of hledger
				b.Declared = []string{"Assets:Bank Account", "Assets:Unused"}
			}
			if format == "ledger" { // from a third run of ledger
				b.losePrices([]byte("2024-01-02 00:00:00 EUR\n2024-01-09 00:00:00 GOOG\n"))
			}
			golden(t, file+".lines", converted(t, b, Options{}))
		})
		t.Run(file+" by "+p.program, func(t *testing.T) {
			if _, err := exec.LookPath(p.program); err != nil {
				full.Without(t, p.program+" is not installed")
			}
			b, err := Read(t.Context(), format, "", filepath.Join("testdata", file))
			if err != nil {
				t.Fatal(err)
			}
			here, err := filepath.Abs("testdata")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, file+".lines", strings.ReplaceAll(converted(t, b, Options{}), here+string(filepath.Separator), "testdata/"))
		})
	}
}

// The error for a missing program says how to install it.
func TestMissingProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for file, wanted := range map[string][]string{
		"sample.journal":   {"hledger", "apt-get install hledger"},
		"sample.ledger":    {"ledger", "apt-get install ledger"},
		"sample.beancount": {"beancount", "pip install beancount"},
	} {
		_, err := Read(t.Context(), wanted[0], "", filepath.Join("testdata", file))
		missing, ok := errors.AsType[*MissingError](err)
		if !ok || missing.Program != wanted[0] || !strings.Contains(err.Error(), wanted[1]) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// This program is never called for a book, although it may have the name of the program ledger. Another program may be
// given instead of the first one in PATH.
func TestOtherProgramOfTheSameName(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := t.TempDir(), t.TempDir()
	mine, other := filepath.Join(ours, "ledger"), filepath.Join(theirs, "ledger")
	row := `case "$*" in *balance) echo '"a","1 EUR"';; *) echo 'first,"b.ledger",1,2,"2024-01-01","2024-01-01","","Lunch",` +
		`"","",false,false,false,false,"","","","","",false,false,"a",false,"a",false,1,"EUR",1,"EUR","1 EUR"';; esac` + "\n"
	if err := os.WriteFile(other, []byte("#!/bin/sh\n"+row), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, mine); err != nil {
		t.Fatal(err)
	}
	const list = string(filepath.ListSeparator)
	for _, c := range []struct{ path, program, wrong string }{
		{path: ours + list + theirs},
		{path: ".." + list + ours + list + theirs + list + ours},
		{path: ours, program: other},
		{path: ours, wrong: "another program than this one"},
		{path: theirs, program: mine, wrong: "is this program"},
		{path: theirs, program: other + "2", wrong: "no such file"},
	} {
		t.Setenv("PATH", c.path)
		b, err := Read(t.Context(), "ledger", c.program, filepath.Join("testdata", "sample.ledger"))
		if c.wrong == "" && (err != nil || b.Len() != 1) || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
			t.Errorf("%+v: %v, %v", c, b, err)
		}
	}
}

// Existing assets and accounts keep their scales, limits and states. A book that conflicts with them has problems, and
// so has one with an id that is wrong or used twice.
func TestConflictsWithTheLedger(t *testing.T) {
	posting := func(account string, number string) Posting {
		n, err := ParseNumber(number)
		if err != nil {
			t.Fatal(err)
		}
		return Posting{Line: 2, Account: account, Quantity: Amount{n, "EUR"}}
	}
	b := bookWith(Transaction{Position: Position{"a.journal", 1}, Date: "2024-01-01",
		Postings: []Posting{posting("limited", "1.25"), posting("frozen", "-1.25")}})
	for _, id := range []string{"a/b", "x", "x"} { // of a transaction, in its tag
		b.add(Transaction{Position: Position{"a.journal", 3}, Date: "2024-01-02",
			Postings: []Posting{posting("a", "1"), posting("b", "-1")}, Metadata: []Pair{{TagID, id}}})
	}
	got := converted(t, b, Options{Ledger: stored{assets: map[string]client.Asset{"EUR": {ID: "EUR", Scale: 1}}}})
	for _, want := range []string{
		`a.journal:2: 1.25 EUR has more decimals than the 1 of the asset "EUR", which the ledger has already: round the ` +
			`number. Or give the commodity an asset of its own: --ids FILE, with the line EUR,EUR-2`,
		`a.journal:3: ledger-id: "a/b" is not an id`, `a.journal:3: ledger-id: "x" is the id of an earlier entry`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing: %s", want, got)
		}
	}
}

// An account that may refuse postings is a problem of the entries that are to be posted, and not of those that the ledger
// has: an old account may be closed there.
func TestAccountsThatRefuse(t *testing.T) {
	l := new(lagging)
	l.open("a", "limited", "frozen", "closed")
	items := []string{"limited", "frozen", "closed"}
	book := func(accounts ...string) *Book {
		b := new(Book)
		for n, account := range accounts {
			one, _ := ParseNumber("1.00")
			b.add(Transaction{Position: Position{"a.journal", n + 1}, Date: "2024-01-01", Postings: []Posting{
				{Account: account, Quantity: Amount{one, "EUR"}}, {Account: "a", Quantity: Amount{one.negated(), "EUR"}}}})
		}
		return b
	}
	lines, problems, err := book(items...).Lines(t.Context(), Options{Ledger: l, File: "a.journal", Now: now})
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	l.send(t, lines)
	l.accounts["limited"] = client.Account{ID: "limited", State: client.StateOpen}
	for state, id := range map[string]string{client.StateFrozen: "frozen", client.StateClosed: "closed"} {
		l.accounts[id] = client.Account{ID: id, State: state, Overdraft: client.Overdraft{Unlimited: true}}
	}
	lines, problems, err = book(items...).Lines(t.Context(), Options{Ledger: l, File: "a.journal", Now: now})
	if err != nil || len(problems) > 0 || lines.Replayed != 3 {
		t.Error("the ledger has the entries:", problems, err)
	}
	_, problems, err = book(append(items, append(items, items...)...)...).
		Lines(t.Context(), Options{Ledger: l, File: "a.journal", Now: now})
	if err != nil || fmt.Sprint(problems) != `[a.journal:4: account "limited" has a limit in the ledger, which could `+
		`refuse postings: give the account of the book another id by --ids a.journal:5: account "frozen" is frozen in `+
		`the ledger: run ledger account unfreeze frozen a.journal:6: account "closed" is closed in the ledger, for `+
		`good: write the entry on another account. If no entry of the account was imported, give it another id by --ids]` {
		t.Error("new entries:", problems, err)
	}
}
