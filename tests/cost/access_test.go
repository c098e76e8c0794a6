package cost

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/ledger"
	"ledger.example/tests/harness/inject"
	"ledger.example/tests/harness/system"
)

// openRoles starts a ledger as newRegister does. In addition, gus is an operator through the group desk.
func openRoles(t *testing.T) *system.System {
	t.Helper()
	s := newRegister(t)
	s.Must(201, "PUT", "/v1/groups/desk", `{"name":"Desk"}`)
	s.Must(201, "PUT", "/v1/groups/desk/accounts/jane", "")
	s.Must(201, "PUT", "/v1/groups/desk/members/gus", `{"role":"operator"}`)
	return s
}

// A user's read takes two more requests than a service's: for the user's grant, and for the account's groups. Only if
// the direct role does not suffice, it also reads the grants in those groups.
func TestRequestsOfAUsersRead(t *testing.T) {
	t.Parallel()
	s := openRoles(t)
	const path = "/v1/accounts/jane/balances/USD"
	plain := "BatchGetItem eventual ACCOUNT#jane ACCOUNT#jane, ACCOUNT#jane ACCOUNT_CURRENT, ACCOUNT#jane BALANCE#USD"
	checkRequest(s.NewProcess(), "", 200, "GET", path, "", plain)
	for _, user := range []string{"ann", "bob"} {
		checkRequest(s.NewProcess(), user, 200, "GET", path, "", plain, newestGrant("ACCOUNT#jane", user), newestGroups)
	}
	for user, status := range map[string]int{"gus": 200, "nobody": 404} {
		checkRequest(s.NewProcess(), user, status, "GET", path, "", plain, newestGrant("ACCOUNT#jane", user),
			newestGroups, newestGrant("GROUP#desk", user))
	}
	// The requests are concurrent.
	f := inject.NewSet()
	f.All(inject.AnyOperation, waitUntilConcurrent(3))
	s.NewProcess(system.WithFaults(f)).Must(200, "GET", path, "", "Ledger-User", "ann")
}

// A user's post takes one more round trip than a service's, however many accounts it debits.
func TestRequestsOfAUsersPost(t *testing.T) {
	t.Parallel()
	s := openRoles(t)
	const accounts = 24
	var legs []string
	for i := range accounts {
		id := fmt.Sprintf("a-%d", i)
		s.Must(201, "PUT", "/v1/accounts/"+id, `{"overdraft":"unlimited"}`)
		s.Must(201, "PUT", "/v1/accounts/"+id+"/members/ann", `{"role":"operator"}`)
		legs = append(legs,
			`{"account":"`+id+`","asset":"USD","quantity":"-1"},{"account":"bank","asset":"USD","quantity":"1"}`)
	}
	body := func(id string) string {
		return `{"id":"` + id + `","postings":[` + strings.Join(legs, ",") + `]}`
	}
	f := inject.NewSet()
	warm := s.NewProcess(system.WithFaults(f))
	warm.Must(201, "POST", "/v1/transactions", body("warm"))
	checkRequest(warm, "", 201, "POST", "/v1/transactions", body("p-1"), "TransactWriteItems …")
	f.All("Query", waitUntilConcurrent(2*accounts))
	checks := slices.Repeat([]string{"Query strong …"}, 2*accounts)
	checkRequest(warm, "ann", 201, "POST", "/v1/transactions", body("p-2"), append(checks, "TransactWriteItems …")...)
	// A refused post sends only the requests of the check.
	f.Clear()
	checkRequest(warm, "nobody", 422, "POST", "/v1/transactions", body("p-3"), checks...)
}

// If the role check cannot read the grants, the answer is 503, and nothing is written.
func TestFailedRoleCheckDenies(t *testing.T) {
	t.Parallel()
	s := openRoles(t)
	f := inject.NewSet()
	broken := s.NewProcess(system.WithFaults(f))
	f.All("Query", inject.Refuses(400, "AccessDeniedException"))
	const transfer = `{"id":"x","from":"jane","to":"bank","asset":"USD","quantity":"1"}`
	broken.Must(503, "GET", "/v1/accounts/jane/balances/USD", "", "Ledger-User", "ann")
	broken.Must(503, "POST", "/v1/transfers", transfer, "Ledger-User", "ann")
	f.Next("Query", inject.Pass) // of the transaction itself
	broken.Must(503, "GET", "/v1/transactions/t-1", "", "Ledger-User", "ann")
	s.Must(404, "GET", "/v1/transactions/x", "")
}

