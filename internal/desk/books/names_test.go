package books

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ledger.example/client"
	"ledger.example/events"
)

// A scale that is given must be that of the asset, and have room for what is written. Ids that are given come before
// those of the book.
func TestGivenScalesAndIDs(t *testing.T) {
	number := func(text string) Amount {
		n, err := ParseNumber(text)
		if err != nil {
			t.Fatal(err)
		}
		return Amount{n, "Kč"}
	}
	b := bookWith(Transaction{Position: Position{"a.journal", 1}, Date: "2024-01-01", Postings: []Posting{
		{Account: "a", Quantity: number("1.25")}, {Account: "b", Quantity: number("-1.25")},
	}})
	b.Accounts = map[string]string{"a": "book-a", "b": "book-b"}
	ids := map[string]string{"Kč": "CZK", "a": "alice", "never": "used"}
	existing := stored{assets: map[string]client.Asset{"CZK": {ID: "CZK", Scale: 2}}}
	for _, c := range []struct {
		o       Options
		want    []string
		without string
	}{
		{Options{IDs: ids}, []string{
			`{"asset":{"id":"CZK","name":"Kč","scale":2}}`, `{"account":{"id":"alice","name":"a",`, `{"account":{"id":"book-b",`,
		}, "used"},
		{Options{IDs: ids, Scales: map[string]int{"Kč": 3}}, []string{`"scale":3`, `"quantity":"1250"`}, "wrong"},
		{Options{IDs: ids, Scales: map[string]int{"Kč": 1}},
			[]string{"1.25 Kč has more decimals than --scale Kč=1: round the number, or raise the scale"}, "{"},
		{Options{IDs: ids, Scales: map[string]int{"Kč": 2}, Ledger: existing}, []string{`"quantity":"125"`}, `"asset":{`},
		{Options{IDs: ids, Scales: map[string]int{"Kč": 3}, Ledger: existing}, []string{
			`--scale Kč=3: the ledger has the asset "CZK" already, with 2 decimals, which stay. Or give the commodity an ` +
				`asset of its own: --ids FILE, with the line Kč,CZK-2`}, "{"},
	} {
		got := converted(t, b, c.o)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%+v: %q is missing: %s", c.o, want, got)
			}
		}
		if strings.Contains(got, c.without) {
			t.Errorf("%+v: %q is in %s", c.o, c.without, got)
		}
	}
}

// A file of ids has a name and an id on each line, and perhaps a header.
func TestReadIDs(t *testing.T) {
	for text, want := range map[string]string{
		"name,id\n\"a, b\",ab\nname,id2\na,a\n": "map[a:a a, b:ab name:id2]",
		"a,b\nc\n":                              "each line has a name and an id",
		"a,b\nc,d e\n":                          `:2: "d e" is not an id`,
		"a,b\n\na,c\n":                          `:3: "a" has the id "b" already`,
	} {
		file := filepath.Join(t.TempDir(), "ids.csv")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		ids, err := ReadIDs(file)
		if got := fmt.Sprint(ids, err); !strings.Contains(got, want) {
			t.Errorf("%q: %s", text, got)
		}
	}
}

// Ids of names are short, readable where letters allow it, and different for different names.
func TestShortIDs(t *testing.T) {
	for name, want := range map[string]string{
		"Assets:Bank":                  "Assets:Bank",
		"expenses:café & bar":          "expenses:cafe_@26_bar",
		"Straße":                       "Stra@C3@9Fe",
		"$":                            "x@24",
		"€":                            "x@E2@82@AC",
		"":                             "x",
		"Расходы:Банк":                 hashOf("Расходы", 8) + ":" + hashOf("Банк", 8),
		"Расходы:ATM 銀行":               hashOf("Расходы", 8) + ":ATM_." + hashOf("ATM 銀行", 8),
		"a:" + strings.Repeat("b", 62): "a:" + strings.Repeat("b", 62),
		"a:" + strings.Repeat("b", 63): "a:" + strings.Repeat("b", 51) + "." + hashOf("a:"+strings.Repeat("b", 63), 10),
		"Русский язык":                 hashOf("Русский язык", 8),
		"\xff":                         "x@FF",
		"เงินสด:" + strings.Repeat("é", 99): hashOf("เงินสด", 8) + ":" + strings.Repeat("e", 44) + "." + hashOf("เงินสด:"+strings.Repeat("é", 99), 10),
	} {
		if got := shortID(name); got != want || !events.ValidID(got) {
			t.Errorf("%q: %s, not %s", name, got, want)
		}
	}
}

// What the ledger has with the full name keeps its id. Another name never gets it.
func TestIDsOfWhatTheLedgerHas(t *testing.T) {
	account := func(id, name string) client.Account {
		return client.Account{ID: id, Name: name, State: client.StateOpen, Overdraft: client.Overdraft{Unlimited: true}}
	}
	one, err := ParseNumber("1")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		names    []string
		accounts []client.Account
		want     string
	}{
		{[]string{"café", "cafè", "cafe"}, nil, "café: " + hashedID("café", "cafe") + ", cafè: " + hashedID("cafè", "cafe") + ", cafe: cafe"},
		{[]string{"café", "cafè"}, nil, "café: cafe, cafè: " + hashedID("cafè", "cafe")},
		{[]string{"cafè", "café"}, []client.Account{account("cafe", "café")}, "cafè: " + hashedID("cafè", "cafe") + ", café: cafe"},
		{[]string{"café"}, []client.Account{account("caf@C3@A9", "café")}, "café: caf@C3@A9"},
		{[]string{"café"}, []client.Account{account("a", "café"), account("b", "café")}, "several in the ledger have this name, and none the id"},
		{[]string{"cafe"}, []client.Account{account("cafe", "The Café")}, "cafe: cafe"},
		{[]string{"cafe"}, []client.Account{account("cafe", "café")}, "cafe: " + hashedID("cafe", "cafe")},
		{[]string{"caf@C3@A9"}, []client.Account{account("caf@C3@A9", "café")}, "caf@C3@A9: caf@C3@A9"},
		{[]string{"Bank"}, []client.Account{account("other", "Bank")}, "Bank: Bank"},
		{[]string{"Банк"}, []client.Account{account("bank", "Банк")}, "Банк: bank"},
	} {
		s := stored{accounts: make(map[string]client.Account)}
		for _, a := range c.accounts {
			s.accounts[a.ID] = a
		}
		entry := Transaction{Date: "2024-01-01"}
		for _, name := range c.names {
			entry.Postings = append(entry.Postings, Posting{Account: name, Quantity: Amount{one, "EUR"}})
		}
		lines, problems, err := bookWith(entry).Lines(t.Context(), Options{Ledger: s, Now: now})
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprint(problems)
		if len(problems) == 0 {
			var transaction struct {
				Transaction client.TransactionRequest `json:"transaction"`
			}
			text := bytes.TrimSpace(textOfLines(t, lines))
			if err := json.Unmarshal(text[bytes.LastIndexByte(text, '\n')+1:], &transaction); err != nil {
				t.Fatal(err)
			}
			var ids []string
			for i, name := range c.names {
				ids = append(ids, name+": "+transaction.Transaction.Postings[i].Account)
			}
			got = strings.Join(ids, ", ")
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%q: %s, not %s", c.names, got, c.want)
		}
	}
}
