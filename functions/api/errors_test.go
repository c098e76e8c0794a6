package api

import (
	"context"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/ledger"
	"ledger.example/tests/harness/openapi"
)

func TestContentTypes(t *testing.T) {
	for _, c := range []struct {
		contentType string
		codings     []string
		want        bool
	}{
		{"application/json", nil, true}, {"Application/JSON; Charset=UTF-8", nil, true},
		{`application/json;charset="utf-8"; profile=x`, nil, true}, {"application/json; charset=utf8", nil, true},
		{"application/json; charset=latin1", nil, false}, {"application/json; charset", nil, false},
		{"application/jsonx", nil, false}, {"application/problem+json", nil, false}, {"", nil, false},
		{"application/json", []string{"Identity"}, true}, {"application/json", []string{""}, true},
		{"application/json", []string{"gzip"}, false}, {"application/json", []string{"identity", "gzip"}, false},
		{"application/json", []string{"identity, gzip"}, false},
	} {
		h := http.Header{"Content-Type": {c.contentType}, "Content-Encoding": c.codings}
		if got := isJSON(h); got != c.want {
			t.Errorf("%v is taken: %t", h, got)
		}
	}
}

// Each kind of error of the ledger becomes the right problem.
func TestProblemsOfLedgerErrors(t *testing.T) {
	secret := errors.New("secret of the store")
	fields := func(name string) []ledger.FieldError {
		return []ledger.FieldError{{Field: ledger.Field{Name: name}, Rule: "r"}}
	}
	for _, c := range []struct {
		err    error
		status int
		code   ledger.Code
		more   string // a part of the expected body
		after  string // Retry-After
	}{
		{&ledger.Error{Code: ledger.CodeAccountNotFound, Fields: fields("from")}, 422, ledger.CodeAccountNotFound,
			`"errors":[{"field":"from","rule":"r"}]`, ""},
		{&ledger.Error{Code: ledger.CodeAccountNotFound}, 404, ledger.CodeAccountNotFound, "", ""},
		{&ledger.Error{Code: ledger.CodeAssetNotFound, Fields: fields("asset")}, 422, ledger.CodeAssetNotFound, "", ""},
		{&ledger.Error{Code: ledger.CodeInsufficientFunds, Account: "jane", Funds: &ledger.Funds{Asset: "USD",
			Requested: events.NewAmount(5)}}, 422, ledger.CodeInsufficientFunds,
			`"account":"jane","asset":"USD","available":"0","requested":"5"`, ""},
		{&ledger.Error{Code: ledger.CodeThrottled, Err: secret}, 503, ledger.CodeThrottled, "", "1"},
		{&ledger.Error{Code: ledger.CodeContention, RetryAfter: 2500 * time.Millisecond}, 503, ledger.CodeContention,
			"", "3"},
		{&ledger.Error{Code: ledger.CodeUnavailable, Err: secret}, 503, ledger.CodeUnavailable, "", "1"},
		{&ledger.Error{Code: ledger.CodeOutcomeUnknown, Transaction: "t-9", Err: secret}, 504,
			ledger.CodeOutcomeUnknown, `"transaction_id":"t-9"`, ""},
		{&ledger.Error{Code: ledger.CodeInternal, Detail: "secret detail", Err: secret}, 500, ledger.CodeInternal, "", ""},
		{&ledger.Error{Code: "new_code", Detail: "secret detail"}, 500, ledger.CodeInternal, "", ""},
		{fmt.Errorf("wrapped: %w", &ledger.Error{Code: ledger.CodeUnbalanced}), 422, ledger.CodeUnbalanced, "", ""},
		// After a write, only an error of the ledger proves that nothing was written.
		{fmt.Errorf("%w: %w", table.ErrThrottled, secret), 500, ledger.CodeInternal, "", ""},
		{context.DeadlineExceeded, 500, ledger.CodeInternal, "", ""},
	} {
		f := newFixture(t)
		f.commands.failWith = c.err
		w := f.do(t, "POST", "/v1/transfers", goodTransfer)
		refused(t, w, c.status, c.code)
		if !strings.Contains(w.Body.String(), c.more) || w.Header().Get("Retry-After") != c.after ||
			strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%v: answered %s, Retry-After %q", c.err, w.Body, w.Header().Get("Retry-After"))
		}
		logged := f.log.String()
		if n := strings.Count(logged, "secret of the store"); errors.Is(c.err, secret) && n != 1 ||
			!strings.Contains(logged, answer[problem](t, w).RequestID) {
			t.Errorf("%v: logged %s", c.err, logged)
		}
	}
}

// The answer to an atomic batch names the request that is refused. If it is no refusal, no request is to blame.
func TestRefusedRequestOfABatch(t *testing.T) {
	for code, want := range map[ledger.Code]string{
		ledger.CodeTransactionIDReused: "[{requests[1].trade is refused}]", ledger.CodeOutcomeUnknown: "[]",
	} {
		b := &batched{at: 1, kind: "trade", problem: problemOf(&ledger.Error{Code: code, Request: 2}, true)}
		if got := fmt.Sprint(b.asBatchProblem().Errors); got != want {
			t.Errorf("%s: %s, want %s", code, got, want)
		}
	}
}

