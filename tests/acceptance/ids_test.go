package acceptance

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ledger.example/tests/caller"
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
		"/v1/accounts/%s/postings": "account", "/v1/accounts/~jane/postings?asset=%s": "asset", "/v1/accounts/%s/members": "account",
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

// The id of a transaction may be in the header and in the body, if both are equal.
func idsInTwoPlaces(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	refuseAll(t, s, "ids.txt")
	const body = `{"id":"~i-1","from":"~bank","to":"~jane","asset":"~USD","quantity":"1"}`
	if got := s.Must(201, "POST", "/v1/transfers", body, "Idempotency-Key", "~i-1").Value("id"); got != "~i-1" {
		t.Errorf("the id in both places is %v", got)
	}
}
