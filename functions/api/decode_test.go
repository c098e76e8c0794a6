package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"ledger.example/events"
	"ledger.example/ledger"
)

func TestMalformedBodies(t *testing.T) {
	f := newFixture(t)
	deep := func(n int) string {
		return `{"profile":` + strings.Repeat(`{"a":`, n) + `1` + strings.Repeat(`}`, n) + `}`
	}
	for body, want := range map[string]string{
		"":                                  "empty",
		" \n\t":                             "empty",
		"null":                              "not a JSON object",
		"[]":                                "not a JSON object",
		`"x"`:                               "not a JSON object",
		"12":                                "not a JSON object",
		"{":                                 "ends within",
		`{"name"`:                           "ends within",
		`{"name":`:                          "ends within",
		`{"name":"x`:                        "ends within",
		`{"name":"x",`:                      "ends within",
		`{"name":"x"}}`:                     "goes on after",
		`{"name":"x"} {}`:                   "goes on after",
		`{"name":"x"} true`:                 "goes on after",
		"{\"name\":\"x\"}\x00":              "goes on after",
		`{"name":"x",}`:                     "not JSON",
		`{'name':'x'}`:                      "not JSON",
		`{name:"x"}`:                        "not JSON",
		`{"name" "x"}`:                      "not JSON",
		`{"overdraft":{"USD":01}}`:          "not JSON",
		`{"overdraft":{"USD":+1}}`:          "not JSON",
		`{"overdraft":{"USD":NaN}}`:         "not JSON",
		"{\"name\":\"a\x01\"}":              "not JSON",
		`{"name":"\x"}`:                     "not JSON",
		"\xef\xbb\xbf{}":                    "not JSON",
		"{\"name\":\"\xff\"}":               "not UTF-8",
		"{\"name\":\"\xed\xa0\x80\"}":       "not UTF-8",
		`{"name":"\ud800"}`:                 "half of a surrogate pair",
		`{"name":"\udc00\ud800"}`:           "half of a surrogate pair",
		`{"name":"\ud83d\u0041"}`:           "half of a surrogate pair",
		`{"profile":{"\uDBFF":1}}`:          "half of a surrogate pair",
		deep(DepthMax):                      "nested more than",
		deep(10000):                         "nested more than",
		strings.Repeat("[", 100000):         "nested more than",
		strings.Repeat(`{"a":`, 40000):      "nested more than",
		`{"nam":"x","Name":"y","":1}`:       "see errors",
		`{"name":"x","name":"x"}`:           "see errors",
		`{"name":"x","n\u0061me":"y"}`:      "see errors",
		`{"profile":{"a":[{"b":1,"b":2}]}}`: "see errors",
	} {
		w := f.do(t, "PUT", "/v1/accounts/new", body)
		refused(t, w, 400, codeMalformedBody)
		if detail := answer[problem](t, w).Detail; !strings.Contains(detail, want) {
			t.Errorf("%.40q: detail %q does not say %q", body, detail, want)
		}
	}
	if got := f.calls.taken(); got != "" {
		t.Errorf("called %s", got)
	}
	if w := f.do(t, "PUT", "/v1/accounts/new", deep(DepthMax-1)); w.Code != 201 {
		t.Errorf("at the limit of depth: %s", w.Body)
	}
	if w := f.do(t, "PUT", "/v1/accounts/new", `{"name":"\ud83d\ude00 \\ud800 😀"}`); w.Code != 201 {
		t.Errorf("a whole surrogate pair: %s", w.Body)
	}
}

