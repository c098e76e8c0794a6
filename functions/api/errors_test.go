package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/ledger/table"
)

const goodTransfer = `{"from":"jane","to":"shop","asset":"USD","quantity":"1"}`

// Row 1: the path comes before the method, and both before anything else, whichever function was asked.
func TestUnknownPathsAndMethods(t *testing.T) {
	f := newFixture(t)
	onlyWrites, onlyReads := f.config, f.config
	onlyWrites.Facts, onlyWrites.Lists, onlyWrites.Strong = nil, nil, nil
	onlyReads.Commands = nil
	handlers := map[string]http.Handler{"all": f.Handler, "command": New(onlyWrites), "query": New(onlyReads)}
	for name, h := range handlers {
		f.Handler = h
		for _, path := range []string{
			"/v2/assets", "/v1", "/v1/", "/v1/assets/", "/v1//assets", "/v1/assets/USD/", "/v1/assets/USD/holders/x", "/v1/trade", "//", "/healthz/",
			"/V1/assets", "/v1/accounts/jane/balances/", "/v1/accounts//summary", "/v1/transactions/a/b", "/v1/./assets", "/v1/x/../assets", "/v1%2Fassets",
		} {
			for _, method := range []string{"GET", "POST", "PATCH"} {
				if fields := refused(t, f.do(t, method, path, "{}"), 404, codeNotFound); fields != "" {
					t.Errorf("%s: %s names fields %s", name, path, fields)
				}
			}
		}
		for target, allow := range map[string]string{
			"PATCH /v1/assets/USD":                 "GET, HEAD, PUT",
			"POST /v1/assets":                      "GET, HEAD",
			"GET /v1/transfers":                    "POST",
			"HEAD /v1/trades":                      "POST",
			"DELETE /v1/transactions/t-1":          "GET, HEAD",
			"GET /v1/accounts/jane/members/u-17":   "DELETE, PUT",
			"PUT /healthz":                         "GET, HEAD",
			"OPTIONS /v1/accounts/jane":            "GET, HEAD, PUT",
			"BREW /":                               "GET, HEAD",
			"get /v1/assets/USD":                   "GET, HEAD, PUT",
			"PATCH /v1/assets/not*an*id?unknown=1": "GET, HEAD, PUT",
		} {
			method, path, _ := strings.Cut(target, " ")
			w := f.do(t, method, path, "not JSON", "Content-Type", "text/plain")
			if w.Code != 405 || w.Header().Get("Allow") != allow {
				t.Errorf("%s: %s answered %d, Allow %q, want %q", name, target, w.Code, w.Header().Get("Allow"), allow)
			}
			if method != "HEAD" {
				refused(t, w, 405, codeMethodNotAllowed)
			}
		}
	}
	if got := f.calls.taken(); got != "" {
		t.Errorf("called %s", got)
	}
	f.Handler = handlers["query"]
	refused(t, f.do(t, "POST", "/v1/transfers", goodTransfer), 500, ledger.CodeInternal)
	f.Handler = handlers["command"]
	refused(t, f.do(t, "GET", "/v1/assets/USD", ""), 500, ledger.CodeInternal)
}

// Row 2: the body's type and size.
func TestBodyTypeAndSize(t *testing.T) {
	f := newFixture(t)
	for _, contentType := range []string{"text/plain", "application/xml", "application/json; charset=latin1", "", "application/jsonx", "application/problem+json", "application/json; charset", "multipart/form-data"} {
		r := httptest.NewRequest("POST", "/v1/transfers", strings.NewReader("{"))
		r.Header.Set("Content-Type", contentType)
		w := httptest.NewRecorder()
		f.ServeHTTP(w, r)
		refused(t, w, 415, codeUnsupportedMedia)
	}
	refused(t, f.do(t, "POST", "/v1/transfers", goodTransfer, "Content-Encoding", "gzip"), 415, codeUnsupportedMedia)
	for _, contentType := range []string{"application/json", "Application/JSON; Charset=UTF-8", `application/json;charset="utf-8"; profile=x`} {
		r := httptest.NewRequest("POST", "/v1/transfers", strings.NewReader(goodTransfer))
		r.Header.Set("Content-Type", contentType)
		w := httptest.NewRecorder()
		if f.ServeHTTP(w, r); w.Code != 201 {
			t.Errorf("%q answered %s", contentType, w.Body)
		}
	}
	fits := goodTransfer + strings.Repeat(" ", BodyBytes-len(goodTransfer))
	if w := f.do(t, "POST", "/v1/transfers", fits); w.Code != 201 {
		t.Errorf("a body of %d bytes answered %s", len(fits), w.Body)
	}
	refused(t, f.do(t, "POST", "/v1/transfers", fits+" "), 413, codeBodyTooLarge)
	// A Content-Length that says less, or nothing, changes nothing.
	for _, length := range []int64{-1, 10} {
		r := httptest.NewRequest("POST", "/v1/transfers", strings.NewReader(fits+" "))
		r.Header.Set("Content-Type", "application/json")
		r.ContentLength = length
		w := httptest.NewRecorder()
		f.ServeHTTP(w, r)
		refused(t, w, 413, codeBodyTooLarge)
	}
	// The type is looked at first.
	refused(t, f.do(t, "POST", "/v1/transfers", fits+" ", "Content-Type", "x/y"), 413, codeBodyTooLarge) // the first value counts
}

