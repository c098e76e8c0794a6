package tests

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ledger.example/tests/caller"
)

// bodyMax is the most bytes of a body (API, order of checks).
const bodyMax = 256 << 10

// Bodies that are not one JSON object of known fields, once each.
func TestMalformedBodies(t *testing.T) {
	t.Parallel()
	s := newSystem(t, withoutPump)
	openBooks(s)
	const good = `{"id":"b-1","from":"bank","to":"jane","asset":"USD","quantity":"1"}`

	var all []caller.Refusal
	for name, body := range map[string]string{
		"white space":               " \r\n\t ",
		"null":                      `null`,
		"a text":                    `"id"`,
		"a number":                  `1`,
		"an array":                  `[` + good + `]`,
		"true":                      `true`,
		"no quotes":                 `{id:"b-1"}`,
		"single quotes":             `{'id':'b-1'}`,
		"a comma too many":          strings.Replace(good, "}", ",}", 1),
		"a comment":                 strings.Replace(good, "{", "{/* */", 1),
		"a form":                    "from=bank&to=jane&asset=USD&quantity=1",
		"a second object":           good + good,
		"a brace too many":          good + "}",
		"text after it":             good + " x",
		"NUL after it":              good + "\x00",
		"a byte order mark":         "\xef\xbb\xbf" + good,
		"UTF-16":                    "\xff\xfe{\x00}\x00",
		"bytes that are no UTF-8":   strings.Replace(good, "b-1", "b-\xff", 1),
		"an overlong encoding":      strings.Replace(good, "b-1", "b-\xc0\xaf", 1),
		"a surrogate in UTF-8":      strings.Replace(good, "b-1", "b-\xed\xa0\x80", 1),
		"half a surrogate pair":     strings.Replace(good, "{", `{"description":"\ud800",`, 1),
		"the other half":            strings.Replace(good, "{", `{"description":"\udc00x",`, 1),
		"a line end in a text":      strings.Replace(good, "{", "{\"description\":\"a\nb\",", 1),
		"an unknown escape":         strings.Replace(good, "{", `{"description":"\x41",`, 1),
		"a number that begins 0":    strings.Replace(good, `"1"`, `01`, 1),
		"a number that begins +":    strings.Replace(good, `"1"`, `+1`, 1),
		"a number that begins .":    strings.Replace(good, `"1"`, `.5`, 1),
		"a number that ends .":      strings.Replace(good, `"1"`, `1.`, 1),
		"not a number":              strings.Replace(good, `"1"`, `NaN`, 1),
		"infinity":                  strings.Replace(good, `"1"`, `Infinity`, 1),
		"a hexadecimal number":      strings.Replace(good, `"1"`, `0x1`, 1),
		"deep arrays":               strings.Repeat("[", 100_000),
		"deep objects":              strings.Repeat(`{"a":`, 40_000),
		"deep and whole":            `{"metadata":` + strings.Repeat("[", 50_000) + strings.Repeat("]", 50_000) + `}`,
		"a deep key that is no key": `{"metadata":{"a":{1:2}}}`,
	} {
		all = append(all, caller.Refusal{Name: name, Path: "/v1/transfers", Body: body, Status: 400, Code: "malformed_body"})
	}
	all = append(all,
		caller.Refusal{Name: "empty", Path: "/v1/transfers", Headers: []string{"Content-Type", "application/json"}, Status: 400, Code: "malformed_body"},
		caller.Refusal{Name: "empty chunks", Path: "/v1/transfers", Reader: io.MultiReader(), Status: 400, Code: "malformed_body"},
	)
	for end := 1; end < len(good); end += 7 {
		all = append(all, caller.Refusal{Name: fmt.Sprint("cut after ", end), Path: "/v1/transfers", Body: good[:end], Status: 400, Code: "malformed_body"})
	}
	s.refuses(t, all)

	s.refuses(t, []caller.Refusal{
		{Name: "unknown", Path: "/v1/transfers", Body: `{"Id":"b-1","from":"bank","to":"jane","asset":"USD","quantity":"1","cost":"1","settle":false}`, Status: 400, Code: "malformed_body", Fields: []string{"Id", "cost", "settle"}},
		{Name: "unknown in an asset", Method: "PUT", Path: "/v1/assets/EUR", Body: `{"id":"EUR","name":"Euro","scale":2,"created_at":"2026-01-01T00:00:00Z"}`, Status: 400, Code: "malformed_body", Fields: []string{"id", "created_at"}},
		{Name: "unknown in an account", Method: "PUT", Path: "/v1/accounts/joe", Body: `{"name":"Joe","overdraft":"unlimited","limit":"5","":1}`, Status: 400, Code: "malformed_body", Fields: []string{"limit", ""}},
		{Name: "unknown in a grant", Method: "PUT", Path: "/v1/accounts/jane/members/u-1", Body: `{"role":"viewer","user":"u-1"}`, Status: 400, Code: "malformed_body", Fields: []string{"user"}},
		{Name: "unknown, nested", Path: "/v1/transactions", Body: `{"postings":[{"account":"jane","asset":"USD","quantity":"1","id":"x"}]}`, Status: 400, Code: "malformed_body", Fields: []string{"postings[0].id"}},
		{Name: "twice", Path: "/v1/trades", Body: `{"settle":true,"asset":"AAPL","buyer":"jane","seller":"market","quantity":"1","settle":true}`, Status: 400, Code: "malformed_body", Fields: []string{"settle"}},
		{Name: "twice by an escape", Path: "/v1/transfers", Body: `{"from":"bank","to":"jane","asset":"USD","quantity":"1","quantit\u0079":"2"}`, Status: 400, Code: "malformed_body", Fields: []string{"quantity"}},
		{Name: "twice, nested", Path: "/v1/transactions", Body: `{"postings":[{"account":"jane","asset":"USD","quantity":"1"},{"account":"bank","asset":"USD","quantity":"-1","quantity":"-1"}]}`, Status: 400, Code: "malformed_body", Fields: []string{"postings[1].quantity"}},
		{Name: "twice in a profile", Method: "PUT", Path: "/v1/accounts/joe", Body: `{"profile":{"a":1,"addresses":[{"b":1},{"street":"x","street":"y"}],"a":2}}`, Status: 400, Code: "malformed_body", Fields: []string{"profile.addresses[1].street", "profile.a"}},
		{Name: "twice in an overdraft", Method: "PUT", Path: "/v1/accounts/joe", Body: `{"overdraft":{"USD":"1","USD":"1"}}`, Status: 400, Code: "malformed_body", Fields: []string{"overdraft.USD"}},
	})
}

