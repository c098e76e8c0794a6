package roundtrip

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/internal/desk/books"
	"ledger.example/internal/desk/export"
	"ledger.example/tests/harness/full"
)

// imported is a ledger that has what an import sends.
type imported struct {
	assets       map[string]client.Asset
	accounts     map[string]client.Account
	order        []any // assets, accounts and transactions
	transactions map[string]client.TransactionRequest
}

func (l *imported) Asset(_ context.Context, id string) (client.Reply[client.Asset], error) {
	a, ok := l.assets[id]
	return known(a, ok, "asset_not_found")
}

func (l *imported) Account(_ context.Context, id string) (client.Reply[client.Account], error) {
	a, ok := l.accounts[id]
	return known(a, ok, client.CodeAccountNotFound)
}

func (l *imported) AllAssets(context.Context) iter.Seq2[client.Asset, error] { return all(l.assets) }

func (l *imported) AllAccounts(context.Context) iter.Seq2[client.Account, error] {
	return all(l.accounts)
}

func all[T any](of map[string]T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range of {
			if !yield(v, nil) {
				return
			}
		}
	}
}

func (l *imported) Transaction(_ context.Context, id string) (client.Reply[client.Transaction], error) {
	r, ok := l.transactions[id]
	return known(postedAs(r), ok, client.CodeTransactionNotFound)
}

func known[T any](value T, ok bool, code string) (client.Reply[T], error) {
	if !ok {
		return client.Reply[T]{}, &client.Error{Status: 404, Code: code}
	}
	return client.Reply[T]{Value: value}, nil
}

func (l *imported) Posted(context.Context, time.Time, time.Time) iter.Seq2[client.Transaction, error] {
	return func(yield func(client.Transaction, error) bool) {
		for _, r := range l.transactions {
			if !yield(postedAs(r), nil) {
				return
			}
		}
	}
}

func postedAs(r client.TransactionRequest) client.Transaction {
	t := client.Transaction{ID: r.ID, Kind: "transaction", Status: client.StatusPosted, PostedAt: events.FormatTime(r.EffectiveAt)}
	t.Description, t.Metadata = r.Description, r.Metadata
	for n, leg := range r.Postings {
		p := client.Posting{}
		p.ID, p.Account, p.Asset, p.Quantity, p.Cost = fmt.Sprint(r.ID, n), leg.Account, leg.Asset, leg.Quantity, leg.Cost
		t.Postings = append(t.Postings, p)
	}
	return t
}

// takes takes the lines of an import.
func (l *imported) takes(t *testing.T, text []byte, together ...books.Together) {
	t.Helper()
	l.assets, l.accounts = make(map[string]client.Asset), make(map[string]client.Account)
	l.transactions = make(map[string]client.TransactionRequest)
	post := func(r client.TransactionRequest) {
		l.order, l.transactions[r.ID] = append(l.order, r), r
	}
	for line := range bytes.Lines(text) {
		var in struct {
			Asset       *client.Asset
			Account     *client.Account
			Transaction *client.TransactionRequest
		}
		if err := json.Unmarshal(line, &in); err != nil {
			t.Fatal(err)
		}
		switch {
		case in.Asset != nil:
			l.order, l.assets[in.Asset.ID] = append(l.order, *in.Asset), *in.Asset
		case in.Account != nil:
			in.Account.State = client.StateOpen
			l.order, l.accounts[in.Account.ID] = append(l.order, *in.Account), *in.Account
		default:
			post(*in.Transaction)
		}
	}
	for _, together := range together {
		for _, r := range together.Requests {
			post(r.(client.TransactionRequest))
		}
	}
}

// export exports the ledger as a book.
func (l *imported) export(t *testing.T, format string) (text string) {
	t.Helper()
	var page client.JournalPage
	for _, v := range l.order {
		e := client.JournalEntry{}
		switch v := v.(type) {
		case client.Asset:
			e.Type, e.Data = events.TypeAssetRegistered, json.RawMessage(marshalled(t, v))
		case client.Account:
			e.Type, e.Data = events.TypeAccountOpened, json.RawMessage(marshalled(t, v))
		case client.TransactionRequest:
			e.Type, e.Data = events.TypePosted, json.RawMessage(marshalled(t, postedAs(v)))
		}
		page.Data = append(page.Data, e)
	}
	var out strings.Builder
	result, err := export.Run(t.Context(), export.Config{Format: format, Ledger: export.Ledger{
		Asset: l.Asset, Account: l.Account, Transaction: l.Transaction,
		Journal: func(_ context.Context, after string) (client.JournalPage, error) {
			if after == "end" {
				return client.JournalPage{NextCursor: after}, nil
			}
			page.NextCursor = "end"
			return page, nil
		},
		Opening: func(_ context.Context, id string) (client.Account, error) { return l.accounts[id], nil },
	}}, &out)
	if err != nil {
		t.Fatal(err)
	}
	for _, note := range result.Notes {
		if strings.Contains(note, "left out") {
			t.Error(note)
		}
	}
	return out.String()
}

