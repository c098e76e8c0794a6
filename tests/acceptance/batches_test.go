package acceptance

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"ledger.example/tests/harness/caller"
)

// batchMax is the size limit of the body of a batch. It is larger than that of other bodies.
const batchMax = 1 << 20

// oneOfBatch returns a USD transfer as one request of a batch.
func oneOfBatch(id, from, to string, quantity int) string {
	return fmt.Sprintf(`{"transfer":{"id":"%s","from":"%s","to":"%s","asset":"~USD","quantity":"%d"}}`, id, from, to,
		quantity)
}

func batchOf(atomic bool, requests ...string) string {
	return fmt.Sprintf(`{"atomic":%t,"requests":[%s]}`, atomic, strings.Join(requests, ","))
}

// statusesOf returns the statuses in the results of a batch.
func statusesOf(r caller.Reply) string { return fmt.Sprint(r.Each("status", "results")) }

// A batch answers each request independently. An atomic batch posts all requests or none.
func batchesOfRequests(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	mixed := batchOf(false, oneOfBatch("~b-1", "~bank", "~shop", 10), oneOfBatch("~b-2", "~bank", "~nobody", 1), `7`,
		`{"batch":{"requests":[]}}`, `{"transfer":{"from":"~bank","to":"~shop","asset":"~USD","quantity":"1"}}`,
		oneOfBatch("~b-3", "~shop", "~jane", 9999), oneOfBatch("~t-1", "~bank", "~jane", 1),
		`{"trade":{"id":"~b-4","asset":"~AAPL","buyer":"~jane","seller":"~market","quantity":"1","cost":"5","settle":true}}`,
		`{"transfer":{},"trade":{}}`, `{}`, `{"trade":[]}`, `{"trade":{},"trade":{}}`,
		`{"transfer":{"id":"~b-5","from":"~bank","to":"~shop","asset":"~USD","quantity":5,"from":"x","x":1}}`)
	first := s.Must(200, "POST", "/v1/batches", mixed)
	if got := statusesOf(first); got != "[201 422 400 400 400 422 409 201 400 400 400 400 400]" {
		t.Fatalf("statuses %s: %s", got, first.Body)
	}
	first.Shows(t, map[string]any{"results 0 body id": "~b-1", "results 1 body code": "account_not_found",
		"results 1 body errors 0 field": "to", "results 4 body errors 0 field": "id",
		"results 3 body errors 0 field": "batch", "results 5 body code": "insufficient_funds",
		"results 7 body postings 3 quantity": "5", "results 10 body code": "malformed_body",
		"results 12 body errors 0 field": "from",
		"results 12 body errors 1 field": "x", "results 12 body request_id": first.Header.Get("X-Request-Id")})
	again := s.Must(200, "POST", "/v1/batches", mixed)
	if got := statusesOf(again); got != "[200 422 400 400 400 422 409 200 400 400 400 400 400]" {
		t.Errorf("statuses of the replay %s: %s", got, again.Body)
	}
	got := unreversed(t, s.Must(200, "GET", "/v1/transactions/~b-1", ""))
	if !bytes.Contains(first.Body, bytes.TrimSpace(got)) {
		t.Errorf("read as %s, answered as %s", got, first.Body)
	}

	atomic := batchOf(true, oneOfBatch("~a-1", "~bank", "~shop", 100), oneOfBatch("~a-2", "~shop", "~jane", 110))
	if got := statusesOf(s.Must(201, "POST", "/v1/batches", atomic)); got != "[201 201]" {
		t.Errorf("statuses %s", got)
	}
	if got := statusesOf(s.Must(200, "POST", "/v1/batches", atomic)); got != "[200 200]" {
		t.Errorf("statuses of the replay %s", got)
	}
	more := batchOf(true, oneOfBatch("~a-1", "~bank", "~shop", 100), oneOfBatch("~a-3", "~bank", "~jane", 1))
	if got := statusesOf(s.Must(201, "POST", "/v1/batches", more)); got != "[200 201]" {
		t.Errorf("statuses of a partial replay %s", got)
	}
	before := s.Must(200, "GET", "/v1/accounts/~jane/balances?consistency=strong", "")
	refuseAll(t, s, "batches.txt")
	var many []string
	for i := range 34 { // 3 writes each, and one for the guard
		many = append(many, oneOfBatch(fmt.Sprint("~m-", i), "~jane", "~shop", 1))
	}
	refuse(t, s, []caller.Refusal{
		refusal("34 transfers, atomic", "POST /v1/batches", batchOf(true, many...), 422, "batch_too_large"),
		refusal("one byte too large", "POST /v1/batches", strings.Repeat(" ", batchMax+1), 413, "body_too_large"),
	})
	if after := s.Must(200, "GET", "/v1/accounts/~jane/balances?consistency=strong", ""); !bytes.Equal(before.Body,
		after.Body) {
		t.Errorf("refused requests changed balances: %s, want %s", after.Body, before.Body)
	}
	for _, id := range []string{"~x-1", "~x-2", "~m-0"} {
		s.Must(404, "GET", "/v1/transactions/"+id, "")
	}
	s.Must(201, "POST", "/v1/batches", batchOf(true, many[:33]...))
	largest := strings.ReplaceAll(batchOf(false, `{"transaction":{"id":"~l-1","description":"`+strings.Repeat(" ", 256)+`","postings":[`+
		`{"account":"~bank","asset":"~USD","quantity":"-1"},{"account":"~jane","asset":"~USD","quantity":"1"}]}}`), "~", s.Prefix)
	s.Must(200, "POST", "/v1/batches", largest+strings.Repeat(" ", batchMax-len(largest)))
}