// A body's size is what was sent, however it was sent; what is within it is not too large.
func TestBodySizes(t *testing.T) {
	t.Parallel()
	s := newSystem(t, withoutPump)
	openBooks(s)
	padded := func(id string, size int) string {
		body := `{"id":"` + id + `","from":"bank","to":"jane","asset":"USD","quantity":"1"}`
		return body + strings.Repeat(" ", size-len(body))
	}
	s.refuses(t, []caller.Refusal{
		{Name: "a byte too many", Path: "/v1/transfers", Body: padded("s-1", bodyMax+1), Status: 413, Code: "body_too_large"},
		{Name: "a byte too many in chunks", Path: "/v1/transfers", Reader: strings.NewReader(padded("s-1", bodyMax+1)), Status: 413, Code: "body_too_large"},
		{Name: "a megabyte", Path: "/v1/transfers", Body: padded("s-1", 1<<20), Status: 413, Code: "body_too_large"},
		{Name: "a megabyte in chunks", Path: "/v1/transfers", Reader: &chunks{left: 1 << 20}, Status: 413, Code: "body_too_large"},
	})
	s.Must(201, "POST", "/v1/transfers", padded("s-2", bodyMax))
	request, err := caller.Refusal{Path: "/v1/transfers", Reader: &chunks{Reader: strings.NewReader(padded("s-3", bodyMax)), left: bodyMax}}.Request(s.Caller)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Do(request); err != nil || got.Status != 201 {
		t.Errorf("as large as may be, in chunks: %d %s %v", got.Status, got.Body, err)
	}
}

// chunks is a body of a length that nobody knows beforehand: of what it reads from, or of spaces.
type chunks struct {
	io.Reader
	left int
}

func (c *chunks) Read(p []byte) (n int, err error) {
	if c.left == 0 {
		return 0, io.EOF
	}
	p = p[:min(len(p), c.left, 4096)]
	if c.Reader != nil {
		n, err = c.Reader.Read(p)
	} else {
		n = copy(p, bytes.Repeat([]byte{' '}, len(p)))
	}
	c.left -= n
	return n, err
}

// Every spelling of an amount but one is refused, wherever an amount stands.
func TestBadAmounts(t *testing.T) {
	t.Parallel()
	s := newSystem(t, withoutPump)
	openBooks(s)
	nines := strings.Repeat("9", 28)
	var all []caller.Refusal
	for _, amount := range []string{
		`"` + nines + `9"`, `"-` + nines + `9"`, `"` + strings.Repeat("1", 38) + `"`, `"` + strings.Repeat("1", 39) + `"`, `"` + strings.Repeat("1", 4000) + `"`,
		`"1e3"`, `"1E3"`, `"-0"`, `"+1"`, `"01"`, `"00"`, `"-01"`, `"1.0"`, `"1."`, `".1"`, `"0x10"`, `"1,000"`, `"1_000"`, `"1 000"`, `" 1"`, `"1 "`, `"1\n"`, `""`, `"-"`, `"--1"`,
		`"−1"`, `"１"`, `"١"`, `"1\u0000"`, `"\u202e1"`, `"\u200b1"`, `"NaN"`, `"Infinity"`, `"USD 1"`, `"null"`,
		`1`, `0`, `-1`, `1.5`, `1e3`, `-0`, `10000000000000000000000000000000000000000`, `1e400`, `true`, `null`, `{}`, `[]`, `["1"]`,
	} {
		all = append(all,
			caller.Refusal{
				Name: "quantity " + caller.Brief(amount), Path: "/v1/transfers", Body: `{"from":"bank","to":"jane","asset":"USD","quantity":` + amount + `}`,
				Status: 400, Code: "invalid_request", Fields: []string{"quantity"},
			},
			caller.Refusal{
				Name: "cost " + caller.Brief(amount), Path: "/v1/trades", Body: `{"asset":"AAPL","buyer":"jane","seller":"market","quantity":"1","cost":` + amount + `}`,
				Status: 400, Code: "invalid_request", Fields: []string{"cost"},
			},
			caller.Refusal{
				Name: "posting " + caller.Brief(amount), Path: "/v1/transactions",
				Body:   `{"postings":[{"account":"jane","asset":"AAPL","quantity":` + amount + `,"cost":` + amount + `},{"account":"market","asset":"AAPL","quantity":"-1","cost":` + amount + `}]}`,
				Status: 400, Code: "invalid_request", Fields: []string{"postings[0].quantity", "postings[0].cost", "postings[1].cost"},
			},
			caller.Refusal{
				Name: "overdraft " + caller.Brief(amount), Method: "PUT", Path: "/v1/accounts/joe", Body: `{"overdraft":{"AAPL":"0","USD":` + amount + `}}`,
				Status: 400, Code: "invalid_request", Fields: []string{"overdraft.USD"},
			},
		)
	}
	for _, c := range []struct{ path, body, field string }{
		{"/v1/transfers", `{"from":"bank","to":"jane","asset":"USD","quantity":"-1"}`, "quantity"},
		{"/v1/transfers", `{"from":"bank","to":"jane","asset":"USD","quantity":"0"}`, "quantity"},
		{"/v1/trades", `{"asset":"AAPL","buyer":"jane","seller":"market","quantity":"-1"}`, "quantity"},
		{"/v1/trades", `{"asset":"AAPL","buyer":"jane","seller":"market","quantity":"0","cost":"5"}`, "quantity"},
		{"/v1/trades", `{"asset":"AAPL","buyer":"jane","seller":"market","quantity":"1","cost":"-1"}`, "cost"},
		{"/v1/trades", `{"asset":"AAPL","buyer":"jane","seller":"market","quantity":"1","cost":"-1","settle":true}`, "cost"},
	} {
		all = append(all, caller.Refusal{Path: c.path, Body: c.body, Status: 400, Code: "invalid_request", Fields: []string{c.field}})
	}
	all = append(all, caller.Refusal{Method: "PUT", Path: "/v1/accounts/joe", Body: `{"overdraft":{"USD":"-1"}}`, Status: 400, Code: "invalid_request", Fields: []string{"overdraft.USD"}})
	s.refuses(t, all)

	s.Must(201, "POST", "/v1/transfers", `{"id":"a-1","from":"bank","to":"shop","asset":"USD","quantity":"`+nines+`"}`)
	if got := s.Must(200, "GET", "/v1/accounts/shop/balances/USD?consistency=strong", "").Value("quantity"); got != nines {
		t.Errorf("28 nines came back as %v", got)
	}
}