func marshalled(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// state describes the transactions and the names.
func (l *imported) state() (all []string) {
	for _, r := range l.transactions {
		slices.SortStableFunc(r.Postings, func(a, b client.Leg) int { return strings.Compare(a.Asset+a.Account, b.Asset+b.Account) })
		all = append(all, text(r))
	}
	for _, a := range l.assets {
		all = append(all, text(client.Line[client.Asset]{Request: client.Asset{ID: a.ID, Scale: a.Scale, Currency: a.Currency}}))
	}
	all = append(all, slices.Collect(maps.Keys(l.accounts))...)
	slices.Sort(all)
	return all
}

var programs = map[string]string{"hledger": "hledger", "ledger": "ledger", "beancount": "bean-check"}

// importsBook imports a book into an empty ledger.
func importsBook(t *testing.T, format, path string, o books.Options) *imported {
	t.Helper()
	if _, err := exec.LookPath(programs[format]); err != nil {
		full.Without(t, programs[format]+" is not installed")
	}
	b, err := books.Read(t.Context(), format, "", path)
	if err != nil {
		t.Fatal(err)
	}
	l := new(imported)
	o.Ledger, o.File, o.Now = l, path, time.Now()
	lines, problems, err := b.Lines(t.Context(), o)
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	in := lines.Reader()
	defer in.Close()
	text, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	var together []books.Together
	for one, err := range lines.Together() {
		if err != nil {
			t.Fatal(err)
		}
		together = append(together, one)
	}
	l.takes(t, text, together...)
	return l
}

// returns exports a ledger to both formats, and imports each book into an empty ledger. The accounts, the assets and the
// transactions are the same. It returns the books.
func (l *imported) returns(t *testing.T) (exported map[string]string) {
	t.Helper()
	exported = make(map[string]string)
	for format, extension := range map[string]string{"hledger": "journal", "beancount": "beancount"} {
		path := filepath.Join(t.TempDir(), "exported."+extension)
		exported[format] = l.export(t, format)
		if err := os.WriteFile(path, []byte(exported[format]), 0o600); err != nil {
			t.Fatal(err)
		}
		compare(t, format, importsBook(t, format, path, books.Options{}).state(), l.state())
	}
	return exported
}

// An exported book has the names of the book from which it was imported, and becomes the same transactions.
func TestNamesAndTextsComeBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "home.journal")
	book := `2024-01-02 lunch; with "Ann"  ; milk, bread and [more]
    ; kind: a b
    expenses:café & bar (joint)     $10.00  ; with a friend, yes
      ; who: me, where: here
    assets:my bank
2024-01-03 * (12) both
    ! expenses:food     10.00 EUR
    Expenses:Food       -4.00 EUR
    Assets:My Bank
2024-01-03 other names
    Einkommen:Lohn   -1 "A 1" @@ 3.00 EUR
    income:9 to 5     3.00 EUR
`
	if err := os.WriteFile(path, []byte(book), 0o600); err != nil {
		t.Fatal(err)
	}
	for format, wanted := range importsBook(t, "hledger", path, books.Options{}).returns(t) {
		for _, line := range map[string][]string{
			"hledger": {"    expenses:café & bar (joint)  10.00 $", "    assets:my bank  -10.00 $", `    Einkommen:Lohn  -1 "A 1" @@ 3.00 EUR`},
			"beancount": {"open Expenses:Café-bar-joint\n", "open Assets:My-bank\n", "open Expenses:Food\n", "open Expenses:Food-2\n",
				"open Equity:Ledger:Einkommen:Lohn\n", "open Income:9-to-5\n", "    comment: \"with a friend, yes\""},
		}[format] {
			if !strings.Contains(wanted, line) {
				t.Errorf("%s: %q is missing in %s", format, line, wanted)
			}
		}
	}
}

