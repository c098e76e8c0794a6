package acceptance

import (
	"regexp"
	"strings"
	"testing"

	"ledger.example/tests/caller"
)

// Every answer has the members that are documented, and no others.
func shapesOfAnswers(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	s.Must(201, "PUT", "/v1/accounts/~jane/members/~u-1", `{"role":"viewer"}`)
	s.Must(201, "POST", "/v1/transactions",
		`{"id":"~n-1","description":"d","metadata":{"order":"1001"},"postings":[{"account":"~bank","asset":"~USD","quantity":"-7"},{"account":"~jane","asset":"~USD","quantity":"7"}]}`)
	projected(s, "~jane")
	const id, moment = `[0-9A-Za-z]{27}`, `"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"`
	exact := func(pattern string) string {
		return "^" + strings.NewReplacer("{", `\{`, "}", `\}`, "[", `\[`, "]", `\]`, "KSUID", `"`+id+`"`, "TIME", moment, "ACTOR", `"[^"]+"`, ".", `\.`).Replace(pattern) + "\n$"
	}
	const (
		usd  = `{"id":"~USD","name":"US dollar","description":"","scale":2,"created_at":TIME,"actor":ACTOR}`
		aapl = `{"id":"~AAPL","name":"Apple Inc.","description":"Common stock","scale":0,"currency":"~USD","created_at":TIME,"actor":ACTOR}`
		jane = `{"id":"~jane","name":"Jane Doe","profile":{"email":"jane@example.com","addresses":[{"street":"1 Main St"},{"street":"2 Lake Rd"}]},"state":"open","version":1,"created_at":TIME,"actor":ACTOR}`
		bank = `{"id":"~bank","name":"Bank","profile":{},"overdraft":"unlimited","state":"open","version":1,"created_at":TIME,"actor":ACTOR}`

		janeUSD  = `{"account":"~jane","asset":"~USD","quantity":"350007","net_expenditure":"0","credits":"500007","debits":"150000","pending_debits":"0","pending_credits":"0","available":"350007","postings":3,"as_of":KSUID,"as_of_time":TIME,"consistency":"eventual"}`
		janeAAPL = `{"account":"~jane","asset":"~AAPL","quantity":"10","net_expenditure":"150000","credits":"10","debits":"0","pending_debits":"0","pending_credits":"0","available":"10","postings":1,"as_of":KSUID,"as_of_time":TIME,"consistency":"eventual"}`
		noGOLD   = `{"account":"~jane","asset":"~GOLD","quantity":"0","net_expenditure":"0","credits":"0","debits":"0","pending_debits":"0","pending_credits":"0","available":"0","postings":0,"as_of":null,"as_of_time":null,"consistency":"eventual"}`

		n1 = `{"id":"~n-1","kind":"transaction","status":"posted","posted_at":TIME,"recorded_at":TIME,"actor":ACTOR,"description":"d","metadata":{"order":"1001"},"postings":[` +
			`{"id":KSUID,"account":"~bank","asset":"~USD","quantity":"-7","cost":"0"},{"id":KSUID,"account":"~jane","asset":"~USD","quantity":"7","cost":"0"}]}`
		t1 = `{"id":"~t-1","kind":"trade","status":"posted","posted_at":TIME,"recorded_at":TIME,"actor":ACTOR,"description":"","metadata":{},"postings":[` +
			`{"id":KSUID,"account":"~jane","asset":"~AAPL","quantity":"10","cost":"150000"},{"id":KSUID,"account":"~market","asset":"~AAPL","quantity":"-10","cost":"-150000"},` +
			`{"id":KSUID,"account":"~jane","asset":"~USD","quantity":"-150000","cost":"0"},{"id":KSUID,"account":"~market","asset":"~USD","quantity":"150000","cost":"0"}]}`
		newest = `{"id":KSUID,"account":"~jane","asset":"~USD","quantity":"7","cost":"0","pending":"0","status":"posted","transaction":"~n-1","kind":"transaction","description":"d","posted_at":TIME}`
		member = `{"account":"~jane","user":"~u-1","role":"viewer"}`
	)
	if got := s.Must(200, "GET", "/healthz", ""); got.Value("status") != "ok" || got.Text("version") == "" {
		t.Errorf("health: %s", got.Body)
	}
	caller.Eventually(t, timeToProject, "the grant is projected", func() bool { return len(s.All("/v1/users/~u-1/accounts", 5)) == 1 })
	for _, c := range [][2]string{
		{"/v1/assets/~USD", usd},
		{"/v1/assets/~AAPL", aapl},
		{"/v1/assets?prefix=~AAPL", `{"data":[` + strings.Replace(aapl, `,"actor":ACTOR`, "", 1) + `],"next_cursor":null}`},
		{"/v1/assets?prefix=~USD", `{"data":[` + strings.Replace(usd, `,"actor":ACTOR`, "", 1) + `],"next_cursor":null}`},
		{"/v1/accounts?prefix=~shop", `{"data":[{"id":"~shop","name":"Shop","state":"open","version":1,"created_at":TIME}],"next_cursor":null}`},
		{"/v1/accounts/~jane", jane},
		{"/v1/accounts/~bank", bank},
		{"/v1/accounts/~jane/balances/~USD", janeUSD},
		{"/v1/accounts/~jane/balances/~USD?consistency=eventual", janeUSD},
		{"/v1/accounts/~jane/balances/~USD?consistency=strong", strings.Replace(janeUSD, "eventual", "strong", 1)},
		{"/v1/accounts/~jane/balances/~GOLD", noGOLD},
		{"/v1/accounts/~jane/balances/~GOLD?consistency=strong", strings.Replace(noGOLD, "eventual", "strong", 1)},
		{"/v1/accounts/~jane/balances", `{"data":[` + janeAAPL + `,` + janeUSD + `],"next_cursor":null}`},
		{"/v1/accounts/~jane/balances?consistency=strong", strings.ReplaceAll(`{"data":[`+janeAAPL+`,`+janeUSD+`],"next_cursor":null}`, "eventual", "strong")},
		{"/v1/accounts/~shop/balances", `{"data":[],"next_cursor":null}`},
		{"/v1/transactions/~n-1", n1},
		{"/v1/transactions/~t-1", t1},
		{"/v1/accounts/~jane/members", `{"data":[` + member + `],"next_cursor":null}`},
		{"/v1/users/~u-1/accounts", `{"data":[{"account":"~jane","user":"~u-1","role":"viewer","through":null}],"next_cursor":null}`},
		{"/v1/users/~nobody/accounts", `{"data":[],"next_cursor":null}`},
		{"/v1/accounts/~jane/postings?to=2020-01-01T00:00:00Z", `{"data":[],"next_cursor":null}`},
		{"/v1/accounts/~shop/summary", `{"account":{"id":"~shop","name":"Shop","profile":{},"state":"open","version":1,"created_at":TIME,"actor":ACTOR},"summary":{"holdings":0,"assets":0,"first_posting_at":null,"last_posting_at":null},` +
			`"balances":{"data":[],"next_cursor":null},"postings":{"data":[],"next_cursor":null}}`},
	} {
		got := s.Must(200, "GET", c[0], "")
		if !regexp.MustCompile(exact(c[1])).Match(got.Body) {
			t.Errorf("%s: %s instead of %s", c[0], got.Body, c[1])
		}
		if mediaType := got.Header.Get("Content-Type"); mediaType != "application/json" {
			t.Errorf("%s is %q", c[0], mediaType)
		}
	}
	page := s.Must(200, "GET", "/v1/accounts/~jane/summary?newest=1", "")
	pattern := strings.TrimSuffix(exact(`{"account":`+jane+`,"summary":{"holdings":2,"assets":2,"first_posting_at":TIME,"last_posting_at":TIME},"balances":{"data":[`+janeAAPL+`,`+janeUSD+
		`],"next_cursor":null},"postings":{"data":[`+newest+`],"next_cursor":"CURSOR"}}`), "") // four more go before it
	if !regexp.MustCompile(strings.Replace(pattern, "CURSOR", `[A-Za-z0-9_-]+`, 1)).Match(page.Body) {
		t.Errorf("page: %s", page.Body)
	}

	// Whoever posts is named, the same in every answer.
	posted := s.Must(200, "POST", "/v1/transfers", `{"id":"~d-1","from":"~bank","to":"~jane","asset":"~USD","quantity":"500000"}`)
	for _, path := range []string{"/v1/transactions/~d-1", "/v1/transactions/~t-1", "/v1/assets/~USD", "/v1/accounts/~jane"} {
		if got := s.Must(200, "GET", path, "").Text("actor"); got == "" || got != posted.Text("actor") {
			t.Errorf("%s is by %q, %s", path, got, posted.Body)
		}
	}

	// One time for all of a transaction, which its KSUIDs hold, and up to which balances are.
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