// worstIDs are no ids: of an asset, an account, a transaction or a user. They are tried wherever one can stand.
func worstIDs() []string {
	return []string{strings.Repeat("a", 65), "-a", "a b", "a/b", "a\x00b", "a\u202eb"}
}

// badIDs are more that are none.
func badIDs() []string {
	return []string{
		".a", "_a", ":a", "@a", " a", "a ", "a#b", "a~b", "a+b", "a,b", "a%b", "a\\b", `a"b`, "a<b", "a=b", "a&b", "a?b", "a;b",
		"a\x00", "\x00", "a\nb", "a\tb", "a\x7fb", "a\x1bb", "é", "a\u0301", "ａ", "а", "\u202e", "a\u2066b", "a\u200db", "\ufeffa", "💰",
	}
}

// Ids of wrong characters or length are refused wherever they stand: in a path however encoded, a body, a header, a query.
func TestBadIDs(t *testing.T) {
	t.Parallel()
	s := newSystem(t, withoutPump)
	openBooks(s)
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
		add(caller.Refusal{Name: "PUT account " + name, Method: "PUT", Path: "/v1/accounts/" + inPath, Body: `{}`, Fields: []string{"account"}})
		add(caller.Refusal{Name: "GET balance " + name, Method: "GET", Path: "/v1/accounts/" + inPath + "/balances/" + inPath + "?consistency=strong", Fields: []string{"account", "asset"}})
		add(caller.Refusal{
			Name: "transfer " + name, Path: "/v1/transfers", Body: fmt.Sprintf(`{"id":%s,"from":%[1]s,"to":%[1]s,"asset":%[1]s,"quantity":"1"}`, inJSON),
			Fields: []string{"id", "from", "to", "asset"},
		})
		if strings.IndexFunc(id, func(r rune) bool { return r < ' ' || r == 0x7f }) < 0 && strings.TrimSpace(id) == id {
			add(caller.Refusal{Name: "header " + name, Path: "/v1/transfers", Headers: []string{"Idempotency-Key", id}, Body: `{"from":"bank","to":"jane","asset":"USD","quantity":"1"}`, Fields: []string{"Idempotency-Key"}})
		}
	}
	for _, id := range worstIDs() {
		name, inPath, inJSON := escaped(id)
		add(caller.Refusal{Name: "PUT asset " + name, Method: "PUT", Path: "/v1/assets/" + inPath, Body: `{"name":"x","scale":0}`, Fields: []string{"asset"}})
		add(caller.Refusal{Name: "PUT member " + name, Method: "PUT", Path: "/v1/accounts/" + inPath + "/members/" + inPath, Body: `{"role":"viewer"}`, Fields: []string{"account", "user"}})
		add(caller.Refusal{Name: "DELETE member " + name, Method: "DELETE", Path: "/v1/accounts/jane/members/" + inPath, Fields: []string{"user"}})
		for path, field := range map[string]string{
			"/v1/assets/%s": "asset", "/v1/assets/%s/holders": "asset", "/v1/accounts/%s": "account", "/v1/accounts/%s/summary": "account", "/v1/accounts/%s/balances": "account",
			"/v1/accounts/%s/postings": "account", "/v1/accounts/jane/postings?asset=%s": "asset", "/v1/accounts/%s/members": "account",
			"/v1/users/%s/accounts": "user", "/v1/transactions/%s": "id", "/v1/accounts?prefix=%s": "prefix", "/v1/assets?prefix=%s": "prefix",
		} {
			add(caller.Refusal{Name: "GET " + path + " " + name, Method: "GET", Path: fmt.Sprintf(path, inPath), Fields: []string{field}})
		}
		add(caller.Refusal{Name: "trade " + name, Path: "/v1/trades", Body: fmt.Sprintf(`{"buyer":%s,"seller":%[1]s,"asset":%[1]s,"quantity":"1"}`, inJSON), Fields: []string{"buyer", "seller", "asset"}})
		add(caller.Refusal{
			Name: "transaction " + name, Path: "/v1/transactions", Body: fmt.Sprintf(`{"postings":[{"account":%s,"asset":%[1]s,"quantity":"1"},{"account":"jane","asset":%[1]s,"quantity":"-1"}]}`, inJSON),
			Fields: []string{"postings[0].account", "postings[0].asset", "postings[1].asset"},
		})
		add(caller.Refusal{Name: "currency " + name, Method: "PUT", Path: "/v1/assets/EUR", Body: fmt.Sprintf(`{"name":"x","scale":0,"currency":%s}`, inJSON), Fields: []string{"currency"}})
	}
	for _, body := range []string{`""`, `null`, `7`, `true`, `{}`, `[]`, `["jane"]`} {
		add(caller.Refusal{Name: "id " + body, Path: "/v1/transfers", Body: `{"id":` + body + `,"from":"bank","to":"jane","asset":"USD","quantity":"1"}`, Fields: []string{"id"}})
		add(caller.Refusal{Name: "account " + body, Path: "/v1/transfers", Body: `{"from":` + body + `,"to":` + body + `,"asset":` + body + `,"quantity":"1"}`, Fields: []string{"from", "to", "asset"}})
		add(caller.Refusal{Name: "currency " + body, Method: "PUT", Path: "/v1/assets/EUR", Body: `{"name":"x","scale":0,"currency":` + body + `}`, Fields: []string{"currency"}})
	}
	// Bytes of a path that are no UTF-8, and a key of an overdraft that is no id.
	add(caller.Refusal{Name: "bytes", Method: "GET", Path: "/v1/accounts/%ff", Fields: []string{"account"}})
	add(caller.Refusal{Name: "an overdraft's key", Method: "PUT", Path: "/v1/accounts/joe", Body: `{"overdraft":{"US D":"1","-":"1","USD":"1"}}`, Fields: []string{"overdraft.US D", "overdraft.-"}})
	s.refuses(t, all)

	// An id of no characters in a path makes it another path.
	s.refuses(t, []caller.Refusal{
		{Name: "PUT no asset", Method: "PUT", Path: "/v1/assets/", Body: `{"name":"x","scale":0}`, Status: 404, Code: "not_found"},
		{Name: "GET no account", Method: "GET", Path: "/v1/accounts//balances", Status: 404, Code: "not_found"},
	})
	// Ids as long as may be, of every character, are fine, encoded or not.
	longest := "aZ09._:@-" + strings.Repeat("z", 55)
	s.Must(201, "PUT", "/v1/accounts/"+longest, `{}`)
	s.Must(200, "PUT", "/v1/accounts/"+percentEncoded(longest), `{}`)
	if got := s.Must(200, "GET", "/v1/accounts/"+percentEncoded(longest), "").Value("id"); got != longest {
		t.Errorf("the longest id came back as %v", got)
	}
	s.Must(201, "POST", "/v1/transfers", `{"id":"`+longest+`","from":"bank","to":"`+longest+`","asset":"USD","quantity":"1"}`)
}

