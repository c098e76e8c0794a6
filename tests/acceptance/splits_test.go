package acceptance

import (
	"bytes"
	"strings"
	"testing"

	"ledger.example/tests/harness/caller"
)

// splits divides quantities, and takes parts of what was divided.
func splits(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	refuseAll(t, s, "splits.txt")
	for _, id := range []string{"~fees", "~tax"} {
		s.Must(201, "PUT", "/v1/accounts/"+id, `{}`)
	}
	s.Must(201, "POST", "/v1/transfers", `{"from":"~bank","to":"~jane","asset":"~USD","quantity":"1000000"}`)

	// The example of the documents, the same in other words, and others.
	const order = `{"id":"~o-1","asset":"~USD","quantity":"10000","from":"~jane",` +
		`"to":[{"account":"~fees","share":"2.9%","quantity":"30"},{"account":"~tax","share":"19/119"},{"account":"~shop","rest":1}]}`
	hasLegs(t, s.Must(200, "POST", "/v1/splits?dry_run=true", order), "postings", "~jane -10000, ~fees 320, ~tax 1597, ~shop 8083")
	first := s.Must(201, "POST", "/v1/splits", order)
	hasLegs(t, first, "postings", "~jane -10000, ~fees 320, ~tax 1597, ~shop 8083")
	first.Shows(t, map[string]any{"id": "~o-1", "kind": "transaction", "status": "posted"})
	for _, same := range []string{
		strings.Replace(order, "2.9%", "2.90%", 1), strings.Replace(order, "2.9%", "29/1000", 1), strings.Replace(order, "19/119", "38/238", 1),
		strings.Replace(order, `"share":"19/119"`, `"quantity":"0","share":"19/119"`, 1),
	} {
		if again := s.Must(200, "POST", "/v1/splits", same); !bytes.Equal(again.Body, first.Body) || again.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s: %s", same, again.Body)
		}
	}
	for _, other := range []string{
		strings.Replace(order, "2.9%", "2.901%", 1), strings.Replace(order, `"rest":1`, `"rest":2`, 1), strings.Replace(order, "10000", "10001", 1),
		strings.Replace(order, `"share":"19/119"`, `"quantity":"1597"`, 1), strings.Replace(order, `"from"`, `"description":"x","from"`, 1),
		strings.Replace(order, `"from"`, `"hold":{},"from"`, 1),
	} {
		s.Refuse(t, caller.Refusal{Path: "/v1/splits", Body: other, Status: 409, Code: "transaction_id_reused"})
	}
	s.Refuse(t, caller.Refusal{Path: "/v1/transactions", Status: 409, Code: "transaction_id_reused", Body: `{"id":"~o-1","postings":[` +
		`{"account":"~jane","asset":"~USD","quantity":"-10000"},{"account":"~fees","asset":"~USD","quantity":"320"},` +
		`{"account":"~tax","asset":"~USD","quantity":"1597"},{"account":"~shop","asset":"~USD","quantity":"8083"}]}`})

	// Units that are left over, and who gets nothing.
	thirds := s.Must(200, "POST", "/v1/batches", `{"requests":[{"split":{"id":"~o-2","asset":"~USD","quantity":"100","from":"~jane",`+
		`"to":[{"account":"~fees","rest":1},{"account":"~tax","rest":1},{"account":"~shop","rest":1}]}},{"split":{"id":"~o-3",`+
		`"asset":"~USD","quantity":"1","from":"~jane","to":[{"account":"~fees","share":"2.9%"},{"account":"~shop","rest":1}]}}]}`)
	hasLegs(t, thirds, "results.0.body.postings", "~jane -100, ~fees 34, ~tax 33, ~shop 33")
	hasLegs(t, thirds, "results.1.body.postings", "~jane -1, ~shop 1")

	// A reversal by quantity takes of each side, in proportion to what is left, until all is taken back.
	reverse := func(id, quantity, legs string) {
		t.Helper()
		body := `{"id":"` + id + `","quantity":"` + quantity + `"}`
		hasLegs(t, s.Must(201, "POST", "/v1/transactions/~o-1/reversals", body), "postings", legs)
		s.Must(200, "POST", "/v1/transactions/~o-1/reversals", body)
	}
	reverse("~r-1", "5000", "~jane 5000, ~fees -160, ~tax -799, ~shop -4041")
	reverse("~r-2", "1", "~jane 1, ~shop -1")
	s.Refuse(t, caller.Refusal{Path: "/v1/transactions/~o-1/reversals", Body: `{"quantity":"5000"}`, Status: 422, Code: "exceeds_reversible", Fields: []string{"quantity"}})
	reverse("~r-3", "4999", "~jane 4999, ~fees -160, ~tax -798, ~shop -4041")
	s.Refuse(t, caller.Refusal{Path: "/v1/transactions/~o-1/reversals", Body: `{"quantity":"1"}`, Status: 422, Code: "exceeds_reversible", Fields: []string{"quantity"}})

	// So does a capture of a hold.
	s.Must(201, "POST", "/v1/splits", strings.Replace(strings.Replace(order, "~o-1", "~h-1", 1), `"from"`, `"hold":{},"from"`, 1)).
		Shows(t, map[string]any{"status": "held", "kind": "transaction"})
	s.Refuse(t, caller.Refusal{Path: "/v1/transactions/~h-1/capture", Body: `{"quantity":"10001"}`, Status: 422, Code: "exceeds_hold", Fields: []string{"quantity"}})
	s.Refuse(t, caller.Refusal{Path: "/v1/transactions/~h-1/capture", Body: `{"quantity":"1","cost":"1"}`, Status: 422, Code: "invalid_transaction", Fields: []string{"cost"}})
	for range 2 {
		hasLegs(t, s.Must(200, "POST", "/v1/transactions/~h-1/capture", `{"quantity":"101"}`), "captured", "~jane -101, ~fees 3, ~tax 16, ~shop 82")
	}
	// Two assets, or a cost, have no such parts.
	s.Must(201, "POST", "/v1/transactions", `{"id":"~two","postings":[{"account":"~bank","asset":"~USD","quantity":"-5"},{"account":"~jane","asset":"~USD","quantity":"5"},`+
		`{"account":"~market","asset":"~AAPL","quantity":"-5","cost":"-7"},{"account":"~jane","asset":"~AAPL","quantity":"5","cost":"7"}]}`)
	s.Refuse(t, caller.Refusal{Path: "/v1/transactions/~two/reversals", Body: `{"quantity":"1"}`, Status: 422, Code: "invalid_transaction", Fields: []string{"quantity"}})
}

// hasLegs compares the postings at a place of an answer, such as "~jane -5, ~shop 5".
func hasLegs(t *testing.T, r caller.Reply, place, want string) {
	t.Helper()
	var at []any
	for part := range strings.SplitSeq(place, ".") {
		if part[0] >= '0' && part[0] <= '9' {
			at = append(at, int(part[0]-'0'))
		} else {
			at = append(at, part)
		}
	}
	var got []string
	for i := 0; r.Value(append(at, i)...) != nil; i++ {
		got = append(got, r.Text(append(at, i, "account")...)+" "+r.Text(append(at, i, "quantity")...))
	}
	if text := strings.Join(got, ", "); text != want {
		t.Errorf("%s: %s, want %s", place, text, want)
	}
}
