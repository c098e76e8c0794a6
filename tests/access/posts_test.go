package access

import (
	"fmt"
	"strings"
	"testing"

	"ledger.example/tests/caller"
)

// Each request of a batch is judged for itself: what another one may not do does not refuse it. In an atomic batch, the
// first request that may not be done refuses all.
func TestBatchRequestsAreJudgedSeparately(t *testing.T) {
	t.Parallel()
	s := books(t)
	as := []string{"Ledger-User", "operator"}
	move := func(id, from, to string) string {
		return `{"transfer":{"id":"` + id + `","from":"` + from + `","to":"` + to + `","asset":"USD","quantity":"1"}}`
	}
	s.Must(201, "PUT", "/v1/accounts/shop/members/mixed", `{"role":"viewer"}`)
	s.Must(201, "PUT", "/v1/accounts/jane/members/mixed", `{"role":"operator"}`)
	s.Must(201, "POST", "/v1/transfers", `{"id":"d-3","from":"bank","to":"shop","asset":"USD","quantity":"5"}`)
	send := func(dry string, atomic bool, requests string, headers ...string) caller.Reply {
		return s.Send("POST", "/v1/batches"+dry, fmt.Sprintf(`{"atomic":%t,"requests":[%s]}`, atomic, requests), headers...)
	}
	results := func(r caller.Reply, want ...string) {
		t.Helper()
		for i, code := range want {
			if got := r.Text("results", i, "body", "code"); r.Status != 200 || got != code {
				t.Errorf("request %d: %q, want %q: %s", i, got, code, r.Body)
			}
		}
	}
	there, back := move("b-1", "jane", "shop"), move("b-2", "shop", "jane")
	results(send("?dry_run=true", false, there+","+back, as...), "", "account_not_found")
	results(send("?dry_run=true", false, back+","+there, as...), "account_not_found", "")
	results(send("?dry_run=true", false, there+","+back, "Ledger-User", "mixed"), "", "forbidden")
	for _, dry := range []string{"?dry_run=true", ""} {
		r := send(dry, true, there+","+back, as...)
		if r.Code() != "account_not_found" || fmt.Sprint(r.Fields()) != "[requests[1].transfer.from]" {
			t.Errorf("an atomic batch: %s", r.Body)
		}
	}
	results(send("", false, there+","+back, as...), "", "account_not_found")
	s.Must(200, "GET", "/v1/transactions/b-1", "")
	s.Must(404, "GET", "/v1/transactions/b-2", "")
}

// A user's batch reads roles on about 200 accounts. What it ends or reverses counts as its postings, and as the largest
// transaction if the user may not see it, whether it exists or not. So the answer tells nothing of it.
func TestUsersBatchOfEndsIsLimited(t *testing.T) {
	t.Parallel()
	s := books(t)
	s.Must(201, "POST", "/v1/transfers", `{"id":"hidden","from":"bank","to":"shop","asset":"USD","quantity":"5"}`)
	for i := range 99 {
		s.Must(201, "POST", "/v1/transfers", fmt.Sprintf(`{"id":"h-%d","from":"jane","to":"shop","asset":"USD","quantity":"1","hold":{}}`, i),
			"Ledger-User", "clerk")
	}
	send := func(from, to int, others ...string) caller.Reply {
		var requests []string
		for i, id := range others {
			requests = append(requests, fmt.Sprintf(`{"reversal":{"transaction":"%s","id":"r-%d"}}`, id, i))
		}
		for i := from; i < to; i++ {
			requests = append(requests, fmt.Sprintf(`{"release":{"transaction":"h-%d"}}`, i))
		}
		return s.Send("POST", "/v1/batches", `{"requests":[`+strings.Join(requests, ",")+`]}`, "Ledger-User", "operator")
	}
	all := func(r caller.Reply, refused, done int) {
		t.Helper()
		if got := r.Each("status", "results"); r.Status != 200 || len(got) != refused+done ||
			strings.Count(fmt.Sprint(got), "200") != done || strings.Count(fmt.Sprint(got), "422") != refused {
			t.Errorf("%v: %s", got, r.Body)
		}
	}
	tooLarge := func(r caller.Reply) {
		t.Helper()
		if r.Status != 422 || r.Code() != "batch_too_large" || fmt.Sprint(r.Fields()) != "[requests]" {
			t.Errorf("%d %s", r.Status, r.Body)
		}
	}
	for _, other := range []string{"hidden", "none"} {
		tooLarge(send(0, 54, other))
		tooLarge(send(0, 1, other, other, other, other))
		all(send(0, 1, other, other, other), 3, 1)
		all(send(0, 53, other), 1, 53)
	}
	tooLarge(send(0, 78))
	all(send(0, 77), 0, 77)
	s.Must(200, "GET", "/v1/transactions/h-76", "").Shows(t, map[string]any{"status": "released"})
	s.Must(200, "GET", "/v1/transactions/h-77", "").Shows(t, map[string]any{"status": "held"})
}

