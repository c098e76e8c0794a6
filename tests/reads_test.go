package tests

import (
	"fmt"
	"slices"
	"testing"
)

// A strong read includes what was just acknowledged, though nothing is projected.
func TestStrongReadsWithoutProjections(t *testing.T) {
	t.Parallel()
	s := newSystem(t, withoutPump)
	s.OpenRegister()
	s.Must(201, "PUT", "/v1/assets/GOLD", `{"name":"Gold","scale":3}`)
	other := s.beside()
	for i, c := range []struct{ path, body, usd, aapl, expenditure string }{
		{"/v1/transfers", `{"id":"s-1","from":"bank","to":"jane","asset":"USD","quantity":"1000"}`, "1000", "0", "0"},
		{"/v1/trades", `{"id":"s-2","asset":"AAPL","buyer":"jane","seller":"market","quantity":"3","cost":"900","settle":true}`, "100", "3", "900"},
		{"/v1/trades", `{"id":"s-3","asset":"AAPL","buyer":"market","seller":"jane","quantity":"1","cost":"350","settle":true}`, "450", "2", "550"},
		{"/v1/transfers", `{"id":"s-4","from":"jane","to":"bank","asset":"USD","quantity":"450"}`, "0", "2", "550"},
	} {
		s.Must(201, "POST", c.path, c.body)
		for _, process := range []*system{s, other} {
			for asset, want := range map[string]string{"USD": c.usd, "AAPL": c.aapl, "GOLD": "0"} {
				if got := process.Must(200, "GET", "/v1/accounts/jane/balances/"+asset+"?consistency=strong", ""); got.Value("quantity") != want {
					t.Errorf("%d: %s is %s, not %s", i, asset, got.Body, want)
				}
			}
			if got := process.Must(200, "GET", "/v1/accounts/jane/balances/AAPL?consistency=strong", "").Value("net_expenditure"); got != c.expenditure {
				t.Errorf("%d: net expenditure %v, not %s", i, got, c.expenditure)
			}
			for _, limit := range []int{1, 100} {
				var got []string
				for _, balance := range process.All("/v1/accounts/jane/balances?consistency=strong", limit) {
					got = append(got, fmt.Sprint(balance["asset"], " ", balance["quantity"]))
				}
				want := []string{"AAPL " + c.aapl, "USD " + c.usd}
				if i == 0 {
					want = want[1:]
				}
				if !slices.Equal(got, want) {
					t.Errorf("%d: balances are %q, not %q", i, got, want)
				}
			}
			newest := process.Must(200, "GET", "/v1/accounts/jane/postings?asset=USD&consistency=strong&limit=1", "")
			if id := fmt.Sprint("s-", i+1); newest.Value("data", 0, "transaction") != id {
				t.Errorf("%d: the newest posting is %s", i, newest.Body)
			}
		}
	}
	// The projections know nothing yet, and that is no 404.
	if got := s.Must(200, "GET", "/v1/accounts/jane/balances/USD", ""); got.Value("postings") != 0.0 || got.Value("as_of") != nil || got.Value("consistency") != "eventual" {
		t.Errorf("not projected: %s", got.Body)
	}
	for _, path := range []string{"/v1/accounts/jane/balances", "/v1/assets/USD/holders"} {
		if got := s.All(path, 5); len(got) != 0 {
			t.Errorf("%s, not projected: %v", path, got)
		}
	}
}
