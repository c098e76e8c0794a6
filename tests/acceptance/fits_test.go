package acceptance

import (
	"bytes"
	"strings"
	"testing"

	"ledger.example/tests/harness/caller"
)

// fits moves as much as fits.
func fits(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	refuseAll(t, s, "fits.txt")
	s.Must(201, "PUT", "/v1/accounts/~till", `{"overdraft":{"~USD":"500"}}`)
	s.Must(201, "PUT", "/v1/accounts/~treasury", `{}`)
	deposit := func(quantity string) {
		s.Must(201, "POST", "/v1/transfers", `{"from":"~bank","to":"~till","asset":"~USD","quantity":"`+quantity+`"}`)
	}
	deposit("10000")

	const sweep = `{"id":"~sweep-7","from":"~till","to":"~treasury","asset":"~USD","up_to":"all","keep":"2000","at_least":"1"}`
	hasLegs(t, s.Must(200, "POST", "/v1/transfers?dry_run=true", sweep), "postings", "~till -8000, ~treasury 8000")
	first := s.Must(201, "POST", "/v1/transfers", sweep)
	hasLegs(t, first, "postings", "~till -8000, ~treasury 8000")
	first.Shows(t, map[string]any{"id": "~sweep-7", "kind": "transfer", "status": "posted"})
	deposit("100")
	for _, same := range []string{sweep, strings.Replace(sweep, `,"at_least":"1"`, "", 1)} {
		again := s.Must(200, "POST", "/v1/transfers", same)
		if !bytes.Equal(again.Body, first.Body) || again.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s: %s", same, again.Body)
		}
	}
	for _, other := range []string{
		strings.Replace(sweep, `"up_to":"all","keep":"2000","at_least":"1"`, `"quantity":"8000"`, 1),
		strings.Replace(sweep, `"all"`, `"8000"`, 1), strings.Replace(sweep, `"2000"`, `"2001"`, 1), strings.Replace(sweep, `"1"`, `"2"`, 1),
	} {
		s.Refuse(t, caller.Refusal{Path: "/v1/transfers", Body: other, Status: 409, Code: "transaction_id_reused"})
	}

	// 21.00 are left: at most, at least, and into the overdraft.
	take := func(id, how, legs string) {
		t.Helper()
		hasLegs(t, s.Must(201, "POST", "/v1/transfers", `{"id":"~`+id+`","from":"~till","to":"~treasury","asset":"~USD",`+how+`}`), "postings", legs)
	}
	take("f-1", `"up_to":"600"`, "~till -600, ~treasury 600")
	r := s.Send("POST", "/v1/transfers", `{"id":"~f-2","from":"~till","to":"~treasury","asset":"~USD","up_to":"5000","at_least":"1501"}`)
	if r.Status != 422 || r.Code() != "insufficient_funds" || r.Text("available") != "1500" || r.Text("requested") != "1501" {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	take("f-2", `"up_to":"5000","at_least":"1500"`, "~till -1500, ~treasury 1500")
	take("f-3", `"up_to":"all","keep":"-300"`, "~till -300, ~treasury 300")
	take("f-4", `"up_to":"all","keep":"-900"`, "~till -200, ~treasury 200")

	// A batch may sweep what it brings, and a hold reserves what there is.
	r = s.Must(201, "POST", "/v1/batches", `{"atomic":true,"requests":[
		{"transfer":{"id":"~b-1","from":"~bank","to":"~till","asset":"~USD","quantity":"1700"}},
		{"transfer":{"id":"~b-2","from":"~till","to":"~treasury","asset":"~USD","up_to":"all"}}]}`)
	if got := r.Text("results", 1, "body", "postings", 1, "quantity"); got != "1200" {
		t.Errorf("%s", r.Body)
	}
	deposit("900")
	take("h-1", `"up_to":"all","hold":{}`, "~till -900, ~treasury 900")
	s.Must(200, "POST", "/v1/transactions/~h-1/capture", `{"quantity":"400"}`)
	take("f-5", `"up_to":"all"`, "~till -500, ~treasury 500")
}