// Rows 3 and 4: malformed goes before shape, of body, path and query together, and shape before the domain.
func TestMalformedBeforeShapeBeforeRules(t *testing.T) {
	f := newFixture(t)
	w := f.do(t, "PUT", "/v1/assets/not*an*id?x=1", `{"name":5,"scale":99,"colour":"red"}`)
	if fields := refused(t, w, 400, codeMalformedBody); fields != "colour" {
		t.Errorf("fields %s", fields)
	}
	w = f.do(t, "PUT", "/v1/assets/not*an*id?x=1&x=2", `{"name":5,"scale":99}`)
	if fields := refused(t, w, 400, ledger.CodeInvalidRequest); fields != "asset x name scale" {
		t.Errorf("fields %s", fields)
	}
	w = f.do(t, "POST", "/v1/transfers", `{"from":"jane","to":"jane","asset":"USD","quantity":"0"}`)
	if fields := refused(t, w, 400, ledger.CodeInvalidRequest); fields != "quantity" {
		t.Errorf("fields %s", fields)
	}
	if got := f.calls.taken(); got != "" {
		t.Errorf("called %s", got)
	}
	w = f.do(t, "POST", "/v1/transfers", `{"from":"jane","to":"jane","asset":"USD","quantity":"1"}`)
	if fields := refused(t, w, 422, ledger.CodeInvalidTransaction); fields != "from to" {
		t.Errorf("fields %s", fields)
	}
}

// Rows 5 to 9, and what isn't there: the domain's errors, each translated once.
func TestErrorsOfTheDomain(t *testing.T) {
	secret := errors.New("secret of the store")
	for _, c := range []struct {
		err    error
		status int
		code   ledger.Code
		more   string // what the body must hold
		after  string // Retry-After
	}{
		{&ledger.Error{Code: ledger.CodeInvalidTransaction, Detail: "d"}, 422, ledger.CodeInvalidTransaction, "", ""},
		{&ledger.Error{Code: ledger.CodeUnbalanced, Detail: "d"}, 422, ledger.CodeUnbalanced, "", ""},
		{&ledger.Error{Code: ledger.CodeAccountNotFound, Detail: "d", Fields: []ledger.FieldError{{Field: "from", Rule: "r"}}}, 422, ledger.CodeAccountNotFound, `"errors":[{"field":"from","rule":"r"}]`, ""},
		{&ledger.Error{Code: ledger.CodeAccountNotFound, Detail: "d", OfPath: true}, 404, ledger.CodeAccountNotFound, "", ""},
		{&ledger.Error{Code: ledger.CodeAssetNotFound, Detail: "d"}, 422, ledger.CodeAssetNotFound, "", ""},
		{&ledger.Error{Code: ledger.CodeTransactionNotFound, Detail: "d", OfPath: true}, 404, ledger.CodeTransactionNotFound, "", ""},
		{&ledger.Error{Code: ledger.CodeTransactionIDReused, Detail: "d"}, 409, ledger.CodeTransactionIDReused, "", ""},
		{&ledger.Error{Code: ledger.CodeAssetExists, Detail: "d"}, 409, ledger.CodeAssetExists, "", ""},
		{&ledger.Error{Code: ledger.CodeAccountExists, Detail: "d"}, 409, ledger.CodeAccountExists, "", ""},
		{&ledger.Error{Code: ledger.CodeInsufficientFunds, Detail: "d", Funds: &ledger.Funds{Account: "jane", Asset: "USD", Requested: events.NewAmount(5)}}, 422, ledger.CodeInsufficientFunds,
			`"account":"jane","asset":"USD","available":"0","requested":"5"`, ""},
		{&ledger.Error{Code: ledger.CodeThrottled, Detail: "d", Err: secret}, 503, ledger.CodeThrottled, "", "1"},
		{&ledger.Error{Code: ledger.CodeContention, Detail: "d", RetryAfter: 2500 * time.Millisecond}, 503, ledger.CodeContention, "", "3"},
		{&ledger.Error{Code: ledger.CodeUnavailable, Detail: "d", Err: secret}, 503, ledger.CodeUnavailable, "", "1"},
		{&ledger.Error{Code: ledger.CodeOutcomeUnknown, Detail: "d", Transaction: "t-9", Err: secret}, 504, ledger.CodeOutcomeUnknown, `"transaction_id":"t-9"`, ""},
		{&ledger.Error{Code: ledger.CodeInternal, Detail: "secret detail", Err: secret}, 500, ledger.CodeInternal, "", ""},
		{&ledger.Error{Code: "new_code", Detail: "secret detail"}, 500, ledger.CodeInternal, "", ""},
		{fmt.Errorf("wrapped: %w", &ledger.Error{Code: ledger.CodeUnbalanced, Detail: "d"}), 422, ledger.CodeUnbalanced, "", ""},
		// Of a write, only the ledger can say that nothing was written.
		{fmt.Errorf("%w: %w", table.ErrThrottled, secret), 500, ledger.CodeInternal, "", ""},
		{fmt.Errorf("%w: %w", table.ErrUnavailable, secret), 500, ledger.CodeInternal, "", ""},
		{context.DeadlineExceeded, 500, ledger.CodeInternal, "", ""},
		{secret, 500, ledger.CodeInternal, "", ""},
	} {
		f := newFixture(t)
		f.commands.failWith = c.err
		w := f.do(t, "POST", "/v1/transfers", goodTransfer)
		refused(t, w, c.status, c.code)
		if !strings.Contains(w.Body.String(), c.more) || w.Header().Get("Retry-After") != c.after {
			t.Errorf("%v: answered %s, Retry-After %q", c.err, w.Body, w.Header().Get("Retry-After"))
		}
		if strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%v is shown: %s", c.err, w.Body)
		}
		if n := strings.Count(f.log.String(), "secret of the store"); errors.Is(c.err, secret) && n != 1 {
			t.Errorf("%v is %d times in the log: %s", c.err, n, f.log)
		}
		if c.status >= 500 && !strings.Contains(f.log.String(), answer[problem](t, w).RequestID) {
			t.Errorf("no request id in the log: %s", f.log)
		}
	}
}

