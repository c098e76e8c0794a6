package acceptance

import (
	"bytes"
	"fmt"
	"testing"

	"ledger.example/tests/caller"
)

// An account is changed, frozen, opened again and closed. Who changed what is listed.
func accountsChange(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	opening := s.Must(200, "GET", "/v1/accounts/~shop", "")
	if tag := opening.Header.Get("ETag"); tag != `"1"` {
		t.Errorf("tagged %s", tag)
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
	s.Must(200, "PATCH", "/v1/accounts/~shop", `{"state":"frozen"}`)
	s.Must(422, "POST", "/v1/transfers", `{"from":"~shop","to":"~bank","asset":"~GOLD","quantity":"1"}`).Shows(t,
		map[string]any{"code": "account_frozen"})
	s.Must(200, "POST", "/v1/transfers", `{"id":"~c-1","from":"~shop","to":"~bank","asset":"~USD","quantity":"300"}`)
	s.Must(201, "POST", "/v1/transfers", `{"from":"~bank","to":"~shop","asset":"~USD","quantity":"300"}`)
	s.Must(200, "PATCH", "/v1/accounts/~shop", `{"state":"open"}`)
	s.Must(200, "PATCH", "/v1/accounts/~shop", `{"state":"closed"}`).Shows(t, map[string]any{"state": "closed"})
	versions := s.All("/v1/accounts/~shop/changes", 2)
	first, last := versions[len(versions)-1], versions[0]
	if first["version"] != 1.0 || fmt.Sprint(first["changed"]) != "map[name:Shop profile:map[] state:open]" ||
		fmt.Sprint(last["changed"]) != "map[state:closed]" || last["actor"] == "" {
		t.Errorf("changes: %v", versions)
	}
	parseTime(t, last["at"])
	s.Must(200, "PUT", "/v1/accounts/~shop", `{"name":"Shop"}`).Shows(t, map[string]any{"state": "closed"})
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
