package api

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"ledger.example/ledger"
)

// Writes: status, headers and body, first and again.
func TestWrites(t *testing.T) {
	for _, c := range []struct {
		method, path, body, location string
	}{
		{"PUT", "/v1/assets/AAPL", `{"name":"Apple","scale":0}`, "/v1/assets/AAPL"},
		{"PUT", "/v1/accounts/users:a", `{}`, "/v1/accounts/users:a"},
		{"PUT", "/v1/accounts/jane/members/u-17", `{"role":"viewer"}`, ""},
		{"POST", "/v1/transfers", goodTransfer, "/v1/transactions/t-1"},
		{"POST", "/v1/trades", `{"asset":"A","buyer":"b","seller":"s","quantity":"1"}`, "/v1/transactions/t-1"},
		{"POST", "/v1/transactions", `{"postings":[{"account":"a","asset":"x","quantity":"-2"},{"account":"b","asset":"x","quantity":"2"}]}`, "/v1/transactions/t-1"},
	} {
		f := newFixture(t)
		first := f.do(t, c.method, c.path, c.body)
		f.commands.again = true
		again := f.do(t, c.method, c.path, c.body)
		if first.Code != 201 || first.Header().Get("Location") != c.location || again.Code != 200 || again.Header().Get("Location") != "" {
			t.Errorf("%s answered %d at %q, then %d", c.path, first.Code, first.Header().Get("Location"), again.Code)
		}
		if first.Body.String() != again.Body.String() {
			t.Errorf("%s answered %s, then %s", c.path, first.Body, again.Body)
		}
		want := ""
		if c.method == "POST" {
			want = "true"
		}
		if first.Header().Get("Idempotent-Replayed") != "" || again.Header().Get("Idempotent-Replayed") != want {
			t.Errorf("%s: Idempotent-Replayed is %q, then %q", c.path, first.Header().Get("Idempotent-Replayed"), again.Header().Get("Idempotent-Replayed"))
		}
		if first.Header().Get("ETag") != "" || first.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s may be cached: %v", c.path, first.Header())
		}
	}
	f := newFixture(t)
	if w := f.do(t, "PUT", "/v1/accounts/jane/members/u-17", `{"role":"viewer"}`); strings.TrimSpace(w.Body.String()) != `{"account":"jane","user":"u-17","role":"viewer"}` {
		t.Errorf("a grant answered %s", w.Body)
	}
	for _, body := range []string{"", "{}", "not looked at"} {
		w := f.do(t, "DELETE", "/v1/accounts/jane/members/u-17", body)
		if w.Code != 200 || strings.TrimSpace(w.Body.String()) != `{"account":"jane","user":"u-17","role":null}` {
			t.Errorf("a revocation answered %d %s", w.Code, w.Body)
		}
	}
	f.commands.failWith = &ledger.Error{Code: ledger.CodeAccountNotFound, Detail: "d", OfPath: true}
	refused(t, f.do(t, "DELETE", "/v1/accounts/none/members/u", ""), 404, ledger.CodeAccountNotFound)
	refused(t, f.do(t, "PUT", "/v1/accounts/none/members/u", `{"role":"viewer"}`), 404, ledger.CodeAccountNotFound)
}

func TestETags(t *testing.T) {
	f := newFixture(t)
	tags := map[string]bool{}
	for _, target := range []string{"/v1/assets/USD", "/v1/assets/AAPL", "/v1/accounts/jane", "/v1/transactions/t-1", "/openapi.json"} {
		w := f.do(t, "GET", target, "")
		tag := w.Header().Get("ETag")
		if len(tag) < 3 || tag[0] != '"' || tags[tag] || w.Header().Get("Cache-Control") != "private, no-cache" {
			t.Fatalf("%s has the ETag %q, Cache-Control %q", target, tag, w.Header().Get("Cache-Control"))
		}
		tags[tag] = true
		for given, want := range map[string]int{
			tag: 304, "W/" + tag: 304, "*": 304, `"other", ` + tag: 304, tag + `,W/"x"`: 304,
			`"other"`: 200, strings.Trim(tag, `"`): 200, `"` + tag + `"`: 200, "": 200,
		} {
			for _, method := range []string{"GET", "HEAD"} {
				w := f.do(t, method, target, "", "If-None-Match", given)
				if w.Code != want || w.Header().Get("ETag") != tag || w.Header().Get("X-Request-Id") == "" {
					t.Errorf("%s %s with %s answered %d", method, target, given, w.Code)
				}
				if want == 304 && (w.Body.Len() > 0 || w.Header().Get("Content-Type") != "") {
					t.Errorf("304 brings %s %v", w.Body, w.Header())
				}
			}
		}
		if w := f.do(t, "GET", target, "", "If-None-Match", `"a"`, "If-None-Match", tag); w.Code != 304 {
			t.Errorf("a tag in a second header answered %d", w.Code)
		}
	}
	for _, target := range []string{"/v1/accounts/jane/balances/USD", "/v1/accounts/jane/summary", "/v1/accounts", "/healthz", "/v1/accounts/none", "/v1/accounts/jane/postings"} {
		if w := f.do(t, "GET", target, "", "If-None-Match", "*"); w.Header().Get("ETag") != "" || w.Header().Get("Cache-Control") != "no-store" || w.Code == 304 {
			t.Errorf("%s answered %d %v", target, w.Code, w.Header())
		}
	}
}