// Reads that fail say so with the same words.
func TestReadsThatFail(t *testing.T) {
	for _, known := range routes() {
		if known.part != partRead {
			continue
		}
		path := strings.NewReplacer("{account}", "jane", "{asset}", "USD", "{user}", "u-17", "{id}", "t-1").Replace(known.pattern)
		for err, want := range map[error]kind{
			table.ErrThrottled: kindOf(ledger.CodeThrottled), table.ErrUnavailable: kindOf(ledger.CodeUnavailable), context.DeadlineExceeded: kindOf(ledger.CodeUnavailable), errors.New("x"): kindOf(ledger.CodeInternal),
		} {
			f := newFixture(t)
			f.calls.err = err
			w := f.do(t, "GET", path, "")
			refused(t, w, want.status, want.code)
			if (w.Header().Get("Retry-After") != "") != (want.status == 503) {
				t.Errorf("%s: Retry-After %q", path, w.Header().Get("Retry-After"))
			}
		}
	}
}

type panicking struct{ Commands }

func (panicking) Post(context.Context, ledger.PostingRequest) (ledger.Posted, error) {
	panic("secret")
}

func TestPanicIsAnInternalError(t *testing.T) {
	f := newFixture(t)
	c := f.config
	c.Commands = panicking{}
	f.Handler = New(c)
	w := f.do(t, "POST", "/v1/transfers", goodTransfer)
	refused(t, w, 500, ledger.CodeInternal)
	if strings.Contains(w.Body.String(), "secret") || !strings.Contains(f.log.String(), "errors_test.go") {
		t.Errorf("answered %s, logged %s", w.Body, f.log)
	}
}

func TestNobodyIsServedUnknown(t *testing.T) {
	f := newFixture(t)
	c := f.config
	c.Actor = GatewayActor(false)
	f.Handler = New(c)
	for _, known := range routes() {
		w := f.do(t, known.method, known.pattern, "{}")
		if known.part == partNone {
			if w.Code != 200 {
				t.Errorf("%s answered %d", known.pattern, w.Code)
			}
			continue
		}
		refused(t, w, 401, codeUnauthenticated)
	}
	if got := f.calls.taken(); got != "" {
		t.Errorf("called %s", got)
	}
}

func TestLogLine(t *testing.T) {
	f := newFixture(t)
	f.do(t, "POST", "/v1/transfers", goodTransfer, "X-Request-Id", "my:request")
	line := f.log.String()
	for _, want := range []string{`"request_id":"my:request"`, `"route":"/v1/transfers"`, `"status":201`, `"actor":"local"`, `"transaction":"t-1"`, `"duration_ms":`, `"level":"INFO"`} {
		if !strings.Contains(line, want) {
			t.Errorf("no %s in %s", want, line)
		}
	}
	if strings.Count(line, "\n") != 1 || strings.Contains(line, "jane") {
		t.Errorf("logged %s", line)
	}
	f.log.Reset()
	f.do(t, "GET", "/v1/assets/none", "")
	if line := f.log.String(); !strings.Contains(line, `"code":"asset_not_found"`) || !strings.Contains(line, `"level":"INFO"`) {
		t.Errorf("logged %s", line)
	}
	if New(Config{}).(*api).Log.Enabled(t.Context(), slog.LevelError) {
		t.Error("an API without a log logs")
	}
}
