package acceptance

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"ledger.example/tests/caller"
)

// A transaction with an effective date is in histories at that date, and in balances as soon as it is projected. Its
// recorded_at is the current time. Its funds check uses the current balance.
func effectiveDates(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	const shown = "2020-02-29T10:00:00.123456Z"
	transfer := func(id, more string) string {
		return `{"id":"` + id + `","from":"~bank","to":"~jane","asset":"~USD","quantity":"100"` + more + `}`
	}
	const date = `,"effective_at":"2020-02-29T12:00:00.1234567+02:00"`
	first := s.Must(201, "POST", "/v1/transfers", transfer("~e-1", date))
	first.Shows(t, map[string]any{"posted_at": shown, "postings 1 quantity": "100"})
	if recorded := first.Text("recorded_at"); recorded <= shown {
		t.Errorf("recorded at %s", recorded)
	}
	again := s.Must(200, "POST", "/v1/transfers", transfer("~e-1", `,"effective_at":"`+shown+`"`))
	if !bytes.Equal(again.Body, first.Body) || again.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("the replay is %s", again.Body)
	}
	if read := s.Must(200, "GET", "/v1/transactions/~e-1", ""); !bytes.Equal(read.Body, first.Body) {
		t.Errorf("read as %s", read.Body)
	}
	s.Must(409, "POST", "/v1/transfers", transfer("~e-1", ""))
	young := time.Now().Add(-10 * time.Second).UTC().Format(time.RFC3339Nano)
	s.Must(400, "POST", "/v1/transfers", transfer("~e-0", `,"effective_at":"`+young+`"`)).Shows(t,
		map[string]any{"errors 0 rule": "must be at least 15 seconds in the past"})
	now := s.Must(201, "POST", "/v1/transfers", transfer("~e-2", ""))
	if posted, recorded := now.Text("posted_at"), now.Text("recorded_at"); recorded != posted || posted <= shown {
		t.Errorf("posted at %s, recorded at %s", posted, recorded)
	}
	s.Must(201, "POST", "/v1/trades", `{"id":"~e-3","asset":"~AAPL","buyer":"~jane","seller":"~market","quantity":"1",`+
		`"cost":"50","settle":true,"effective_at":"2014-05-13T16:53:20Z"}`).Shows(t,
		map[string]any{"posted_at": "2014-05-13T16:53:20.000000Z"})
	s.Must(201, "POST", "/v1/transactions/~e-1/reversals", `{"id":"~e-4","quantity":"30"`+date+`}`).Shows(t,
		map[string]any{"posted_at": shown, "reverses": "~e-1"})
	dry := s.Must(200, "POST", "/v1/transfers?dry_run=true", transfer("~e-5", date))
	dry.Shows(t, map[string]any{"posted_at": nil, "recorded_at": nil})
	s.Must(200, "POST", "/v1/batches", `{"requests":[{"transfer":`+transfer("~e-6", date)+`},{"transfer":`+
		transfer("~e-7", `,"effective_at":"2999-01-01T00:00:00Z"`)+`}]}`).Shows(t, map[string]any{
		"results 0 body posted_at": shown, "results 1 status": 400.0, "results 1 body errors 0 field": "effective_at",
	})
	caller.Eventually(t, timeToProject, "all postings are projected", func() bool {
		got := s.Must(200, "GET", "/v1/accounts/~jane/balances/~USD", "")
		return bytes.Contains(got.Body, []byte(`"quantity":"350220"`))
	})
	var order []string
	for _, p := range s.All("/v1/accounts/~jane/postings?asset=~USD&to=2021-01-01T00:00:00Z", 2) {
		order = append(order, fmt.Sprint(p["transaction"]))
	}
	if len(order) != 4 || order[3] != "~e-3" {
		t.Errorf("history: %v", order)
	}
	s.Must(200, "GET", "/v1/accounts/~jane/summary", "").Shows(t,
		map[string]any{"summary first_posting_at": "2014-05-13T16:53:20.000000Z"})
	s.Must(422, "POST", "/v1/transfers", `{"id":"~e-8","from":"~jane","to":"~bank","asset":"~USD","quantity":"350221"`+
		date+`}`).Shows(t, map[string]any{"code": "insufficient_funds", "available": "350220"})
	refuseAll(t, s, "effective.txt")
	closedPeriods(t, s, transfer)
}

// Nothing is posted with an effective date in a closed period until an earlier closing opens it again. The periods of
// this test end before the effective dates of all others.
func closedPeriods(t *testing.T, s *caller.Caller, transfer func(id, more string) string) {
	next := 1.0
	if data := s.Must(200, "GET", "/v1/periods?limit=1", "").Value("data").([]any); len(data) > 0 {
		next = 1 + data[0].(map[string]any)["number"].(float64)
	}
	path := func(ahead float64) string { return fmt.Sprint("/v1/periods/", next+ahead) }
	closing := func(before string) string { return `{"closed_before":"` + before + `","reason":"audited"}` }
	const hour, date = "2014-05-13T17:00:00Z", `,"effective_at":"2014-05-13T16:59:59.999999Z"`
	s.Must(422, "PUT", path(1), closing(hour)).Shows(t, map[string]any{"code": "invalid_period", "errors 0 field": "number"})
	s.Must(422, "PUT", path(0), closing(time.Now().UTC().Format(time.RFC3339))).Shows(t,
		map[string]any{"code": "invalid_period", "errors 0 field": "closed_before"})
	closed := s.Must(201, "PUT", path(0), closing(hour))
	closed.Shows(t, map[string]any{"number": next, "closed_before": "2014-05-13T17:00:00.000000Z", "reason": "audited"})
	if at, final := closed.Text("closed_at"), closed.Text("final_at"); final <= at {
		t.Errorf("closed at %s, final at %s", at, final)
	}
	s.Must(200, "PUT", path(0), closing("2014-05-13T19:00:00+02:00"))
	s.Must(409, "PUT", path(0), closing("2014-05-13T18:00:00Z")).Shows(t, map[string]any{"code": "period_exists"})
	s.Must(422, "POST", "/v1/transfers", transfer("~p-1", date)).Shows(t,
		map[string]any{"code": "period_closed", "errors 0 field": "effective_at"})
	s.Must(422, "POST", "/v1/transfers?dry_run=true", transfer("~p-1", date))
	s.Must(201, "POST", "/v1/transfers", transfer("~p-2", `,"effective_at":"`+hour+`"`))
	s.Must(200, "POST", "/v1/transfers", transfer("~e-1", `,"effective_at":"2020-02-29T10:00:00.123456Z"`))
	for to, settled := range map[string]bool{"from=2014-05-14T00:00:00Z": true, "from=2014-05-13T16:53:20Z": false} {
		s.Must(200, "GET", "/v1/accounts/~jane/statement?asset=~USD&to=2019-01-01T00:00:00Z&"+to, "").Shows(t,
			map[string]any{"settled": settled})
	}
	s.Must(201, "PUT", path(1), closing("2014-05-13T16:53:20Z"))
	s.Must(201, "POST", "/v1/transfers", transfer("~p-1", date))
	s.Must(200, "GET", "/v1/periods?limit=2", "").Shows(t,
		map[string]any{"data 0 number": next + 1, "data 1 closed_before": "2014-05-13T17:00:00.000000Z"})
}
