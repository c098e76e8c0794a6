package acceptance

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ledger.example/tests/caller"
)

// An account's page shows a hundred balances and the newest postings, and cursors by which the lists go on without a
// gap and without doubles.
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
			postings = append(postings, fmt.Sprintf(`{"account":"~collector","asset":%q,"quantity":"2"},{"account":"~bank","asset":%[1]q,"quantity":"-2"}`, asset))
		}
		s.Must(201, "POST", "/v1/transactions", fmt.Sprintf(`{"id":"~x-%d","postings":[%s]}`, from, strings.Join(postings, ",")))
	}
	// One of them is given away again.
	s.Must(201, "POST", "/v1/transfers", `{"id":"~gone","from":"~collector","to":"~bank","asset":"~X050","quantity":"2"}`)
	projected(s, "~collector")

	strings2 := func(v any) []string {
		list, _ := v.([]any)
		out := []string{}
		for _, item := range list {
			object, _ := item.(map[string]any)
			if asset, ok := object["asset"].(string); ok {
				out = append(out, asset)
			}
		}
		return out
	}
	page := s.Must(200, "GET", "/v1/accounts/~collector/summary", "")
	for path, want := range map[[2]string]any{
		{"account", "name"}: "Collector", {"summary", "holdings"}: float64(assets - 1), {"summary", "assets"}: float64(assets),
	} {
		if got := page.Value(path[0], path[1]); got != want {
			t.Errorf("%v is %v, not %v", path, got, want)
		}
	}
	if got := page.Value("account", "overdraft", "~USD"); got != "7" {
		t.Errorf("overdraft: %v", got)
	}
	shown := strings2(page.Value("balances", "data"))
	if !slices.Equal(shown, want[:100]) {
		t.Errorf("%d balances: %q", len(shown), shown)
	}
	cursor, _ := page.Value("balances", "next_cursor").(string)
	for _, query := range []string{"", "?consistency=strong"} {
		if got := caller.Column(s.AllFrom("/v1/accounts/~collector/balances"+query, 2, cursor), "asset"); !slices.Equal(got, want[100:]) {
			t.Errorf("balances go on at %q", got)
		}
		if got := caller.Column(s.All("/v1/accounts/~collector/balances"+query, 40), "asset"); !slices.Equal(got, want) {
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
		data, _ := page.Value("postings", "data").([]any)
		if data == nil || len(data) != c.newest {
			t.Errorf("%s: %d postings", c.query, len(data))
		}
		got := []string{}
		for i := range data {
			got = append(got, page.Value("postings", "data", i, "id").(string))
		}
		cursor, _ := page.Value("postings", "next_cursor").(string)
		if cursor == "" {
			t.Fatalf("%s: no way on", c.query)
		}
		got = append(got, caller.Column(s.AllFrom("/v1/accounts/~collector/postings", 30, cursor), "id")...)
		if !slices.Equal(got, history) {
			t.Errorf("%s: the history goes on with a gap or doubles: %q instead of %q", c.query, got, history)
		}
		if first := page.Value("summary", "last_posting_at"); first != s.Must(200, "GET", "/v1/transactions/~gone", "").Value("posted_at") {
			t.Errorf("%s: last posting at %v", c.query, first)
		}
	}
	// Where there is nothing more, there is no cursor; after a page that is just full there may be one, to an empty page.
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
		t.Errorf("of nothing: %s", empty.Body)
	}
}
