package console

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"ledger.example/tests/caller"
	"ledger.example/tests/full"
)

// crowd opens accounts, each of which market pays once, and then pays the first of them until it has posted so many
// transactions.
func (s *site) crowd(accounts, transactions int) {
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
	const batch = 100
	for first := 0; first < transactions; first += batch {
		var requests []string
		for i := first; i < min(first+batch, transactions); i++ {
			to := i
			if i >= accounts {
				to = 0
			}
			requests = append(requests, fmt.Sprintf(`{"transfer":{"id":"paid-%05d","from":"market","to":"many-%05d",`+
				`"asset":"USD","quantity":"100","description":"One of many","metadata":{"order":"%d"}}}`, i, to, i))
		}
		r := s.ledger.Must(http.StatusOK, "POST", "/v1/batches", `{"requests":[`+strings.Join(requests, ",")+`]}`)
		for _, status := range r.Each("status", "results") {
			if status != float64(http.StatusCreated) {
				s.Fatalf("%s", r.Body)
			}
		}
	}
	s.ledger.Project()
}

// bounds are the most requests that each page may make, however much is in the ledger.
var bounds = map[string]int{
	"":                                    14, // five lists and health, and two for each of four balances
	"?prefix=many-0005":                   14,
	"newest":                              1,
	"search?q=many-0":                     6,
	"groups":                              1,
	"search?q=paid-00007":                 3, // it goes to the transaction
	"accounts/market":                     6,
	"accounts/market?asset=USD":           6,
	"accounts/many-00000":                 6,
	"accounts/market?from=2026-01-01":     6,
	"accounts/market/chart.svg?asset=USD": 49,
	"accounts/jane/chart.svg?asset=USD":   1,
	"assets/USD":                          2,
	"transactions/paid-00007":             2,
	"do/transfer?from=jane":               0,
}

// Everything in a ledger of a thousand accounts is reached by links, and no page asks more often than in a small one.
// The short run has fewer.
func TestAThousandAccounts(t *testing.T) {
	t.Parallel()
	s, f := newFronted(t)
	many := full.Count(260, 1000)
	s.crowd(many, many)
	for _, c := range []struct{ path, text, what string }{
		{"?prefix=many", "More accounts", `<td><a href="/console/accounts/(many-\d+)">`},
		{"", "More accounts", `<td><a href="/console/accounts/(many-\d+)">`},
		{"assets/USD", "More holders", `<a href="/console/accounts/(many-\d+)">`},
		{"accounts/market", "Older", `<a href="/console/transactions/(paid-\d+)">`},
	} {
		s.walk(c.path, "", c.text, c.what, many)
	}
	f.take()
	for path, most := range bounds {
		s.get(path, http.StatusOK)
		if asked := f.take(); len(asked) > most {
			t.Errorf("%q asks %d times, at most %d:\n%s", path, len(asked), most, strings.Join(asked, "\n"))
		}
	}
}

// BenchmarkPages measures pages of a ledger with ten thousand accounts, as many transactions of one of them, and as
// many holders of one asset.
func BenchmarkPages(b *testing.B) {
	s := newSite(b)
	s.crowd(10_000, 20_000)
	at := s.ledger.Must(http.StatusOK, "GET", "/v1/transactions/paid-19999", "").Text("posted_at")
	caller.Eventually(b, timeout, "what was posted is settled", func() bool { // or the past is read posting by posting
		s.ledger.Must(http.StatusCreated, "POST", "/v1/transfers", `{"from":"market","to":"many-00000","asset":"USD","quantity":"1"}`)
		s.ledger.Project()
		s.ledger.Requests.Take()
		s.ledger.Must(http.StatusOK, "GET", "/v1/accounts/market/balances/USD?at="+at, "")
		return len(s.ledger.Requests.Take()) <= 2 // its segments, and one stretch of postings
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