// A failed read is answered according to the error of the store, on every route.
func TestFailedReads(t *testing.T) {
	for err, want := range map[error]ledger.Code{
		table.ErrThrottled: ledger.CodeThrottled, table.ErrUnavailable: ledger.CodeUnavailable,
		context.DeadlineExceeded: ledger.CodeUnavailable, errors.New("x"): ledger.CodeInternal,
	} {
		if got := problemOf(err, false); got.Code != want || got.cause != err {
			t.Errorf("%v is %v", err, got)
		}
	}
	d, f := openapi.Read(t, openAPI), newFixture(t)
	f.fails = errors.New("x")
	var all sync.WaitGroup // some wait before they try again
	for _, known := range routes() {
		if known.writes() || known.public() || known.Path == "/v1/me" {
			continue
		}
		all.Go(func() {
			w := f.do(t, "GET", target(known.Path, "")+"?"+d.RequiredQuery(t, d.Paths[known.Path]["get"]).Encode(), "")
			if (w.Code == 503) != (w.Header().Get("Retry-After") != "") || w.Code != 503 && w.Code != 500 {
				t.Errorf("%s answered %d %s", known.Path, w.Code, w.Body)
			}
		})
	}
	all.Wait()
}

type panicking struct{ Commands }

func (panicking) Post(context.Context, ledger.Request) (ledger.Posted, error) {
	panic("secret")
}

func TestPanicIsInternalError(t *testing.T) {
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

func TestUnauthenticatedCallersAreRefused(t *testing.T) {
	f := newFixture(t)
	c := f.config
	c.Caller = GatewayCaller(Callers{})
	f.Handler = New(c)
	for _, known := range routes() {
		w := f.do(t, known.Method, target(known.Path, ""), "{}")
		if known.public() {
			if w.Code != 200 {
				t.Errorf("%s answered %d", known.Path, w.Code)
			}
			continue
		}
		refused(t, w, 401, codeUnauthenticated)
		if got := w.Header().Get("WWW-Authenticate"); got != "AWS4-HMAC-SHA256, Bearer" {
			t.Errorf("%s asks to authenticate by %q", known.Path, got)
		}
	}
	if n := f.asked.Load(); n != 0 {
		t.Errorf("the store was asked %d times", n)
	}
}

func TestLogLine(t *testing.T) {
	f := newFixture(t)
	f.do(t, "POST", "/v1/transfers", goodTransfer, "X-Request-Id", "my:request", idempotencyKey, "l-1")
	line := f.log.String()
	for _, want := range []string{`"request_id":"my:request"`, `"route":"/v1/transfers"`, `"status":201`,
		`"actor":"local"`, `"transaction":"l-1"`, `"duration_ms":`, `"level":"INFO"`} {
		if !strings.Contains(line, want) {
			t.Errorf("no %s in %s", want, line)
		}
	}
	if strings.Count(line, "\n") != 1 || strings.Contains(line, "jane") {
		t.Errorf("logged %s", line)
	}
	f.log.Reset()
	f.do(t, "GET", "/v1/assets/none", "")
	if line := f.log.String(); !strings.Contains(line, `"code":"asset_not_found"`) || !strings.Contains(line,
		`"level":"INFO"`) {
		t.Errorf("logged %s", line)
	}
	if New(Config{}).(*api).config.Log.Enabled(t.Context(), slog.LevelError) {
		t.Error("an API without a log logs")
	}
}

// The type of every problem is the path of a page about it.
func TestEveryProblemHasAPage(t *testing.T) {
	f := newFixture(t)
	list := f.do(t, "GET", "/problems", "").Body.String()
	for _, k := range kinds() {
		w := f.do(t, "GET", newProblem(k.Code, "d").Type, "")
		body := html.UnescapeString(w.Body.String())
		if w.Code != 200 || w.Header().Get("Content-Type") != "text/html; charset=utf-8" || strings.Contains(body,
			"{{") || strings.Contains(body, "http") {
			t.Errorf("%s answered %d %s", k.Code, w.Code, body)
		}
		for _, words := range []string{string(k.Code), strconv.Itoa(k.Status), k.Title, k.Meaning, k.Advice} {
			if words == "" || !strings.Contains(body, words) {
				t.Errorf("%q is not on the page of %s", words, k.Code)
			}
		}
		for _, words := range []string{k.Meaning, k.Advice} {
			if !strings.HasSuffix(words, ".") {
				t.Errorf("%s: %q is no sentence", k.Code, words)
			}
		}
		if !strings.Contains(list, `<a href="problems/`+string(k.Code)+`">`) {
			t.Errorf("%s is not on the list", k.Code)
		}
	}
	for _, path := range []string{"/problems/none", "/problems/Internal", "/problems/internal%20",
		"/problems/internal/x", "/problems/"} {
		refused(t, f.do(t, "GET", path, ""), 404, codeNotFound)
	}
	if w := f.do(t, "GET", "/problems/<script>", ""); strings.Contains(w.Body.String(), "script") {
		t.Errorf("the page repeats %s", w.Body)
	}
}

func TestHomePage(t *testing.T) {
	body := newFixture(t).do(t, "GET", "http://ledger.test:8080/", "").Body.String()
	for _, known := range routes() {
		if !strings.Contains(body, "<code>"+known.Path+"</code>") {
			t.Errorf("%s is not on the page", known.Path)
		}
	}
	if strings.Count(body, "http://ledger.test:8080/v1/") != 3 || !strings.Contains(body, "v1.2.3") ||
		strings.Contains(body, "{{") {
		t.Errorf("the page is %s", body)
	}
}
