package acceptance

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"ledger.example/tests/harness/caller"
)

// callers is the number of concurrent requests. It is small, because an emulated function handles one at a time.
const callers = 12

// post retries until an answer has the outcome.
func post(s *caller.Caller, path, body string) (caller.Reply, error) {
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Second) {
		r, err := s.Try("POST", path, body)
		if err == nil && r.Status < http.StatusInternalServerError || time.Now().After(end) {
			return r, err
		}
	}
}

// statuses counts answers by status and code. It counts 200 and 201 as posted, because a retry may get 200.
func statuses(answers []caller.Reply) map[string]int {
	counts := make(map[string]int)
	for _, r := range answers {
		if r.Status == 201 || r.Status == 200 {
			counts["posted"]++
		} else {
			counts[strings.TrimSpace(fmt.Sprint(r.Status, " ", r.Code()))]++
		}
	}
	return counts
}

// strongly returns the USD balance of an account from a strong read.
func strongly(s *caller.Caller, account string) string {
	s.T.Helper()
	return s.Must(200, "GET", "/v1/accounts/"+account+"/balances/~USD?consistency=strong", "").Text("quantity")
}

// Concurrent requests with the same id post once, and all get the same answer. If they have two bodies, one body wins.
func sameIDAtOnce(t *testing.T, s *caller.Caller) {
	s.OpenRegister()
	s.Must(201, "POST", "/v1/transfers", `{"id":"~d-1","from":"~bank","to":"~jane","asset":"~USD","quantity":"100"}`)
	// The funds cover it only once.
	answers := caller.AtOnce(t, callers, func(int) (caller.Reply, error) {
		return post(s, "/v1/transfers", `{"id":"~same","from":"~jane","to":"~bank","asset":"~USD","quantity":"60"}`)
	})
	created := 0
	for _, r := range answers {
		if r.Status == 201 {
			created++
		}
		if r.Status > 201 || !bytes.Equal(r.Body, answers[0].Body) ||
			(r.Status == 200) != (r.Header.Get("Idempotent-Replayed") == "true") {
			t.Errorf("%d %v %s, first answer %s", r.Status, r.Header, r.Body, answers[0].Body)
		}
	}
	if created > 1 {
		t.Errorf("%d answers with 201", created)
	}
	if got := strongly(s, "~jane"); got != "40" {
		t.Errorf("~jane has %s", got)
	}

	answers = caller.AtOnce(t, callers, func(i int) (caller.Reply, error) {
		return post(s, "/v1/transfers",
			fmt.Sprintf(`{"id":"~two","from":"~bank","to":"~jane","asset":"~USD","quantity":"%d"}`, 1+i%2))
	})
	if got := statuses(answers); got["posted"] != callers/2 || got["409 transaction_id_reused"] != callers/2 {
		t.Errorf("two bodies: %v", got)
	}
	posted := s.Must(200, "GET", "/v1/transactions/~two", "").Text("postings", 1, "quantity")
	if got := strongly(s, "~jane"); got != map[string]string{"1": "41", "2": "42"}[posted] {
		t.Errorf("~jane has %s after %s", got, posted)
	}
}

// Concurrent debits never exceed the available amount, and covered debits succeed.
func drawsAtOnce(t *testing.T, s *caller.Caller) {
	s.OpenRegister()
	draw := func(account string, amount int) []caller.Reply {
		return caller.AtOnce(t, callers, func(i int) (caller.Reply, error) {
			return post(s, "/v1/transfers",
				fmt.Sprintf(`{"id":"%s:draw-%d","from":%[1]q,"to":"~bank","asset":"~USD","quantity":"%[3]d"}`, account,
					i, amount))
		})
	}
	// All debits are covered exactly.
	s.Must(201, "PUT", "/v1/accounts/~covered", `{}`)
	s.Must(201, "POST", "/v1/transfers",
		fmt.Sprintf(`{"id":"~c-1","from":"~bank","to":"~covered","asset":"~USD","quantity":"%d"}`, callers*10))
	if got := statuses(draw("~covered", 10)); got["posted"] != callers {
		t.Errorf("covered: %v", got)
	}
	if got := strongly(s, "~covered"); got != "0" {
		t.Errorf("covered: %s is left", got)
	}
	// Some debits are not covered, with an overdraft: 6 × 7 = 42 of 45.
	s.Must(201, "PUT", "/v1/accounts/~short", `{"overdraft":{"~USD":"5"}}`)
	s.Must(201, "POST", "/v1/transfers", `{"id":"~c-2","from":"~bank","to":"~short","asset":"~USD","quantity":"40"}`)
	answers := draw("~short", 7)
	if got := statuses(answers); got["posted"] != 6 || got["422 insufficient_funds"] != callers-6 {
		t.Errorf("short: %v", got)
	}
	for _, r := range answers {
		if r.Status == 422 && (r.Value("requested") != "7" || r.Value("available") != "3") {
			t.Errorf("short: refused with %s", r.Body)
		}
	}
	if got := strongly(s, "~short"); got != "-2" {
		t.Errorf("short: %s is left", got)
	}
	projected(s, "~covered", "~short", "~bank")
}

// A strong read includes every acknowledged transaction, even if it is not projected yet.
func strongReads(t *testing.T, s *caller.Caller) {
	s.OpenRegister()
	s.Must(201, "PUT", "/v1/assets/~GOLD", `{"name":"Gold","scale":3}`)
	for i, c := range []struct{ path, body, usd, aapl, expenditure string }{
		{"/v1/transfers", `{"id":"~s-1","from":"~bank","to":"~jane","asset":"~USD","quantity":"1000"}`, "1000", "0",
			"0"},
		{"/v1/trades",
			`{"id":"~s-2","asset":"~AAPL","buyer":"~jane","seller":"~market","quantity":"3","cost":"900","settle":true}`, "100", "3", "900"},
		{"/v1/trades",
			`{"id":"~s-3","asset":"~AAPL","buyer":"~market","seller":"~jane","quantity":"1","cost":"350","settle":true}`, "450", "2", "550"},
		{"/v1/transfers", `{"id":"~s-4","from":"~jane","to":"~bank","asset":"~USD","quantity":"450"}`, "0", "2", "550"},
	} {
		s.Must(201, "POST", c.path, c.body)
		for asset, want := range map[string]string{"~USD": c.usd, "~AAPL": c.aapl, "~GOLD": "0"} {
			if got := s.Must(200, "GET", "/v1/accounts/~jane/balances/"+asset+"?consistency=strong",
				""); got.Value("quantity") != want {
				t.Errorf("%d: %s is %s, want %s", i, asset, got.Body, want)
			}
		}
		if got := s.Must(200, "GET", "/v1/accounts/~jane/balances/~AAPL?consistency=strong",
			"").Value("net_expenditure"); got != c.expenditure {
			t.Errorf("%d: net expenditure %v, want %s", i, got, c.expenditure)
		}
		newest := s.Must(200, "GET", "/v1/accounts/~jane/postings?asset=~USD&consistency=strong&limit=1", "")
		if id := fmt.Sprint("~s-", i+1); newest.Value("data", 0, "transaction") != id {
			t.Errorf("%d: the newest posting is %s", i, newest.Body)
		}
	}
}
