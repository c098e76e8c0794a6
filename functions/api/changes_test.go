package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"ledger.example/ledger"
)

// An account changes part by part; its versions say who changed what, and lists and pages show what it is now.
func TestAccountsChange(t *testing.T) {
	f := newFixture(t)
	const margin = "/v1/accounts/margin"
	f.now = instant.Add(time.Hour)
	w := f.must(t, 200, "PATCH", margin, `{"name":"Margin","profile":{"a":1,"b":[]}}`, "If-Match", `"1"`)
	if got := answer[account](t, w); got.Version != 2 || got.Name != "Margin" || string(got.Profile) != `{"a":1,"b":[]}` ||
		w.Header().Get("ETag") != `"2"` || !strings.Contains(w.Body.String(), `"overdraft":{"USD":"500000"}`) {
		t.Errorf("changed: %v %s", w.Header(), w.Body)
	}
	for _, same := range []string{`{}`, `{"name":"Margin"}`, `{"profile":{"b":[],"a":1}}`} { // no version
		f.must(t, 200, "PATCH", margin, same)
	}
	f.must(t, 200, "PATCH", margin, `{"overdraft":{}}`, "If-Match", `"7", "2"`)
	f.must(t, 200, "PATCH", margin, `{"state":"frozen","profile":{}}`, "If-Match", `*`)
	w = f.must(t, 200, "GET", margin, "")
	if got := answer[account](t, w); got.Version != 4 || got.State != "frozen" || got.Overdraft != nil ||
		w.Header().Get("ETag") != `"4"` {
		t.Errorf("is now: %v %s", w.Header(), w.Body)
	}
	if w := f.do(t, "GET", margin, "", "If-None-Match", `"4"`); w.Code != 304 {
		t.Errorf("unless it is of version 4: %d", w.Code)
	}

	var changes []string
	for cursor := ""; ; {
		w := f.must(t, 200, "GET", margin+"/changes?limit=2"+cursor, "")
		listed := answer[page[struct {
			Version int
			Changed json.RawMessage
		}]](t, w)
		for _, c := range listed.Data {
			changes = append(changes, fmt.Sprintf("%d %s", c.Version, c.Changed))
		}
		if listed.Next == nil {
			break
		}
		cursor = "&cursor=" + *listed.Next
	}
	if got := strings.Join(changes, "\n"); got != `4 {"profile":{},"state":"frozen"}
3 {"overdraft":{}}
2 {"name":"Margin","profile":{"a":1,"b":[]}}
1 {"name":"","profile":{},"overdraft":{"USD":"500000"},"state":"open"}` {
		t.Errorf("changes:\n%s", got)
	}
	one := f.must(t, 200, "GET", "/v1/accounts/jane/changes", "")
	if got := answer[page[change]](t, one); len(got.Data) != 1 || got.Data[0].Actor != "local" || got.Next != nil {
		t.Errorf("of one that never changed: %s", one.Body)
	}
	f.must(t, 404, "GET", "/v1/accounts/none/changes", "")
	for _, target := range []string{"/v1/accounts?prefix=margin", margin + "/summary"} {
		if w := f.must(t, 200, "GET", target, ""); !strings.Contains(w.Body.String(), `"state":"frozen","version":4`) {
			t.Errorf("%s: %s", target, w.Body)
		}
	}

	// The opening again is no change, and is answered with the account as it is now.
	w = f.must(t, 200, "PUT", margin, `{"overdraft":{"USD":"500000"}}`)
	if !strings.Contains(w.Body.String(), `"version":4`) || w.Header().Get("ETag") != `"4"` {
		t.Errorf("opened again: %s", w.Body)
	}
}

// What GET answers may be sent back, by PATCH also edited.
func TestAnswersMayBeSentBack(t *testing.T) {
	f := newFixture(t)
	for _, target := range []string{"/v1/assets/AAPL", "/v1/assets/USD", "/v1/accounts/jane", "/v1/accounts/market",
		"/v1/accounts/margin", "/v1/accounts/shop"} {
		shown := f.must(t, 200, "GET", target, "").Body.String()
		if again := f.must(t, 200, "PUT", target, shown); again.Body.String() != shown {
			t.Errorf("%s: %s instead of %s", target, again.Body, shown)
		}
	}
	shown := f.must(t, 200, "GET", "/v1/accounts/jane", "").Body.String()
	edited := f.must(t, 200, "PATCH", "/v1/accounts/jane", strings.Replace(shown, "Jane Doe", "Jane Smith", 1))
	if got := answer[account](t, edited); got.Version != 2 || got.Name != "Jane Smith" {
		t.Errorf("edited: %s", edited.Body)
	}
	again := f.must(t, 200, "PATCH", "/v1/accounts/jane", edited.Body.String())
	if again.Body.String() != edited.Body.String() {
		t.Errorf("sent back: %s", again.Body)
	}
	before := f.items(t)
	for _, c := range []struct{ request, body, fields string }{
		{"PATCH /v1/accounts/jane", shown, "version"},
		{"PUT /v1/accounts/jane", shown, "version"},
		{"PUT /v1/accounts/jane",
			`{"state":"frozen","version":2,"created_at":"2026-11-21T09:06:39Z","actor":"x","id":"jane"}`,
			"state created_at actor"},
		{"PUT /v1/accounts/jane", `{"created_at":5,"version":"2","state":null,"id":"joe","actor":{}}`,
			"created_at version state id actor"},
		{"PUT /v1/accounts/jane", `{"version":2.0}`, "version"},
		{"PUT /v1/accounts/new", `{"version":1,"state":"open"}`, "version state"},
		{"PUT /v1/assets/new", `{"name":"x","scale":0,"actor":"local"}`, "actor"},
		{"PUT /v1/assets/USD", `{"name":"US dollar","scale":2,"created_at":"2026-11-21T10:06:39.123456+02:00"}`,
			"created_at"},
	} {
		method, target, _ := strings.Cut(c.request, " ")
		w := f.must(t, 400, method, target, c.body)
		if fields := refused(t, w, 400, ledger.CodeInvalidRequest); fields != c.fields {
			t.Errorf("%s %s: %s", c.request, c.body, w.Body)
		}
	}
	unchanged(t, f, before)
	f.must(t, 200, "PUT", "/v1/assets/USD",
		`{"name":"US dollar","scale":2,"created_at":"2026-11-21T10:06:39.123456+01:00"}`)
	f.must(t, 404, "PATCH", "/v1/accounts/none", `{"version":1}`)
}