// All fields that nobody knows, or that come twice, are named.
func TestUnknownAndRepeatedFieldsAreNamed(t *testing.T) {
	f := newFixture(t)
	for _, c := range []struct{ method, path, body, fields string }{
		{"PUT", "/v1/accounts/new", `{"nam":"x","name":5,"overdraf":1}`, "nam overdraf"},
		{"PUT", "/v1/accounts/new", `{"id":"new","name":"x"}`, "id"},
		{"PUT", "/v1/accounts/new", `{"profile":{"addresses":[{},{"city":1,"x":2,"city":3}],"addresses":[]},"name":"a","name":"b"}`, "profile.addresses[1].city profile.addresses name"},
		{"PUT", "/v1/assets/new", `{"overdraft":"unlimited","name":"x","scale":1}`, "overdraft"},
		{"POST", "/v1/transactions", `{"postings":[{"account":"a","asset":"b","quantity":"1","qty":"1"},{"cost":"1","costs":"2"}],"kind":"trade"}`, "kind postings[0].qty postings[1].costs"},
		{"POST", "/v1/transfers", `{"cost":"1","settle":true}`, "cost settle"},
		{"POST", "/v1/trades", `{"from":"a","metadata":{"a":"1","a":"2"}}`, "metadata.a from"},
		{"PUT", "/v1/accounts/jane/members/u", `{"role":"viewer","user":"u"}`, "user"},
	} {
		if fields := refused(t, f.do(t, c.method, c.path, c.body), 400, codeMalformedBody); !sameWords(fields, c.fields) {
			t.Errorf("%s: fields %q, want %q", c.body, fields, c.fields)
		}
	}
	many := bytes.NewBufferString("{")
	for i := range 20000 {
		fmt.Fprintf(many, `"a%d":1,`, i%15000)
	}
	w := f.do(t, "POST", "/v1/transfers", many.String()+`"z":1}`)
	refused(t, w, 400, codeMalformedBody)
	if n := len(answer[problem](t, w).Errors); n != errorsMax {
		t.Errorf("%d fields named", n)
	}
	long := strings.Repeat("é", 5000)
	w = f.do(t, "POST", "/v1/transfers", `{"`+long+`":1}`)
	if fields := refused(t, w, 400, codeMalformedBody); len(fields) > 4*briefChars || !strings.HasPrefix(fields, "éé") {
		t.Errorf("a long name is repeated in %d bytes", len(fields))
	}
}

