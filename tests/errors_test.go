package tests

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	textContent = "text/plain"
	timeToLog   = 5 * time.Second // a request's line is written after its answer
)

// openBooks is openRegister with GOLD, which has no currency, a shop, 5,000.00 USD for jane as d-1, and the trade t-1
// of 10 AAPL for 1,500.00 USD, settled.
func openBooks(s *system) {
	s.t.Helper()
	openRegister(s)
	s.must(201, "PUT", "/v1/assets/GOLD", `{"name":"Gold","scale":3}`)
	s.must(201, "PUT", "/v1/accounts/shop", `{"name":"Shop"}`)
	s.must(201, "POST", "/v1/transfers", `{"id":"d-1","from":"bank","to":"jane","asset":"USD","quantity":"500000"}`)
	s.must(201, "POST", "/v1/trades", `{"id":"t-1","asset":"AAPL","buyer":"jane","seller":"market","quantity":"10","cost":"150000","settle":true}`)
}

// Every row of the table of errors, in its order. A request that breaks two rows is answered by the earlier one.
func TestErrorsInTheirOrder(t *testing.T) {
	t.Parallel()
	s := newSystem(t, withoutPump)
	openBooks(s)
	big := `{"name":"` + strings.Repeat("x", 256<<10) + `"}`

	t.Run("route", func(t *testing.T) {
		for _, path := range []string{
			"/v1", "/v1/", "/v2/assets", "/V1/assets", "/v1/assets/", "/v1/assets/USD/", "/v1//assets", "//v1/assets", "/v1/assets/USD/unknown",
			"/v1/accounts/jane/members/", "/v1/transactions/t-1/postings", "/v1/users/u-1", "/healthz/", "/favicon.ico",
		} {
			s.refuses(t, []refusal{{name: path, method: "GET", path: path, status: 404, code: "not_found"}})
		}
		s.refuses(t, []refusal{
			// Before any other row.
			{name: "before the media type", path: "/v1/loans", body: `{`, headers: []string{"Content-Type", textContent}, status: 404, code: "not_found"},
			{name: "before the size", path: "/v1/loans", body: big, status: 404, code: "not_found"},
			{name: "before the query", method: "GET", path: "/v1/loans?limit=0", status: 404, code: "not_found"},
		})
	})

	t.Run("method", func(t *testing.T) {
		for _, c := range []struct{ method, path, allow string }{
			{"POST", "/v1/assets/USD", "GET, HEAD, PUT"},
			{"DELETE", "/v1/assets/USD", "GET, HEAD, PUT"},
			{"DELETE", "/v1/accounts/jane", "GET, HEAD, PUT"},
			{"PATCH", "/v1/accounts/jane", "GET, HEAD, PUT"},
			{"POST", "/v1/accounts", "GET, HEAD"},
			{"PUT", "/v1/accounts/jane/balances/USD", "GET, HEAD"},
			{"GET", "/v1/accounts/jane/members/u-1", "DELETE, PUT"},
			{"GET", "/v1/transactions", "POST"},
			{"GET", "/v1/trades", "POST"},
			{"DELETE", "/v1/transactions/t-1", "GET, HEAD"},
			{"PUT", "/v1/transactions/t-1", "GET, HEAD"},
			{"POST", "/healthz", "GET, HEAD"},
			{"OPTIONS", "/v1/assets", "GET, HEAD"},
		} {
			s.refuses(t, []refusal{{name: c.method + c.path, method: c.method, path: c.path, status: 405, code: "method_not_allowed"}})
			if got := s.send(c.method, c.path, ""); got.header.Get("Allow") != c.allow {
				t.Errorf("%s %s allows %q instead of %q", c.method, c.path, got.header.Get("Allow"), c.allow)
			}
		}
		s.refuses(t, []refusal{
			{name: "before the media type", method: "PUT", path: "/v1/trades", body: `{`, headers: []string{"Content-Type", textContent}, status: 405, code: "method_not_allowed"},
			{name: "before the size", method: "PUT", path: "/v1/trades", body: big, status: 405, code: "method_not_allowed"},
			{name: "before the path's ids", method: "POST", path: "/v1/assets/%00", status: 405, code: "method_not_allowed"},
		})
	})

	t.Run("media type, then size", func(t *testing.T) {
		const trade = `{"id":"t-9","asset":"AAPL","buyer":"jane","seller":"market","quantity":"1"}`
		var all []refusal
		for _, value := range []string{
			absent, "", textContent, "text/json", "application/x-www-form-urlencoded", "application/json; charset=iso-8859-1", "application/xml", "*/*", ";",
		} {
			all = append(all, refusal{name: "type " + strconv.Quote(value), path: "/v1/trades", body: trade, headers: []string{"Content-Type", value}, status: 415, code: "unsupported_media_type"})
		}
		all = append(all,
			refusal{name: "compressed", path: "/v1/trades", body: trade, headers: []string{"Content-Encoding", "gzip"}, status: 415, code: "unsupported_media_type"},
			refusal{name: "no body and no type", path: "/v1/trades", status: 415, code: "unsupported_media_type"},
			refusal{name: "type before size", path: "/v1/trades", body: big, headers: []string{"Content-Type", textContent}, status: 415, code: "unsupported_media_type"},
			refusal{name: "type before JSON", path: "/v1/trades", body: `{`, headers: []string{"Content-Type", textContent}, status: 415, code: "unsupported_media_type"},
			refusal{name: "type before query", path: "/v1/trades?x=1", body: trade, headers: []string{"Content-Type", textContent}, status: 415, code: "unsupported_media_type"},
			refusal{name: "size", path: "/v1/trades", body: big, status: 413, code: "body_too_large"},
			refusal{name: "size before JSON", path: "/v1/trades", body: "{" + big, status: 413, code: "body_too_large"},
			refusal{name: "size before query", path: "/v1/trades?x=1", body: big, status: 413, code: "body_too_large"},
			refusal{name: "size before the path's ids", method: "PUT", path: "/v1/assets/%00", body: big, status: 413, code: "body_too_large"},
		)
		s.refuses(t, all)
	})

	t.Run("malformed before shape", func(t *testing.T) {
		s.refuses(t, []refusal{
			{name: "path", method: "PUT", path: "/v1/assets/%00", body: `{"name":"x"`, status: 400, code: "malformed_body"},
			{name: "query", path: "/v1/trades?x=1", body: `[]`, status: 400, code: "malformed_body"},
			{
				name: "unknown fields", path: "/v1/trades", body: `{"asset":7,"colour":"red","settle":"yes","size":1}`,
				status: 400, code: "malformed_body", fields: []string{"colour", "size"},
			},
			{
				name: "unknown fields in postings", path: "/v1/transactions",
				body:   `{"id":"","postings":[{"account":"jane","asset":"USD","quantity":"x","price":"1"},{"account":"shop","asset":"USD","quantity":"1","qty":"1"}],"note":1}`,
				status: 400, code: "malformed_body", fields: []string{"postings[0].price", "postings[1].qty", "note"},
			},
			{
				name: "fields that come twice", path: "/v1/transfers", body: `{"from":"jane","to":"shop","asset":"USD","quantity":"1","quantity":"2","from":""}`,
				status: 400, code: "malformed_body", fields: []string{"quantity", "from"},
			},
			{
				name: "both", path: "/v1/transactions",
				body:   `{"postings":[{"account":"jane","account":"shop","asset":"USD","quantity":"1"}],"metadata":{"k":"1","k":"2"},"colour":1}`,
				status: 400, code: "malformed_body", fields: []string{"postings[0].account", "metadata.k", "colour"},
			},
		})
	})

	t.Run("shape", func(t *testing.T) {
		s.refuses(t, []refusal{
			{
				name: "all of a body", path: "/v1/transactions",
				body:   `{"id":"-x","description":7,"metadata":{"a":1,"b":null,"c":"ok"},"postings":[{"asset":"","quantity":"01","cost":5},7,{"account":"jane","asset":"USD","quantity":"1.0"}]}`,
				status: 400, code: "invalid_request",
				fields: []string{
					"id", "description", "metadata.a", "metadata.b", "postings[0].account", "postings[0].asset", "postings[0].quantity", "postings[0].cost",
					"postings[1]", "postings[2].quantity",
				},
			},
			{
				name: "path, query and body", method: "PUT", path: "/v1/accounts/-a/members/b%20c?limit=1&x=2", body: `{"role":"admin"}`,
				status: 400, code: "invalid_request", fields: []string{"account", "user", "limit", "x", "role"},
			},
			{
				name: "header", path: "/v1/trades", headers: []string{"Idempotency-Key", "a b"}, body: `{"asset":"AAPL","buyer":"jane","seller":"market","quantity":"0","cost":"-1"}`,
				status: 400, code: "invalid_request", fields: []string{"Idempotency-Key", "quantity", "cost"},
			},
			{
				name: "all of a query", method: "GET", path: "/v1/accounts/_/postings?limit=0&cursor=x&asset=%00&from=now&to=1&consistency=yes&x=1",
				status: 400, code: "invalid_request", fields: []string{"account", "limit", "cursor", "asset", "from", "to", "consistency", "x"},
			},
			{name: "a wrong cursor alone", method: "GET", path: "/v1/assets?limit=5&cursor=x", status: 400, code: "invalid_cursor", fields: []string{"cursor"}},
			{
				name: "before the number of postings", path: "/v1/transactions", body: `{"postings":[{"account":"jane","asset":"USD","quantity":"+1"}]}`,
				status: 400, code: "invalid_request", fields: []string{"postings[0].quantity"},
			},
			{
				name: "before the parties", path: "/v1/transfers", body: `{"from":"jane","to":"jane","asset":"USD","quantity":"-1"}`,
				status: 400, code: "invalid_request", fields: []string{"quantity"},
			},
			{
				name: "before what exists", method: "GET", path: "/v1/accounts/nobody/postings?asset=NOTHING&limit=101",
				status: 400, code: "invalid_request", fields: []string{"limit"},
			},
			{
				name: "before the id", path: "/v1/trades", body: `{"id":"t-1","asset":"AAPL","buyer":"jane","seller":"market","quantity":"1","cost":"x"}`,
				status: 400, code: "invalid_request", fields: []string{"cost"},
			},
		})
	})

	t.Run("rules", func(t *testing.T) {
		s.refuses(t, []refusal{
			{
				name: "one posting, not balanced", path: "/v1/transactions", body: `{"postings":[{"account":"jane","asset":"USD","quantity":"1"}]}`,
				status: 422, code: "invalid_transaction", fields: []string{"postings"},
			},
			{
				name: "all zero postings, of what does not exist", path: "/v1/transactions",
				body:   `{"postings":[{"account":"nobody","asset":"NOTHING","quantity":"0"},{"account":"jane","asset":"USD","quantity":"1"},{"account":"shop","asset":"USD","quantity":"0","cost":"0"}]}`,
				status: 422, code: "invalid_transaction", fields: []string{"postings[0]", "postings[2]"},
			},
			{
				name: "unbalanced, of what does not exist", path: "/v1/transactions",
				body:   `{"postings":[{"account":"nobody","asset":"USD","quantity":"1"},{"account":"jane","asset":"NOTHING","quantity":"-1"}]}`,
				status: 422, code: "unbalanced", fields: []string{"postings", "postings"},
			},
			{
				name: "costs unbalanced", path: "/v1/transactions",
				body:   `{"postings":[{"account":"market","asset":"AAPL","quantity":"-1","cost":"-100"},{"account":"jane","asset":"AAPL","quantity":"1","cost":"99"}]}`,
				status: 422, code: "unbalanced", fields: []string{"postings"},
			},
			{
				name: "same parties, who do not exist, under a used id", path: "/v1/trades", body: `{"id":"t-1","asset":"NOTHING","buyer":"nobody","seller":"nobody","quantity":"1"}`,
				status: 422, code: "invalid_transaction", fields: []string{"buyer", "seller"},
			},
			{
				name: "same parties of a transfer", path: "/v1/transfers", body: `{"from":"jane","to":"jane","asset":"USD","quantity":"1"}`,
				status: 422, code: "invalid_transaction", fields: []string{"from", "to"},
			},
			{
				name: "unbalanced under a used id", path: "/v1/transactions", body: `{"id":"d-1","postings":[{"account":"jane","asset":"USD","quantity":"1"},{"account":"shop","asset":"USD","quantity":"1"}]}`,
				status: 422, code: "unbalanced", fields: []string{"postings"},
			},
		})
	})

	t.Run("named things", func(t *testing.T) {
		s.refuses(t, []refusal{
			{name: "asset of the path", method: "GET", path: "/v1/assets/NOTHING", status: 404, code: "asset_not_found"},
			{name: "holders", method: "GET", path: "/v1/assets/NOTHING/holders", status: 404, code: "asset_not_found"},
			{name: "account of the path", method: "GET", path: "/v1/accounts/nobody", status: 404, code: "account_not_found"},
			{name: "summary", method: "GET", path: "/v1/accounts/nobody/summary", status: 404, code: "account_not_found"},
			{name: "balances", method: "GET", path: "/v1/accounts/nobody/balances", status: 404, code: "account_not_found"},
			{name: "balances, strongly", method: "GET", path: "/v1/accounts/nobody/balances?consistency=strong", status: 404, code: "account_not_found"},
			{name: "balance of nobody", method: "GET", path: "/v1/accounts/nobody/balances/NOTHING", status: 404, code: "account_not_found"},
			{name: "balance of nobody, strongly", method: "GET", path: "/v1/accounts/nobody/balances/NOTHING?consistency=strong", status: 404, code: "account_not_found"},
			{name: "balance in nothing", method: "GET", path: "/v1/accounts/jane/balances/NOTHING", status: 404, code: "asset_not_found"},
			{name: "balance in nothing, strongly", method: "GET", path: "/v1/accounts/jane/balances/NOTHING?consistency=strong", status: 404, code: "asset_not_found"},
			{name: "history", method: "GET", path: "/v1/accounts/nobody/postings", status: 404, code: "account_not_found"},
			{name: "history of an asset", method: "GET", path: "/v1/accounts/nobody/postings?asset=USD", status: 404, code: "account_not_found"},
			{name: "history of no asset", method: "GET", path: "/v1/accounts/jane/postings?asset=NOTHING", status: 404, code: "asset_not_found", fields: []string{"asset"}},
			{name: "history of no asset, strongly", method: "GET", path: "/v1/accounts/jane/postings?asset=NOTHING&consistency=strong", status: 404, code: "asset_not_found", fields: []string{"asset"}},
			{name: "history of no time", method: "GET", path: "/v1/accounts/nobody/postings?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", status: 404, code: "account_not_found"},
			{name: "members", method: "GET", path: "/v1/accounts/nobody/members", status: 404, code: "account_not_found"},
			{name: "grant", method: "PUT", path: "/v1/accounts/nobody/members/u-1", body: `{"role":"viewer"}`, status: 404, code: "account_not_found"},
			{name: "revocation", method: "DELETE", path: "/v1/accounts/nobody/members/u-1", status: 404, code: "account_not_found"},
			{name: "transaction", method: "GET", path: "/v1/transactions/nothing", status: 404, code: "transaction_not_found"},
			{name: "ids know case", method: "GET", path: "/v1/transactions/T-1", status: 404, code: "transaction_not_found"},

			{name: "currency of the body", method: "PUT", path: "/v1/assets/MSFT", body: `{"name":"Microsoft","scale":0,"currency":"NOTHING"}`, status: 422, code: "asset_not_found", fields: []string{"currency"}},
			{
				name: "overdraft of the body", method: "PUT", path: "/v1/accounts/joe", body: `{"overdraft":{"NOTHING":"1","USD":"1","NOWHERE":"1"}}`,
				status: 422, code: "asset_not_found", fields: []string{"overdraft.NOTHING", "overdraft.NOWHERE"},
			},
			{
				name: "accounts before assets", path: "/v1/transactions",
				body:   `{"postings":[{"account":"nobody","asset":"NOTHING","quantity":"1"},{"account":"jane","asset":"NOTHING","quantity":"-2"},{"account":"noone","asset":"NOTHING","quantity":"1"}]}`,
				status: 422, code: "account_not_found", fields: []string{"postings[0].account", "postings[2].account"},
			},
			{
				name: "all assets", path: "/v1/transactions",
				body:   `{"postings":[{"account":"jane","asset":"NOTHING","quantity":"1"},{"account":"jane","asset":"NOTHING","quantity":"-1"},{"account":"jane","asset":"USD","quantity":"-1"},{"account":"bank","asset":"USD","quantity":"1"}]}`,
				status: 422, code: "asset_not_found", fields: []string{"postings[0].asset", "postings[1].asset"},
			},
			{name: "parties of a transfer", path: "/v1/transfers", body: `{"from":"nobody","to":"noone","asset":"NOTHING","quantity":"1"}`, status: 422, code: "account_not_found", fields: []string{"from", "to"}},
			{name: "asset of a transfer", path: "/v1/transfers", body: `{"from":"jane","to":"shop","asset":"NOTHING","quantity":"1"}`, status: 422, code: "asset_not_found", fields: []string{"asset"}},
			{name: "seller of a trade", path: "/v1/trades", body: `{"asset":"NOTHING","buyer":"jane","seller":"nobody","quantity":"1"}`, status: 422, code: "account_not_found", fields: []string{"seller"}},
			{name: "asset of a trade", path: "/v1/trades", body: `{"asset":"NOTHING","buyer":"jane","seller":"market","quantity":"1","cost":"1","settle":true}`, status: 422, code: "asset_not_found", fields: []string{"asset"}},

			{name: "a cost without a currency", path: "/v1/trades", body: `{"asset":"GOLD","buyer":"jane","seller":"market","quantity":"1","cost":"1"}`, status: 422, code: "invalid_transaction", fields: []string{"cost"}},
			{name: "settled without a currency", path: "/v1/trades", body: `{"asset":"GOLD","buyer":"jane","seller":"market","quantity":"1","settle":true}`, status: 422, code: "invalid_transaction", fields: []string{"settle"}},
			{
				name: "both", path: "/v1/trades", body: `{"id":"t-1","asset":"GOLD","buyer":"jane","seller":"market","quantity":"1","cost":"1","settle":true}`,
				status: 422, code: "invalid_transaction", fields: []string{"cost", "settle"},
			},
			{
				name: "costs of postings without a currency, and without funds", path: "/v1/transactions",
				body:   `{"postings":[{"account":"shop","asset":"GOLD","quantity":"-1","cost":"-1"},{"account":"jane","asset":"GOLD","quantity":"1","cost":"1"},{"account":"jane","asset":"AAPL","quantity":"-1","cost":"-1"},{"account":"shop","asset":"AAPL","quantity":"1","cost":"1"}]}`,
				status: 422, code: "invalid_transaction", fields: []string{"postings[0].cost", "postings[1].cost"},
			},
			{
				name: "an asset that is missing before a cost that is forbidden", path: "/v1/transactions",
				body:   `{"postings":[{"account":"market","asset":"GOLD","quantity":"-1","cost":"-1"},{"account":"jane","asset":"GOLD","quantity":"1","cost":"1"},{"account":"market","asset":"NOTHING","quantity":"-1"},{"account":"jane","asset":"NOTHING","quantity":"1"}]}`,
				status: 422, code: "asset_not_found", fields: []string{"postings[2].asset", "postings[3].asset"},
			},

			{name: "before a used id", path: "/v1/transfers", body: `{"id":"d-1","from":"bank","to":"nobody","asset":"USD","quantity":"500000"}`, status: 422, code: "account_not_found", fields: []string{"to"}},
			{name: "before an asset that exists", method: "PUT", path: "/v1/assets/AAPL", body: `{"name":"Apple","scale":0,"currency":"NOTHING"}`, status: 422, code: "asset_not_found", fields: []string{"currency"}},
			{name: "before an account that exists", method: "PUT", path: "/v1/accounts/jane", body: `{"overdraft":{"NOTHING":"1"}}`, status: 422, code: "asset_not_found", fields: []string{"overdraft.NOTHING"}},
		})
	})

	t.Run("used ids", func(t *testing.T) {
		s.refuses(t, []refusal{
			{name: "asset", method: "PUT", path: "/v1/assets/USD", body: `{"name":"US dollar","scale":3}`, status: 409, code: "asset_exists"},
			{name: "account", method: "PUT", path: "/v1/accounts/shop", body: `{"name":"Shop","overdraft":"unlimited"}`, status: 409, code: "account_exists"},
			{name: "transaction", path: "/v1/transfers", body: `{"id":"d-1","from":"bank","to":"jane","asset":"USD","quantity":"500001"}`, status: 409, code: "transaction_id_reused"},
			{name: "before funds", path: "/v1/transfers", body: `{"id":"d-1","from":"shop","to":"jane","asset":"USD","quantity":"500000"}`, status: 409, code: "transaction_id_reused"},
			{name: "in the header", path: "/v1/transfers", headers: []string{"Idempotency-Key", "d-1"}, body: `{"from":"shop","to":"jane","asset":"USD","quantity":"500000"}`, status: 409, code: "transaction_id_reused"},
		})
		// The same body again is a replay, whatever funds are there by now.
		s.must(201, "POST", "/v1/transfers", `{"id":"w-1","from":"jane","to":"shop","asset":"USD","quantity":"350000"}`)
		again := s.must(200, "POST", "/v1/transfers", `{"id":"w-1","from":"jane","to":"shop","asset":"USD","quantity":"350000"}`)
		if again.header.Get("Idempotent-Replayed") != "true" {
			t.Error("the replay does not say so")
		}
		s.must(201, "POST", "/v1/transfers", `{"id":"w-2","from":"shop","to":"jane","asset":"USD","quantity":"350000"}`)
	})

	t.Run("funds", func(t *testing.T) {
		for _, c := range []struct {
			name, path, body                     string
			account, asset, available, requested string
		}{
			{"transfer", "/v1/transfers", `{"id":"f-1","from":"jane","to":"shop","asset":"USD","quantity":"350001"}`, "jane", "USD", "350000", "350001"},
			{"trade", "/v1/trades", `{"id":"f-2","asset":"AAPL","buyer":"market","seller":"jane","quantity":"11","cost":"1"}`, "jane", "AAPL", "10", "11"},
			{"settlement", "/v1/trades", `{"id":"f-3","asset":"AAPL","buyer":"shop","seller":"jane","quantity":"1","cost":"100","settle":true}`, "shop", "USD", "0", "100"},
			{
				"the first that is not covered", "/v1/transactions",
				`{"id":"f-4","postings":[{"account":"jane","asset":"USD","quantity":"-1"},{"account":"shop","asset":"USD","quantity":"-7"},{"account":"shop","asset":"GOLD","quantity":"-8"},{"account":"bank","asset":"USD","quantity":"8"},{"account":"bank","asset":"GOLD","quantity":"8"}]}`,
				"shop", "USD", "0", "7",
			},
			{
				"the net of an account and asset", "/v1/transactions",
				`{"id":"f-5","postings":[{"account":"jane","asset":"USD","quantity":"-350000"},{"account":"jane","asset":"USD","quantity":"10"},{"account":"jane","asset":"USD","quantity":"-11"},{"account":"bank","asset":"USD","quantity":"350001"}]}`,
				"jane", "USD", "350000", "350001",
			},
			{"no id", "/v1/transfers", `{"from":"shop","to":"jane","asset":"USD","quantity":"1"}`, "shop", "USD", "0", "1"},
		} {
			s.refuses(t, []refusal{{name: c.name, path: c.path, body: c.body, status: 422, code: "insufficient_funds"}})
			got := s.send("POST", c.path, c.body)
			for name, want := range map[string]string{"account": c.account, "asset": c.asset, "available": c.available, "requested": c.requested} {
				if got.value(name) != want {
					t.Errorf("%s: %s is %v instead of %s: %s", c.name, name, got.value(name), want, got.body)
				}
			}
		}
		// The overdraft is available, too, and a refused id is free.
		s.must(201, "PUT", "/v1/accounts/margin", `{"overdraft":{"USD":"500"}}`)
		got := s.must(422, "POST", "/v1/transfers", `{"id":"m-1","from":"margin","to":"shop","asset":"USD","quantity":"501"}`)
		if got.value("available") != "500" || got.value("requested") != "501" {
			t.Errorf("overdraft: %s", got.body)
		}
		s.must(201, "POST", "/v1/transfers", `{"id":"m-1","from":"margin","to":"shop","asset":"USD","quantity":"500"}`)
		got = s.must(422, "POST", "/v1/transfers", `{"id":"m-2","from":"margin","to":"shop","asset":"USD","quantity":"1"}`)
		if got.value("available") != "0" {
			t.Errorf("overdraft that is used up: %s", got.body)
		}
	})
}