// HEAD answers what GET does, without the body.
func TestHead(t *testing.T) {
	f := newFixture(t)
	for _, known := range routes() {
		if known.method != http.MethodGet {
			continue
		}
		for _, account := range []string{"jane", "none"} {
			target := strings.NewReplacer("{account}", account, "{asset}", "USD", "{user}", "u-17", "{id}", "t-1").Replace(known.pattern)
			get, head := f.do(t, "GET", target, "", "X-Request-Id", "r"), f.do(t, "HEAD", target, "", "X-Request-Id", "r")
			if head.Code != get.Code || head.Body.Len() != 0 || head.Header().Get("Content-Length") != strconv.Itoa(get.Body.Len()) {
				t.Errorf("%s: HEAD answered %d with %d bytes, GET %d", target, head.Code, head.Body.Len(), get.Code)
			}
			for name := range get.Header() {
				if head.Header().Get(name) != get.Header().Get(name) {
					t.Errorf("%s: %s is %q for HEAD, %q for GET", target, name, head.Header().Get(name), get.Header().Get(name))
				}
			}
		}
	}
}

func TestRequestIDs(t *testing.T) {
	f := newFixture(t)
	for _, given := range []string{"a", "-", "@req:1_2.3-4", strings.Repeat("x", 64)} {
		if got := f.do(t, "GET", "/healthz", "", "X-Request-Id", given).Header().Get("X-Request-Id"); got != given {
			t.Errorf("%q became %q", given, got)
		}
	}
	seen := map[string]bool{}
	for _, given := range []string{"", " ", "a b", strings.Repeat("x", 65), "é", "a\x00b", "<script>", "a#b"} {
		got := f.do(t, "GET", "/healthz", "", "X-Request-Id", given).Header().Get("X-Request-Id")
		if got == given || len(got) < 16 || len(got) > 64 || seen[got] || strings.Trim(got, idAlphabet) != "" {
			t.Errorf("%q became %q", given, got)
		}
		seen[got] = true
	}
	if got := f.do(t, "GET", "/healthz", "", "X-Request-Id", "a", "X-Request-Id", "b").Header().Values("X-Request-Id"); len(got) != 1 || got[0] == "a" {
		t.Errorf("two ids became %q", got)
	}
	// On every kind of answer.
	for _, target := range []string{"/none", "/v1/assets/USD", "/v1/assets/none", "/v1/assets?x", "/"} {
		if got := f.do(t, "GET", target, "", "X-Request-Id", "r-1").Header().Get("X-Request-Id"); got != "r-1" {
			t.Errorf("%s answered with the id %q", target, got)
		}
	}
}

func TestHomePage(t *testing.T) {
	f := newFixture(t)
	w := f.do(t, "GET", "http://ledger.test:8080/", "")
	body := w.Body.String()
	for _, known := range routes() {
		if !strings.Contains(body, "<code>"+known.pattern+"</code>") {
			t.Errorf("%s is not on the page", known.pattern)
		}
	}
	if w.Code != 200 || w.Header().Get("Content-Type") != "text/html; charset=utf-8" || strings.Count(body, "http://ledger.test:8080/v1/") != 3 ||
		!strings.Contains(body, "v1.2.3") || strings.Contains(body, "{{") {
		t.Errorf("the page is %s", body)
	}
}
