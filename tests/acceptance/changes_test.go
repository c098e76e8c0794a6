package acceptance

import (
	"bytes"
	"strings"
	"testing"

	"ledger.example/tests/caller"
)

// An account is changed, frozen, reopened and closed. Its changes are listed with their actors.
func accountsChange(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	for _, path := range []string{"/v1/assets/~AAPL", "/v1/assets/~USD", "/v1/accounts/~jane", "/v1/accounts/~market"} {
		shown := s.Must(200, "GET", path, "")
		if again := s.Must(200, "PUT", path, string(shown.Body)); !bytes.Equal(again.Body, shown.Body) {
			t.Errorf("%s sent back: %s", path, again.Body)
		}
	}
	opening := s.Must(200, "GET", "/v1/accounts/~shop", "")
	if tag := opening.Header.Get("ETag"); tag != `"1"` {
		t.Errorf("ETag %s", tag)
	}
	changed := s.Must(200, "PATCH", "/v1/accounts/~shop", `{"name":"Corner shop","overdraft":{"~USD":"300"}}`,
		"If-Match", opening.Header.Get("ETag"))
	changed.Shows(t, map[string]any{"version": 2.0, "name": "Corner shop", "state": "open"})
	if again := s.Must(200, "PATCH", "/v1/accounts/~shop", string(changed.Body)); !bytes.Equal(again.Body, changed.Body) {
		t.Errorf("sent back: %s", again.Body)
	}
	s.Must(200, "GET", "/v1/accounts/~shop/balances/~USD?consistency=strong", "").Shows(t,
		map[string]any{"quantity": "0", "available": "300"})
	s.Must(201, "POST", "/v1/transfers", `{"id":"~c-1","from":"~shop","to":"~bank","asset":"~USD","quantity":"300"}`)
	for _, same := range []string{`{}`, `{"name":"Corner shop"}`} {
		s.Must(200, "PATCH", "/v1/accounts/~shop", same).Shows(t, map[string]any{"version": 2.0})
	}
	s.Must(200, "PATCH", "/v1/accounts/~shop", `{"profile":{"a":1,"b":[]}}`, "If-Match", `"7", "2"`)
	s.Must(200, "PATCH", "/v1/accounts/~shop", `{"profile":{"b":[],"a":1}}`).Shows(t, map[string]any{"version": 3.0})
	s.Must(304, "GET", "/v1/accounts/~shop", "", "If-None-Match", `"3"`)
	s.Must(200, "PATCH", "/v1/accounts/~shop", `{"state":"frozen"}`, "If-Match", `*`)
	s.Must(422, "POST", "/v1/transfers", `{"from":"~shop","to":"~bank","asset":"~GOLD","quantity":"1"}`).Shows(t,
		map[string]any{"code": "account_frozen"})
	s.Must(200, "POST", "/v1/transfers", `{"id":"~c-1","from":"~shop","to":"~bank","asset":"~USD","quantity":"300"}`)
	s.Must(201, "POST", "/v1/transfers", `{"from":"~bank","to":"~shop","asset":"~USD","quantity":"300"}`)
	s.Must(200, "PATCH", "/v1/accounts/~shop", `{"state":"open"}`)
	s.Must(200, "PATCH", "/v1/accounts/~shop", `{"state":"closed"}`).Shows(t, map[string]any{"state": "closed"})
	versions := s.All("/v1/accounts/~shop/changes", 2)
	if got := strings.Join(caller.Column(versions, "changed"), "\n"); got != `map[state:closed]
map[state:frozen]
map[state:open]
map[state:frozen]
map[profile:map[a:1 b:[]]]
map[name:Corner shop overdraft:map[~USD:300]]
map[name:Shop profile:map[] state:open]` {
		t.Errorf("changes: %s", got)
	}
	last := versions[0]
	if last["version"] != 7.0 || last["actor"] == "" {
		t.Errorf("the last change: %v", last)
	}
	parseTime(t, last["at"])
	s.Must(200, "PUT", "/v1/accounts/~shop", `{"name":"Shop"}`).Shows(t, map[string]any{"state": "closed"})
	caller.Eventually(t, timeToProject, "the list has the account's current state", func() bool {
		return s.Must(200, "GET", "/v1/accounts?prefix=~shop", "").Value("data", 0, "state") == "closed"
	})
	s.Must(404, "GET", "/v1/accounts/~none/changes", "")

	s.Must(201, "PUT", "/v1/accounts/~gone", `{}`)
	s.Must(200, "PATCH", "/v1/accounts/~gone", `{"state":"closed"}`)
	s.Must(201, "PUT", "/v1/accounts/~frozen", `{}`)
	s.Must(200, "PATCH", "/v1/accounts/~frozen", `{"state":"frozen"}`)
	refuseAll(t, s, "changes.txt")
	s.Must(201, "PUT", "/v1/accounts/~late", `{"overdraft":"unlimited"}`)
	s.Must(200, "PATCH", "/v1/accounts/~late", `{"state":"closed"}`)
	s.Must(422, "POST", "/v1/transfers", `{"from":"~bank","to":"~late","asset":"~USD","quantity":"1"}`).Shows(t,
		map[string]any{"code": "account_closed"})
}