// Metadata, descriptions and names with any characters come back.
func TestAnyTextComesBack(t *testing.T) {
	for seed := range uint64(full.Count(3, 60)) {
		random := rand.New(rand.NewPCG(seed, 14))
		pieces := []string{"a", "B", " ", "  ", ",", ";", ":", "%", "%2C", "[", "]", "=", "\n", "\t", `"`, `\`, "é", "Ж", "(", ")", "|", "*", "!", "#", "{", "}", "2024-01-01", "date:", "x:y"}
		some := func(most int) string {
			var b strings.Builder
			for range 1 + random.IntN(most) {
				b.WriteString(pieces[random.IntN(len(pieces))])
			}
			return b.String()
		}
		l := new(imported)
		var lines []byte
		line := func(kind client.Kind, v any) {
			lines = append(append(lines, marshalled(t, map[client.Kind]any{kind: v})...), '\n')
		}
		line(client.KindAsset, client.Line[client.Asset]{Request: client.Asset{ID: "EUR", Name: "EUR", Scale: 2}})
		ids := []string{"expenses:food", "Expenses:Food", "income", "x"}
		for _, id := range ids {
			line(client.KindAccount, client.Line[client.Account]{Request: client.Account{ID: id, Name: some(5), Overdraft: client.Overdraft{Unlimited: true}}})
		}
		for i := range 40 {
			r := client.TransactionRequest{ID: fmt.Sprint("t", i), EffectiveAt: time.Date(2024, 1, 1, 0, 0, 0, i*1000, time.UTC)}
			r.Description, r.Metadata = some(6), map[string]string{books.TagBook: some(2)}
			if strings.TrimSpace(r.Description) == "" {
				r.Description = ""
			}
			for range random.IntN(4) {
				r.Metadata[some(3)] = some(6)
				r.Metadata[fmt.Sprintf("%d.%s", random.IntN(4), some(2))] = some(4)
			}
			r.Postings = []client.Leg{{Account: ids[i%4], Asset: "EUR", Quantity: events.NewAmount(int64(i + 1))},
				{Account: ids[(i+1)%4], Asset: "EUR", Quantity: events.NewAmount(-int64(i + 1))}}
			line(client.KindTransaction, r)
		}
		l.takes(t, lines)
		if l.returns(t); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// manual writes the example journal of hledger to a file. Its package has no file of it, but the manual in the program
// shows all of its entries, of 2008. They are given another year, so that they can be posted one by one, too.
func manual(t *testing.T, year string) string {
	t.Helper()
	if _, err := exec.LookPath("hledger"); err != nil {
		full.Without(t, "hledger is not installed")
	}
	text, err := exec.Command("hledger", "help", "-p").Output() // not to a terminal: as plain text
	if err != nil {
		t.Fatal(err)
	}
	const indent = "              "
	_, entries, _ := strings.Cut(string(text), indent+"$ hledger print\n")
	var b strings.Builder
	for line := range strings.Lines(entries) {
		if line != "\n" && !strings.HasPrefix(line, indent) {
			break
		}
		b.WriteString(strings.TrimPrefix(line, indent))
	}
	if n := strings.Count(b.String(), "2008/"); n != 5 {
		t.Fatalf("the manual of hledger shows %d entries: %s", n, text)
	}
	path := filepath.Join(t.TempDir(), "sample.journal")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(b.String(), "2008/", year+"/")), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The example books that come with the programs are imported, exported and imported again with the same transactions.
// Each book's balances are those of its program.
func TestExampleBooks(t *testing.T) {
	example := func(t *testing.T) string {
		if _, err := exec.LookPath("bean-example"); err != nil {
			full.Without(t, "bean-example is not installed")
		}
		path := filepath.Join(t.TempDir(), "example.beancount")
		run := exec.Command("bean-example", "-s", "7", "--date-begin", "2019-01-01", "--date-end", "2020-06-01",
			"--date-birth", "1980-05-01", "-o", path)
		if out, err := run.CombinedOutput(); err != nil {
			t.Fatal(string(out), err)
		}
		return path
	}
	sample := func(t *testing.T) string {
		const path = "/usr/share/doc/ledger/examples/sample.dat"
		if _, err := os.Stat(path); err != nil {
			full.Without(t, path+" is not installed")
		}
		return path
	}
	for _, c := range []struct {
		format  string
		path    func(t *testing.T) string
		options books.Options
	}{
		{"beancount", example, books.Options{}},
		{"beancount", example, books.Options{Opening: "2019-09-15"}},
		{"hledger", func(t *testing.T) string { return manual(t, "2008") }, books.Options{Opening: "2015-01-01"}},
		{"hledger", func(t *testing.T) string { return manual(t, "2018") }, books.Options{}},
		{"ledger", sample, books.Options{Opening: "2015-01-01", SkipVirtual: true, IDs: map[string]string{
			"Asséts:Bánk:Chécking:Asséts:Bánk:Chécking": "checking", "Русский язык:Активы:Русский язык:Русский язык": "active"}}},
	} {
		t.Run(c.format+" "+c.options.Opening, func(t *testing.T) {
			path := c.path(t)
			check := func(format, path, day string) {
				t.Helper()
				b, err := books.Read(t.Context(), format, "", path)
				if err == nil {
					err = books.Check(t.Context(), format, "", path, b, day)
				}
				if err != nil {
					t.Errorf("%s: %v", path, err)
				}
			}
			check(c.format, path, "2100-01-01")
			l := importsBook(t, c.format, path, c.options)
			for format, text := range l.returns(t) {
				exported := filepath.Join(t.TempDir(), "exported."+format)
				if err := os.WriteFile(exported, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				check(format, exported, "2100-01-01")
			}
		})
	}
}
