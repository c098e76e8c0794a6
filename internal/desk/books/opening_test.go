package books

import (
	"math/big"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ledger.example/client"
	"ledger.example/tests/harness/full"
)

// openingBook reads the book with old entries.
func openingBook(t *testing.T, format, file string) *Book {
	t.Helper()
	if _, err := exec.LookPath(programs[format].program); err != nil {
		full.Without(t, programs[format].program+" is not installed")
	}
	b, err := Read(t.Context(), format, "", filepath.Join("testdata", "opening", file))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The totals before a day become opening entries with quantities and costs, the same by each program. They are compared
// with the balances of the program, which would find a posting that was not read.
func TestOpeningEntries(t *testing.T) {
	for format, file := range map[string]string{"hledger": "book.journal", "ledger": "book.ledger", "beancount": "book.beancount"} {
		t.Run(format, func(t *testing.T) {
			path := filepath.Join("testdata", "opening", file)
			b := openingBook(t, format, file)
			if got := converted(t, b, Options{}); !strings.Contains(got, "--opening DATE") {
				t.Errorf("the refusal names no way: %s", got)
			}
			for _, day := range []string{"2008-01-01", "2009-03-02", "2013-12-31", "2014-05-14", "2014-06-02", "2020-01-01"} {
				if err := Check(t.Context(), format, "", path, b, day); err != nil {
					t.Errorf("%s: %v", day, err)
				}
			}
			all := listOf(t, b.all())
			all[3].Postings = all[3].Postings[:1]
			short := bookWith(all...)
			if err := Check(t.Context(), format, "", path, short, "2014-05-14"); err == nil || !strings.Contains(err.Error(), "Assets:Bank") {
				t.Errorf("a posting is missing, and the balances agree: %v", err)
			}
			got := converted(t, b, Options{Opening: "2014-06-01", File: "book"})
			_, got, _ = strings.Cut(got, "book\n  {\"transaction") // the definitions differ in their positions
			var lines []string
			for line := range strings.Lines(got) {
				if _, request, ok := strings.Cut(line, `"postings":`); ok {
					lines = append(lines, request)
				}
			}
			golden(t, filepath.Join("opening", "lines"), strings.Join(lines, ""))
		})
	}
}

// Opening entries are posted once. Another day, changed older entries, and older entries that would count twice are
// refused by name.
func TestOpeningEntriesAgain(t *testing.T) {
	number := func(text string) Number {
		n, err := ParseNumber(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	book := func(first, second string) []Transaction {
		var all []Transaction
		for _, e := range [][2]string{{"2010-01-01", first}, {"2015-03-01", second}, {"2016-03-01", "3.00"}} {
			all = append(all, Transaction{Position: Position{"b.journal", 1}, Date: e[0], Postings: []Posting{
				{Account: "a", Quantity: Amount{number(e[1]), "EUR"}}, {Account: "x", Quantity: Amount{number(e[1]).negated(), "EUR"}}}})
		}
		return all
	}
	l := new(lagging)
	imports := func(all []Transaction, opening string) (posted int, problems []Problem) {
		t.Helper()
		lines, problems, err := bookWith(all...).Lines(t.Context(), Options{Ledger: l, File: "b.journal", Opening: opening, Now: now})
		if err != nil {
			t.Fatal(err)
		}
		if len(problems) == 0 {
			posted, _ = l.send(t, lines)
			l.open("a", "x")
		}
		return posted, problems
	}
	newer := book("1.00", "2.00")[1:]
	for _, c := range []struct {
		what, opening string
		book          []Transaction
		posted        int
		says          []string
	}{
		{"the first time", "2016-01-01", book("1.00", "2.00"), 2, nil},
		{"the same again", "2016-01-01", book("1.00", "2.00"), 0, nil},
		{"another day", "2017-01-01", book("1.00", "2.00"), 0, []string{`of 2016-01-01 (transaction "opening.1"), not of 2017-01-01: import the book with --opening 2016-01-01`}},
		{"an older entry was changed", "2016-01-01", book("1.00", "2.50"), 0, []string{
			`have 3.00 EUR on the account "a", and the entries before 2016-01-01 now add up to 3.50 EUR`, `have -3.00 EUR on the account "x"`}},
		{"without the option", "", newer, 0, []string{"has entries before that day: import it with --opening 2016-01-01"}},
		{"the newer ones alone", "", newer[1:], 0, nil},
	} {
		posted, problems := imports(c.book, c.opening)
		if posted != c.posted || len(problems) != len(c.says) {
			t.Fatalf("%s: %d posted, %v", c.what, posted, problems)
		}
		for i, say := range c.says {
			if !strings.Contains(problems[i].String(), say) {
				t.Errorf("%s: %v, want %q", c.what, problems[i], say)
			}
		}
	}
	l = new(lagging)
	if posted, problems := imports(newer, ""); posted != 2 || len(problems) > 0 {
		t.Fatal(posted, problems)
	}
	if _, problems := imports(newer, "2016-01-01"); len(problems) != 1 || !strings.Contains(problems[0].Text, "they would count twice") {
		t.Errorf("entries that were posted one by one: %v", problems)
	}
}

// Opening entries in parts: an import that was cut off goes on, and a reversed one is not posted again.
func TestOpeningEntriesInParts(t *testing.T) {
	b := new(Book)
	for i := range 120 {
		b.add(Transaction{Date: "2010-01-01", Postings: []Posting{
			{Account: "a" + strings.Repeat("b", i%60), Quantity: Amount{numberOf(big.NewInt(int64(i)+1), 2), "EUR"}},
			{Account: "x", Quantity: Amount{numberOf(big.NewInt(int64(i)+1), 2).negated(), "EUR"}}}})
	}
	l := new(lagging)
	lines := func() *Lines {
		lines, problems, err := b.Lines(t.Context(), Options{Ledger: l, File: "b.journal", Opening: "2015-01-01", Now: now})
		if err != nil || len(problems) > 0 {
			t.Fatal(problems, err)
		}
		return lines
	}
	first := listOf(t, lines().Together())
	if len(first) != 1 || len(first[0].Requests) != 2 {
		t.Fatalf("%+v", first)
	}
	r := first[0].Requests[0].(client.TransactionRequest)
	l.post(r)
	if rest := lines(); rest.Replayed != 1 || len(listOf(t, rest.Together())) != 0 || !strings.Contains(string(textOfLines(t, rest)), `"opening.2"`) {
		t.Errorf("the rest is %+v", rest)
	}
	l.reverse(r.ID)
	_, problems, err := b.Lines(t.Context(), Options{Ledger: l, File: "b.journal", Opening: "2015-01-01", Now: now})
	if err != nil || len(problems) == 0 {
		t.Errorf("a reversed opening entry is posted again: %v", err)
	}
}

func TestDayOfOpeningEntries(t *testing.T) {
	for day, isGood := range map[string]bool{"2014-05-13": false, "2014-05-14": true, "2026-01-01": true, "2026-01-02": false, "2015-1-1": false, "": false} {
		if err := CheckOpening(day, now.Add(time.Hour)); (err == nil) != isGood {
			t.Errorf("%q: %v", day, err)
		}
	}
}
