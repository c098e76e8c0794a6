package tests

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"ledger.example/functions/api"
	"ledger.example/functions/service"
	"ledger.example/ledger/table"
)

// A process that remembers nothing answers a replay as the first one does, and neither writes anything.
func TestReplaysWriteNothing(t *testing.T) {
	t.Parallel()
	s := newSystem(t, withoutPump)
	s.OpenBooks()
	for path, body := range map[string]string{
		"/v1/transactions": `{"id":"r-1","postings":[{"account":"bank","asset":"USD","quantity":"-5"},{"account":"jane","asset":"USD","quantity":"5"}]}`,
		"/v1/transfers":    `{"id":"r-2","from":"bank","to":"jane","asset":"USD","quantity":"5","metadata":{"a":"1","b":"é"},"description":"café"}`,
		"/v1/trades":       `{"id":"r-3","asset":"AAPL","buyer":"jane","seller":"market","quantity":"1","cost":"5","settle":true}`,
	} {
		first := s.Must(201, "POST", path, body)
		before := s.facts()
		for _, process := range []*system{s, s.beside()} {
			got := process.Send("POST", path, body)
			if got.Status != 200 || got.Header.Get("Idempotent-Replayed") != "true" || !bytes.Equal(got.Body, first.Body) {
				t.Errorf("%s: %d %s, first %s", body, got.Status, got.Body, first.Body)
			}
		}
		if got := s.beside().Must(200, "GET", "/v1/transactions/"+first.Text("id"), ""); !bytes.Equal(got.Body, first.Body) {
			t.Errorf("read as %s, answered as %s", got.Body, first.Body)
		}
		if after := s.facts(); difference(before, after) != "" {
			t.Errorf("replays of %s wrote: %s", body, difference(before, after))
		}
	}
}

// facts are the items that are no projections: of those, a replay that comes late raises the versions.
func (s *system) facts() map[string]string {
	s.t.Helper()
	all := s.items()
	maps.DeleteFunc(all, func(key, _ string) bool { return strings.Contains(key, " "+table.BalanceKey("", "").SK) })
	return all
}

// Who sends a request makes no difference to what it is.
func TestReplaysOfAnotherCaller(t *testing.T) {
	t.Parallel()
	s := newSystem(t, withoutPump)
	s.OpenRegister()
	const body = `{"id":"a-1","from":"bank","to":"jane","asset":"USD","quantity":"5"}`
	first := s.Must(201, "POST", "/v1/transfers", body)
	other, err := service.New(service.Config{Client: s.client, Table: s.table, Actor: func(*http.Request) string { return "somebody else" }})
	if err != nil {
		t.Fatal(err)
	}
	if api.LocalActor(nil) == "somebody else" {
		t.Fatal("the two callers are the same")
	}
	elsewhere := *s
	elsewhere.listen(other.API())
	got := elsewhere.Must(200, "POST", "/v1/transfers", body)
	if got.Header.Get("Idempotent-Replayed") != "true" || !bytes.Equal(got.Body, first.Body) {
		t.Errorf("somebody else got %s, first %s", got.Body, first.Body)
	}
	elsewhere.Must(200, "PUT", "/v1/assets/USD", `{"name":"US dollar","scale":2}`)
	elsewhere.Must(200, "PUT", "/v1/accounts/bank", `{"name":"Bank","overdraft":"unlimited"}`)
}

// A definition that is there is never written again, whether the process remembers it or not.
func TestDefinitionsAgainWriteNothing(t *testing.T) {
	t.Parallel()
	s := newSystem(t, withoutPump)
	s.OpenRegister()
	for path, bodies := range map[string][3]string{ // the first, the same, and another
		"/v1/assets/EUR":     {`{"name":"Euro","scale":2}`, `{"scale":2,"name":"Euro","description":""}`, `{"name":"Euro","scale":3}`},
		"/v1/accounts/plain": {`{}`, `{"overdraft":{"USD":"0"},"profile":{ },"name":""}`, `{"overdraft":"unlimited"}`},
	} {
		first := s.Must(201, "PUT", path, bodies[0])
		before := s.items()
		for _, process := range []*system{s, s.beside()} {
			if got := process.Must(200, "PUT", path, bodies[1]); !bytes.Equal(got.Body, first.Body) {
				t.Errorf("%s is answered with %s, first %s", path, got.Body, first.Body)
			}
		}
		for _, process := range []*system{s, s.beside()} {
			process.Must(409, "PUT", path, bodies[2])
		}
		if after := s.items(); difference(before, after) != "" {
			t.Errorf("%s was written again: %s", path, difference(before, after))
		}
	}
}

// Grants are settings: each is what is so from now on, and one that says what is so already writes nothing.
func TestGrantsAgain(t *testing.T) {
	t.Parallel()
	s := newSystem(t, withoutPump)
	s.OpenRegister()
	grants := func() (n int) {
		for key := range s.partition(table.AccountKey("jane").PK) {
			if strings.HasPrefix(key.SK, table.GrantPrefix) {
				n++
			}
		}
		return n
	}
	const path = "/v1/accounts/jane/members/u-1"
	for i, c := range []struct {
		method, role string
		status       int
		written      int
	}{
		{"DELETE", "", 200, 0}, // there was nothing
		{"PUT", "viewer", 201, 1},
		{"PUT", "viewer", 200, 1},
		{"PUT", "owner", 200, 2},
		{"PUT", "operator", 200, 3},
		{"PUT", "viewer", 200, 4},
		{"DELETE", "", 200, 5},
		{"DELETE", "", 200, 5},
		{"PUT", "viewer", 201, 6},
	} {
		body := ""
		if c.role != "" {
			body = fmt.Sprintf(`{"role":%q}`, c.role)
		}
		for _, process := range []*system{s, s.beside()}[i%2:] {
			got := process.Send(c.method, path, body, "Idempotency-Key", "")
			want := fmt.Sprintf(`{"account":"jane","user":"u-1","role":%q}`, c.role)
			if c.role == "" {
				want = `{"account":"jane","user":"u-1","role":null}`
			}
			if got.Status != c.status || strings.TrimSpace(string(got.Body)) != want {
				t.Errorf("%d: %s %s: %d %s", i, c.method, body, got.Status, got.Body)
			}
			if written := grants(); written != c.written {
				t.Errorf("%d: %s %s: %d grants", i, c.method, body, written)
			}
			break
		}
	}
}
