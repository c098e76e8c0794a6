package acceptance

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"ledger.example/cmd/ledger/client"
	"ledger.example/cmd/ledger/importer"
	"ledger.example/tests/books"
	"ledger.example/tests/caller"
)

// Books that are imported, twice, come out as other code has summed them up: strongly at once, and projected in the end.
func importedBooks(t *testing.T, s *caller.Caller) {
	const importers, silence = 4, time.Minute
	b := books.New(10, 40, 6)
	ledger, err := client.New(client.Config{URL: s.URL, Connections: importers})
	if err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		run := importer.New(importer.Config{
			Ledger: ledger, Clients: importers, Silence: silence,
			OnFailure: func(f importer.Failure) { t.Errorf("line %d: %v", f.Line, f.Err) },
		})
		if err := run.Run(t.Context(), strings.NewReader(b.Text(s.Prefix))); err != nil {
			t.Fatal(err)
		}
		got := run.Counts()
		if got.Lines() != int64(len(b.Lines)) || round == 1 && got.New != 0 {
			t.Errorf("import %d of %d lines: %+v", round, len(b.Lines), got)
		}
	}
	if wrong := b.Differences(s, "strong"); wrong != nil {
		t.Fatalf("strong: %q", wrong)
	}
	caller.Eventually(t, timeToProject, "the books are projected", func() bool { return b.Differences(s, "eventual") == nil })
}

// write writes a balance without what a strong read says otherwise than an eventual one.
func write(b *strings.Builder, balance map[string]any) {
	delete(balance, "consistency")
	fmt.Fprintln(b, balance)
}

// Texts come back as they were sent, whatever script they are in, and texts that only look alike are two.
func unicodeTexts(t *testing.T, s *caller.Caller) {
	s.OpenRegister()
	const text = `日本語 العربية עברית ελληνικά 💰👩🏽‍🚀 \"quoted\" \\ \/ é e\u0301 ﬁ \ud83d\ude00 <&>`
	const key = "日本語 العربية"
	asset := s.Must(201, "PUT", "/v1/assets/~X", `{"name":"`+text+`","description":"`+text+`","scale":0}`)
	account := s.Must(201, "PUT", "/v1/accounts/~x", `{"name":"`+text+`","profile":{"`+text+`":["`+text+`",{"x":1.50,"y":[true,null]}]}}`)
	transaction := s.Must(201, "POST", "/v1/transfers",
		`{"id":"~x-1","from":"~bank","to":"~x","asset":"~X","quantity":"1","description":"`+text+`","metadata":{"`+key+`":"`+text+`"}}`)
	want := caller.Reply{Body: []byte(`{"text":"` + text + `"}`)}.Text("text")
	if want == "" {
		t.Fatal("the text is no JSON")
	}
	for path, made := range map[string]caller.Reply{"/v1/assets/~X": asset, "/v1/accounts/~x": account, "/v1/transactions/~x-1": transaction} {
		read := s.Must(200, "GET", path, "")
		if !reflect.DeepEqual(read.Value(), made.Value()) {
			t.Errorf("%s is read as %s, made as %s", path, read.Body, made.Body)
		}
	}
	for _, got := range []any{
		asset.Value("name"), asset.Value("description"), account.Value("name"), account.Value("profile", want, 0), transaction.Value("description"),
		transaction.Value("metadata", key),
		s.Must(200, "GET", "/v1/accounts/~x/postings?asset=~X&consistency=strong", "").Value("data", 0, "description"),
	} {
		if got != want {
			t.Errorf("%q came back as %q", want, got)
		}
	}
	// The same again by other escapes is the same; another normal form is not.
	s.Must(200, "PUT", "/v1/assets/~X", `{"name":"`+strings.ReplaceAll(text, "é", `\u00e9`)+`","description":"`+text+`","scale":0}`)
	s.Must(409, "PUT", "/v1/assets/~X", `{"name":"`+strings.ReplaceAll(text, "é", "e\u0301")+`","description":"`+text+`","scale":0}`)
}