// A batch captures and releases holds and reverses transactions, like the single requests.
func batchesOfEnds(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	for _, id := range []string{"~h-1", "~h-2", "~h-3", "~h-4", "~h-5"} {
		s.Must(201, "POST", "/v1/transfers", hold(id))
	}
	const (
		placed  = `{"transfer":{"id":"~h-6","from":"~jane","to":"~shop","asset":"~USD","quantity":"10","hold":{}}}`
		capture = `{"capture":{"transaction":"~h-1","quantity":"7"}}`
		release = `{"release":{"transaction":"~h-2","description":"nobody came"}}`
		back    = `{"reversal":{"transaction":"~h-1","id":"~r-1","quantity":"2"}}`
	)
	mixed := batchOf(false, capture, release, back, placed, `{"capture":{"transaction":"~h-6"}}`,
		`{"capture":{"transaction":"~h-3","quantity":"51"}}`, `{"release":{"transaction":"~none"}}`, `{"release":{}}`,
		`{"reversal":{"transaction":"~h-3","id":"~r-2"}}`, `{"capture":{"transaction":"~t-1"}}`)
	for _, c := range []struct {
		path, statuses string
		replayed       any
	}{
		{"?dry_run=true", "[200 200 422 201 422 422 422 400 422 422]", nil}, {"", "[200 200 201 201 200 422 422 400 422 422]", nil},
		{"", "[200 200 200 200 200 422 422 400 422 422]", true}, {"?dry_run=true", "[200 200 200 200 200 422 422 400 422 422]", true},
	} {
		got := s.Must(200, "POST", "/v1/batches"+c.path, mixed)
		if statusesOf(got) != c.statuses {
			t.Errorf("statuses %s, want %s: %s", statusesOf(got), c.statuses, got.Body)
		}
		got.Shows(t, map[string]any{"results 0 body id": "~h-1", "results 0 body status": "captured", "results 0 replayed": c.replayed,
			"results 0 body captured 1 quantity": "7", "results 1 body status": "released", "results 1 replayed": c.replayed,
			"results 1 body end_description": "nobody came", "results 5 body code": "exceeds_hold",
			"results 5 body errors 0 field": "quantity", "results 6 body code": "transaction_not_found",
			"results 6 body errors 0 field": "transaction", "results 7 body errors 0 field": "transaction",
			"results 8 body code": "nothing_to_reverse", "results 9 body code": "not_a_hold"})
	}
	s.Must(200, "GET", "/v1/transactions/~h-1", "").Shows(t, map[string]any{"status": "captured", "reversed 0 quantity": "-2"})
	ended := s.Must(200, "POST", "/v1/batches", batchOf(false, `{"capture":{"transaction":"~h-2"}}`))
	ended.Shows(t, map[string]any{"results 0 status": 409.0, "results 0 body code": "hold_ended", "results 0 body hold_status": "released"})

	// An atomic batch may spend what its earlier requests give back and credit.
	before := s.Must(200, "GET", "/v1/accounts/~jane/balances/~USD?consistency=strong", "")
	all, _ := strconv.Atoi(before.Text("available"))
	spend := func(id string, quantity int) string { return oneOfBatch(id, "~jane", "~shop", quantity) }
	short := s.Must(422, "POST", "/v1/batches", batchOf(true, `{"release":{"transaction":"~h-3"}}`,
		`{"capture":{"transaction":"~h-4","quantity":"4"}}`, spend("~s-1", all+97)))
	short.Shows(t, map[string]any{"code": "insufficient_funds", "errors 0 field": "requests[2].transfer",
		"available": strconv.Itoa(all + 96)})
	s.Must(200, "GET", "/v1/transactions/~h-3", "").Shows(t, map[string]any{"status": "held"})
	whole := batchOf(true, `{"release":{"transaction":"~h-3"}}`, `{"capture":{"transaction":"~h-4","quantity":"4"}}`, spend("~s-1", all+96))
	if got := statusesOf(s.Must(200, "POST", "/v1/batches?dry_run=true", whole)); got != "[200 200 201]" {
		t.Errorf("statuses %s", got)
	}
	if got := statusesOf(s.Must(201, "POST", "/v1/batches", whole)); got != "[200 200 201]" {
		t.Errorf("statuses %s", got)
	}
	if got := statusesOf(s.Must(200, "POST", "/v1/batches", whole)); got != "[200 200 200]" {
		t.Errorf("statuses of the replay %s", got)
	}
	refused := s.Must(409, "POST", "/v1/batches", batchOf(true, oneOfBatch("~s-2", "~bank", "~jane", 1), `{"capture":{"transaction":"~h-3"}}`))
	refused.Shows(t, map[string]any{"code": "hold_ended", "hold_status": "released", "errors 0 field": "requests[1].capture"})
	s.Must(404, "GET", "/v1/transactions/~s-2", "")
	s.Must(200, "GET", "/v1/accounts/~jane/balances/~USD?consistency=strong", "").Shows(t, map[string]any{"available": "0"})
}

