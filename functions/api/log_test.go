package api

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ledger.example/ledger"
)

// metricsOf returns the metrics in the log line of the last request: the members whose names begin with a capital.
func (f *fixture) metricsOf(t testing.TB) map[string]any {
	t.Helper()
	var line map[string]any
	if err := json.Unmarshal(f.log.Bytes(), &line); err != nil {
		t.Fatalf("%v: %s", err, f.log)
	}
	f.log.Reset()
	maps.DeleteFunc(line, func(name string, _ any) bool { return name[0] < 'A' || name[0] > 'Z' })
	return line
}

// The log line of a refused write has the id of its transaction, if it is one.
func TestRefusalsNameTheirTransaction(t *testing.T) {
	f := newFixture(t)
	f.commands.failWith = &ledger.Error{Code: ledger.CodeInsufficientFunds, Detail: "d"}
	for _, c := range []struct{ path, body, key, want string }{
		{"/v1/transfers", `{"id":"m-1",` + goodTransfer[1:], "", "m-1"},
		{"/v1/transfers", goodTransfer, "m-2", "m-2"},
		{"/v1/transfers", `{"id":"m-3"}`, "", "m-3"},
		{"/v1/transfers", `{"id":"a secret"}`, "", ""},
		{"/v1/transactions/m-4/capture", `{}`, "", "m-4"},
		{"/v1/transactions/m-5/reversals", `{"id":"back-5"}`, "", "back-5"},
		{"/v1/transactions/a%20secret/release", `{}`, "", ""},
	} {
		f.log.Reset()
		var headers []string
		if c.key != "" {
			headers = []string{idempotencyKey, c.key}
		}
		f.do(t, "POST", c.path, c.body, headers...)
		var line struct{ Code, Transaction string }
		if err := json.Unmarshal(f.log.Bytes(), &line); err != nil || line.Code == "" || line.Transaction != c.want {
			t.Errorf("%s %s: %v, %s", c.path, c.body, err, f.log)
		}
	}
}

// The metric of a request depends on its answer. A code that the API does not know counts as internal.
func TestRequestMetrics(t *testing.T) {
	f := newFixture(t)
	post := func(want map[string]any) {
		t.Helper()
		f.do(t, "POST", "/v1/transfers", goodTransfer, idempotencyKey, "m-1")
		if got := f.metricsOf(t); !maps.Equal(got, want) {
			t.Errorf("%v is counted as %v, want %v", f.commands.failWith, got, want)
		}
	}
	post(map[string]any{"TransactionsPosted": 1.0})
	post(map[string]any{"TransactionsReplayed": 1.0})
	for _, k := range append(kinds(), kind{Code: "new_code", Status: http.StatusInternalServerError}) {
		f.commands.failWith = &ledger.Error{Code: k.Code, Detail: "d"}
		want := map[string]any{"Refusals": 1.0, "Code": string(k.Code)}
		switch k.Status {
		case http.StatusServiceUnavailable:
			want = map[string]any{"Throttled": 1.0}
		case http.StatusGatewayTimeout:
			want = map[string]any{"UnknownOutcomes": 1.0}
		case http.StatusInternalServerError:
			want = map[string]any{"InternalErrors": 1.0}
		}
		post(want)
	}

	f = newFixture(t)
	for _, c := range []struct {
		method, path, body string
		want               map[string]any
	}{
		{"PUT", "/v1/assets/EUR", `{"name":"Euro","scale":2}`, nil},
		{"PUT", "/v1/accounts/jane/members/u", `{"role":"viewer"}`, nil},
		{"DELETE", "/v1/accounts/jane/members/u", "", nil},
		{"PUT", "/v1/assets/EUR", `{"name":`, map[string]any{"Refusals": 1.0, "Code": "malformed_body"}},
		{"PUT", "/v1/accounts/jane/members/u", `{"role":"king"}`, map[string]any{"Refusals": 1.0,
			"Code": "invalid_request"}},
		{"POST", "/v1/batches", `{"requests":[{"transfer":` + placed + `},{"transfer":{"id":"b-1",` +
			goodTransfer[1:] + `},{"transfer":{"id":"b-2","from":"fees","to":"jane","asset":"USD","quantity":"1"}}]}`,
			map[string]any{"TransactionsPosted": 2.0, "TransactionsReplayed": 0.0}},
		{"POST", "/v1/transfers?dry_run=true", goodTransfer, nil},
		{"POST", "/v1/transfers?dry_run=true", `{"from":"fees","to":"jane","asset":"USD","quantity":"1"}`, nil},
		{"GET", "/v1/transactions/t-1", "", nil},
		{"GET", "/v1/accounts/nobody", "", nil},
		{"GET", "/v1/accounts?limit=0", "", nil},
		{"GET", "/healthz", "", nil},
		{"GET", "/nowhere", "", nil},
		{"DELETE", "/v1/assets/USD", "", nil},
	} {
		f.do(t, c.method, c.path, c.body)
		if got := f.metricsOf(t); !maps.Equal(got, c.want) {
			t.Errorf("%s %s is counted as %v, want %v", c.method, c.path, got, c.want)
		}
	}
}