// What the caller calls a request is what the answer and the log call it; without a good name it gets one of ours.
func TestRequestIDs(t *testing.T) {
	t.Parallel()
	s := newSystem(t, withoutPump)
	openRegister(s)
	longest := strings.Repeat("a", 64)
	seen := make(map[string]bool)
	for _, path := range []string{"/healthz", "/v1/assets/USD", "/v1/assets/NOTHING", "/v1/nothing", "/v1/assets?limit=0", "/"} {
		for _, given := range []string{"r-1", "._:@-", longest} {
			got := s.send("GET", path, "", "X-Request-Id", given)
			if id := got.header.Get("X-Request-Id"); id != given {
				t.Errorf("%s as %q is called %q", path, given, id)
			}
			if id := got.value("request_id"); got.status >= 400 && id != given {
				t.Errorf("%s as %q is called %q in the body", path, given, id)
			}
		}
		for _, given := range []string{"", longest + "a", "a b", "a/b", "ä", `"r-1"`, "r-1, r-2"} {
			got := s.send("GET", path, "", "X-Request-Id", given)
			id := got.header.Get("X-Request-Id")
			if id == "" || id == given || seen[id] {
				t.Errorf("%s as %q is called %q", path, given, id)
			}
			seen[id] = true
		}
	}
	created := s.send("PUT", "/v1/assets/EUR", `{"name":"Euro","scale":2}`, "X-Request-Id", "put-1")
	if created.header.Get("X-Request-Id") != "put-1" {
		t.Errorf("a write as put-1 is called %q", created.header.Get("X-Request-Id"))
	}
	eventually(t, timeToLog, "the log has the request by its id", func() bool { return strings.Contains(s.log.String(), `"request_id":"put-1"`) })
}

