package acceptance

import (
	"bytes"
	"strings"
	"testing"

	"ledger.example/tests/harness/caller"
)

// splitFits divides as much as fits, of several accounts: a gift card first, and then a wallet.
func splitFits(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	refuseAll(t, s, "splitfits.txt")
	for _, account := range []string{"giftcard:88", "wallet:ida", "fees"} {
		s.Must(201, "PUT", "/v1/accounts/~"+account, `{}`)
	}
	deposit := func(to, quantity string) {
		s.Must(201, "POST", "/v1/transfers", `{"from":"~bank","to":"~`+to+`","asset":"~USD","quantity":"`+quantity+`"}`)
	}
	deposit("giftcard:88", "3000")
	deposit("wallet:ida", "10000")

	const order = `{"id":"~o-1","asset":"~USD","from":[{"account":"~giftcard:88"},{"account":"~wallet:ida","keep":"500"}],` +
		`"up_to":"5000","at_least":"5000","to":[{"account":"~fees","share":"2.9%","quantity":"30"},{"account":"~shop","rest":1}]}`
	legs := "~giftcard:88 -3000, ~wallet:ida -2000, ~fees 175, ~shop 4825"
	hasLegs(t, s.Must(200, "POST", "/v1/splits?dry_run=true", order), "postings", legs)
	first := s.Must(201, "POST", "/v1/splits", order)
	hasLegs(t, first, "postings", legs)
	first.Shows(t, map[string]any{"id": "~o-1", "kind": "transaction", "status": "posted"})
	deposit("giftcard:88", "100")
	for _, same := range []string{order, strings.Replace(order, `"~giftcard:88"}`, `"~giftcard:88","keep":"0"}`, 1)} {
		again := s.Must(200, "POST", "/v1/splits", same)
		if !bytes.Equal(again.Body, first.Body) || again.Header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s: %s", same, again.Body)
		}
	}
	for _, other := range []string{
		strings.Replace(order, `"up_to":"5000"`, `"up_to":"5001"`, 1), strings.Replace(order, `"500"`, `"501"`, 1),
		strings.Replace(order, `"at_least":"5000"`, `"at_least":"4999"`, 1), strings.Replace(order, `"keep":"500"`, `"keep":"0"`, 1),
		strings.Replace(order, `{"account":"~giftcard:88"},`, ``, 1), strings.Replace(order, "2.9%", "3%", 1),
		strings.Replace(order, `[{"account":"~giftcard:88"},{"account":"~wallet:ida","keep":"500"}],"up_to":"5000","at_least":"5000"`,
			`"~wallet:ida","quantity":"5000"`, 1),
	} {
		s.Refuse(t, caller.Refusal{Path: "/v1/splits", Body: other, Status: 409, Code: "transaction_id_reused"})
	}

	// 1.00 and 80.00 are left.
	take := func(id, how, legs string) {
		t.Helper()
		hasLegs(t, s.Must(201, "POST", "/v1/splits", `{"id":"~`+id+`","asset":"~USD",`+how+`}`), "postings", legs)
	}
	const both, shop = `"from":[{"account":"~giftcard:88"},{"account":"~wallet:ida"}]`, `"to":[{"account":"~fees","quantity":"30"},{"account":"~shop","rest":1}]`
	refused := func(how, available, requested, says string) {
		t.Helper()
		r := s.Send("POST", "/v1/splits", `{"asset":"~USD",`+how+`}`)
		if r.Status != 422 || r.Code() != "insufficient_funds" || r.Text("available") != available || r.Text("requested") != requested ||
			!strings.Contains(r.Text("detail"), says) {
			t.Errorf("%s: %d %s", how, r.Status, r.Body)
		}
	}
	refused(both+`,"up_to":"9000","at_least":"8101",`+shop, "8100", "8101", "together do not have enough")
	take("f-1", both+`,"up_to":"50",`+shop, "~giftcard:88 -50, ~fees 30, ~shop 20")
	take("f-2", both+`,"up_to":"all","hold":{},`+shop, "~giftcard:88 -50, ~wallet:ida -8000, ~fees 30, ~shop 8020")
	s.Must(200, "POST", "/v1/transactions/~f-2/release", `{}`)
	s.Must(200, "PATCH", "/v1/accounts/~giftcard:88", `{"state":"frozen"}`)
	take("f-3", both+`,"up_to":"7980",`+shop, "~wallet:ida -7980, ~fees 30, ~shop 7950")
	s.Refuse(t, caller.Refusal{Path: "/v1/splits", Body: `{"asset":"~USD",` + both + `,"up_to":"30","at_least":"30",` + shop + `}`,
		Status: 422, Code: "account_frozen", Fields: []string{"from[0].account"}})
	s.Must(200, "PATCH", "/v1/accounts/~giftcard:88", `{"state":"open"}`)

	// 0.50 and 0.20 are left: what fits must be divided.
	refused(`"from":"~wallet:ida","up_to":"all",`+shop, "20", "30", "cannot be divided")
	take("f-4", `"from":"~giftcard:88","up_to":"all","keep":"10",`+shop, "~giftcard:88 -40, ~fees 30, ~shop 10")
	take("f-5", both+`,"up_to":"all",`+shop, "~giftcard:88 -10, ~wallet:ida -20, ~fees 30")

	// A batch may divide what it brings.
	r := s.Must(201, "POST", "/v1/batches", `{"atomic":true,"requests":[
		{"transfer":{"id":"~b-1","from":"~bank","to":"~wallet:ida","asset":"~USD","quantity":"1700"}},
		{"split":{"id":"~b-2","asset":"~USD",`+both+`,"up_to":"all",`+shop+`}}]}`)
	if got := r.Text("results", 1, "body", "postings", 2, "quantity"); got != "1670" {
		t.Errorf("%s", r.Body)
	}
}