// Every refusal of a change leaves the table as it is.
func TestRefusalsOfChangesWriteNothing(t *testing.T) {
	f := newFixture(t)
	f.must(t, 200, "PATCH", "/v1/accounts/fees", `{"state":"closed"}`)
	f.haveGuards(t, "shop")
	f.must(t, 200, "PATCH", "/v1/accounts/shop", `{"state":"frozen"}`)
	f.must(t, 201, "POST", "/v1/transfers", strings.Replace(goodTransfer, "{", `{"id":"x-1",`, 1)) // a credit passes
	before := f.items(t)
	for _, c := range []struct {
		request, body, match string
		status               int
		code                 ledger.Code
		fields, shows        string
	}{
		{"PATCH /v1/accounts/jane", `{"name":"x"}`, `"2"`, 412, ledger.CodeVersionMismatch, "", `"version":1`},
		{"PATCH /v1/accounts/jane", `{"name":"x"}`, `W/"1"`, 412, ledger.CodeVersionMismatch, "", ""},
		{"PATCH /v1/accounts/jane", `{"name":"x"}`, `"abc"`, 412, ledger.CodeVersionMismatch, "", ""},
		{"PATCH /v1/accounts/jane", `{"name":"x"}`, `"2", "3"`, 412, ledger.CodeVersionMismatch, "", ""},
		{"PATCH /v1/accounts/jane", `{"name":"x"}`, `1`, 400, ledger.CodeInvalidRequest, "If-Match", ""},
		{"PATCH /v1/accounts/jane", `{"overdraft":"unlimited"}`, "", 422, ledger.CodeInvalidChange, "overdraft", ""},
		{"PATCH /v1/accounts/market", `{"overdraft":{}}`, "", 422, ledger.CodeInvalidChange, "overdraft", ""},
		{"PATCH /v1/accounts/fees", `{"name":"x"}`, "", 422, ledger.CodeInvalidChange, "state", ""},
		{"PATCH /v1/accounts/fees", `{"state":"open"}`, "", 422, ledger.CodeInvalidChange, "state", ""},
		{"PATCH /v1/accounts/jane", `{"overdraft":{"GOLD":"1"}}`, "", 422, ledger.CodeAssetNotFound, "overdraft.GOLD", ""},
		{"PATCH /v1/accounts/none", `{}`, "", 404, ledger.CodeAccountNotFound, "", ""},
		{"PATCH /v1/accounts/jane", `{"name":null,"profile":[],"overdraft":{"USD":1},"state":"shut"}`, "", 400,
			ledger.CodeInvalidRequest, "name profile overdraft.USD state", ""},
		{"PATCH /v1/accounts/jane", `{"balance":1}`, "", 400, codeMalformedBody, "balance", ""},
		{"POST /v1/transfers", `{"from":"shop","to":"jane","asset":"USD","quantity":"1"}`, "", 422,
			ledger.CodeAccountFrozen, "from", ""},
		{"POST /v1/transfers", `{"from":"jane","to":"fees","asset":"USD","quantity":"1"}`, "", 422,
			ledger.CodeAccountClosed, "to", ""},
	} {
		method, target, _ := strings.Cut(c.request, " ")
		var headers []string
		if c.match != "" {
			headers = []string{"If-Match", c.match}
		}
		w := f.must(t, c.status, method, target, c.body, headers...)
		if fields := refused(t, w, c.status, c.code); fields != c.fields || !strings.Contains(w.Body.String(), c.shows) {
			t.Errorf("%s %s: %s", c.request, c.body, w.Body)
		}
	}
	unchanged(t, f, before)
	// One with a balance is not closed: it is frozen while that is looked up, and then opened again.
	w := f.must(t, 422, "PATCH", "/v1/accounts/jane", `{"state":"closed"}`)
	refused(t, w, 422, ledger.CodeInvalidChange)
	if got := answer[account](t, f.must(t, 200, "GET", "/v1/accounts/jane", "")); got.State != "open" {
		t.Errorf("refused to close: %s", fmt.Sprint(got))
	}
}
