package acceptance

import (
	"testing"

	"ledger.example/tests/caller"
)

// The README's example, by its figures.
func tradingRegister(t *testing.T, s *caller.Caller) {
	s.OpenRegister()
	s.Must(201, "POST", "/v1/transfers", `{"id":"~d-1","from":"~bank","to":"~jane","asset":"~USD","quantity":"500000"}`)
	const trade = `{"id":"~t-1","asset":"~AAPL","buyer":"~jane","seller":"~market","quantity":"10","cost":"150000","settle":true}`
	s.Must(201, "POST", "/v1/trades", trade)
	strong := s.Must(200, "GET", "/v1/accounts/~jane/balances/~USD?consistency=strong", "")
	if got := strong.Value("quantity"); got != "350000" {
		t.Errorf("strong read right after the trade: %v", got)
	}
	projected(s, "~jane")
	page := s.Must(200, "GET", "/v1/accounts/~jane/summary", "")
	for path, want := range map[[4]any]any{
		{"balances", "data", 0, "asset"}:           "~AAPL",
		{"balances", "data", 0, "quantity"}:        "10",
		{"balances", "data", 0, "net_expenditure"}: "150000",
		{"balances", "data", 1, "quantity"}:        "350000",
		{"postings", "data", 0, "transaction"}:     "~t-1",
	} {
		if got := page.Value(path[:]...); got != want {
			t.Errorf("%v is %v, not %v: %s", path, got, want, page.Body)
		}
	}
	if got := page.Value("summary", "holdings"); got != 2.0 {
		t.Errorf("holdings: %v", got)
	}
	again := s.Must(200, "POST", "/v1/trades", trade)
	if again.Header.Get("Idempotent-Replayed") != "true" {
		t.Error("the replay does not say so")
	}
	s.Must(409, "POST", "/v1/trades", `{"id":"~t-1","asset":"~AAPL","buyer":"~jane","seller":"~market","quantity":"11","cost":"150000","settle":true}`)
	refused := s.Must(422, "POST", "/v1/trades", `{"id":"~t-2","asset":"~AAPL","buyer":"~jane","seller":"~market","quantity":"100","cost":"1500000","settle":true}`)
	if refused.Code() != "insufficient_funds" || refused.Value("available") != "350000" || refused.Value("requested") != "1500000" {
		t.Errorf("refusal: %s", refused.Body)
	}
}