func sameWords(a, b string) bool {
	count := map[string]int{}
	for _, w := range strings.Fields(a) {
		count[w]++
	}
	for _, w := range strings.Fields(b) {
		count[w]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

// All faults of one request at once, each field once, in the order of the request.
func TestEveryFieldAtFaultIsNamed(t *testing.T) {
	f := newFixture(t)
	long := strings.Repeat("x", 257)
	for _, c := range []struct{ method, path, body, fields string }{
		{"PUT", "/v1/assets/x", `{}`, "name scale"},
		{"PUT", "/v1/assets/-x", `{"currency":"","scale":19,"description":"` + long + `","name":""}`, "asset currency scale description name"},
		{"PUT", "/v1/assets/x", `{"currency":null,"scale":null,"description":null,"name":null}`, "currency scale description name"},
		{"PUT", "/v1/assets/x", `{"currency":5,"scale":"2","description":["a"],"name":{"a":1}}`, "currency scale description name"},
		{"PUT", "/v1/assets/x", `{"currency":"x","scale":2.0,"name":"n"}`, "currency scale"},
		{"PUT", "/v1/assets/x", `{"scale":1e1,"name":true}`, "scale name"},
		{"PUT", "/v1/assets/x", `{"scale":-1,"name":"` + long + `"}`, "scale name"},
		{"PUT", "/v1/assets/x", `{"scale":99999999999999999999,"name":"n"}`, "scale"},
		{"PUT", "/v1/assets/x", `{"scale":-0,"name":"n\u0000"}`, "scale name"},
		{"PUT", "/v1/accounts/a%20b", `{"name":null,"profile":null,"overdraft":null}`, "account name profile overdraft"},
		{"PUT", "/v1/accounts/x", `{"name":1,"profile":"p","overdraft":5}`, "name profile overdraft"},
		{"PUT", "/v1/accounts/x", `{"profile":[],"overdraft":[]}`, "profile overdraft"},
		{"PUT", "/v1/accounts/x", `{"overdraft":"UNLIMITED","profile":{"addresses":{}}}`, "overdraft profile.addresses"},
		{"PUT", "/v1/accounts/x", `{"overdraft":{"USD":5,"a b":"1","EUR":"-1","GBP":"1.0","CHF":null}}`, "overdraft.USD overdraft.a b overdraft.EUR overdraft.GBP overdraft.CHF"},
		{"PUT", "/v1/accounts/jane/members/u-17", `{}`, "role"},
		{"PUT", "/v1/accounts/jane/members/u-17", `{"role":"admin"}`, "role"},
		{"PUT", "/v1/accounts/j*/members/u%2F17", `{"role":null}`, "account user role"},
		{"DELETE", "/v1/accounts/j*/members/u%00?x=1", ``, "account user x"},
		{"POST", "/v1/transactions", `{}`, "postings"},
		{"POST", "/v1/transactions", `{"postings":null,"id":null,"description":null,"metadata":null}`, "postings id description metadata"},
		{"POST", "/v1/transactions", `{"postings":{},"id":"","description":5,"metadata":[]}`, "postings id description metadata"},
		{"POST", "/v1/transactions", `{"metadata":{"a":1,"":"x","` + long + `":"x","b":"` + long + `","c":null},"postings":[5,null,"x",[],{}]}`,
			"metadata.a metadata. metadata." + long[:brieflyOf("metadata.")] + "… metadata.b metadata.c postings[0] postings[1] postings[2] postings[3] postings[4].account postings[4].asset postings[4].quantity"},
		{"POST", "/v1/transactions", `{"postings":[{"account":"","asset":"a b","quantity":1,"cost":1.5},{"account":"ok","asset":"ok","quantity":null,"cost":null},{"account":5,"asset":null,"quantity":"1e3","cost":"-0"}]}`,
			"postings[0].account postings[0].asset postings[0].quantity postings[0].cost postings[1].quantity postings[1].cost postings[2].account postings[2].asset postings[2].quantity postings[2].cost"},
		{"POST", "/v1/transfers", `{}`, "from to asset quantity"},
		{"POST", "/v1/transfers", `{"quantity":"0","asset":"` + long[:65] + `","to":"-","from":"a\u202eb"}`, "quantity asset to from"},
		{"POST", "/v1/trades", `{}`, "asset buyer seller quantity"},
		{"POST", "/v1/trades", `{"settle":"true","cost":"-1","quantity":"-1","seller":"é","buyer":"a\u0000","asset":" "}`, "settle cost quantity seller buyer asset"},
		{"POST", "/v1/trades?dry_run=1", `{"settle":null,"asset":"a","buyer":"b","seller":"c","quantity":"1"}`, "dry_run settle"},
	} {
		if fields := refused(t, f.do(t, c.method, c.path, c.body), 400, ledger.CodeInvalidRequest); fields != c.fields {
			t.Errorf("%s %s %s:\nfields %q\nwant   %q", c.method, c.path, c.body, fields, c.fields)
		}
	}
	if got := f.calls.taken(); got != "" {
		t.Errorf("called %s", got)
	}
}

func brieflyOf(prefix string) int { return briefChars - len(prefix) }

func TestAmountsOnTheWire(t *testing.T) {
	f := newFixture(t)
	nines := strings.Repeat("9", 40)
	for _, bad := range []string{`1`, `1.0`, `""`, `"+1"`, `"-0"`, `"01"`, `"1e3"`, `"1.0"`, `" 1"`, `"1 "`, `"1_000"`, `"0x1"`, `"١"`, `"-"`, `"--1"`, `true`, `null`, `[]`, `{}`, `"` + nines[:29] + `"`, `"-` + nines[:39] + `"`, `"1\u0000"`} {
		body := `{"postings":[{"account":"a","asset":"x","quantity":` + bad + `}]}`
		if fields := refused(t, f.do(t, "POST", "/v1/transactions", body), 400, ledger.CodeInvalidRequest); fields != "postings[0].quantity" {
			t.Errorf("%s: fields %s", bad, fields)
		}
	}
	for _, good := range []string{"0", "-1", nines[:28], "-" + nines[:28]} {
		f.do(t, "POST", "/v1/transactions", `{"postings":[{"account":"a","asset":"x","quantity":"`+good+`"},{"account":"a","asset":"x","quantity":"1"}]}`)
		if c, ok := f.commands.last.(ledger.PostTransaction); !ok || c.Postings[0].Quantity.String() != good {
			t.Errorf("%s was read as %v", good, f.commands.last)
		}
	}
}

// What is decoded is what was asked for, with defaults for what was not.
func TestCommandsAsDecoded(t *testing.T) {
	amount := func(s string) events.Amount {
		a, err := events.ParseAmount(s, events.PostedDigits)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for _, c := range []struct {
		method, path, body string
		want               any
	}{
		{"PUT", "/v1/assets/AAPL", ` { "name" : "Apple Inc." , "description":"Common","scale":18,"currency":"USD"}`,
			ledger.RegisterAsset{ID: "AAPL", Name: "Apple Inc.", Description: "Common", Scale: 18, Currency: "USD", Actor: "local"}},
		{"PUT", "/v1/assets/users%3Aa", `{"name":"A","scale":0}`, ledger.RegisterAsset{ID: "users:a", Name: "A", Actor: "local"}},
		{"PUT", "/v1/accounts/a", `{}`, ledger.OpenAccount{ID: "a", Actor: "local"}},
		{"PUT", "/v1/accounts/a", `{"name":"<A>","profile": { "z" : [1.50, null , true,{}], "a":"\u00e9<\/>" } ,"overdraft":{}}`,
			ledger.OpenAccount{ID: "a", Name: "<A>", Profile: `{"z":[1.50,null,true,{}],"a":"é</>"}`, Actor: "local"}},
		{"PUT", "/v1/accounts/a", `{"overdraft":"unlimited","profile":{}}`, ledger.OpenAccount{ID: "a", Profile: "{}", Overdraft: events.Overdraft{Unlimited: true}, Actor: "local"}},
		{"PUT", "/v1/accounts/a", `{"overdraft":{"USD":"500000","X":"0"}}`, ledger.OpenAccount{ID: "a", Actor: "local",
			Overdraft: events.Overdraft{Limits: map[string]events.Amount{"USD": amount("500000"), "X": amount("0")}}}},
		{"PUT", "/v1/accounts/a/members/u", `{"role":"owner"}`, ledger.GrantMember{Account: "a", User: "u", Role: events.RoleOwner, Actor: "local"}},
		{"DELETE", "/v1/accounts/a/members/u", ``, ledger.RevokeMember{Account: "a", User: "u", Actor: "local"}},
		{"POST", "/v1/transfers", goodTransfer, ledger.PostTransfer{Annotation: ledger.Annotation{Actor: "local"}, From: "jane", To: "shop", Asset: "USD", Quantity: amount("1")}},
		{"POST", "/v1/trades", `{"id":"t-1","metadata":{"k":""},"description":"d","asset":"A","buyer":"b","seller":"s","quantity":"10","cost":"150000","settle":true}`,
			ledger.PostTrade{Annotation: ledger.Annotation{ID: "t-1", Description: "d", Metadata: map[string]string{"k": ""}, Actor: "local"},
				Asset: "A", Buyer: "b", Seller: "s", Quantity: amount("10"), Cost: amount("150000"), Settle: true}},
		{"POST", "/v1/transactions", `{"postings":[{"account":"a","asset":"x","quantity":"-2","cost":"3"},{"asset":"x","quantity":"2","account":"b","cost":"-3"}]}`,
			ledger.PostTransaction{Annotation: ledger.Annotation{Actor: "local"}, Postings: []ledger.LegRequest{
				{Account: "a", Asset: "x", Quantity: amount("-2"), Cost: amount("3")}, {Account: "b", Asset: "x", Quantity: amount("2"), Cost: amount("-3")}}}},
	} {
		f := newFixture(t)
		if w := f.do(t, c.method, c.path, c.body); w.Code >= 400 {
			t.Errorf("%s answered %s", c.body, w.Body)
		}
		if !reflect.DeepEqual(f.commands.last, c.want) {
			t.Errorf("%s was read as\n%#v, want\n%#v", c.body, f.commands.last, c.want)
		}
	}
}

// The id of a transaction comes from the body, from the header, or from both the same.
func TestIdempotencyKey(t *testing.T) {
	with := func(id string) string { return strings.Replace(goodTransfer, "{", `{"id":`+id+`,`, 1) }
	for _, c := range []struct {
		body   string
		keys   []string
		id     string // as decoded
		fields string // or at fault
	}{
		{goodTransfer, nil, "", ""},
		{goodTransfer, []string{"k-1"}, "k-1", ""},
		{with(`"k-1"`), nil, "k-1", ""},
		{with(`"k-1"`), []string{"k-1"}, "k-1", ""},
		{with(`"k-1"`), []string{"k-2"}, "", "Idempotency-Key id"},
		{with(`"k-1"`), []string{"K-1"}, "", "Idempotency-Key id"},
		{goodTransfer, []string{""}, "", "Idempotency-Key"},
		{goodTransfer, []string{"a b"}, "", "Idempotency-Key"},
		{goodTransfer, []string{`"k"`}, "", "Idempotency-Key"},
		{goodTransfer, []string{strings.Repeat("k", 65)}, "", "Idempotency-Key"},
		{goodTransfer, []string{"k-1", "k-1"}, "", "Idempotency-Key"},
		{with(`""`), []string{"k-1"}, "", "Idempotency-Key id"},
		{with(`null`), []string{"k-1"}, "", "Idempotency-Key id"},
		{with(`5`), []string{"5"}, "", "Idempotency-Key id"},
		{with(`""`), []string{""}, "", "Idempotency-Key id"},
	} {
		f := newFixture(t)
		var headers []string
		for _, k := range c.keys {
			headers = append(headers, "Idempotency-Key", k)
		}
		w := f.do(t, "POST", "/v1/transfers", c.body, headers...)
		if c.fields != "" {
			if fields := refused(t, w, 400, ledger.CodeInvalidRequest); fields != c.fields {
				t.Errorf("%s with %q: fields %s", c.body, c.keys, fields)
			}
			continue
		}
		if got, ok := f.commands.last.(ledger.PostTransfer); !ok || got.ID != c.id {
			t.Errorf("%s with %q: id %q, answered %s", c.body, c.keys, got.ID, w.Body)
		}
	}
	f := newFixture(t)
	if w := f.do(t, "PUT", "/v1/accounts/x", `{}`, "Idempotency-Key", "not an id"); w.Code != 201 {
		t.Errorf("PUT does not ignore the header: %s", w.Body)
	}
}

// The names of fields that come twice, of whatever keys and items they are within.
func TestRepeatedFieldsAreNamedByTheirPaths(t *testing.T) {
	for text, want := range map[string]string{
		`{"":{"a":1,"a":2}}`:               `[".a"]`,
		`{"":1,"":2}`:                      `[""]`,
		`{"a":{"":{"":1,"":2}}}`:           `["a.."]`,
		`{"":[[{}],[{"b":0,"b":[]}]]}`:     `["[1][0].b"]`,
		`{"a":{"b":1,"b":1},"a":{"c":{}}}`: `["a.b" "a"]`,
	} {
		_, twice, err := parse([]byte(text))
		fields := make([]string, len(twice))
		for i, f := range twice {
			fields[i] = f.Field
		}
		if got := fmt.Sprintf("%q", fields); err != nil || got != want {
			t.Errorf("%s: %s, want %s: %v", text, got, want, err)
		}
	}
}

// FuzzParse holds the parser against encoding/json: what it accepts is valid, has each key once, means the same, and is
// the same after being written compactly.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":[1,-2.5e3,"x\ud83d\ude00",null,true,{"b":{}}]}`, `{"a":1,"a":2}`, `{"a":"\ud800"}`, `{"a":1} x`, `[`, `{"\u0000":"\\u"}`, "{\"a\":\"\xff\"}", `{"a":01}`, ` {"":[[[]]]}`, " { \"a\" :\t[ 1 ,\r\n-0e1 , [ ] ] , \"b\\\\\" : { } , \"c\\\"\" : \"]}\" } "} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		root, twice, err := parse(text)
		if err != nil {
			if root != nil || err.Error() == "" {
				t.Fatalf("%v with an error", root)
			}
			return
		}
		if !json.Valid(text) {
			t.Fatalf("accepted %q", text)
		}
		var b bytes.Buffer
		root.compact(&b)
		if len(twice) > 0 {
			return
		}
		if keysTwice(root) {
			t.Fatalf("a key comes twice in %q", text)
		}
		var before, after map[string]any
		if json.Unmarshal(text, &before) != nil || json.Unmarshal(b.Bytes(), &after) != nil {
			return // a number that no float holds
		}
		if !reflect.DeepEqual(before, after) {
			t.Fatalf("%q became %q", text, b.String())
		}
	})
}

