package acceptance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"ledger.example/tests/harness/caller"
	"ledger.example/tests/harness/full"
)

// hold returns a transfer of 50 from ~jane to ~shop as a hold.
func hold(id string) string {
	return `{"id":"` + id + `","from":"~jane","to":"~shop","asset":"~USD","quantity":"50","hold":{}}`
}

// A hold is placed, captured in part and reversed. Balances, histories and lists show each step.
func lifeOfHolds(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	const strong = "/v1/accounts/~jane/balances/~USD?consistency=strong"
	placed := s.Must(201, "POST", "/v1/transfers", hold("~h-1"))
	placed.Shows(t, map[string]any{"status": "held", "postings 0 quantity": "-50", "captured": nil})
	s.Must(200, "GET", strong, "").Shows(t,
		map[string]any{"quantity": "350000", "pending_debits": "50", "available": "349950"})
	tag := s.Must(200, "GET", "/v1/transactions/~h-1", "").Header.Get("ETag")
	s.Must(201, "POST", "/v1/trades", `{"id":"~h-2","asset":"~AAPL","buyer":"~jane","seller":"~market","quantity":"2",`+
		`"cost":"1000","settle":true,"hold":{}}`)
	s.Must(201, "POST", "/v1/transfers", hold("~h-3"))
	projected(s, "~jane", "~shop")
	caller.Eventually(t, timeToProject, "the holds are listed", func() bool {
		return fmt.Sprint(caller.Column(s.All("/v1/accounts/~jane/holds", 2), "id")) == "[~h-3 ~h-2 ~h-1]" &&
			fmt.Sprint(caller.Column(s.All("/v1/accounts/~shop/holds?status=held", 1), "id")) == "[~h-3 ~h-1]"
	})
	caller.Eventually(t, timeToProject, "the holds are open", func() bool {
		open := 0
		for _, one := range s.All("/v1/holds", 100) {
			if id := one["id"]; id == "~h-1" || id == "~h-2" || id == "~h-3" {
				open++
			}
		}
		return open == 3
	})

	captured := s.Must(200, "POST", "/v1/transactions/~h-1/capture", `{"quantity":"40"}`)
	captured.Shows(t, map[string]any{"status": "captured", "captured 0 quantity": "-40", "postings 0 quantity": "-50"})
	again := s.Must(200, "POST", "/v1/transactions/~h-1/capture", `{"quantity":"40"}`)
	if !bytes.Equal(again.Body, captured.Body) || again.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("the replay of the capture is %s", again.Body)
	}
	if again := s.Must(200, "POST", "/v1/transfers", hold("~h-1")); !bytes.Equal(again.Body, placed.Body) {
		t.Errorf("the replay of the hold is %s", again.Body)
	}
	now := s.Must(200, "GET", "/v1/transactions/~h-1", "", "If-None-Match", tag)
	if !bytes.Equal(unreversed(t, now), captured.Body) || now.Header.Get("ETag") == tag {
		t.Errorf("read as %s with ETag %s", now.Body, now.Header.Get("ETag"))
	}
	s.Must(200, "POST", "/v1/transactions/~h-2/capture", `{"quantity":"1","cost":"400"}`).Shows(t, map[string]any{
		"captured 0 quantity": "1", "captured 0 cost": "400", "captured 2 quantity": "-400", "captured 3 quantity": "400"})
	s.Must(200, "POST", "/v1/transactions/~h-3/release", `{"description":"left"}`).Shows(t,
		map[string]any{"status": "released", "end_description": "left", "captured 0": nil})
	s.Must(200, "GET", strong, "").Shows(t,
		map[string]any{"quantity": "349560", "pending_debits": "0", "available": "349560"})
	projected(s, "~jane", "~shop")
	var entries []string
	for _, p := range s.All("/v1/accounts/~jane/postings?asset=~USD", 3)[:6] {
		entries = append(entries, fmt.Sprint(p["transaction"], " ", p["quantity"], " ", p["pending"], " ", p["status"]))
	}
	if got := fmt.Sprintf("%q", entries); got != `["~h-3 0 50 released" "~h-2 -400 1000 captured" "~h-1 -40 50 captured" `+
		`"~h-3 0 -50 held" "~h-2 0 -1000 held" "~h-1 0 -50 held"]` {
		t.Errorf("history: %s", got)
	}
	caller.Eventually(t, timeToProject, "the ends are listed", func() bool {
		return len(s.All("/v1/accounts/~jane/holds?status=held", 1)) == 0 &&
			len(s.All("/v1/accounts/~jane/holds?status=captured", 1)) == 2 &&
			len(s.All("/v1/accounts/~jane/holds?status=released", 1)) == 1
	})

	// Two partial reversals, with a replay.
	first := s.Must(201, "POST", "/v1/transactions/~h-1/reversals", `{"id":"~r-1","quantity":"15"}`)
	first.Shows(t, map[string]any{"kind": "reversal", "reverses": "~h-1", "postings 0 quantity": "15"})
	s.Must(201, "POST", "/v1/transactions/~h-1/reversals", `{}`, "Idempotency-Key", "~r-2").Shows(t,
		map[string]any{"postings 1 quantity": "-25"})
	if again := s.Must(200, "POST", "/v1/transactions/~h-1/reversals",
		`{"id":"~r-1","quantity":"15"}`); !bytes.Equal(again.Body, first.Body) {
		t.Errorf("the replay of the reversal is %s", again.Body)
	}
	s.Must(422, "POST", "/v1/transactions/~h-1/reversals", `{"id":"~r-3"}`).Shows(t,
		map[string]any{"code": "exceeds_reversible", "left 0 quantity": "0", "left 1 quantity": "0"})
	s.Must(200, "GET", "/v1/transactions/~h-1", "").Shows(t,
		map[string]any{"reversed 0 quantity": "-40", "reversed 1 quantity": "40", "reversed 1 account": "~shop",
			"reversals 0": "~r-2", "reversals 1": "~r-1", "reversals 2": nil})
	if got := caller.Column(s.All("/v1/transactions/~h-1/reversals", 1), "id"); fmt.Sprint(got) != "[~r-1 ~r-2]" {
		t.Errorf("reversals: %v", got)
	}
	if got := s.All("/v1/transactions/~t-1/reversals", 1); len(got) != 0 {
		t.Errorf("reversals: %v", got)
	}
	s.Must(404, "GET", "/v1/transactions/~none/reversals", "")
}