// percentEncoded encodes every byte.
func percentEncoded(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, "%%%02X", s[i])
	}
	return b.String()
}

// Both places of a transaction's id.
func TestTwoIDs(t *testing.T) {
	t.Parallel()
	s := newSystem(t, withoutPump)
	openBooks(s)
	with := func(id string) string {
		if id != "" {
			id = `"id":` + id + `,`
		}
		return `{` + id + `"from":"bank","to":"jane","asset":"USD","quantity":"1"}`
	}
	var all []caller.Refusal
	for _, c := range []struct {
		id     string
		keys   []string
		fields []string
	}{
		{`"i-1"`, []string{"i-2"}, []string{"id", "Idempotency-Key"}},
		{`"i-1"`, []string{"I-1"}, []string{"id", "Idempotency-Key"}},
		{`"i-1"`, []string{""}, []string{"Idempotency-Key"}},
		{``, []string{""}, []string{"Idempotency-Key"}},
		{`""`, []string{"i-1"}, []string{"id", "Idempotency-Key"}},
		{`""`, nil, []string{"id"}},
		{`null`, []string{"i-1"}, []string{"id", "Idempotency-Key"}},
		{``, []string{"i-1", "i-1"}, []string{"Idempotency-Key"}},
		{``, []string{"i-1", "i-2"}, []string{"Idempotency-Key"}},
		{``, []string{"i-1, i-2"}, []string{"Idempotency-Key"}},
		{`"i 1"`, []string{"i 1"}, []string{"id", "Idempotency-Key"}},
	} {
		r := caller.Refusal{Name: c.id + " and " + strings.Join(c.keys, " and "), Path: "/v1/transfers", Body: with(c.id), Status: 400, Code: "invalid_request", Fields: c.fields}
		for _, key := range c.keys {
			r.Headers = append(r.Headers, "Idempotency-Key", key)
		}
		all = append(all, r)
	}
	s.refuses(t, all)
	if got := s.Must(201, "POST", "/v1/transfers", with(`"i-1"`), "Idempotency-Key", "i-1").Value("id"); got != "i-1" {
		t.Errorf("the same id in both places became %v", got)
	}
}