// A dry run of any POST has the same answer as the request, and writes nothing.
func dryRuns(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	s.Must(201, "POST", "/v1/transfers", hold("~h-1"))
	before := s.Must(200, "GET", "/v1/accounts/~jane/balances?consistency=strong", "")
	for _, c := range [][3]string{
		{"transfers", hold("~h-1"), "held"}, // a replay
		{"transfers", `{"id":"~d-7","from":"~jane","to":"~shop","asset":"~USD","quantity":"1"}`, "posted"},
		{"transfers", `{"from":"~jane","to":"~shop","asset":"~USD","quantity":"1","hold":{}}`, "held"},
		{"trades", `{"asset":"~AAPL","buyer":"~jane","seller":"~market","quantity":"1","cost":"5"}`, "posted"},
		{"transactions", `{"postings":[{"account":"~jane","asset":"~USD","quantity":"-1"},` +
			`{"account":"~shop","asset":"~USD","quantity":"1"}]}`, "posted"},
		{"transactions/~h-1/capture", `{"quantity":"7"}`, "captured"},
		{"transactions/~h-1/release", `{}`, "released"},
		{"transactions/~t-1/reversals", `{}`, "posted"},
	} {
		got := s.Must(200, "POST", "/v1/"+c[0]+"?dry_run=true", c[1])
		got.Shows(t, map[string]any{"dry_run": true, "status": c[2], "posted_at": nil, "expires_at": nil, "ended_at": nil,
			"postings 0 id": nil})
		if strings.Contains(c[1], `"id"`) == (got.Value("id") == nil) && !strings.HasPrefix(c[0], "transactions/~h-1") {
			t.Errorf("a dry run of %s has a wrong id: %s", c[1], got.Body)
		}
		if where := got.Header.Get("Location"); where != "" {
			t.Errorf("a dry run of %s has the Location %s", c[1], where)
		}
	}
	batch := s.Must(200, "POST", "/v1/batches?dry_run=true", batchOf(true, oneOfBatch("~d-7", "~jane", "~shop", 1)))
	batch.Shows(t, map[string]any{"dry_run": true, "results 0 status": 201.0, "results 0 body id": "~d-7"})
	s.Must(422, "POST", "/v1/transfers?dry_run=true",
		`{"from":"~shop","to":"~jane","asset":"~USD","quantity":"1"}`).Shows(t,
		map[string]any{"code": "insufficient_funds", "available": "0"})
	s.Must(404, "GET", "/v1/transactions/~d-7", "")
	s.Must(200, "GET", "/v1/transactions/~h-1", "").Shows(t, map[string]any{"status": "held"})
	if after := s.Must(200, "GET", "/v1/accounts/~jane/balances?consistency=strong", ""); !bytes.Equal(before.Body,
		after.Body) {
		t.Errorf("a dry run changed balances: %s, want %s", after.Body, before.Body)
	}
}
