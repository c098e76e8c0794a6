package acceptance

import (
	"testing"

	"ledger.example/tests/caller"
)

// The actor and the times of a transaction are the same in every answer.
func actorsAndTimes(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	s.Must(201, "POST", "/v1/transactions", `{"id":"~n-1","description":"d","metadata":{"order":"1001"},"postings":[`+
		`{"account":"~bank","asset":"~USD","quantity":"-7"},{"account":"~jane","asset":"~USD","quantity":"7"}]}`)
	s.Must(200, "GET", "/v1/transactions/~n-1", "").Shows(t, map[string]any{"description": "d", "metadata order": "1001"})
	projected(s, "~jane")
	if got := s.Must(200, "GET", "/healthz", ""); got.Value("status") != "ok" || got.Text("version") == "" {
		t.Errorf("health: %s", got.Body)
	}
	page := s.Must(200, "GET", "/v1/accounts/~jane/summary?newest=1", "") // four older postings follow
	page.Shows(t, map[string]any{"account id": "~jane", "summary holdings": 2.0, "balances data 0 asset": "~AAPL",
		"balances data 1 quantity": "350007", "postings data 0 transaction": "~n-1", "postings data 1": nil})

	// Every answer has the same actor.
	posted := s.Must(200, "POST", "/v1/transfers", `{"id":"~d-1","from":"~bank","to":"~jane","asset":"~USD","quantity":"500000"}`)
	for _, path := range []string{"/v1/transactions/~d-1", "/v1/transactions/~t-1", "/v1/assets/~USD", "/v1/accounts/~jane"} {
		if got := s.Must(200, "GET", path, "").Text("actor"); got == "" || got != posted.Text("actor") {
			t.Errorf("%s has the actor %q, %s", path, got, posted.Body)
		}
	}

	// All times of a transaction are equal: posted_at, the as_of_time of balances, and the times in the summary.
	at := s.Must(200, "GET", "/v1/transactions/~n-1", "").Value("posted_at")
	parseTime(t, at)
	usdNow := s.Must(200, "GET", "/v1/accounts/~jane/balances/~USD", "")
	if usdNow.Value("as_of_time") != at || usdNow.Value("as_of") != s.Must(200, "GET", "/v1/transactions/~n-1", "").Value("postings", 1, "id") {
		t.Errorf("as of %s, posted at %v", usdNow.Body, at)
	}
	if page.Value("summary", "last_posting_at") != at || page.Value("postings", "data", 0, "posted_at") != at {
		t.Errorf("last posted at %v: %s", at, page.Body)
	}
	if first := s.Must(200, "GET", "/v1/transactions/~d-1", "").Value("posted_at"); page.Value("summary", "first_posting_at") != first {
		t.Errorf("first posted at %v: %s", first, page.Body)
	}
}