// Fields of the wrong type, missing, null, too long, or out of range: all of them are named.
func TestBadFields(t *testing.T) {
	t.Parallel()
	s := newSystem(t, withoutPump)
	openBooks(s)
	var all []caller.Refusal
	add := func(method, path, body string, fields ...string) {
		all = append(all, caller.Refusal{Method: method, Path: path, Body: body, Status: 400, Code: "invalid_request", Fields: fields})
	}
	// Missing.
	add("PUT", "/v1/assets/EUR", `{}`, "name", "scale")
	add("PUT", "/v1/accounts/jane/members/u-1", `{}`, "role")
	add("POST", "/v1/transactions", `{}`, "postings")
	add("POST", "/v1/transactions", `{"postings":[{},{}]}`, "postings[0].account", "postings[0].asset", "postings[0].quantity", "postings[1].account", "postings[1].asset", "postings[1].quantity")
	add("POST", "/v1/transfers", `{}`, "from", "to", "asset", "quantity")
	add("POST", "/v1/trades", `{}`, "asset", "buyer", "seller", "quantity")
	// null is no value, not even where nothing would do.
	add("PUT", "/v1/assets/EUR", `{"name":null,"scale":null,"description":null,"currency":null}`, "name", "scale", "description", "currency")
	add("PUT", "/v1/accounts/joe", `{"name":null,"profile":null,"overdraft":null}`, "name", "profile", "overdraft")
	add("PUT", "/v1/accounts/jane/members/u-1", `{"role":null}`, "role")
	add("POST", "/v1/transactions", `{"id":null,"description":null,"metadata":null,"postings":null}`, "id", "description", "metadata", "postings")
	add("POST", "/v1/transactions", `{"postings":[null,{"account":null,"asset":null,"quantity":null,"cost":null}]}`, "postings[0]", "postings[1].account", "postings[1].asset", "postings[1].quantity", "postings[1].cost")
	add("POST", "/v1/transfers", `{"from":null,"to":null,"asset":null,"quantity":null}`, "from", "to", "asset", "quantity")
	add("POST", "/v1/trades", `{"asset":null,"buyer":null,"seller":null,"quantity":null,"cost":null,"settle":null}`, "asset", "buyer", "seller", "quantity", "cost", "settle")
	// Other types.
	add("PUT", "/v1/assets/EUR", `{"name":1,"scale":"2","description":[],"currency":{}}`, "name", "scale", "description", "currency")
	add("PUT", "/v1/accounts/joe", `{"name":{},"profile":"{}","overdraft":5}`, "name", "profile", "overdraft")
	add("PUT", "/v1/accounts/joe", `{"profile":[],"overdraft":["USD"]}`, "profile", "overdraft")
	add("PUT", "/v1/accounts/joe", `{"overdraft":true}`, "overdraft")
	add("PUT", "/v1/accounts/jane/members/u-1", `{"role":1}`, "role")
	add("PUT", "/v1/accounts/jane/members/u-1", `{"role":["viewer"]}`, "role")
	add("POST", "/v1/transactions", `{"id":1,"description":false,"metadata":[],"postings":{}}`, "id", "description", "metadata", "postings")
	add("POST", "/v1/transactions", `{"metadata":"k","postings":"p"}`, "metadata", "postings")
	add("POST", "/v1/transactions", `{"postings":["jane",1,[],true]}`, "postings[0]", "postings[1]", "postings[2]", "postings[3]")
	add("POST", "/v1/trades", `{"asset":"AAPL","buyer":"jane","seller":"market","quantity":"1","settle":"true"}`, "settle")
	add("POST", "/v1/trades", `{"asset":"AAPL","buyer":"jane","seller":"market","quantity":"1","settle":1}`, "settle")
	// Assets.
	for _, scale := range []string{"-1", "19", "2.5", "2.0", "1e1", "-0", "99999999999999999999", "4294967298", "true"} {
		add("PUT", "/v1/assets/EUR", `{"name":"Euro","scale":`+scale+`}`, "scale")
	}
	add("PUT", "/v1/assets/EUR", `{"name":"","scale":2}`, "name")
	add("PUT", "/v1/assets/EUR", fmt.Sprintf(`{"name":%q,"scale":2,"description":%q}`, strings.Repeat("é", 257), strings.Repeat("é", 257)), "name", "description")
	add("PUT", "/v1/assets/EUR", `{"name":"Euro","scale":2,"currency":""}`, "currency")
	add("PUT", "/v1/assets/EUR", `{"name":"Euro","scale":2,"currency":"EUR"}`, "currency") // another asset
	// Accounts.
	for _, overdraft := range []string{`"none"`, `"Unlimited"`, `""`, `"0"`, `"500"`, `0`} {
		add("PUT", "/v1/accounts/joe", `{"overdraft":`+overdraft+`}`, "overdraft")
	}
	add("PUT", "/v1/accounts/joe", `{"overdraft":{"USD":"unlimited","AAPL":5,"EUR":null,"GOLD":"-5"}}`, "overdraft.USD", "overdraft.AAPL", "overdraft.EUR", "overdraft.GOLD")
	add("PUT", "/v1/accounts/joe", `{"overdraft":`+pairs(101, func(i int) (string, string) { return fmt.Sprint("A", i), "1" })+`}`, "overdraft")
	add("PUT", "/v1/accounts/joe", fmt.Sprintf(`{"profile":{"a":%q}}`, strings.Repeat("x", 4096-8+1)), "profile")
	add("PUT", "/v1/accounts/joe", fmt.Sprintf(`{"profile":{"a":%q}}`, strings.Repeat("é", (4096-8)/2+1)), "profile")
	add("PUT", "/v1/accounts/joe", `{"profile":{"addresses":[`+strings.Repeat(`{},`, 10)+`{}]}}`, "profile.addresses")
	for _, addresses := range []string{`{}`, `"x"`, `null`, `["x"]`, `[{},null]`, `[[]]`} {
		add("PUT", "/v1/accounts/joe", `{"profile":{"addresses":`+addresses+`}}`, "profile.addresses")
	}
	for _, role := range []string{"", "Viewer", "admin", "viewer ", "viewer\\u0000"} {
		add("PUT", "/v1/accounts/jane/members/u-1", `{"role":"`+role+`"}`, "role")
	}
	// Annotations.
	const rest = `,"from":"bank","to":"jane","asset":"USD","quantity":"1"}`
	add("POST", "/v1/transfers", `{"description":"`+strings.Repeat("é", 257)+`"`+rest, "description")
	add("POST", "/v1/transfers", `{"description":"a\u0000b"`+rest, "description")
	add("POST", "/v1/transfers", `{"metadata":{"":"x"}`+rest, "metadata.")
	add("POST", "/v1/transfers", `{"metadata":{"`+strings.Repeat("k", 41)+`":"x"}`+rest, "metadata."+strings.Repeat("k", 41))
	add("POST", "/v1/transfers", `{"metadata":{"k":"`+strings.Repeat("v", 257)+`","l":"ok"}`+rest, "metadata.k")
	add("POST", "/v1/transfers", `{"metadata":{"k":1,"l":true,"m":{},"n":[]}`+rest, "metadata.k", "metadata.l", "metadata.m", "metadata.n")
	add("POST", "/v1/transfers", `{"metadata":`+pairs(21, func(i int) (string, string) { return fmt.Sprint("k", i), "v" })+rest, "metadata")
	add("POST", "/v1/transfers", `{"metadata":`+pairs(16, func(i int) (string, string) { return fmt.Sprintf("k%02d", i), strings.Repeat("v", 254) })+rest, "metadata")
	add("POST", "/v1/transfers", `{"metadata":`+pairs(8, func(i int) (string, string) { return fmt.Sprintf("k%02d", i), strings.Repeat("é", 255) })+rest, "metadata")
	s.refuses(t, all)

	// As long, as many and as much as may be.
	s.Must(201, "PUT", "/v1/assets/EUR", fmt.Sprintf(`{"name":%q,"scale":18,"description":%q}`, strings.Repeat("é", 256), strings.Repeat("💰", 256)))
	s.Must(201, "PUT", "/v1/accounts/joe", fmt.Sprintf(`{"name":%q, "profile" : { "a" : %q } }`, strings.Repeat("é", 256), strings.Repeat("x", 4096-8)))
	s.Must(201, "PUT", "/v1/accounts/jim", `{"profile":{"addresses":[`+strings.Repeat(`{},`, 9)+`{}]},"overdraft":{}}`)
	s.Must(201, "POST", "/v1/transfers", `{"description":"`+strings.Repeat("é", 256)+`","metadata":`+
		pairs(16, func(i int) (string, string) { return fmt.Sprintf("k%02d", i), strings.Repeat("v", 253) })+rest)
	s.Must(201, "POST", "/v1/transfers", `{"metadata":`+pairs(20, func(i int) (string, string) { return fmt.Sprintf("%02d%s", i, strings.Repeat("é", 38)), "v" })+rest)
}

