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
)

// bodyMax is the most bytes of a body (API, order of checks).
const bodyMax = 256 << 10

// Bodies that are not one JSON object of known fields, once each.
func TestMalformedBodies(t *testing.T) {
	t.Parallel()
	s := newSystem(t, withoutPump)
	openBooks(s)
	const good = `{"id":"b-1","from":"bank","to":"jane","asset":"USD","quantity":"1"}`

	var all []refusal
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
		all = append(all, refusal{name: name, path: "/v1/transfers", body: body, status: 400, code: "malformed_body"})
	}
	all = append(all,
		refusal{name: "empty", path: "/v1/transfers", headers: []string{"Content-Type", "application/json"}, status: 400, code: "malformed_body"},
		refusal{name: "empty chunks", path: "/v1/transfers", reader: io.MultiReader(), status: 400, code: "malformed_body"},
	)
	for end := 1; end < len(good); end += 7 {
		all = append(all, refusal{name: fmt.Sprint("cut after ", end), path: "/v1/transfers", body: good[:end], status: 400, code: "malformed_body"})
	}
	s.refuses(t, all)

	s.refuses(t, []refusal{
		{name: "unknown", path: "/v1/transfers", body: `{"Id":"b-1","from":"bank","to":"jane","asset":"USD","quantity":"1","cost":"1","settle":false}`, status: 400, code: "malformed_body", fields: []string{"Id", "cost", "settle"}},
		{name: "unknown in an asset", method: "PUT", path: "/v1/assets/EUR", body: `{"id":"EUR","name":"Euro","scale":2,"created_at":"2026-01-01T00:00:00Z"}`, status: 400, code: "malformed_body", fields: []string{"id", "created_at"}},
		{name: "unknown in an account", method: "PUT", path: "/v1/accounts/joe", body: `{"name":"Joe","overdraft":"unlimited","limit":"5","":1}`, status: 400, code: "malformed_body", fields: []string{"limit", ""}},
		{name: "unknown in a grant", method: "PUT", path: "/v1/accounts/jane/members/u-1", body: `{"role":"viewer","user":"u-1"}`, status: 400, code: "malformed_body", fields: []string{"user"}},
		{name: "unknown, nested", path: "/v1/transactions", body: `{"postings":[{"account":"jane","asset":"USD","quantity":"1","id":"x"}]}`, status: 400, code: "malformed_body", fields: []string{"postings[0].id"}},
		{name: "twice", path: "/v1/trades", body: `{"settle":true,"asset":"AAPL","buyer":"jane","seller":"market","quantity":"1","settle":true}`, status: 400, code: "malformed_body", fields: []string{"settle"}},
		{name: "twice by an escape", path: "/v1/transfers", body: `{"from":"bank","to":"jane","asset":"USD","quantity":"1","quantit\u0079":"2"}`, status: 400, code: "malformed_body", fields: []string{"quantity"}},
		{name: "twice, nested", path: "/v1/transactions", body: `{"postings":[{"account":"jane","asset":"USD","quantity":"1"},{"account":"bank","asset":"USD","quantity":"-1","quantity":"-1"}]}`, status: 400, code: "malformed_body", fields: []string{"postings[1].quantity"}},
		{name: "twice in a profile", method: "PUT", path: "/v1/accounts/joe", body: `{"profile":{"a":1,"addresses":[{"b":1},{"street":"x","street":"y"}],"a":2}}`, status: 400, code: "malformed_body", fields: []string{"profile.addresses[1].street", "profile.a"}},
		{name: "twice in an overdraft", method: "PUT", path: "/v1/accounts/joe", body: `{"overdraft":{"USD":"1","USD":"1"}}`, status: 400, code: "malformed_body", fields: []string{"overdraft.USD"}},
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
	s.refuses(t, []refusal{
		{name: "a byte too many", path: "/v1/transfers", body: padded("s-1", bodyMax+1), status: 413, code: "body_too_large"},
		{name: "a byte too many in chunks", path: "/v1/transfers", reader: strings.NewReader(padded("s-1", bodyMax+1)), status: 413, code: "body_too_large"},
		{name: "a megabyte", path: "/v1/transfers", body: padded("s-1", 1<<20), status: 413, code: "body_too_large"},
		{name: "a megabyte in chunks", path: "/v1/transfers", reader: &chunks{left: 1 << 20}, status: 413, code: "body_too_large"},
	})
	s.must(201, "POST", "/v1/transfers", padded("s-2", bodyMax))
	request, err := refusal{path: "/v1/transfers", reader: &chunks{Reader: strings.NewReader(padded("s-3", bodyMax)), left: bodyMax}}.request(s)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.do(request); err != nil || got.status != 201 {
		t.Errorf("as large as may be, in chunks: %d %s %v", got.status, got.body, err)
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
	var all []refusal
	for _, amount := range []string{
		`"` + nines + `9"`, `"-` + nines + `9"`, `"` + strings.Repeat("1", 38) + `"`, `"` + strings.Repeat("1", 39) + `"`, `"` + strings.Repeat("1", 4000) + `"`,
		`"1e3"`, `"1E3"`, `"-0"`, `"+1"`, `"01"`, `"00"`, `"-01"`, `"1.0"`, `"1."`, `".1"`, `"0x10"`, `"1,000"`, `"1_000"`, `"1 000"`, `" 1"`, `"1 "`, `"1\n"`, `""`, `"-"`, `"--1"`,
		`"−1"`, `"１"`, `"١"`, `"1\u0000"`, `"\u202e1"`, `"\u200b1"`, `"NaN"`, `"Infinity"`, `"USD 1"`, `"null"`,
		`1`, `0`, `-1`, `1.5`, `1e3`, `-0`, `10000000000000000000000000000000000000000`, `1e400`, `true`, `null`, `{}`, `[]`, `["1"]`,
	} {
		all = append(all,
			refusal{
				name: "quantity " + brief(amount), path: "/v1/transfers", body: `{"from":"bank","to":"jane","asset":"USD","quantity":` + amount + `}`,
				status: 400, code: "invalid_request", fields: []string{"quantity"},
			},
			refusal{
				name: "cost " + brief(amount), path: "/v1/trades", body: `{"asset":"AAPL","buyer":"jane","seller":"market","quantity":"1","cost":` + amount + `}`,
				status: 400, code: "invalid_request", fields: []string{"cost"},
			},
			refusal{
				name: "posting " + brief(amount), path: "/v1/transactions",
				body:   `{"postings":[{"account":"jane","asset":"AAPL","quantity":` + amount + `,"cost":` + amount + `},{"account":"market","asset":"AAPL","quantity":"-1","cost":` + amount + `}]}`,
				status: 400, code: "invalid_request", fields: []string{"postings[0].quantity", "postings[0].cost", "postings[1].cost"},
			},
			refusal{
				name: "overdraft " + brief(amount), method: "PUT", path: "/v1/accounts/joe", body: `{"overdraft":{"AAPL":"0","USD":` + amount + `}}`,
				status: 400, code: "invalid_request", fields: []string{"overdraft.USD"},
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
		all = append(all, refusal{path: c.path, body: c.body, status: 400, code: "invalid_request", fields: []string{c.field}})
	}
	all = append(all, refusal{method: "PUT", path: "/v1/accounts/joe", body: `{"overdraft":{"USD":"-1"}}`, status: 400, code: "invalid_request", fields: []string{"overdraft.USD"}})
	s.refuses(t, all)

	s.must(201, "POST", "/v1/transfers", `{"id":"a-1","from":"bank","to":"shop","asset":"USD","quantity":"`+nines+`"}`)
	if got := s.must(200, "GET", "/v1/accounts/shop/balances/USD?consistency=strong", "").value("quantity"); got != nines {
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
	var all []refusal
	add := func(r refusal) {
		r.status, r.code = 400, "invalid_request"
		all = append(all, r)
	}
	escaped := func(id string) (name, inPath, inJSON string) {
		quoted := strconv.QuoteToASCII(id)
		name = brief(quoted)
		return name, percentEncoded(id), strings.NewReplacer(`\x`, `\u00`, `\a`, `\u0007`, `\U0001f4b0`, `\ud83d\udcb0`).Replace(quoted)
	}
	for _, id := range slices.Concat(worstIDs(), badIDs()) {
		name, inPath, inJSON := escaped(id)
		add(refusal{name: "PUT account " + name, method: "PUT", path: "/v1/accounts/" + inPath, body: `{}`, fields: []string{"account"}})
		add(refusal{name: "GET balance " + name, method: "GET", path: "/v1/accounts/" + inPath + "/balances/" + inPath + "?consistency=strong", fields: []string{"account", "asset"}})
		add(refusal{
			name: "transfer " + name, path: "/v1/transfers", body: fmt.Sprintf(`{"id":%s,"from":%[1]s,"to":%[1]s,"asset":%[1]s,"quantity":"1"}`, inJSON),
			fields: []string{"id", "from", "to", "asset"},
		})
		if strings.IndexFunc(id, func(r rune) bool { return r < ' ' || r == 0x7f }) < 0 && strings.TrimSpace(id) == id {
			add(refusal{name: "header " + name, path: "/v1/transfers", headers: []string{"Idempotency-Key", id}, body: `{"from":"bank","to":"jane","asset":"USD","quantity":"1"}`, fields: []string{"Idempotency-Key"}})
		}
	}
	for _, id := range worstIDs() {
		name, inPath, inJSON := escaped(id)
		add(refusal{name: "PUT asset " + name, method: "PUT", path: "/v1/assets/" + inPath, body: `{"name":"x","scale":0}`, fields: []string{"asset"}})
		add(refusal{name: "PUT member " + name, method: "PUT", path: "/v1/accounts/" + inPath + "/members/" + inPath, body: `{"role":"viewer"}`, fields: []string{"account", "user"}})
		add(refusal{name: "DELETE member " + name, method: "DELETE", path: "/v1/accounts/jane/members/" + inPath, fields: []string{"user"}})
		for path, field := range map[string]string{
			"/v1/assets/%s": "asset", "/v1/assets/%s/holders": "asset", "/v1/accounts/%s": "account", "/v1/accounts/%s/summary": "account", "/v1/accounts/%s/balances": "account",
			"/v1/accounts/%s/postings": "account", "/v1/accounts/jane/postings?asset=%s": "asset", "/v1/accounts/%s/members": "account",
			"/v1/users/%s/accounts": "user", "/v1/transactions/%s": "id", "/v1/accounts?prefix=%s": "prefix", "/v1/assets?prefix=%s": "prefix",
		} {
			add(refusal{name: "GET " + path + " " + name, method: "GET", path: fmt.Sprintf(path, inPath), fields: []string{field}})
		}
		add(refusal{name: "trade " + name, path: "/v1/trades", body: fmt.Sprintf(`{"buyer":%s,"seller":%[1]s,"asset":%[1]s,"quantity":"1"}`, inJSON), fields: []string{"buyer", "seller", "asset"}})
		add(refusal{
			name: "transaction " + name, path: "/v1/transactions", body: fmt.Sprintf(`{"postings":[{"account":%s,"asset":%[1]s,"quantity":"1"},{"account":"jane","asset":%[1]s,"quantity":"-1"}]}`, inJSON),
			fields: []string{"postings[0].account", "postings[0].asset", "postings[1].asset"},
		})
		add(refusal{name: "currency " + name, method: "PUT", path: "/v1/assets/EUR", body: fmt.Sprintf(`{"name":"x","scale":0,"currency":%s}`, inJSON), fields: []string{"currency"}})
	}
	for _, body := range []string{`""`, `null`, `7`, `true`, `{}`, `[]`, `["jane"]`} {
		add(refusal{name: "id " + body, path: "/v1/transfers", body: `{"id":` + body + `,"from":"bank","to":"jane","asset":"USD","quantity":"1"}`, fields: []string{"id"}})
		add(refusal{name: "account " + body, path: "/v1/transfers", body: `{"from":` + body + `,"to":` + body + `,"asset":` + body + `,"quantity":"1"}`, fields: []string{"from", "to", "asset"}})
		add(refusal{name: "currency " + body, method: "PUT", path: "/v1/assets/EUR", body: `{"name":"x","scale":0,"currency":` + body + `}`, fields: []string{"currency"}})
	}
	// Bytes of a path that are no UTF-8, and a key of an overdraft that is no id.
	add(refusal{name: "bytes", method: "GET", path: "/v1/accounts/%ff", fields: []string{"account"}})
	add(refusal{name: "an overdraft's key", method: "PUT", path: "/v1/accounts/joe", body: `{"overdraft":{"US D":"1","-":"1","USD":"1"}}`, fields: []string{"overdraft.US D", "overdraft.-"}})
	s.refuses(t, all)

	// An id of no characters in a path makes it another path.
	s.refuses(t, []refusal{
		{name: "PUT no asset", method: "PUT", path: "/v1/assets/", body: `{"name":"x","scale":0}`, status: 404, code: "not_found"},
		{name: "GET no account", method: "GET", path: "/v1/accounts//balances", status: 404, code: "not_found"},
	})
	// Ids as long as may be, of every character, are fine, encoded or not.
	longest := "aZ09._:@-" + strings.Repeat("z", 55)
	s.must(201, "PUT", "/v1/accounts/"+longest, `{}`)
	s.must(200, "PUT", "/v1/accounts/"+percentEncoded(longest), `{}`)
	if got := s.must(200, "GET", "/v1/accounts/"+percentEncoded(longest), "").value("id"); got != longest {
		t.Errorf("the longest id came back as %v", got)
	}
	s.must(201, "POST", "/v1/transfers", `{"id":"`+longest+`","from":"bank","to":"`+longest+`","asset":"USD","quantity":"1"}`)
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
	var all []refusal
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
		r := refusal{name: c.id + " and " + strings.Join(c.keys, " and "), path: "/v1/transfers", body: with(c.id), status: 400, code: "invalid_request", fields: c.fields}
		for _, key := range c.keys {
			r.headers = append(r.headers, "Idempotency-Key", key)
		}
		all = append(all, r)
	}
	s.refuses(t, all)
	if got := s.must(201, "POST", "/v1/transfers", with(`"i-1"`), "Idempotency-Key", "i-1").value("id"); got != "i-1" {
		t.Errorf("the same id in both places became %v", got)
	}
}

// Fields of the wrong type, missing, null, too long, or out of range: all of them are named.
func TestBadFields(t *testing.T) {
	t.Parallel()
	s := newSystem(t, withoutPump)
	openBooks(s)
	var all []refusal
	add := func(method, path, body string, fields ...string) {
		all = append(all, refusal{method: method, path: path, body: body, status: 400, code: "invalid_request", fields: fields})
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
	s.must(201, "PUT", "/v1/assets/EUR", fmt.Sprintf(`{"name":%q,"scale":18,"description":%q}`, strings.Repeat("é", 256), strings.Repeat("💰", 256)))
	s.must(201, "PUT", "/v1/accounts/joe", fmt.Sprintf(`{"name":%q, "profile" : { "a" : %q } }`, strings.Repeat("é", 256), strings.Repeat("x", 4096-8)))
	s.must(201, "PUT", "/v1/accounts/jim", `{"profile":{"addresses":[`+strings.Repeat(`{},`, 9)+`{}]},"overdraft":{}}`)
	s.must(201, "POST", "/v1/transfers", `{"description":"`+strings.Repeat("é", 256)+`","metadata":`+
		pairs(16, func(i int) (string, string) { return fmt.Sprintf("k%02d", i), strings.Repeat("v", 253) })+rest)
	s.must(201, "POST", "/v1/transfers", `{"metadata":`+pairs(20, func(i int) (string, string) { return fmt.Sprintf("%02d%s", i, strings.Repeat("é", 38)), "v" })+rest)
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
	s.refuses(t, []refusal{
		{name: "no posting", path: "/v1/transactions", body: of(), status: 422, code: "invalid_transaction", fields: []string{"postings"}},
		{name: "1 posting", path: "/v1/transactions", body: of(leg("bank", "USD", "-1", "0")), status: 422, code: "invalid_transaction", fields: []string{"postings"}},
		{name: "1 posting of nothing", path: "/v1/transactions", body: of(leg("bank", "USD", "0", "0")), status: 422, code: "invalid_transaction", fields: []string{"postings", "postings[0]"}},
		{name: "49 postings", path: "/v1/transactions", body: many(49), status: 422, code: "invalid_transaction", fields: []string{"postings"}},
		{name: "50 postings", path: "/v1/transactions", body: many(50), status: 422, code: "invalid_transaction", fields: []string{"postings"}},
		{name: "3,000 postings", path: "/v1/transactions", body: many(3000), status: 422, code: "invalid_transaction", fields: []string{"postings"}},
		{name: "all zero", path: "/v1/transactions", body: of(leg("bank", "USD", "0", "0"), leg("jane", "USD", "0", "0")), status: 422, code: "invalid_transaction", fields: []string{"postings[0]", "postings[1]"}},
		{name: "quantity", path: "/v1/transactions", body: of(leg("bank", "USD", "-1", "0"), leg("jane", "USD", "2", "0")), status: 422, code: "unbalanced", fields: []string{"postings"}},
		{name: "quantity across assets", path: "/v1/transactions", body: of(leg("bank", "USD", "-1", "0"), leg("jane", "AAPL", "1", "0")), status: 422, code: "unbalanced", fields: []string{"postings", "postings"}},
		{name: "cost", path: "/v1/transactions", body: of(leg("market", "AAPL", "-1", "-5"), leg("jane", "AAPL", "1", "6")), status: 422, code: "unbalanced", fields: []string{"postings"}},
		{name: "cost across assets", path: "/v1/transactions", body: of(leg("market", "AAPL", "-1", "-5"), leg("jane", "AAPL", "1", "0"), leg("bank", "USD", "-1", "5"), leg("jane", "USD", "1", "0")), status: 422, code: "unbalanced", fields: []string{"postings", "postings"}},
		{
			name: "by one in 28 digits", path: "/v1/transactions",
			body:   of(leg("bank", "USD", "-"+strings.Repeat("9", 28), "0"), leg("jane", "USD", strings.Repeat("9", 27)+"8", "0")),
			status: 422, code: "unbalanced", fields: []string{"postings"},
		},
		{
			name: "by a wrap around 64 bits", path: "/v1/transactions",
			body:   of(leg("bank", "USD", "-1", "0"), leg("jane", "USD", "18446744073709551617", "0")),
			status: 422, code: "unbalanced", fields: []string{"postings"},
		},
		{name: "transfer to oneself", path: "/v1/transfers", body: `{"from":"jane","to":"jane","asset":"USD","quantity":"1"}`, status: 422, code: "invalid_transaction", fields: []string{"from", "to"}},
		{name: "trade with oneself", path: "/v1/trades", body: `{"asset":"AAPL","buyer":"jane","seller":"jane","quantity":"1","cost":"1","settle":true}`, status: 422, code: "invalid_transaction", fields: []string{"buyer", "seller"}},
	})
	s.must(201, "POST", "/v1/transactions", many(48))
	// A posting may be of costs alone, and an account and asset may come more than once.
	s.must(201, "POST", "/v1/transactions", of(leg("market", "AAPL", "0", "-5"), leg("jane", "AAPL", "0", "2"), leg("jane", "AAPL", "0", "3")))
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
	var all []refusal
	add := func(path string, fields ...string) {
		all = append(all, refusal{method: "GET", path: path, status: 400, code: "invalid_request", fields: fields})
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
			add(path+separator(path)+"consistency="+value, "consistency")
		}
		add(path+separator(path)+"consistency=strong&consistency=strong", "consistency")
		add(path+separator(path)+"consistency=strong&consistency=eventual", "consistency")
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
	for _, write := range []refusal{
		{method: "PUT", path: "/v1/assets/EUR?dry_run=true", body: `{"name":"Euro","scale":2}`, fields: []string{"dry_run"}},
		{method: "PUT", path: "/v1/accounts/joe?limit=1", body: `{}`, fields: []string{"limit"}},
		{method: "PUT", path: "/v1/accounts/jane/members/u-1?role=owner", body: `{"role":"viewer"}`, fields: []string{"role"}},
		{method: "DELETE", path: "/v1/accounts/jane/members/u-1?role=owner", fields: []string{"role"}},
		{path: "/v1/transfers?id=q-1&consistency=strong", body: `{"from":"bank","to":"jane","asset":"USD","quantity":"1"}`, fields: []string{"id", "consistency"}},
	} {
		write.status, write.code = 400, "invalid_request"
		all = append(all, write)
	}
	s.refuses(t, all)
	s.must(200, "GET", "/healthz?probe=1&probe=2", "") // not under /v1
	s.must(200, "GET", "/v1/assets?", "")
}

func separator(path string) string {
	if strings.Contains(path, "?") {
		return "&"
	}
	return "?"
}

// Cursors that were altered, or that belong to another list.
func TestBadCursors(t *testing.T) {
	t.Parallel()
	s := newSystem(t, withoutPump)
	openBooks(s)
	for i := range 4 {
		s.must(201, "PUT", fmt.Sprint("/v1/accounts/users:", i), `{}`)
		s.must(201, "POST", "/v1/transfers", fmt.Sprintf(`{"id":"c-%d","from":"bank","to":"jane","asset":"USD","quantity":"1"}`, i))
	}
	next := func(path string) string {
		t.Helper()
		cursor, _ := s.must(200, "GET", path, "").value("next_cursor").(string)
		if cursor == "" || len(cursor) >= 1000 || url.QueryEscape(cursor) != cursor {
			t.Fatalf("%s goes on at %q", path, cursor)
		}
		return cursor
	}
	cursor := next("/v1/accounts?prefix=users:&limit=2")
	var all []refusal
	add := func(name, path, cursor string) {
		all = append(all, refusal{
			name: name, method: "GET", path: path + separator(path) + "cursor=" + url.QueryEscape(cursor), status: 400, code: "invalid_cursor", fields: []string{"cursor"},
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
		s.must(200, "GET", path, "")
	}
	from := next("/v1/accounts/jane/postings?limit=1&from=2026-01-01T00:00:00Z")
	s.must(200, "GET", "/v1/accounts/jane/postings?from=2026-01-01T01:00:00.000%2B01:00&cursor="+from, "")
}