// An account that is given a cost needs the role that a debit needs. Captures and reversals carry the costs of what
// they end or reverse, and need the role on what they debit only.
func TestCostsNeedTheRoleOfADebit(t *testing.T) {
	t.Parallel()
	s := books(t)
	s.Must(201, "PUT", "/v1/accounts/shop/members/both", `{"role":"operator"}`)
	s.Must(201, "PUT", "/v1/accounts/jane/members/both", `{"role":"operator"}`)
	s.Must(201, "PUT", "/v1/accounts/shop/members/weak", `{"role":"viewer"}`)
	s.Must(201, "PUT", "/v1/groups/desk/members/weak", `{"role":"operator"}`)
	trade := func(cost string) string {
		return `/v1/trades# {"id":"%","asset":"AAPL","buyer":"shop","seller":"jane","quantity":"1","cost":"` + cost + `"}`
	}
	legs := func(cost, back string) string {
		return `/v1/transactions# {"id":"%","postings":[` +
			`{"account":"jane","asset":"AAPL","quantity":"-1","cost":"` + back + `"},` +
			`{"account":"shop","asset":"AAPL","quantity":"1","cost":"` + cost + `"}]}`
	}
	n := 0
	for _, c := range []struct{ line, field string }{ // which needs the role, "" for none
		{trade("0"), ""}, {trade("5"), "buyer"}, {legs("0", "0"), ""}, {legs("5", "-5"), "postings[1].account"},
		{legs("-5", "5"), "postings[1].account"},
	} {
		for _, user := range []string{"operator", "via-operator", "weak", "both"} {
			for _, dry := range []string{"?dry_run=true", ""} {
				n++
				path, body, _ := strings.Cut(strings.NewReplacer("#", dry, "%", fmt.Sprintf("c-%d", n)).Replace(c.line), " ")
				r := s.Send("POST", path, body, "Ledger-User", user)
				ok := r.Status < 300
				if c.field != "" && user != "both" {
					ok = fmt.Sprint(r.Fields()) == "["+c.field+"]" &&
						(user == "weak" && isForbidden(r, "operator") || user != "weak" && r.Code() == "account_not_found")
				}
				if !ok {
					t.Errorf("%s %s by %s: %d %s", path, body, user, r.Status, r.Body)
				}
			}
		}
	}
	hold := strings.Replace(trade("5"), `"id":"%"`, `"id":"h-1","hold":{}`, 1)
	s.Must(201, "POST", "/v1/trades", strings.TrimPrefix(hold, "/v1/trades# "), "Ledger-User", "both")
	s.Must(200, "POST", "/v1/transactions/h-1/capture", `{}`, "Ledger-User", "operator")
	s.Must(201, "POST", "/v1/trades",
		`{"id":"t-2","asset":"AAPL","buyer":"jane","seller":"market","quantity":"1","cost":"5"}`)
	s.Must(201, "POST", "/v1/transactions/t-2/reversals", `{"id":"r-1"}`, "Ledger-User", "operator")
}