// Invalid captures, releases, reversals and holds are refused, and change no balance.
func badHolds(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	s.Must(201, "POST", "/v1/transfers", `{"id":"~d-0","from":"~bank","to":"~shop","asset":"~USD","quantity":"100"}`)
	s.Must(201, "POST", "/v1/transfers", `{"id":"~d-9","from":"~shop","to":"~bank","asset":"~USD","quantity":"100"}`)
	for _, id := range []string{"~open", "~captured", "~released"} {
		s.Must(201, "POST", "/v1/transfers", hold(id))
	}
	s.Must(201, "POST", "/v1/transactions", `{"id":"~legs","hold":{},"postings":[`+
		`{"account":"~jane","asset":"~USD","quantity":"-9"},{"account":"~shop","asset":"~USD","quantity":"5"},`+
		`{"account":"~bank","asset":"~USD","quantity":"4"}]}`)
	s.Must(201, "POST", "/v1/trades", `{"id":"~gift","asset":"~AAPL","buyer":"~jane","seller":"~market","quantity":"2",`+
		`"cost":"0","hold":{}}`)
	s.Must(201, "POST", "/v1/trades", `{"id":"~trade","asset":"~AAPL","buyer":"~jane","seller":"~market","quantity":"2",`+
		`"cost":"30","settle":true,"hold":{}}`)
	s.Must(201, "POST", "/v1/transactions", `{"id":"~priced","hold":{},"postings":[`+
		`{"account":"~jane","asset":"~AAPL","quantity":"2","cost":"30"},`+
		`{"account":"~market","asset":"~AAPL","quantity":"-2","cost":"-30"},`+
		`{"account":"~jane","asset":"~USD","quantity":"-30"},{"account":"~market","asset":"~USD","quantity":"30"}]}`)
	s.Must(200, "POST", "/v1/transactions/~gift/capture?dry_run=true", `{"quantity":"1"}`)
	s.Must(201, "POST", "/v1/transactions", `{"id":"~posted","postings":[{"account":"~jane","asset":"~USD","quantity":"-9"},`+
		`{"account":"~bank","asset":"~USD","quantity":"5"},{"account":"~market","asset":"~USD","quantity":"4"}]}`)
	s.Must(200, "POST", "/v1/transactions/~captured/capture", `{"quantity":"40"}`)
	s.Must(200, "POST", "/v1/transactions/~released/release", `{}`)
	before := s.Must(200, "GET", "/v1/accounts/~jane/balances?consistency=strong", "")
	refuseAll(t, s, "holds.txt")
	if after := s.Must(200, "GET", "/v1/accounts/~jane/balances?consistency=strong", ""); !bytes.Equal(before.Body,
		after.Body) {
		t.Errorf("refused requests changed balances: %s, want %s", after.Body, before.Body)
	}

	// An expired hold has its own error, as soon as it has expired on every clock. The short run does not wait for that.
	if !full.Enabled() {
		return
	}
	expires := time.Now().Add(time.Second)
	s.Must(201, "POST", "/v1/transfers", `{"id":"~late","from":"~jane","to":"~shop","asset":"~USD","quantity":"1",`+
		`"hold":{"expires_at":"`+expires.UTC().Format(time.RFC3339Nano)+`"}}`)
	caller.Eventually(t, time.Minute, "expires_at has passed", func() bool { return time.Now().After(expires) })
	caller.Eventually(t, time.Minute, "the hold expires", func() bool {
		got := s.Send("POST", "/v1/transactions/~late/capture", `{}`)
		return got.Status == 422 && got.Code() == "hold_expired"
	})
	s.Must(409, "POST", "/v1/transactions/~late/release", `{}`).Shows(t, map[string]any{"hold_status": "expired"})
}