// HEAD is GET without the body, for errors as well.
func TestHead(t *testing.T) {
	t.Parallel()
	s := newSystem(t, withoutPump)
	openBooks(s)
	for _, path := range []string{
		"/", "/healthz", "/openapi.json", "/v1/assets", "/v1/assets/USD", "/v1/assets/USD/holders", "/v1/accounts", "/v1/accounts/jane", "/v1/accounts/jane/summary",
		"/v1/accounts/jane/balances", "/v1/accounts/jane/balances/USD", "/v1/accounts/jane/postings", "/v1/accounts/jane/members", "/v1/users/u-1/accounts",
		"/v1/transactions/t-1", "/v1/transactions/nothing", "/v1/assets?limit=0", "/v1/trades", "/v1/nothing",
	} {
		get, head := s.send("GET", path, ""), s.send("HEAD", path, "")
		if get.status != head.status || len(head.body) > 0 {
			t.Errorf("HEAD %s: %d and %q, GET: %d", path, head.status, head.body, get.status)
		}
		for _, name := range []string{"Content-Type", "ETag", "Allow"} {
			if get.header.Get(name) != head.header.Get(name) {
				t.Errorf("HEAD %s: %s is %q, GET: %q", path, name, head.header.Get(name), get.header.Get(name))
			}
		}
		// Ids of requests are as long as one another.
		if head.header.Get("Content-Length") != strconv.Itoa(len(get.body)) {
			t.Errorf("HEAD %s: length %s, GET: %d", path, head.header.Get("Content-Length"), len(get.body))
		}
	}
	if got := s.send("HEAD", "/v1/transactions", ""); got.status != http.StatusMethodNotAllowed || got.header.Get("Allow") != "POST" {
		t.Errorf("HEAD where there is no GET: %d, allows %q", got.status, got.header.Get("Allow"))
	}
}
