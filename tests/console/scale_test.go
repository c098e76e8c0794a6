package console

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ledger.example/client"
	"ledger.example/tests/harness/caller"
	"ledger.example/tests/harness/full"
)

// fillMany opens accounts and posts transactions from market: one to each account, and the rest to the first account.
func (s *site) fillMany(accounts, transactions int) {
	s.Helper()
	s.ledger.OpenBooks()
	const callers = 8
	caller.AtOnce(s, callers, func(n int) (caller.Reply, error) {
		for i := n; i < accounts; i += callers {
			r, err := s.ledger.Try("PUT", fmt.Sprintf("/v1/accounts/many-%05d", i), `{"name":"One of many"}`)
			if err != nil || r.Status != http.StatusCreated {
				return r, fmt.Errorf("%d: %w", r.Status, err)
			}
		}
		return caller.Reply{}, nil
	})
	s.batch(transactions, func(i int) string {
		to := i
		if i >= accounts {
			to = 0
		}
		return fmt.Sprintf(`{"transfer":{"id":"paid-%05d","from":"market","to":"many-%05d","asset":"USD","quantity":"100",`+
			`"description":"One of many","metadata":{"order":"%d"}}}`, i, to, i)
	})
	s.ledger.Project()
}

// batch posts n requests, each of which a function returns, in batches.
func (s *site) batch(n int, request func(i int) string) {
	s.Helper()
	const most = 100
	for first := 0; first < n; first += most {
		var requests []string
		for i := first; i < min(first+most, n); i++ {
			requests = append(requests, request(i))
		}
		r := s.ledger.Must(http.StatusOK, "POST", "/v1/batches", `{"requests":[`+strings.Join(requests, ",")+`]}`)
		for _, status := range r.Each("status", "results") {
			if status != float64(http.StatusCreated) {
				s.Fatalf("%s", r.Body)
			}
		}
	}
}

// bounds has the maximum number of API requests per page, which does not depend on the size of the ledger.
var bounds = map[string]int{
	// The caller, two lists, health, two for each of four balances, and in the background the newest 5,000 transactions.
	"":                                    12 + 5_000/client.PageLimit,
	"accounts":                            1,
	"accounts?q=one+of&state=open":        0,
	"assets":                              1,
	"holds":                               1,
	"groups":                              1,
	"transactions":                        1,
	"transactions?q=nothing+of+the+sort":  20,
	"search?q=many-0":                     11,
	"search?q=paid-00007":                 2, // it redirects to the transaction
	"accounts/market":                     33,
	"accounts/market?asset=USD":           33,
	"accounts/many-00000":                 33,
	"accounts/market?from=2026-01-01":     33, // a request for each entry's transaction
	"accounts/market/chart.svg?asset=USD": 11,
	"accounts/jane/chart.svg?asset=USD":   1,
	"accounts/market/statement?asset=USD": 105, // a request for each line's transaction
	"assets/USD":                          2,
	"transactions/paid-00007":             2,
	"do/transfer?from=jane":               0,
}

// In a ledger with many accounts, paging reaches every item, and the number of API requests per page is bounded. The
// short run has 310 accounts.
func TestPageRequestsAreBounded(t *testing.T) {
	t.Parallel()
	s, f := newProxied(t)
	many := full.Count(310, 1000) // market's chart has more than its pages show one by one
	s.fillMany(many, many)
	for _, c := range []struct{ path, text, what string }{
		{"accounts?q=many", "More", `<td><a href="/console/accounts/(many-\d+)">`},
		{"accounts", "More", `<td><a href="/console/accounts/(many-\d+)">`},
		{"assets/USD", "More holders", `<a href="/console/accounts/(many-\d+)">`},
		{"accounts/market", "Older", `<a href="/console/transactions/(paid-\d+)">`},
	} {
		s.checkPages(c.path, "", c.text, c.what, many)
	}
	f.takeRequests()
	for path, most := range bounds {
		s.get(path, http.StatusOK)
		most += 4 + many/client.PageLimit // the names may be read again
		if asked := f.takeRequests(); len(asked) > most {
			t.Errorf("%q makes %d requests, want at most %d:\n%s", path, len(asked), most, strings.Join(asked, "\n"))
		}
	}
}

// BenchmarkPages measures pages of a ledger with ten thousand accounts, which all hold USD, and twenty thousand
// transactions of market.
func BenchmarkPages(b *testing.B) {
	s := newSite(b)
	s.fillMany(10_000, 20_000)
	at := s.ledger.Must(http.StatusOK, "GET", "/v1/transactions/paid-19999", "").Text("posted_at")
	// A balance in the past of unsettled postings is slow: it reads them one by one.
	caller.Eventually(b, timeout, "all postings are settled", func() bool {
		s.ledger.Must(http.StatusCreated, "POST", "/v1/transfers", `{"from":"market","to":"many-00000","asset":"USD","quantity":"1"}`)
		s.ledger.Project()
		s.ledger.Requests.Take()
		s.ledger.Must(http.StatusOK, "GET", "/v1/accounts/market/balances/USD?at="+at, "")
		return len(s.ledger.Requests.Take()) <= 2 // the segments and one page of postings
	})
	for path := range bounds {
		b.Run("/"+path, func(b *testing.B) {
			size := 0
			for b.Loop() {
				size = len(s.get(path, http.StatusOK))
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N), "ms/page")
			b.ReportMetric(float64(size), "bytes/page")
			b.ReportMetric(0, "ns/op")
		})
	}
}
