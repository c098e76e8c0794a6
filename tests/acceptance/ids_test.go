package acceptance

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ledger.example/tests/harness/caller"
)

// worstIDs returns invalid ids, which are tested in every place. It has none with a slash: gateways decode the path
// before the function gets it, so the slash would make it another path.
func worstIDs() []string {
	return []string{strings.Repeat("a", 65), "-a", "a b", "a\x00b", "a\u202eb"}
}

// badIDs returns more invalid ids, which are tested in fewer places.
func badIDs() []string {
	return []string{
		".a", "_a", ":a", "@a", " a", "a ", "a#b", "a+b", "a,b", "a%b", "a\\b", `a"b`, "a<b", "a=b", "a&b", "a?b", "a;b",
		"a\x00", "\x00", "a\nb", "a\tb", "a\x7fb", "a\x1bb", "é", "a\u0301", "ａ", "а", "\u202e", "a\u2066b", "a\u200db", "\ufeffa", "💰",
	}
}

// Ids with invalid characters or of invalid length are refused everywhere: in paths, bodies, headers and queries.
func badIDsAnywhere(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	var all []caller.Refusal
	add := func(r caller.Refusal) {
		r.Status, r.Code = 400, "invalid_request"
		all = append(all, r)
	}
	escaped := func(id string) (name, inPath, inJSON string) {
		quoted := strconv.QuoteToASCII(id)
		name = caller.Brief(quoted)
		return name, percentEncoded(id), strings.NewReplacer(`\x`, `\u00`, `\a`, `\u0007`, `\U0001f4b0`, `\ud83d\udcb0`).Replace(quoted)
	}
	for _, id := range slices.Concat(worstIDs(), badIDs()) {
		name, inPath, inJSON := escaped(id)
		if !strings.Contains(id, "\n") { // sam local answers 403 to a line feed in a path
			add(caller.Refusal{Name: "GET balance " + name, Method: "GET", Path: "/v1/accounts/" + inPath + "/balances/" + inPath + "?consistency=strong", Fields: []string{"account", "asset"}})
		}
		add(caller.Refusal{
			Name: "transfer " + name, Path: "/v1/transfers", Body: fmt.Sprintf(`{"id":%s,"from":%[1]s,"to":%[1]s,"asset":%[1]s,"quantity":"1"}`, inJSON),
			Fields: []string{"id", "from", "to", "asset"},
		})
	}
	for _, id := range worstIDs() {
		name, inPath, inJSON := escaped(id)
		add(caller.Refusal{Name: "PUT account " + name, Method: "PUT", Path: "/v1/accounts/" + inPath, Body: `{}`, Fields: []string{"account"}})
		add(caller.Refusal{Name: "PUT asset " + name, Method: "PUT", Path: "/v1/assets/" + inPath, Body: `{"name":"x","scale":0}`, Fields: []string{"asset"}})
		add(caller.Refusal{Name: "PUT member " + name, Method: "PUT", Path: "/v1/accounts/" + inPath + "/members/" + inPath, Body: `{"role":"viewer"}`, Fields: []string{"account", "user"}})
		add(caller.Refusal{Name: "DELETE member " + name, Method: "DELETE", Path: "/v1/accounts/~jane/members/" + inPath, Fields: []string{"user"}})
		if strings.IndexFunc(id, func(r rune) bool { return r < ' ' || r > '~' }) < 0 {
			add(caller.Refusal{Name: "header " + name, Path: "/v1/transfers", Headers: []string{"Idempotency-Key", id}, Body: `{"from":"~bank","to":"~jane","asset":"~USD","quantity":"1"}`, Fields: []string{"Idempotency-Key"}})
		}
		add(caller.Refusal{Name: "split " + name, Path: "/v1/splits", Body: fmt.Sprintf(`{"id":%s,"from":%[1]s,"asset":%[1]s,"quantity":"1","to":[{"account":%[1]s,"rest":1}]}`, inJSON), Fields: []string{"id", "from", "asset", "to[0].account"}})
		add(caller.Refusal{Name: "trade " + name, Path: "/v1/trades", Body: fmt.Sprintf(`{"buyer":%s,"seller":%[1]s,"asset":%[1]s,"quantity":"1","cost":"0"}`, inJSON), Fields: []string{"buyer", "seller", "asset"}})
		add(caller.Refusal{
			Name: "transaction " + name, Path: "/v1/transactions", Body: fmt.Sprintf(`{"postings":[{"account":%s,"asset":%[1]s,"quantity":"1"},{"account":"~jane","asset":%[1]s,"quantity":"-1"}]}`, inJSON),
			Fields: []string{"postings[0].account", "postings[0].asset", "postings[1].asset"},
		})
		add(caller.Refusal{Name: "currency " + name, Method: "PUT", Path: "/v1/assets/~EUR", Body: fmt.Sprintf(`{"name":"x","scale":0,"currency":%s}`, inJSON), Fields: []string{"currency"}})
	}
	name, inPath, _ := escaped("a\x00b")
	for path, field := range map[string]string{
		"/v1/assets/%s": "asset", "/v1/assets/%s/holders": "asset", "/v1/accounts/%s": "account", "/v1/accounts/%s/summary": "account", "/v1/accounts/%s/balances": "account",
		"/v1/accounts/%s/postings": "account", "/v1/accounts/~jane/postings?asset=%s": "asset", "/v1/accounts/%s/members": "account", "/v1/accounts/%s/rates": "account",
		"/v1/users/%s/accounts": "user", "/v1/transactions/%s": "id", "/v1/accounts?prefix=%s": "prefix", "/v1/assets?prefix=%s": "prefix",
	} {
		add(caller.Refusal{Name: "GET " + path + " " + name, Method: "GET", Path: fmt.Sprintf(path, inPath), Fields: []string{field}})
	}
	for _, body := range []string{`""`, `null`, `7`, `true`, `{}`, `[]`, `["~jane"]`} {
		add(caller.Refusal{Name: "id " + body, Path: "/v1/transfers", Body: `{"id":` + body + `,"from":"~bank","to":"~jane","asset":"~USD","quantity":"1"}`, Fields: []string{"id"}})
		add(caller.Refusal{Name: "account " + body, Path: "/v1/transfers", Body: `{"from":` + body + `,"to":` + body + `,"asset":` + body + `,"quantity":"1"}`, Fields: []string{"from", "to", "asset"}})
		add(caller.Refusal{Name: "currency " + body, Method: "PUT", Path: "/v1/assets/~EUR", Body: `{"name":"x","scale":0,"currency":` + body + `}`, Fields: []string{"currency"}})
	}
	// A path that is not UTF-8, and an overdraft key that is not an id.
	add(caller.Refusal{Name: "bytes", Method: "GET", Path: "/v1/accounts/%ff", Fields: []string{"account"}})
	add(caller.Refusal{Name: "an overdraft's key", Method: "PUT", Path: "/v1/accounts/~joe", Body: `{"overdraft":{"US D":"1","-":"1","~USD":"1"}}`, Fields: []string{"overdraft.US D", "overdraft.-"}})
	refuse(t, s, all)

	// A path with an empty id is another path.
	refuse(t, s, []caller.Refusal{
		refusal("PUT no asset", "PUT /v1/assets/", `{"name":"x","scale":0}`, 404, "not_found"),
		refusal("GET no account", "GET /v1/accounts//balances", "", 404, "not_found"),
	})
	// Ids of maximum length with all special characters are valid, percent-encoded or not.
	longest := "~aZ09._:@-" + strings.Repeat("z", 55-len(s.Prefix))
	encoded := percentEncoded(strings.ReplaceAll(longest, "~", s.Prefix))
	s.Must(201, "PUT", "/v1/accounts/"+longest, `{}`)
	s.Must(200, "PUT", "/v1/accounts/"+encoded, `{}`)
	if got := s.Must(200, "GET", "/v1/accounts/"+encoded, "").Value("id"); got != longest {
		t.Errorf("the longest id was returned as %v", got)
	}
	s.Must(201, "POST", "/v1/transfers", `{"id":"`+longest+`","from":"~bank","to":"`+longest+`","asset":"~USD","quantity":"1"}`)
}

// percentEncoded percent-encodes every byte.
func percentEncoded(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, "%%%02X", s[i])
	}
	return b.String()
}

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
		"/v1/accounts/~jane/members", "/v1/accounts/~jane/rates", "/v1/users/~u-1/accounts",
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
		"/v1/accounts/~jane/balances", "/v1/accounts/~jane/balances/~USD", "/v1/accounts/~jane/postings", "/v1/accounts/~jane/members", "/v1/accounts/~jane/rates"} {
		got := s.Must(200, "GET", path, "", "If-None-Match", "*")
		if got.Header.Get("ETag") != "" || got.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s, which changes, is cacheable: %v", path, got.Header)
		}
	}
	s.Must(404, "GET", "/v1/assets/~NOTHING", "", "If-None-Match", "*")
}