// A denial does not wait for the data, so its latency does not show whether data exists.
func TestDenialDoesNotWaitForTheData(t *testing.T) {
	t.Parallel()
	s := openRoles(t)
	f := inject.NewSet()
	f.All("BatchGetItem", inject.Hangs)
	s.NewProcess(system.WithFaults(f)).Must(404, "GET", "/v1/accounts/jane/balances/USD", "", "Ledger-User", "nobody")
}

// A request of a user reads the roles on a bounded number of accounts: a batch that needs more is refused as a whole,
// and a page of holds ends early. Services and administrators need no roles.
func TestRolesOfARequestAreBounded(t *testing.T) {
	t.Parallel()
	s := openRoles(t)
	const legs = events.PostingsMax / 2
	batch := func(accounts int) string {
		var requests []string
		for first := 0; first < accounts; first += legs {
			var postings []string
			for i := range min(legs, accounts-first) {
				postings = append(postings, fmt.Sprintf(`{"account":"x-%d","asset":"USD","quantity":"-1"}`, first+i))
			}
			postings = append(postings, fmt.Sprintf(`{"account":"bank","asset":"USD","quantity":"%d"}`, len(postings)))
			requests = append(requests, fmt.Sprintf(`{"transaction":{"id":"b-%d","postings":[%s]}}`, first,
				strings.Join(postings, ",")))
		}
		return `{"requests":[` + strings.Join(requests, ",") + `]}`
	}
	const most = 2 * ledger.BatchMax
	s.Requests.Take()
	r := s.Must(422, "POST", "/v1/batches", batch(most+1), "Ledger-User", "ann")
	if n := len(s.Requests.Take()); r.Code() != "batch_too_large" || fmt.Sprint(r.Fields()) != "[requests]" || n > 0 {
		t.Errorf("%d requests to the table, and the answer %s", n, r.Body)
	}
	r = s.Must(200, "POST", "/v1/batches", batch(most), "Ledger-User", "ann")
	if n := len(s.Requests.Take()); r.Text("results", 8, "body", "code") != "account_not_found" || n != 2*most {
		t.Errorf("%d requests to the table, and the answer %s", n, r.Body)
	}
	s.Must(200, "POST", "/v1/batches", batch(most+1))

	const holds = most/legs + 2
	for n := range holds {
		postings := fmt.Sprintf(`{"account":"bank","asset":"USD","quantity":"-%d"}`, legs)
		for i := range legs {
			account := fmt.Sprintf("h-%d-%d", n, i)
			s.Must(201, "PUT", "/v1/accounts/"+account, `{}`)
			postings += `,{"account":"` + account + `","asset":"USD","quantity":"1"}`
		}
		held := s.Must(201, "POST", "/v1/transactions", fmt.Sprintf(`{"id":"h-%d","hold":{},"postings":[%s]}`, n, postings))
		s.Deliver(table.Posting.Key("bank", "USD", held.Text("postings", 0, "id")))
	}
	s.Must(201, "PUT", "/v1/accounts/bank/members/ann", `{"role":"viewer"}`)
	pages := 0
	for cursor, got := "", 0; got < holds; pages++ {
		s.Requests.Take()
		page := s.Must(200, "GET", "/v1/accounts/bank/holds?limit=100"+cursor, "", "Ledger-User", "ann")
		if n := len(s.Requests.Take()); n > 2*most+10 {
			t.Errorf("a page of holds took %d requests", n)
		}
		got += len(page.Each("id", "data"))
		if got < holds {
			cursor = "&cursor=" + url.QueryEscape(page.Text("next_cursor"))
		}
	}
	if all := s.Must(200, "GET", "/v1/accounts/bank/holds?limit=100", ""); pages != 2 || len(all.Each("id", "data")) != holds {
		t.Errorf("a user gets %d pages, an administrator %s", pages, all.Body)
	}
}