// pairs is a JSON object of n texts.
func pairs(n int, pair func(i int) (key, value string)) string {
	all := make([]string, n)
	for i := range all {
		key, value := pair(i)
		all[i] = strconv.Quote(key) + ":" + strconv.Quote(value)
	}
	return "{" + strings.Join(all, ",") + "}"
}

// Transactions that break a rule over several fields.
func TestBadTransactions(t *testing.T) {
	t.Parallel()
	s := newSystem(t, withoutPump)
	openBooks(s)
	leg := func(account, asset, quantity, cost string) string {
		return fmt.Sprintf(`{"account":%q,"asset":%q,"quantity":%q,"cost":%q}`, account, asset, quantity, cost)
	}
	of := func(legs ...string) string { return `{"postings":[` + strings.Join(legs, ",") + `]}` }
	many := func(n int) string {
		legs := make([]string, n)
		for i := range legs {
			legs[i] = leg("bank", "USD", strconv.Itoa(1-i%2*2), "0")
		}
		return of(legs...)
	}
	s.refuses(t, []caller.Refusal{
		{Name: "no posting", Path: "/v1/transactions", Body: of(), Status: 422, Code: "invalid_transaction", Fields: []string{"postings"}},
		{Name: "1 posting", Path: "/v1/transactions", Body: of(leg("bank", "USD", "-1", "0")), Status: 422, Code: "invalid_transaction", Fields: []string{"postings"}},
		{Name: "1 posting of nothing", Path: "/v1/transactions", Body: of(leg("bank", "USD", "0", "0")), Status: 422, Code: "invalid_transaction", Fields: []string{"postings", "postings[0]"}},
		{Name: "49 postings", Path: "/v1/transactions", Body: many(49), Status: 422, Code: "invalid_transaction", Fields: []string{"postings"}},
		{Name: "50 postings", Path: "/v1/transactions", Body: many(50), Status: 422, Code: "invalid_transaction", Fields: []string{"postings"}},
		{Name: "3,000 postings", Path: "/v1/transactions", Body: many(3000), Status: 422, Code: "invalid_transaction", Fields: []string{"postings"}},
		{Name: "all zero", Path: "/v1/transactions", Body: of(leg("bank", "USD", "0", "0"), leg("jane", "USD", "0", "0")), Status: 422, Code: "invalid_transaction", Fields: []string{"postings[0]", "postings[1]"}},
		{Name: "quantity", Path: "/v1/transactions", Body: of(leg("bank", "USD", "-1", "0"), leg("jane", "USD", "2", "0")), Status: 422, Code: "unbalanced", Fields: []string{"postings"}},
		{Name: "quantity across assets", Path: "/v1/transactions", Body: of(leg("bank", "USD", "-1", "0"), leg("jane", "AAPL", "1", "0")), Status: 422, Code: "unbalanced", Fields: []string{"postings", "postings"}},
		{Name: "cost", Path: "/v1/transactions", Body: of(leg("market", "AAPL", "-1", "-5"), leg("jane", "AAPL", "1", "6")), Status: 422, Code: "unbalanced", Fields: []string{"postings"}},
		{Name: "cost across assets", Path: "/v1/transactions", Body: of(leg("market", "AAPL", "-1", "-5"), leg("jane", "AAPL", "1", "0"), leg("bank", "USD", "-1", "5"), leg("jane", "USD", "1", "0")), Status: 422, Code: "unbalanced", Fields: []string{"postings", "postings"}},
		{
			Name: "by one in 28 digits", Path: "/v1/transactions",
			Body:   of(leg("bank", "USD", "-"+strings.Repeat("9", 28), "0"), leg("jane", "USD", strings.Repeat("9", 27)+"8", "0")),
			Status: 422, Code: "unbalanced", Fields: []string{"postings"},
		},
		{
			Name: "by a wrap around 64 bits", Path: "/v1/transactions",
			Body:   of(leg("bank", "USD", "-1", "0"), leg("jane", "USD", "18446744073709551617", "0")),
			Status: 422, Code: "unbalanced", Fields: []string{"postings"},
		},
		{Name: "transfer to oneself", Path: "/v1/transfers", Body: `{"from":"jane","to":"jane","asset":"USD","quantity":"1"}`, Status: 422, Code: "invalid_transaction", Fields: []string{"from", "to"}},
		{Name: "trade with oneself", Path: "/v1/trades", Body: `{"asset":"AAPL","buyer":"jane","seller":"jane","quantity":"1","cost":"1","settle":true}`, Status: 422, Code: "invalid_transaction", Fields: []string{"buyer", "seller"}},
	})
	s.Must(201, "POST", "/v1/transactions", many(48))
	// A posting may be of costs alone, and an account and asset may come more than once.
	s.Must(201, "POST", "/v1/transactions", of(leg("market", "AAPL", "0", "-5"), leg("jane", "AAPL", "0", "2"), leg("jane", "AAPL", "0", "3")))
}