// sentBack puts ~shop as it is now, and as it was opened. Both answer what it is now, and change nothing.
func sentBack(t *testing.T, s *caller.Caller, opening caller.Reply) {
	t.Helper()
	now := s.Must(200, "GET", "/v1/accounts/~shop", "")
	for _, body := range []string{string(now.Body), string(withoutSet(t, now)), string(withoutSet(t, opening))} {
		for range 2 {
			again := s.Must(200, "PUT", "/v1/accounts/~shop", body)
			if !bytes.Equal(again.Body, now.Body) {
				t.Errorf("%s gets %s", body, again.Body)
			}
		}
	}
}

// withoutSet returns the body of an account without the fields that the ledger sets.
func withoutSet(t *testing.T, r caller.Reply) []byte {
	t.Helper()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(r.Body, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"id", "created_at", "actor", "version", "state"} {
		delete(fields, name)
	}
	body, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

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
	s.Must(200, "PATCH", "/v1/accounts/~shop", `{"metadata":{"tier":"gold","~city":""}}`).Shows(t, map[string]any{"version": 4.0})
	s.Must(200, "PATCH", "/v1/accounts/~shop", `{"metadata":{"~city":"","tier":"gold"}}`).Shows(t, map[string]any{"version": 4.0})
	tagged := s.Must(200, "PATCH", "/v1/accounts/~shop", `{"metadata":{"tier":"new"}}`)
	if got := fmt.Sprint(tagged.Value("metadata")); got != "map[tier:new]" {
		t.Errorf("metadata: %s", got)
	}
	sentBack(t, s, opening)
	s.Must(200, "PATCH", "/v1/accounts/~shop", `{"metadata":{}}`).Shows(t, map[string]any{"version": 6.0})
	sentBack(t, s, opening)
	s.Must(409, "PUT", "/v1/accounts/~shop", `{"name":"Corner shop","overdraft":{"~USD":"300"}}`) // version 2
	s.Must(409, "PUT", "/v1/accounts/~shop", `{"name":"Corner shop"}`)                            // of two versions
	s.Must(200, "PATCH", "/v1/accounts/~shop", `{"state":"frozen"}`, "If-Match", `*`)
	sentBack(t, s, opening)
	s.Must(422, "POST", "/v1/transfers", `{"from":"~shop","to":"~bank","asset":"~GOLD","quantity":"1"}`).Shows(t,
		map[string]any{"code": "account_frozen"})
	s.Must(200, "POST", "/v1/transfers", `{"id":"~c-1","from":"~shop","to":"~bank","asset":"~USD","quantity":"300"}`)
	s.Must(201, "POST", "/v1/transfers", `{"from":"~bank","to":"~shop","asset":"~USD","quantity":"300"}`)
	s.Must(200, "PATCH", "/v1/accounts/~shop", `{"state":"open"}`)
	s.Must(200, "PATCH", "/v1/accounts/~shop", `{"state":"closed"}`).Shows(t, map[string]any{"state": "closed"})
	sentBack(t, s, opening)
	versions := s.All("/v1/accounts/~shop/changes", 2)
	if got := strings.Join(caller.Column(versions, "changed"), "\n"); got != `map[state:closed]
map[state:frozen]
map[state:open]
map[state:frozen]
map[metadata:map[]]
map[metadata:map[tier:new]]
map[metadata:map[tier:gold ~city:]]
map[profile:map[a:1 b:[]]]
map[name:Corner shop overdraft:map[~USD:300]]
map[name:Shop profile:map[] state:open]` {
		t.Errorf("changes: %s", got)
	}
	last := versions[0]
	if last["version"] != 10.0 || last["actor"] == "" {
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
