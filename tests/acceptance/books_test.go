package acceptance

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ledger.example/client"
	"ledger.example/internal/desk/importer"
	"ledger.example/tests/harness/books"
	"ledger.example/tests/harness/caller"
)

// Books that are imported twice have the balances that independent code computed: immediately in strong reads, and
// eventually in projections.
func importedBooks(t *testing.T, s *caller.Caller) {
	const importers = 4
	b := books.New(10, 40, 6)
	ledger, err := client.New(client.Config{URL: s.URL, Connections: importers})
	if err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		run := importer.New(importer.Config{
			Ledger: ledger, Batches: ledger, Clients: importers,
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
	caller.Eventually(t, timeToProject, "the books are projected",
		func() bool { return b.Differences(s, "eventual") == nil })
}

// writeBalance writes a balance without the field that differs between strong and eventual reads.
func writeBalance(b *strings.Builder, balance map[string]any) {
	delete(balance, "consistency")
	fmt.Fprintln(b, balance)
}

// Texts in every script are returned unchanged. Texts in different normal forms are different.
func unicodeTexts(t *testing.T, s *caller.Caller) {
	s.OpenRegister()
	const text = `日本語 العربية עברית ελληνικά 💰👩🏽‍🚀 \"quoted\" \\ \/ é e\u0301 ﬁ \ud83d\ude00 <&>`
	const key = "日本語 العربية"
	asset := s.Must(201, "PUT", "/v1/assets/~X", `{"name":"`+text+`","description":"`+text+`","scale":0}`)
	account := s.Must(201, "PUT", "/v1/accounts/~x",
		`{"name":"`+text+`","profile":{"`+text+`":["`+text+`",{"x":1.50,"y":[true,null]}]}}`)
	transaction := s.Must(201, "POST", "/v1/transfers",
		`{"id":"~x-1","from":"~bank","to":"~x","asset":"~X","quantity":"1","description":"`+text+`","metadata":{"`+key+`":"`+text+`"}}`)
	want := caller.Reply{Body: []byte(`{"text":"` + text + `"}`)}.Text("text")
	if want == "" {
		t.Fatal("the text is not JSON")
	}
	for path, made := range map[string]caller.Reply{"/v1/assets/~X": asset, "/v1/accounts/~x": account,
		"/v1/transactions/~x-1": transaction} {
		read := s.Must(200, "GET", path, "")
		if strings.Contains(path, "transactions") {
			read.Body = unreversed(t, read)
		}
		if !reflect.DeepEqual(read.Value(), made.Value()) {
			t.Errorf("%s is read as %s, was answered as %s", path, read.Body, made.Body)
		}
	}
	for _, got := range []any{
		asset.Value("name"), asset.Value("description"), account.Value("name"), account.Value("profile", want, 0),
		transaction.Value("description"),
		transaction.Value("metadata", key),
		s.Must(200, "GET", "/v1/accounts/~x/postings?asset=~X&consistency=strong", "").Value("data", 0, "description"),
	} {
		if got != want {
			t.Errorf("%q was returned as %q", want, got)
		}
	}
	// Other escapes are the same text. Another normal form is not.
	s.Must(200, "PUT", "/v1/assets/~X",
		`{"name":"`+strings.ReplaceAll(text, "é", `\u00e9`)+`","description":"`+text+`","scale":0}`)
	s.Must(409, "PUT", "/v1/assets/~X",
		`{"name":"`+strings.ReplaceAll(text, "é", "e\u0301")+`","description":"`+text+`","scale":0}`)
}

// The summary of an account has a hundred balances and the newest postings. Its cursors continue the lists without gaps
// or duplicates.
func accountPage(t *testing.T, s *caller.Caller) {
	const assets = 103
	s.OpenRegister()
	s.Must(201, "PUT", "/v1/accounts/~collector", `{"name":"Collector","overdraft":{"~USD":"7"},"profile":{"k":"v"}}`)
	want := make([]string, assets)
	for i := range want {
		want[i] = fmt.Sprintf("~X%03d", i)
		s.Must(201, "PUT", "/v1/assets/"+want[i], `{"name":"X","scale":0}`)
	}
	const legs = 48
	for from := 0; from < assets; from += legs / 2 {
		var postings []string
		for _, asset := range want[from:min(from+legs/2, assets)] {
			postings = append(postings,
				fmt.Sprintf(`{"account":"~collector","asset":%q,"quantity":"2"},{"account":"~bank","asset":%[1]q,"quantity":"-2"}`, asset))
		}
		s.Must(201, "POST", "/v1/transactions",
			fmt.Sprintf(`{"id":"~x-%d","postings":[%s]}`, from, strings.Join(postings, ",")))
	}
	// One balance becomes zero again.
	s.Must(201, "POST", "/v1/transfers",
		`{"id":"~gone","from":"~collector","to":"~bank","asset":"~X050","quantity":"2"}`)
	projected(s, "~collector")

	page := s.Must(200, "GET", "/v1/accounts/~collector/summary", "")
	page.Shows(t, map[string]any{"account name": "Collector", "account overdraft ~USD": "7",
		"summary holdings": float64(assets - 1), "summary assets": float64(assets)})
	shown := page.Each("asset", "balances", "data")
	if fmt.Sprint(shown) != fmt.Sprint(want[:100]) {
		t.Errorf("summary has %d balances: %q", len(shown), shown)
	}
	cursor := page.Text("balances", "next_cursor")
	for _, query := range []string{"", "?consistency=strong"} {
		if got := caller.Column(s.AllFrom("/v1/accounts/~collector/balances"+query, 2, cursor),
			"asset"); !slices.Equal(got, want[100:]) {
			t.Errorf("balances after the cursor: %q", got)
		}
		if got := caller.Column(s.All("/v1/accounts/~collector/balances"+query, 40), "asset"); !slices.Equal(got,
			want) {
			t.Errorf("all balances, %q: %q", query, got)
		}
	}

	history := caller.Column(s.All("/v1/accounts/~collector/postings", 100), "id")
	if len(history) != assets+1 {
		t.Fatalf("%d postings", len(history))
	}
	for _, c := range []struct {
		query  string
		newest int
	}{{"", 10}, {"?newest=1", 1}, {"?newest=25", 25}, {"?newest=100", 100}, {"?newest=0", 0}} {
		page := s.Must(200, "GET", "/v1/accounts/~collector/summary"+c.query, "")
		got := page.Each("id", "postings", "data")
		if len(got) != c.newest {
			t.Errorf("%s: %d postings", c.query, len(got))
		}
		cursor := page.Text("postings", "next_cursor")
		if cursor == "" {
			t.Fatalf("%s: no cursor", c.query)
		}
		for _, posting := range s.AllFrom("/v1/accounts/~collector/postings", 30, cursor) {
			got = append(got, posting["id"])
		}
		if fmt.Sprint(got) != fmt.Sprint(history) {
			t.Errorf("%s: history has gaps or duplicates: %q, want %q", c.query, got, history)
		}
		if first := page.Value("summary", "last_posting_at"); first != s.Must(200, "GET", "/v1/transactions/~gone",
			"").Value("posted_at") {
			t.Errorf("%s: last posting at %v", c.query, first)
		}
	}
	// The last page has no cursor. A full last page may have one, which leads to an empty page.
	s.Must(201, "PUT", "/v1/accounts/~few", `{}`)
	s.Must(201, "POST", "/v1/transfers", `{"id":"~f-1","from":"~bank","to":"~few","asset":"~X000","quantity":"1"}`)
	s.Must(201, "POST", "/v1/transfers", `{"id":"~f-2","from":"~bank","to":"~few","asset":"~X000","quantity":"1"}`)
	projected(s, "~few")
	for query, more := range map[string]bool{"": false, "?newest=3": false, "?newest=1": true, "?newest=0": true} {
		page := s.Must(200, "GET", "/v1/accounts/~few/summary"+query, "")
		if got := page.Value("postings", "next_cursor") != nil; got != more {
			t.Errorf("%s: %s", query, page.Body)
		}
	}
	empty := s.Must(200, "GET", "/v1/accounts/~jane/summary?newest=0", "")
	if empty.Value("postings", "next_cursor") != nil {
		t.Errorf("an account without postings: %s", empty.Body)
	}
}