// Parameters that are wrong, unknown, repeated, or not offered.
func TestBadQueries(t *testing.T) {
	t.Parallel()
	s := newSystem(t, withoutPump)
	openBooks(s)
	lists := []string{
		"/v1/assets", "/v1/assets/USD/holders", "/v1/accounts", "/v1/accounts/jane/balances", "/v1/accounts/jane/postings", "/v1/accounts/jane/members", "/v1/users/u-1/accounts",
	}
	things := []string{"/v1/assets/USD", "/v1/accounts/jane", "/v1/transactions/t-1"}
	var all []caller.Refusal
	add := func(path string, fields ...string) {
		all = append(all, caller.Refusal{Method: "GET", Path: path, Status: 400, Code: "invalid_request", Fields: fields})
	}
	for _, limit := range []string{"1000", "", "x", "1.5", "1e1", "01", "%2B1", "+1", "0x1", "99999999999999999999", "%00", "١"} {
		add("/v1/assets?limit="+limit, "limit")
	}
	for _, list := range lists {
		for _, limit := range []string{"0", "-1", "101"} {
			add(list+"?limit="+limit, "limit")
		}
		add(list+"?limit", "limit")
		add(list+"?limit=1&limit=1", "limit")
		add(list+"?limit=1&limit=0", "limit")
		add(list+"?limit=1&x=1&y=2&limit=2", "x", "y", "limit")
		add(list+"?Limit=1", "Limit")
		add(list+"?limit=1;cursor=x", "limit")
		add(list+"?limit=%zz", "limit")
		add(list+"?%zz=1", "%zz")
		add(list+"?cursor=x&cursor=x", "cursor")
		add(list+"?newest=1", "newest")
	}
	for _, path := range append(things, "/v1/accounts/jane/summary", "/v1/assets", "/v1/assets/USD/holders", "/v1/accounts", "/v1/accounts/jane/members", "/v1/users/u-1/accounts") {
		for _, value := range []string{"strong", "eventual", "", "x"} {
			add(path+"?consistency="+value, "consistency")
		}
	}
	for _, value := range []string{"strong", "eventual", "x"} {
		add("/v1/accounts/jane/postings?consistency="+value, "consistency")
		add("/v1/accounts/jane/postings?limit=5&consistency="+value, "consistency")
	}
	for _, path := range []string{"/v1/accounts/jane/balances/USD", "/v1/accounts/jane/balances", "/v1/accounts/jane/postings?asset=USD"} {
		for _, value := range []string{"", "Strong", "STRONG", "x", "strong,eventual", "strong%00"} {
			add(path+caller.Separator(path)+"consistency="+value, "consistency")
		}
		add(path+caller.Separator(path)+"consistency=strong&consistency=strong", "consistency")
		add(path+caller.Separator(path)+"consistency=strong&consistency=eventual", "consistency")
	}
	for _, thing := range things {
		for _, name := range []string{"limit", "cursor", "prefix", "asset", "from", "to", "newest", "pretty"} {
			add(thing+"?"+name+"=1", name)
		}
	}
	for _, newest := range []string{"-1", "101", "", "x", "1.0"} {
		add("/v1/accounts/jane/summary?newest="+newest, "newest")
	}
	add("/v1/accounts/jane/summary?newest=1&newest=1", "newest")
	add("/v1/accounts/jane/summary?limit=1&cursor=x", "limit", "cursor")
	for _, time := range []string{
		"", "now", "2026-11-21", "2026-11-21T09:00:00", "2026-11-21 09:00:00Z", "2026-11-21T09:00Z", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-11-21T24:00:01Z",
		"2026-11-21T09:00:00+01:00", "2026-11-21T09:00:00%2B1:00", "2026-11-21T9:00:00Z", "1763716000", "2026-11-21T09:00:00Z%00",
	} {
		add("/v1/accounts/jane/postings?from="+url.PathEscape(time), "from")
		add("/v1/accounts/jane/postings?asset=USD&to="+url.PathEscape(time)+"&from=2026-11-21T09:00:00Z", "to")
	}
	add("/v1/accounts/jane/postings?asset=", "asset")
	add("/v1/accounts/jane/postings?asset=&consistency=strong", "asset")
	add("/v1/accounts/jane/postings?asset=USD&asset=AAPL", "asset")
	add("/v1/accounts/jane/postings?prefix=a", "prefix")
	add("/v1/assets?asset=USD", "asset")
	for _, write := range []caller.Refusal{
		{Method: "PUT", Path: "/v1/assets/EUR?dry_run=true", Body: `{"name":"Euro","scale":2}`, Fields: []string{"dry_run"}},
		{Method: "PUT", Path: "/v1/accounts/joe?limit=1", Body: `{}`, Fields: []string{"limit"}},
		{Method: "PUT", Path: "/v1/accounts/jane/members/u-1?role=owner", Body: `{"role":"viewer"}`, Fields: []string{"role"}},
		{Method: "DELETE", Path: "/v1/accounts/jane/members/u-1?role=owner", Fields: []string{"role"}},
		{Path: "/v1/transfers?id=q-1&consistency=strong", Body: `{"from":"bank","to":"jane","asset":"USD","quantity":"1"}`, Fields: []string{"id", "consistency"}},
	} {
		write.Status, write.Code = 400, "invalid_request"
		all = append(all, write)
	}
	s.refuses(t, all)
	s.Must(200, "GET", "/healthz?probe=1&probe=2", "") // not under /v1
	s.Must(200, "GET", "/v1/assets?", "")
}

