package acceptance

import (
	"strings"
	"testing"

	"ledger.example/tests/caller"
)

// Every spelling of an amount but one is refused, wherever an amount stands.
func badAmounts(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	nines := strings.Repeat("9", 28)
	var all []caller.Refusal
	for _, amount := range []string{
		`"` + nines + `9"`, `"-` + nines + `9"`, `"` + strings.Repeat("1", 38) + `"`, `"` + strings.Repeat("1", 39) + `"`, `"` + strings.Repeat("1", 4000) + `"`,
		`"1e3"`, `"1E3"`, `"-0"`, `"+1"`, `"01"`, `"00"`, `"-01"`, `"1.0"`, `"1."`, `".1"`, `"0x10"`, `"1,000"`, `"1_000"`, `"1 000"`, `" 1"`, `"1 "`, `"1\n"`, `""`, `"-"`, `"--1"`,
		`"−1"`, `"１"`, `"١"`, `"1\u0000"`, `"\u202e1"`, `"\u200b1"`, `"NaN"`, `"Infinity"`, `"USD 1"`, `"null"`,
		`1`, `0`, `-1`, `1.5`, `1e3`, `-0`, `10000000000000000000000000000000000000000`, `1e400`, `true`, `null`, `{}`, `[]`, `["1"]`,
	} {
		all = append(all, caller.Refusal{
			Name: "posting " + caller.Brief(amount), Path: "/v1/transactions",
			Body:   `{"postings":[{"account":"~jane","asset":"~AAPL","quantity":` + amount + `,"cost":` + amount + `},{"account":"~market","asset":"~AAPL","quantity":"-1","cost":` + amount + `}]}`,
			Status: 400, Code: "invalid_request", Fields: []string{"postings[0].quantity", "postings[0].cost", "postings[1].cost"},
		})
	}
	for _, amount := range []string{`"` + nines + `9"`, `"1e3"`, `"-0"`, `"01"`, `"1.0"`, `"1\u0000"`, `1`, `null`} {
		all = append(all,
			caller.Refusal{
				Name: "quantity " + caller.Brief(amount), Path: "/v1/transfers", Body: `{"from":"~bank","to":"~jane","asset":"~USD","quantity":` + amount + `}`,
				Status: 400, Code: "invalid_request", Fields: []string{"quantity"},
			},
			caller.Refusal{
				Name: "cost " + caller.Brief(amount), Path: "/v1/trades", Body: `{"asset":"~AAPL","buyer":"~jane","seller":"~market","quantity":"1","cost":` + amount + `}`,
				Status: 400, Code: "invalid_request", Fields: []string{"cost"},
			},
			caller.Refusal{
				Name: "overdraft " + caller.Brief(amount), Method: "PUT", Path: "/v1/accounts/~joe", Body: `{"overdraft":{"~AAPL":"0","~USD":` + amount + `}}`,
				Status: 400, Code: "invalid_request", Fields: []string{"overdraft.~USD"},
			},
		)
	}
	for _, c := range []struct{ path, body, field string }{
		{"/v1/transfers", `{"from":"~bank","to":"~jane","asset":"~USD","quantity":"-1"}`, "quantity"},
		{"/v1/transfers", `{"from":"~bank","to":"~jane","asset":"~USD","quantity":"0"}`, "quantity"},
		{"/v1/trades", `{"asset":"~AAPL","buyer":"~jane","seller":"~market","quantity":"-1"}`, "quantity"},
		{"/v1/trades", `{"asset":"~AAPL","buyer":"~jane","seller":"~market","quantity":"0","cost":"5"}`, "quantity"},
		{"/v1/trades", `{"asset":"~AAPL","buyer":"~jane","seller":"~market","quantity":"1","cost":"-1"}`, "cost"},
		{"/v1/trades", `{"asset":"~AAPL","buyer":"~jane","seller":"~market","quantity":"1","cost":"-1","settle":true}`, "cost"},
	} {
		all = append(all, caller.Refusal{Path: c.path, Body: c.body, Status: 400, Code: "invalid_request", Fields: []string{c.field}})
	}
	all = append(all, caller.Refusal{Method: "PUT", Path: "/v1/accounts/~joe", Body: `{"overdraft":{"~USD":"-1"}}`, Status: 400, Code: "invalid_request", Fields: []string{"overdraft.~USD"}})
	refuse(t, s, all)

	s.Must(201, "POST", "/v1/transfers", `{"id":"~a-1","from":"~bank","to":"~shop","asset":"~USD","quantity":"`+nines+`"}`)
	if got := s.Must(200, "GET", "/v1/accounts/~shop/balances/~USD?consistency=strong", "").Value("quantity"); got != nines {
		t.Errorf("28 nines came back as %v", got)
	}
}
