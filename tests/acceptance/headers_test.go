package acceptance

import (
	"bytes"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"ledger.example/tests/caller"
)

// An answer repeats a valid X-Request-Id. Without one, the ledger makes a new id.
func requestIDs(t *testing.T, s *caller.Caller) {
	s.OpenRegister()
	longest := strings.Repeat("a", 64)
	seen := make(map[string]bool)
	for _, path := range []string{"/healthz", "/v1/assets/~USD", "/v1/assets/~NOTHING", "/v1/assets?limit=0"} {
		for _, given := range []string{"~r-1", "._:@-", longest} {
			got := s.Send("GET", path, "", "X-Request-Id", given)
			if id := got.Header.Get("X-Request-Id"); id != given {
				t.Errorf("%s with X-Request-Id %q is answered with %q", path, given, id)
			}
			if id := got.Value("request_id"); got.Status >= 400 && id != given {
				t.Errorf("%s with X-Request-Id %q has request_id %q", path, given, id)
			}
		}
		for _, given := range []string{"", longest + "a", "a b", "a/b", "ä", `"~r-1"`, "r-1, r-2"} {
			got := s.Send("GET", path, "", "X-Request-Id", given)
			id := got.Header.Get("X-Request-Id")
			if id == "" || id == given || seen[id] {
				t.Errorf("%s with X-Request-Id %q is answered with %q", path, given, id)
			}
			seen[id] = true
		}
	}
	created := s.Send("PUT", "/v1/assets/~EUR", `{"name":"Euro","scale":2}`, "X-Request-Id", "put-1")
	if created.Header.Get("X-Request-Id") != "put-1" {
		t.Errorf("a write with X-Request-Id put-1 is answered with %q", created.Header.Get("X-Request-Id"))
	}
}

// HEAD has the same status and headers as GET, without the body. This includes errors.
func head(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	for _, path := range []string{
		"/", "/healthz", "/openapi.json", "/problems", "/problems/insufficient_funds", "/problems/none", "/v1/assets",
		"/v1/assets/~USD", "/v1/assets/~USD/holders", "/v1/accounts", "/v1/accounts/~jane",
		"/v1/accounts/~jane/summary",
		"/v1/accounts/~jane/balances", "/v1/accounts/~jane/balances/~USD", "/v1/accounts/~jane/postings",
		"/v1/accounts/~jane/members", "/v1/users/~u-1/accounts",
		"/v1/transactions/~t-1", "/v1/transactions/~nothing", "/v1/assets?limit=0", "/v1/trades", "/v1/nothing",
	} {
		get, head := s.Send("GET", path, ""), s.Send("HEAD", path, "")
		caller.Eventually(t, time.Minute, "GETs before and after a HEAD have the same length: "+path, func() bool {
			again := s.Send("GET", path, "")
			unchanged := len(again.Body) == len(get.Body)
			if !unchanged { // changed by a projection or another test
				get, head = again, s.Send("HEAD", path, "")
			}
			return unchanged
		})
		if get.Status != head.Status || len(head.Body) > 0 {
			t.Errorf("HEAD %s: %d and %q, GET: %d", path, head.Status, head.Body, get.Status)
		}
		for _, name := range []string{"Content-Type", "ETag", "Allow"} {
			if get.Header.Get(name) != head.Header.Get(name) {
				t.Errorf("HEAD %s: %s is %q, GET: %q", path, name, head.Header.Get(name), get.Header.Get(name))
			}
		}
		// Request ids have the same length. Gateways may count the empty body of a HEAD.
		sent := strings.ReplaceAll(string(get.Body), "~", s.Prefix)
		if got := head.Header.Get("Content-Length"); got != strconv.Itoa(len(sent)) && got != "0" && got != "" {
			t.Errorf("HEAD %s: length %s, GET: %d", path, got, len(sent))
		}
	}
	if got := s.Send("HEAD", "/v1/transfers", ""); got.Status != http.StatusMethodNotAllowed ||
		got.Header.Get("Allow") != "POST" {
		t.Errorf("HEAD on a route without GET: %d, Allow %q", got.Status, got.Header.Get("Allow"))
	}
}

// Immutable answers have an ETag, and If-None-Match gets 304.
func etags(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	seen := make(map[string]string)
	for _, path := range []string{"/v1/assets/~USD", "/v1/accounts/~jane", "/v1/transactions/~t-1",
		"/v1/transactions/~d-1"} {
		first := s.Must(200, "GET", path, "")
		tag := first.Header.Get("ETag")
		if !regexp.MustCompile(`^"[!#-~]+"$`).MatchString(tag) || seen[tag] != "" {
			t.Errorf("%s has the ETag %s, as has %s", path, tag, seen[tag])
		}
		seen[tag] = path
		for _, match := range []string{tag, "W/" + tag, "*", `"x", ` + tag, `"x",W/` + tag + `,"y"`} {
			method := map[bool]string{true: "HEAD", false: "GET"}[match == "*"]
			got := s.Send(method, path, "", "If-None-Match", match)
			if got.Status != 304 || len(got.Body) > 0 || got.Header.Get("ETag") != tag {
				t.Errorf("%s %s unless %s: %d %s %q", method, path, match, got.Status, got.Header.Get("ETag"), got.Body)
			}
		}
		for _, match := range []string{`"x"`, strings.Trim(tag, `"`), `""`, tag[:len(tag)-2] + `"`} {
			if got := s.Must(200, "GET", path, "", "If-None-Match", match); !bytes.Equal(got.Body, first.Body) {
				t.Errorf("%s unless %s: %s", path, match, got.Body)
			}
		}
	}
	for _, path := range []string{"/v1/assets", "/v1/accounts", "/v1/accounts/~jane/summary",
		"/v1/accounts/~jane/balances", "/v1/accounts/~jane/balances/~USD", "/v1/accounts/~jane/postings", "/v1/accounts/~jane/members"} {
		got := s.Must(200, "GET", path, "", "If-None-Match", "*")
		if got.Header.Get("ETag") != "" || got.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s, which changes, is cacheable: %v", path, got.Header)
		}
	}
	s.Must(404, "GET", "/v1/assets/~NOTHING", "", "If-None-Match", "*")
}