// Cursors that were altered, or that belong to another list.
func TestBadCursors(t *testing.T) {
	t.Parallel()
	s := newSystem(t, withoutPump)
	openBooks(s)
	for i := range 4 {
		s.Must(201, "PUT", fmt.Sprint("/v1/accounts/users:", i), `{}`)
		s.Must(201, "POST", "/v1/transfers", fmt.Sprintf(`{"id":"c-%d","from":"bank","to":"jane","asset":"USD","quantity":"1"}`, i))
	}
	next := func(path string) string {
		t.Helper()
		cursor, _ := s.Must(200, "GET", path, "").Value("next_cursor").(string)
		if cursor == "" || len(cursor) >= 1000 || url.QueryEscape(cursor) != cursor {
			t.Fatalf("%s goes on at %q", path, cursor)
		}
		return cursor
	}
	cursor := next("/v1/accounts?prefix=users:&limit=2")
	var all []caller.Refusal
	add := func(name, path, cursor string) {
		all = append(all, caller.Refusal{
			Name: name, Method: "GET", Path: path + caller.Separator(path) + "cursor=" + url.QueryEscape(cursor), Status: 400, Code: "invalid_cursor", Fields: []string{"cursor"},
		})
	}
	const path = "/v1/accounts?prefix=users:"
	for i := range len(cursor) {
		other := byte('A')
		if cursor[i] == other {
			other = 'B'
		}
		add(fmt.Sprint("altered at ", i), path, cursor[:i]+string(other)+cursor[i+1:])
	}
	for name, altered := range map[string]string{
		"empty": "", "cut at the end": cursor[:len(cursor)-1], "cut in front": cursor[1:], "half": cursor[:len(cursor)/2], "longer": cursor + "A", "padded": cursor + "=", "twice": cursor + cursor,
		"a space": cursor + " ", "a line end": cursor + "\n", "NUL": cursor + "\x00", "an id": "users:1", "a number": "2", "null": "null", "very long": strings.Repeat("A", 2000),
		"in standard base64": base64.StdEncoding.EncodeToString([]byte(cursor)), "in another case": strings.ToLower(cursor),
	} {
		add(name, path, altered)
	}
	history := next("/v1/accounts/jane/postings?asset=USD&limit=2")
	foreign := map[string]string{
		"/v1/accounts":                                                   cursor, // other filters
		"/v1/accounts?prefix=users":                                      cursor,
		"/v1/accounts?prefix=users:1":                                    cursor,
		"/v1/assets?prefix=users:":                                       cursor, // other lists
		"/v1/accounts/jane/balances":                                     cursor,
		"/v1/accounts/jane/members":                                      cursor,
		"/v1/users/jane/accounts":                                        cursor,
		"/v1/assets/USD/holders":                                         cursor,
		"/v1/accounts/jane/postings":                                     history,
		"/v1/accounts/bank/postings?asset=USD":                           history,
		"/v1/accounts/jane/postings?asset=AAPL":                          history,
		"/v1/accounts/jane/postings?asset=USD&from=2026-01-01T00:00:00Z": history,
		"/v1/accounts/jane/postings?asset=USD&to=2126-01-01T00:00:00Z":   history,
		"/v1/accounts/jane/postings?asset=USD&to=2126-01-01T00:00:00Z&consistency=strong":        history,
		"/v1/accounts/jane/postings?asset=USD&from=2026-01-01T00:00:00Z&to=2126-01-01T00:00:00Z": next("/v1/accounts/jane/postings?asset=USD&limit=2&from=2026-01-01T00:00:00Z&to=2126-01-01T00:00:01Z"),
		"/v1/accounts/jane/postings?from=2026-01-01T00:00:00Z":                                   next("/v1/accounts/jane/postings?limit=2&to=2126-01-01T00:00:00Z"),
	}
	for path, cursor := range foreign {
		add("foreign at "+path, path, cursor)
	}
	s.refuses(t, all)

	// limit and consistency are no filters, nor are the order and the spelling of parameters.
	for _, path := range []string{
		"/v1/accounts?prefix=users:&limit=1&cursor=" + cursor, "/v1/accounts?cursor=" + cursor + "&prefix=users%3A", "/v1/accounts?prefix=users:&limit=100&cursor=" + cursor,
		"/v1/accounts/jane/postings?asset=USD&consistency=strong&cursor=" + history, "/v1/accounts/jane/postings?cursor=" + history + "&limit=7&asset=USD&consistency=eventual",
	} {
		s.Must(200, "GET", path, "")
	}
	from := next("/v1/accounts/jane/postings?limit=1&from=2026-01-01T00:00:00Z")
	s.Must(200, "GET", "/v1/accounts/jane/postings?from=2026-01-01T01:00:00.000%2B01:00&cursor="+from, "")
}
