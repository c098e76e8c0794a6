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
}
