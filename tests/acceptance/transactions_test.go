package acceptance

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"ledger.example/tests/caller"
)

// Transactions that break a rule over several fields.
func badTransactions(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	leg := func(account, asset, quantity, cost string) string {
		return fmt.Sprintf(`{"account":%q,"asset":%q,"quantity":%q,"cost":%q}`, account, asset, quantity, cost)
	}
	of := func(legs ...string) string { return `{"postings":[` + strings.Join(legs, ",") + `]}` }
	many := func(n int) string {
		legs := make([]string, n)
		for i := range legs {
			legs[i] = leg("~bank", "~USD", strconv.Itoa(1-i%2*2), "0")
		}
		return of(legs...)
	}
	refuse(t, s, []caller.Refusal{
		{Name: "no posting", Path: "/v1/transactions", Body: of(), Status: 422, Code: "invalid_transaction", Fields: []string{"postings"}},
		{Name: "1 posting", Path: "/v1/transactions", Body: of(leg("~bank", "~USD", "-1", "0")), Status: 422, Code: "invalid_transaction", Fields: []string{"postings"}},
		{Name: "1 posting of nothing", Path: "/v1/transactions", Body: of(leg("~bank", "~USD", "0", "0")), Status: 422, Code: "invalid_transaction", Fields: []string{"postings", "postings[0]"}},
		{Name: "49 postings", Path: "/v1/transactions", Body: many(49), Status: 422, Code: "invalid_transaction", Fields: []string{"postings"}},
		{Name: "50 postings", Path: "/v1/transactions", Body: many(50), Status: 422, Code: "invalid_transaction", Fields: []string{"postings"}},
		{Name: "3,000 postings", Path: "/v1/transactions", Body: many(3000), Status: 422, Code: "invalid_transaction", Fields: []string{"postings"}},
		{Name: "all zero", Path: "/v1/transactions", Body: of(leg("~bank", "~USD", "0", "0"), leg("~jane", "~USD", "0", "0")), Status: 422, Code: "invalid_transaction", Fields: []string{"postings[0]", "postings[1]"}},
		{Name: "quantity", Path: "/v1/transactions", Body: of(leg("~bank", "~USD", "-1", "0"), leg("~jane", "~USD", "2", "0")), Status: 422, Code: "unbalanced", Fields: []string{"postings"}},
		{Name: "quantity across assets", Path: "/v1/transactions", Body: of(leg("~bank", "~USD", "-1", "0"), leg("~jane", "~AAPL", "1", "0")), Status: 422, Code: "unbalanced", Fields: []string{"postings", "postings"}},
		{Name: "cost", Path: "/v1/transactions", Body: of(leg("~market", "~AAPL", "-1", "-5"), leg("~jane", "~AAPL", "1", "6")), Status: 422, Code: "unbalanced", Fields: []string{"postings"}},
		{Name: "cost across assets", Path: "/v1/transactions", Body: of(leg("~market", "~AAPL", "-1", "-5"), leg("~jane", "~AAPL", "1", "0"), leg("~bank", "~USD", "-1", "5"), leg("~jane", "~USD", "1", "0")), Status: 422, Code: "unbalanced", Fields: []string{"postings", "postings"}},
		{
			Name: "by one in 28 digits", Path: "/v1/transactions",
			Body:   of(leg("~bank", "~USD", "-"+strings.Repeat("9", 28), "0"), leg("~jane", "~USD", strings.Repeat("9", 27)+"8", "0")),
			Status: 422, Code: "unbalanced", Fields: []string{"postings"},
		},
		{
			Name: "by a wrap around 64 bits", Path: "/v1/transactions",
			Body:   of(leg("~bank", "~USD", "-1", "0"), leg("~jane", "~USD", "18446744073709551617", "0")),
			Status: 422, Code: "unbalanced", Fields: []string{"postings"},
		},
		{Name: "transfer to oneself", Path: "/v1/transfers", Body: `{"from":"~jane","to":"~jane","asset":"~USD","quantity":"1"}`, Status: 422, Code: "invalid_transaction", Fields: []string{"from", "to"}},
		{Name: "trade with oneself", Path: "/v1/trades", Body: `{"asset":"~AAPL","buyer":"~jane","seller":"~jane","quantity":"1","cost":"1","settle":true}`, Status: 422, Code: "invalid_transaction", Fields: []string{"buyer", "seller"}},
	})
	s.Must(201, "POST", "/v1/transactions", many(48))
	// A posting may be of costs alone, and an account and asset may come more than once.
	s.Must(201, "POST", "/v1/transactions", of(leg("~market", "~AAPL", "0", "-5"), leg("~jane", "~AAPL", "0", "2"), leg("~jane", "~AAPL", "0", "3")))
}