// A read that the caller canceled is not counted as a failure of the store. A canceled write is.
func TestAbandonedReadIsNoStoreFailure(t *testing.T) {
	f := newFixture(t)
	gone, leave := context.WithCancel(t.Context())
	leave()
	f.commands.failWith = &ledger.Error{Code: ledger.CodeUnavailable, Detail: "d"}
	for _, c := range []struct {
		method, path string
		want         map[string]any
	}{
		{"GET", "/v1/assets/USD", nil},
		{"POST", "/v1/transfers", map[string]any{"Throttled": 1.0}},
	} {
		r := httptest.NewRequestWithContext(gone, c.method, c.path, strings.NewReader(goodTransfer))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set(idempotencyKey, "m-1")
		w := httptest.NewRecorder()
		f.ServeHTTP(w, r)
		level := strings.Contains(f.log.String(), `"level":"WARN"`)
		if got := f.metricsOf(t); w.Code != http.StatusServiceUnavailable || level != (c.want != nil) ||
			!maps.Equal(got, c.want) {
			t.Errorf("%s %s: %d, counted as %v, want %v", c.method, c.path, w.Code, got, c.want)
		}
	}
}

// A read of a user that fails is counted, and its cause is logged, as for a service.
func TestFailedReadsOfUsersAreLogged(t *testing.T) {
	f := newFixture(t)
	f.fails = errors.New("the table is away")
	for _, caller := range [][]string{nil, {userHeader, "u-17"}} {
		for _, path := range []string{"/v1/accounts/jane", "/v1/groups/desk/accounts", "/v1/transactions/t-1"} {
			w := f.do(t, "GET", path, "", caller...)
			line := f.log.String()
			isLogged := strings.Contains(line, `"level":"WARN"`) && strings.Contains(line, "the table is away")
			if got := f.metricsOf(t); w.Code != http.StatusServiceUnavailable || !isLogged ||
				!maps.Equal(got, map[string]any{"Throttled": 1.0}) {
				t.Errorf("%s as %v: %d is counted as %v, and logged %s", path, caller, w.Code, got, line)
			}
		}
	}
}

// The log has the gateway's request id, which is also in the gateway's access log, even if the caller sent another id.
func TestGatewayIDIsLogged(t *testing.T) {
	f := newFixture(t)
	event := gatewayEvent(func(e *gatewayRequestV2) {
		e.RawPath, e.RawQueryString, e.Body, e.RequestContext.HTTP.Method = "/v1/accounts/jane", "", "", "GET"
		e.Headers = map[string]string{"x-request-id": "r-1"}
		e.RequestContext.RequestID = "JKJaXmPLvHcESHA="
	})
	if out, err := Gateway(f)(t.Context(), event); err != nil || out.StatusCode != 200 {
		t.Fatalf("answered %+v, %v", out, err)
	}
	if line := f.log.String(); !strings.Contains(line, `"gateway_request_id":"JKJaXmPLvHcESHA="`) ||
		!strings.Contains(line, `"request_id":"r-1"`) {
		t.Errorf("logged %s", line)
	}
	f.log.Reset()
	f.do(t, "GET", "/v1/accounts/jane", "")
	if strings.Contains(f.log.String(), "gateway_request_id") {
		t.Errorf("without a gateway %s was logged", f.log)
	}
}
