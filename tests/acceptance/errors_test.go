package acceptance

import (
	"strconv"
	"strings"
	"testing"

	"ledger.example/tests/caller"
)

// Every row of the table of errors, in its order. A request that breaks two rows is answered by the earlier one.
func errorsInTheirOrder(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	big := `{"name":"` + strings.Repeat("x", 256<<10) + `"}`

	t.Run("route", func(t *testing.T) { // sam local takes //v1/assets for /v1/assets, so it isn't asked for
		for _, path := range []string{
			"/v1", "/v1/", "/v2/assets", "/V1/assets", "/v1/assets/", "/v1/assets/~USD/", "/v1//assets", "/v1/assets/~USD/unknown",
			"/v1/accounts/~jane/members/", "/v1/transactions/~t-1/postings", "/v1/users/~u-1", "/healthz/", "/favicon.ico",
		} {
			refuse(t, s, []caller.Refusal{{Name: path, Method: "GET", Path: path, Status: 404, Code: "not_found"}})
		}
		refuse(t, s, []caller.Refusal{
			// Before any other row.
			{Name: "before the media type", Path: "/v1/loans", Body: `{`, Headers: []string{"Content-Type", "text/plain"}, Status: 404, Code: "not_found"},
			{Name: "before the size", Path: "/v1/loans", Body: big, Status: 404, Code: "not_found"},
			{Name: "before the query", Method: "GET", Path: "/v1/loans?limit=0", Status: 404, Code: "not_found"},
		})
	})

	t.Run("method", func(t *testing.T) { // not OPTIONS: gateways that are open to browsers answer that themselves
		for _, c := range []struct{ method, path, allow string }{
			{"POST", "/v1/assets/~USD", "GET, HEAD, PUT"},
			{"DELETE", "/v1/assets/~USD", "GET, HEAD, PUT"},
			{"DELETE", "/v1/accounts/~jane", "GET, HEAD, PUT"},
			{"PATCH", "/v1/accounts/~jane", "GET, HEAD, PUT"},
			{"POST", "/v1/accounts", "GET, HEAD"},
			{"PUT", "/v1/accounts/~jane/balances/~USD", "GET, HEAD"},
			{"GET", "/v1/accounts/~jane/members/~u-1", "DELETE, PUT"},
			{"GET", "/v1/transactions", "POST"},
			{"GET", "/v1/trades", "POST"},
			{"DELETE", "/v1/transactions/~t-1", "GET, HEAD"},
			{"PUT", "/v1/transactions/~t-1", "GET, HEAD"},
			{"POST", "/healthz", "GET, HEAD"},
		} {
			refuse(t, s, []caller.Refusal{{Name: c.method + c.path, Method: c.method, Path: c.path, Status: 405, Code: "method_not_allowed"}})
			if got := s.Send(c.method, c.path, ""); got.Header.Get("Allow") != c.allow {
				t.Errorf("%s %s allows %q instead of %q", c.method, c.path, got.Header.Get("Allow"), c.allow)
			}
		}
		refuse(t, s, []caller.Refusal{
			{Name: "before the media type", Method: "PUT", Path: "/v1/trades", Body: `{`, Headers: []string{"Content-Type", "text/plain"}, Status: 405, Code: "method_not_allowed"},
			{Name: "before the size", Method: "PUT", Path: "/v1/trades", Body: big, Status: 405, Code: "method_not_allowed"},
			{Name: "before the path's ids", Method: "POST", Path: "/v1/assets/%00", Status: 405, Code: "method_not_allowed"},
		})
	})

	t.Run("media type, then size", func(t *testing.T) {
		const trade = `{"id":"~t-9","asset":"~AAPL","buyer":"~jane","seller":"~market","quantity":"1"}`
		var all []caller.Refusal
		for _, value := range []string{
			caller.Absent, "", "text/plain", "text/json", "application/x-www-form-urlencoded", "application/json; charset=iso-8859-1", "application/xml", "*/*", ";",
		} {
			all = append(all, caller.Refusal{Name: "type " + strconv.Quote(value), Path: "/v1/trades", Body: trade, Headers: []string{"Content-Type", value}, Status: 415, Code: "unsupported_media_type"})
		}
		all = append(all,
			caller.Refusal{Name: "compressed", Path: "/v1/trades", Body: trade, Headers: []string{"Content-Encoding", "gzip"}, Status: 415, Code: "unsupported_media_type"},
			caller.Refusal{Name: "no body and no type", Path: "/v1/trades", Status: 415, Code: "unsupported_media_type"},
			caller.Refusal{Name: "type before size", Path: "/v1/trades", Body: big, Headers: []string{"Content-Type", "text/plain"}, Status: 415, Code: "unsupported_media_type"},
			caller.Refusal{Name: "type before JSON", Path: "/v1/trades", Body: `{`, Headers: []string{"Content-Type", "text/plain"}, Status: 415, Code: "unsupported_media_type"},
			caller.Refusal{Name: "type before query", Path: "/v1/trades?x=1", Body: trade, Headers: []string{"Content-Type", "text/plain"}, Status: 415, Code: "unsupported_media_type"},
			caller.Refusal{Name: "size", Path: "/v1/trades", Body: big, Status: 413, Code: "body_too_large"},
			caller.Refusal{Name: "size before JSON", Path: "/v1/trades", Body: "{" + big, Status: 413, Code: "body_too_large"},
			caller.Refusal{Name: "size before query", Path: "/v1/trades?x=1", Body: big, Status: 413, Code: "body_too_large"},
			caller.Refusal{Name: "size before the path's ids", Method: "PUT", Path: "/v1/assets/%00", Body: big, Status: 413, Code: "body_too_large"},
		)
		refuse(t, s, all)
	})

	t.Run("malformed before shape", func(t *testing.T) {
		refuse(t, s, []caller.Refusal{
			{Name: "path", Method: "PUT", Path: "/v1/assets/%00", Body: `{"name":"x"`, Status: 400, Code: "malformed_body"},
			{Name: "query", Path: "/v1/trades?x=1", Body: `[]`, Status: 400, Code: "malformed_body"},
			{
				Name: "unknown fields", Path: "/v1/trades", Body: `{"asset":7,"colour":"red","settle":"yes","size":1}`,
				Status: 400, Code: "malformed_body", Fields: []string{"colour", "size"},
			},
			{
				Name: "unknown fields in postings", Path: "/v1/transactions",
				Body:   `{"id":"","postings":[{"account":"~jane","asset":"~USD","quantity":"x","price":"1"},{"account":"~shop","asset":"~USD","quantity":"1","qty":"1"}],"note":1}`,
				Status: 400, Code: "malformed_body", Fields: []string{"postings[0].price", "postings[1].qty", "note"},
			},
			{
				Name: "fields that come twice", Path: "/v1/transfers", Body: `{"from":"~jane","to":"~shop","asset":"~USD","quantity":"1","quantity":"2","from":""}`,
				Status: 400, Code: "malformed_body", Fields: []string{"quantity", "from"},
			},
			{
				Name: "both", Path: "/v1/transactions",
				Body:   `{"postings":[{"account":"~jane","account":"~shop","asset":"~USD","quantity":"1"}],"metadata":{"k":"1","k":"2"},"colour":1}`,
				Status: 400, Code: "malformed_body", Fields: []string{"postings[0].account", "metadata.k", "colour"},
			},
		})
	})

	t.Run("shape", func(t *testing.T) {
		refuse(t, s, []caller.Refusal{
			{
				Name: "all of a body", Path: "/v1/transactions",
				Body:   `{"id":"-x","description":7,"metadata":{"a":1,"b":null,"c":"ok"},"postings":[{"asset":"","quantity":"01","cost":5},7,{"account":"~jane","asset":"~USD","quantity":"1.0"}]}`,
				Status: 400, Code: "invalid_request",
				Fields: []string{
					"id", "description", "metadata.a", "metadata.b", "postings[0].account", "postings[0].asset", "postings[0].quantity", "postings[0].cost",
					"postings[1]", "postings[2].quantity",
				},
			},
			{
				Name: "path, query and body", Method: "PUT", Path: "/v1/accounts/-a/members/b%20c?limit=1&x=2", Body: `{"role":"admin"}`,
				Status: 400, Code: "invalid_request", Fields: []string{"account", "user", "limit", "x", "role"},
			},
			{
				Name: "header", Path: "/v1/trades", Headers: []string{"Idempotency-Key", "a b"}, Body: `{"asset":"~AAPL","buyer":"~jane","seller":"~market","quantity":"0","cost":"-1"}`,
				Status: 400, Code: "invalid_request", Fields: []string{"Idempotency-Key", "quantity", "cost"},
			},
			{
				Name: "all of a query", Method: "GET", Path: "/v1/accounts/_/postings?limit=0&cursor=x&asset=%00&from=now&to=1&consistency=yes&x=1",
				Status: 400, Code: "invalid_request", Fields: []string{"account", "limit", "cursor", "asset", "from", "to", "consistency", "x"},
			},
			{Name: "a wrong cursor alone", Method: "GET", Path: "/v1/assets?limit=5&cursor=x", Status: 400, Code: "invalid_cursor", Fields: []string{"cursor"}},
			{
				Name: "before the number of postings", Path: "/v1/transactions", Body: `{"postings":[{"account":"~jane","asset":"~USD","quantity":"+1"}]}`,
				Status: 400, Code: "invalid_request", Fields: []string{"postings[0].quantity"},
			},
			{
				Name: "before the parties", Path: "/v1/transfers", Body: `{"from":"~jane","to":"~jane","asset":"~USD","quantity":"-1"}`,
				Status: 400, Code: "invalid_request", Fields: []string{"quantity"},
			},
			{
				Name: "before what exists", Method: "GET", Path: "/v1/accounts/~nobody/postings?asset=~NOTHING&limit=101",
				Status: 400, Code: "invalid_request", Fields: []string{"limit"},
			},
			{
				Name: "before the id", Path: "/v1/trades", Body: `{"id":"~t-1","asset":"~AAPL","buyer":"~jane","seller":"~market","quantity":"1","cost":"x"}`,
				Status: 400, Code: "invalid_request", Fields: []string{"cost"},
			},
		})
	})

	t.Run("rules", func(t *testing.T) {
		refuse(t, s, []caller.Refusal{
			{
				Name: "one posting, not balanced", Path: "/v1/transactions", Body: `{"postings":[{"account":"~jane","asset":"~USD","quantity":"1"}]}`,
				Status: 422, Code: "invalid_transaction", Fields: []string{"postings"},
			},
			{
				Name: "all zero postings, of what does not exist", Path: "/v1/transactions",
				Body:   `{"postings":[{"account":"~nobody","asset":"~NOTHING","quantity":"0"},{"account":"~jane","asset":"~USD","quantity":"1"},{"account":"~shop","asset":"~USD","quantity":"0","cost":"0"}]}`,
				Status: 422, Code: "invalid_transaction", Fields: []string{"postings[0]", "postings[2]"},
			},
			{
				Name: "unbalanced, of what does not exist", Path: "/v1/transactions",
				Body:   `{"postings":[{"account":"~nobody","asset":"~USD","quantity":"1"},{"account":"~jane","asset":"~NOTHING","quantity":"-1"}]}`,
				Status: 422, Code: "unbalanced", Fields: []string{"postings", "postings"},
			},
			{
				Name: "costs unbalanced", Path: "/v1/transactions",
				Body:   `{"postings":[{"account":"~market","asset":"~AAPL","quantity":"-1","cost":"-100"},{"account":"~jane","asset":"~AAPL","quantity":"1","cost":"99"}]}`,
				Status: 422, Code: "unbalanced", Fields: []string{"postings"},
			},
			{
				Name: "same parties, who do not exist, under a used id", Path: "/v1/trades", Body: `{"id":"~t-1","asset":"~NOTHING","buyer":"~nobody","seller":"~nobody","quantity":"1"}`,
				Status: 422, Code: "invalid_transaction", Fields: []string{"buyer", "seller"},
			},
			{
				Name: "same parties of a transfer", Path: "/v1/transfers", Body: `{"from":"~jane","to":"~jane","asset":"~USD","quantity":"1"}`,
				Status: 422, Code: "invalid_transaction", Fields: []string{"from", "to"},
			},
			{
				Name: "unbalanced under a used id", Path: "/v1/transactions", Body: `{"id":"~d-1","postings":[{"account":"~jane","asset":"~USD","quantity":"1"},{"account":"~shop","asset":"~USD","quantity":"1"}]}`,
				Status: 422, Code: "unbalanced", Fields: []string{"postings"},
			},
		})
	})

	t.Run("named things", func(t *testing.T) {
		refuse(t, s, []caller.Refusal{
			{Name: "asset of the path", Method: "GET", Path: "/v1/assets/~NOTHING", Status: 404, Code: "asset_not_found"},
			{Name: "holders", Method: "GET", Path: "/v1/assets/~NOTHING/holders", Status: 404, Code: "asset_not_found"},
			{Name: "account of the path", Method: "GET", Path: "/v1/accounts/~nobody", Status: 404, Code: "account_not_found"},
			{Name: "summary", Method: "GET", Path: "/v1/accounts/~nobody/summary", Status: 404, Code: "account_not_found"},
			{Name: "balances", Method: "GET", Path: "/v1/accounts/~nobody/balances", Status: 404, Code: "account_not_found"},
			{Name: "balances, strongly", Method: "GET", Path: "/v1/accounts/~nobody/balances?consistency=strong", Status: 404, Code: "account_not_found"},
			{Name: "balance of nobody", Method: "GET", Path: "/v1/accounts/~nobody/balances/~NOTHING", Status: 404, Code: "account_not_found"},
			{Name: "balance of nobody, strongly", Method: "GET", Path: "/v1/accounts/~nobody/balances/~NOTHING?consistency=strong", Status: 404, Code: "account_not_found"},
			{Name: "balance in nothing", Method: "GET", Path: "/v1/accounts/~jane/balances/~NOTHING", Status: 404, Code: "asset_not_found"},
			{Name: "balance in nothing, strongly", Method: "GET", Path: "/v1/accounts/~jane/balances/~NOTHING?consistency=strong", Status: 404, Code: "asset_not_found"},
			{Name: "history", Method: "GET", Path: "/v1/accounts/~nobody/postings", Status: 404, Code: "account_not_found"},
			{Name: "history of an asset", Method: "GET", Path: "/v1/accounts/~nobody/postings?asset=~USD", Status: 404, Code: "account_not_found"},
			{Name: "history of no asset", Method: "GET", Path: "/v1/accounts/~jane/postings?asset=~NOTHING", Status: 404, Code: "asset_not_found", Fields: []string{"asset"}},
			{Name: "history of no asset, strongly", Method: "GET", Path: "/v1/accounts/~jane/postings?asset=~NOTHING&consistency=strong", Status: 404, Code: "asset_not_found", Fields: []string{"asset"}},
			{Name: "history of no time", Method: "GET", Path: "/v1/accounts/~nobody/postings?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", Status: 404, Code: "account_not_found"},
			{Name: "members", Method: "GET", Path: "/v1/accounts/~nobody/members", Status: 404, Code: "account_not_found"},
			{Name: "grant", Method: "PUT", Path: "/v1/accounts/~nobody/members/~u-1", Body: `{"role":"viewer"}`, Status: 404, Code: "account_not_found"},
			{Name: "revocation", Method: "DELETE", Path: "/v1/accounts/~nobody/members/~u-1", Status: 404, Code: "account_not_found"},
			{Name: "transaction", Method: "GET", Path: "/v1/transactions/~nothing", Status: 404, Code: "transaction_not_found"},
			{Name: "ids know case", Method: "GET", Path: "/v1/transactions/~T-1", Status: 404, Code: "transaction_not_found"},

			{Name: "currency of the body", Method: "PUT", Path: "/v1/assets/~MSFT", Body: `{"name":"Microsoft","scale":0,"currency":"~NOTHING"}`, Status: 422, Code: "asset_not_found", Fields: []string{"currency"}},
			{
				Name: "overdraft of the body", Method: "PUT", Path: "/v1/accounts/~joe", Body: `{"overdraft":{"~NOTHING":"1","~USD":"1","~NOWHERE":"1"}}`,
				Status: 422, Code: "asset_not_found", Fields: []string{"overdraft.~NOTHING", "overdraft.~NOWHERE"},
			},
			{
				Name: "accounts before assets", Path: "/v1/transactions",
				Body:   `{"postings":[{"account":"~nobody","asset":"~NOTHING","quantity":"1"},{"account":"~jane","asset":"~NOTHING","quantity":"-2"},{"account":"~noone","asset":"~NOTHING","quantity":"1"}]}`,
				Status: 422, Code: "account_not_found", Fields: []string{"postings[0].account", "postings[2].account"},
			},
			{
				Name: "all assets", Path: "/v1/transactions",
				Body:   `{"postings":[{"account":"~jane","asset":"~NOTHING","quantity":"1"},{"account":"~jane","asset":"~NOTHING","quantity":"-1"},{"account":"~jane","asset":"~USD","quantity":"-1"},{"account":"~bank","asset":"~USD","quantity":"1"}]}`,
				Status: 422, Code: "asset_not_found", Fields: []string{"postings[0].asset", "postings[1].asset"},
			},
			{Name: "parties of a transfer", Path: "/v1/transfers", Body: `{"from":"~nobody","to":"~noone","asset":"~NOTHING","quantity":"1"}`, Status: 422, Code: "account_not_found", Fields: []string{"from", "to"}},
			{Name: "asset of a transfer", Path: "/v1/transfers", Body: `{"from":"~jane","to":"~shop","asset":"~NOTHING","quantity":"1"}`, Status: 422, Code: "asset_not_found", Fields: []string{"asset"}},
			{Name: "seller of a trade", Path: "/v1/trades", Body: `{"asset":"~NOTHING","buyer":"~jane","seller":"~nobody","quantity":"1"}`, Status: 422, Code: "account_not_found", Fields: []string{"seller"}},
			{Name: "asset of a trade", Path: "/v1/trades", Body: `{"asset":"~NOTHING","buyer":"~jane","seller":"~market","quantity":"1","cost":"1","settle":true}`, Status: 422, Code: "asset_not_found", Fields: []string{"asset"}},

			{Name: "a cost without a currency", Path: "/v1/trades", Body: `{"asset":"~GOLD","buyer":"~jane","seller":"~market","quantity":"1","cost":"1"}`, Status: 422, Code: "invalid_transaction", Fields: []string{"cost"}},
			{Name: "settled without a currency", Path: "/v1/trades", Body: `{"asset":"~GOLD","buyer":"~jane","seller":"~market","quantity":"1","settle":true}`, Status: 422, Code: "invalid_transaction", Fields: []string{"settle"}},
			{
				Name: "both", Path: "/v1/trades", Body: `{"id":"~t-1","asset":"~GOLD","buyer":"~jane","seller":"~market","quantity":"1","cost":"1","settle":true}`,
				Status: 422, Code: "invalid_transaction", Fields: []string{"cost", "settle"},
			},
			{
				Name: "costs of postings without a currency, and without funds", Path: "/v1/transactions",
				Body:   `{"postings":[{"account":"~shop","asset":"~GOLD","quantity":"-1","cost":"-1"},{"account":"~jane","asset":"~GOLD","quantity":"1","cost":"1"},{"account":"~jane","asset":"~AAPL","quantity":"-1","cost":"-1"},{"account":"~shop","asset":"~AAPL","quantity":"1","cost":"1"}]}`,
				Status: 422, Code: "invalid_transaction", Fields: []string{"postings[0].cost", "postings[1].cost"},
			},
			{
				Name: "an asset that is missing before a cost that is forbidden", Path: "/v1/transactions",
				Body:   `{"postings":[{"account":"~market","asset":"~GOLD","quantity":"-1","cost":"-1"},{"account":"~jane","asset":"~GOLD","quantity":"1","cost":"1"},{"account":"~market","asset":"~NOTHING","quantity":"-1"},{"account":"~jane","asset":"~NOTHING","quantity":"1"}]}`,
				Status: 422, Code: "asset_not_found", Fields: []string{"postings[2].asset", "postings[3].asset"},
			},

			{Name: "before a used id", Path: "/v1/transfers", Body: `{"id":"~d-1","from":"~bank","to":"~nobody","asset":"~USD","quantity":"500000"}`, Status: 422, Code: "account_not_found", Fields: []string{"to"}},
			{Name: "before an asset that exists", Method: "PUT", Path: "/v1/assets/~AAPL", Body: `{"name":"Apple","scale":0,"currency":"~NOTHING"}`, Status: 422, Code: "asset_not_found", Fields: []string{"currency"}},
			{Name: "before an account that exists", Method: "PUT", Path: "/v1/accounts/~jane", Body: `{"overdraft":{"~NOTHING":"1"}}`, Status: 422, Code: "asset_not_found", Fields: []string{"overdraft.~NOTHING"}},
		})
	})

	t.Run("used ids", func(t *testing.T) {
		refuse(t, s, []caller.Refusal{
			{Name: "asset", Method: "PUT", Path: "/v1/assets/~USD", Body: `{"name":"US dollar","scale":3}`, Status: 409, Code: "asset_exists"},
			{Name: "account", Method: "PUT", Path: "/v1/accounts/~shop", Body: `{"name":"Shop","overdraft":"unlimited"}`, Status: 409, Code: "account_exists"},
			{Name: "transaction", Path: "/v1/transfers", Body: `{"id":"~d-1","from":"~bank","to":"~jane","asset":"~USD","quantity":"500001"}`, Status: 409, Code: "transaction_id_reused"},
			{Name: "before funds", Path: "/v1/transfers", Body: `{"id":"~d-1","from":"~shop","to":"~jane","asset":"~USD","quantity":"500000"}`, Status: 409, Code: "transaction_id_reused"},
			{Name: "in the header", Path: "/v1/transfers", Headers: []string{"Idempotency-Key", "~d-1"}, Body: `{"from":"~shop","to":"~jane","asset":"~USD","quantity":"500000"}`, Status: 409, Code: "transaction_id_reused"},
		})
		// The same body again is a replay, whatever funds are there by now.
		s.Must(201, "POST", "/v1/transfers", `{"id":"~w-1","from":"~jane","to":"~shop","asset":"~USD","quantity":"350000"}`)
		again := s.Must(200, "POST", "/v1/transfers", `{"id":"~w-1","from":"~jane","to":"~shop","asset":"~USD","quantity":"350000"}`)
		if again.Header.Get("Idempotent-Replayed") != "true" {
			t.Error("the replay does not say so")
		}
		s.Must(201, "POST", "/v1/transfers", `{"id":"~w-2","from":"~shop","to":"~jane","asset":"~USD","quantity":"350000"}`)
	})

	t.Run("funds", func(t *testing.T) {
		for _, c := range []struct {
			name, path, body                     string
			account, asset, available, requested string
		}{
			{"transfer", "/v1/transfers", `{"id":"~f-1","from":"~jane","to":"~shop","asset":"~USD","quantity":"350001"}`, "~jane", "~USD", "350000", "350001"},
			{"trade", "/v1/trades", `{"id":"~f-2","asset":"~AAPL","buyer":"~market","seller":"~jane","quantity":"11","cost":"1"}`, "~jane", "~AAPL", "10", "11"},
			{"settlement", "/v1/trades", `{"id":"~f-3","asset":"~AAPL","buyer":"~shop","seller":"~jane","quantity":"1","cost":"100","settle":true}`, "~shop", "~USD", "0", "100"},
			{
				"the first that is not covered", "/v1/transactions",
				`{"id":"~f-4","postings":[{"account":"~jane","asset":"~USD","quantity":"-1"},{"account":"~shop","asset":"~USD","quantity":"-7"},{"account":"~shop","asset":"~GOLD","quantity":"-8"},{"account":"~bank","asset":"~USD","quantity":"8"},{"account":"~bank","asset":"~GOLD","quantity":"8"}]}`,
				"~shop", "~USD", "0", "7",
			},
			{
				"the net of an account and asset", "/v1/transactions",
				`{"id":"~f-5","postings":[{"account":"~jane","asset":"~USD","quantity":"-350000"},{"account":"~jane","asset":"~USD","quantity":"10"},{"account":"~jane","asset":"~USD","quantity":"-11"},{"account":"~bank","asset":"~USD","quantity":"350001"}]}`,
				"~jane", "~USD", "350000", "350001",
			},
			{"no id", "/v1/transfers", `{"from":"~shop","to":"~jane","asset":"~USD","quantity":"1"}`, "~shop", "~USD", "0", "1"},
		} {
			refuse(t, s, []caller.Refusal{{Name: c.name, Path: c.path, Body: c.body, Status: 422, Code: "insufficient_funds"}})
			got := s.Send("POST", c.path, c.body)
			for name, want := range map[string]string{"account": c.account, "asset": c.asset, "available": c.available, "requested": c.requested} {
				if got.Value(name) != want {
					t.Errorf("%s: %s is %v instead of %s: %s", c.name, name, got.Value(name), want, got.Body)
				}
			}
		}
		// The overdraft is available, too, and a refused id is free.
		s.Must(201, "PUT", "/v1/accounts/~margin", `{"overdraft":{"~USD":"500"}}`)
		got := s.Must(422, "POST", "/v1/transfers", `{"id":"~m-1","from":"~margin","to":"~shop","asset":"~USD","quantity":"501"}`)
		if got.Value("available") != "500" || got.Value("requested") != "501" {
			t.Errorf("overdraft: %s", got.Body)
		}
		s.Must(201, "POST", "/v1/transfers", `{"id":"~m-1","from":"~margin","to":"~shop","asset":"~USD","quantity":"500"}`)
		got = s.Must(422, "POST", "/v1/transfers", `{"id":"~m-2","from":"~margin","to":"~shop","asset":"~USD","quantity":"1"}`)
		if got.Value("available") != "0" {
			t.Errorf("overdraft that is used up: %s", got.Body)
		}
	})
}