func keysTwice(n *node) bool {
	seen := map[string]bool{}
	for _, m := range n.members {
		if seen[m.key] || keysTwice(&m.value) {
			return true
		}
		seen[m.key] = true
	}
	for i := range n.items {
		if keysTwice(&n.items[i]) {
			return true
		}
	}
	return false
}

// FuzzPost sends any body: it never panics, and what reaches the ledger is well shaped.
func FuzzPost(f *testing.F) {
	f.Add(0, goodTransfer)
	f.Add(1, `{"id":"t-1","asset":"AAPL","buyer":"jane","seller":"market","quantity":"10","cost":"150000","settle":true}`)
	f.Add(2, `{"postings":[{"account":"a","asset":"x","quantity":"-2"},{"account":"b","asset":"x","quantity":"2"}],"metadata":{"a":"b"}}`)
	f.Fuzz(func(t *testing.T, which int, body string) {
		fix := newFixture(t)
		path := []string{"/v1/transfers", "/v1/trades", "/v1/transactions"}[uint(which)%3]
		w := fix.do(t, "POST", path, body)
		if w.Code >= 500 {
			t.Fatalf("%s %s answered %s", path, body, w.Body)
		}
		if c, ok := fix.commands.last.(ledger.PostingRequest); ok && len(c.Shape()) > 0 {
			t.Fatalf("%s reached the ledger: %v", body, c.Shape())
		}
	})
}

// BenchmarkParse reads the body of a transaction of three postings.
func BenchmarkParse(b *testing.B) {
	body := []byte(`{"id":"order-1001","description":"Card order","metadata":{"order":"1001"},"postings":[{"account":"jane","asset":"USD","quantity":"-2500"},{"account":"shop","asset":"USD","quantity":"2400"},{"account":"fees","asset":"USD","quantity":"100"}]}`)
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, _, err := parse(body); err != nil {
			b.Fatal(err)
		}
	}
}
