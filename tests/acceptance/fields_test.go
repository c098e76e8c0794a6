package acceptance

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"ledger.example/tests/caller"
)

// Fields of the wrong type, missing, null, too long, or out of range: all of them are named.
func badFields(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	var all []caller.Refusal
	add := func(method, path, body string, fields ...string) {
		all = append(all, caller.Refusal{Method: method, Path: path, Body: body, Status: 400, Code: "invalid_request", Fields: fields})
	}
	// Missing.
	add("PUT", "/v1/assets/~EUR", `{}`, "name", "scale")
	add("PUT", "/v1/accounts/~jane/members/~u-1", `{}`, "role")
	add("POST", "/v1/transactions", `{}`, "postings")
	add("POST", "/v1/transactions", `{"postings":[{},{}]}`, "postings[0].account", "postings[0].asset", "postings[0].quantity", "postings[1].account", "postings[1].asset", "postings[1].quantity")
	add("POST", "/v1/transfers", `{}`, "from", "to", "asset", "quantity")
	add("POST", "/v1/trades", `{}`, "asset", "buyer", "seller", "quantity")
	// null is no value, not even where nothing would do.
	add("PUT", "/v1/assets/~EUR", `{"name":null,"scale":null,"description":null,"currency":null}`, "name", "scale", "description", "currency")
	add("PUT", "/v1/accounts/~joe", `{"name":null,"profile":null,"overdraft":null}`, "name", "profile", "overdraft")
	add("PUT", "/v1/accounts/~jane/members/~u-1", `{"role":null}`, "role")
	add("POST", "/v1/transactions", `{"id":null,"description":null,"metadata":null,"postings":null}`, "id", "description", "metadata", "postings")
	add("POST", "/v1/transactions", `{"postings":[null,{"account":null,"asset":null,"quantity":null,"cost":null}]}`, "postings[0]", "postings[1].account", "postings[1].asset", "postings[1].quantity", "postings[1].cost")
	add("POST", "/v1/transfers", `{"from":null,"to":null,"asset":null,"quantity":null}`, "from", "to", "asset", "quantity")
	add("POST", "/v1/trades", `{"asset":null,"buyer":null,"seller":null,"quantity":null,"cost":null,"settle":null}`, "asset", "buyer", "seller", "quantity", "cost", "settle")
	// Other types.
	add("PUT", "/v1/assets/~EUR", `{"name":1,"scale":"2","description":[],"currency":{}}`, "name", "scale", "description", "currency")
	add("PUT", "/v1/accounts/~joe", `{"name":{},"profile":"{}","overdraft":5}`, "name", "profile", "overdraft")
	add("PUT", "/v1/accounts/~joe", `{"profile":[],"overdraft":["~USD"]}`, "profile", "overdraft")
	add("PUT", "/v1/accounts/~joe", `{"overdraft":true}`, "overdraft")
	add("PUT", "/v1/accounts/~jane/members/~u-1", `{"role":1}`, "role")
	add("PUT", "/v1/accounts/~jane/members/~u-1", `{"role":["viewer"]}`, "role")
	add("POST", "/v1/transactions", `{"id":1,"description":false,"metadata":[],"postings":{}}`, "id", "description", "metadata", "postings")
	add("POST", "/v1/transactions", `{"metadata":"k","postings":"p"}`, "metadata", "postings")
	add("POST", "/v1/transactions", `{"postings":["~jane",1,[],true]}`, "postings[0]", "postings[1]", "postings[2]", "postings[3]")
	add("POST", "/v1/trades", `{"asset":"~AAPL","buyer":"~jane","seller":"~market","quantity":"1","settle":"true"}`, "settle")
	add("POST", "/v1/trades", `{"asset":"~AAPL","buyer":"~jane","seller":"~market","quantity":"1","settle":1}`, "settle")
	// Assets.
	for _, scale := range []string{"-1", "19", "2.5", "2.0", "1e1", "-0", "99999999999999999999", "4294967298", "true"} {
		add("PUT", "/v1/assets/~EUR", `{"name":"Euro","scale":`+scale+`}`, "scale")
	}
	add("PUT", "/v1/assets/~EUR", `{"name":"","scale":2}`, "name")
	add("PUT", "/v1/assets/~EUR", fmt.Sprintf(`{"name":%q,"scale":2,"description":%q}`, strings.Repeat("é", 257), strings.Repeat("é", 257)), "name", "description")
	add("PUT", "/v1/assets/~EUR", `{"name":"Euro","scale":2,"currency":""}`, "currency")
	add("PUT", "/v1/assets/~EUR", `{"name":"Euro","scale":2,"currency":"~EUR"}`, "currency") // another asset
	// Accounts.
	for _, overdraft := range []string{`"none"`, `"Unlimited"`, `""`, `"0"`, `"500"`, `0`} {
		add("PUT", "/v1/accounts/~joe", `{"overdraft":`+overdraft+`}`, "overdraft")
	}
	add("PUT", "/v1/accounts/~joe", `{"overdraft":{"~USD":"unlimited","~AAPL":5,"~EUR":null,"~GOLD":"-5"}}`, "overdraft.~USD", "overdraft.~AAPL", "overdraft.~EUR", "overdraft.~GOLD")
	add("PUT", "/v1/accounts/~joe", `{"overdraft":`+pairs(101, func(i int) (string, string) { return fmt.Sprint("A", i), "1" })+`}`, "overdraft")
	add("PUT", "/v1/accounts/~joe", fmt.Sprintf(`{"profile":{"a":%q}}`, strings.Repeat("x", 4096-8+1)), "profile")
	add("PUT", "/v1/accounts/~joe", fmt.Sprintf(`{"profile":{"a":%q}}`, strings.Repeat("é", (4096-8)/2+1)), "profile")
	add("PUT", "/v1/accounts/~joe", `{"profile":{"addresses":[`+strings.Repeat(`{},`, 10)+`{}]}}`, "profile.addresses")
	for _, addresses := range []string{`{}`, `"x"`, `null`, `["x"]`, `[{},null]`, `[[]]`} {
		add("PUT", "/v1/accounts/~joe", `{"profile":{"addresses":`+addresses+`}}`, "profile.addresses")
	}
	for _, role := range []string{"", "Viewer", "admin", "viewer ", "viewer\\u0000"} {
		add("PUT", "/v1/accounts/~jane/members/~u-1", `{"role":"`+role+`"}`, "role")
	}
	// Annotations.
	const rest = `,"from":"~bank","to":"~jane","asset":"~USD","quantity":"1"}`
	add("POST", "/v1/transfers", `{"description":"`+strings.Repeat("é", 257)+`"`+rest, "description")
	add("POST", "/v1/transfers", `{"description":"a\u0000b"`+rest, "description")
	add("POST", "/v1/transfers", `{"metadata":{"":"x"}`+rest, "metadata.")
	add("POST", "/v1/transfers", `{"metadata":{"`+strings.Repeat("k", 41)+`":"x"}`+rest, "metadata."+strings.Repeat("k", 41))
	add("POST", "/v1/transfers", `{"metadata":{"k":"`+strings.Repeat("v", 257)+`","l":"ok"}`+rest, "metadata.k")
	add("POST", "/v1/transfers", `{"metadata":{"k":1,"l":true,"m":{},"n":[]}`+rest, "metadata.k", "metadata.l", "metadata.m", "metadata.n")
	add("POST", "/v1/transfers", `{"metadata":`+pairs(21, func(i int) (string, string) { return fmt.Sprint("k", i), "v" })+rest, "metadata")
	add("POST", "/v1/transfers", `{"metadata":`+pairs(16, func(i int) (string, string) { return fmt.Sprintf("k%02d", i), strings.Repeat("v", 254) })+rest, "metadata")
	add("POST", "/v1/transfers", `{"metadata":`+pairs(8, func(i int) (string, string) { return fmt.Sprintf("k%02d", i), strings.Repeat("é", 255) })+rest, "metadata")
	refuse(t, s, all)

	// As long, as many and as much as may be.
	s.Must(201, "PUT", "/v1/assets/~EUR", fmt.Sprintf(`{"name":%q,"scale":18,"description":%q}`, strings.Repeat("é", 256), strings.Repeat("💰", 256)))
	s.Must(201, "PUT", "/v1/accounts/~joe", fmt.Sprintf(`{"name":%q, "profile" : { "a" : %q } }`, strings.Repeat("é", 256), strings.Repeat("x", 4096-8)))
	s.Must(201, "PUT", "/v1/accounts/~jim", `{"profile":{"addresses":[`+strings.Repeat(`{},`, 9)+`{}]},"overdraft":{}}`)
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
