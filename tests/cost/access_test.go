package cost

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ledger.example/tests/fault"
	"ledger.example/tests/system"
)

// openRoles is the register with users: ann and bob as in newRegister; gus is an operator through the group desk.
func openRoles(t *testing.T) *system.System {
	t.Helper()
	s := newRegister(t)
	s.Must(201, "PUT", "/v1/groups/desk", `{"name":"Desk"}`)
	s.Must(201, "PUT", "/v1/groups/desk/accounts/jane", "")
	s.Must(201, "PUT", "/v1/groups/desk/members/gus", `{"role":"operator"}`)
	return s
}

// A user's read is the same requests, and beside them the user's grant and the account's groups; only when the direct
// role is too weak, the grants in those groups. Services pay nothing.
func TestReadOfAUser(t *testing.T) {
	t.Parallel()
	s := openRoles(t)
	const path = "/v1/accounts/jane/balances/USD"
	plain := "BatchGetItem eventual ACCOUNT#jane ACCOUNT#jane, ACCOUNT#jane ACCOUNT_CURRENT, ACCOUNT#jane BALANCE#USD"
	asks(s.Beside(), "", 200, "GET", path, "", plain)
	for _, user := range []string{"ann", "bob"} {
		asks(s.Beside(), user, 200, "GET", path, "", plain, newestGrant("ACCOUNT#jane", user), newestGroups)
	}
	for user, status := range map[string]int{"gus": 200, "nobody": 404} {
		asks(s.Beside(), user, status, "GET", path, "", plain, newestGrant("ACCOUNT#jane", user), newestGroups,
			newestGrant("GROUP#desk", user))
	}
	// All at the same time.
	f := fault.NewSet()
	f.All(fault.AnyOperation, meeting(3))
	s.Beside(system.WithFaults(f)).Must(200, "GET", path, "", "Ledger-User", "ann")
}

// A user's post is one round trip more, however many accounts it debits, and then the write.
func TestPostOfAUser(t *testing.T) {
	t.Parallel()
	s := openRoles(t)
	const accounts = 24
	var legs []string
	for i := range accounts {
		id := fmt.Sprintf("a-%d", i)
		s.Must(201, "PUT", "/v1/accounts/"+id, `{"overdraft":"unlimited"}`)
		s.Must(201, "PUT", "/v1/accounts/"+id+"/members/ann", `{"role":"operator"}`)
		legs = append(legs, `{"account":"`+id+`","asset":"USD","quantity":"-1"},{"account":"bank","asset":"USD","quantity":"1"}`)
	}
	body := func(id string) string {
		return `{"id":"` + id + `","postings":[` + strings.Join(legs, ",") + `]}`
	}
	f := fault.NewSet()
	warm := s.Beside(system.WithFaults(f))
	warm.Must(201, "POST", "/v1/transactions", body("warm"))
	asks(warm, "", 201, "POST", "/v1/transactions", body("p-1"), "TransactWriteItems …")
	f.All("Query", meeting(2*accounts))
	checks := slices.Repeat([]string{"Query strong …"}, 2*accounts)
	asks(warm, "ann", 201, "POST", "/v1/transactions", body("p-2"), append(checks, "TransactWriteItems …")...)
	// Refused before the first attempt: nothing but the check.
	f.Clear()
	asks(warm, "nobody", 422, "POST", "/v1/transactions", body("p-3"), checks...)
}

// A check that cannot be made is no pass: 503, and nothing was written.
func TestCheckThatFails(t *testing.T) {
	t.Parallel()
	s := openRoles(t)
	f := fault.NewSet()
	broken := s.Beside(system.WithFaults(f))
	f.All("Query", fault.Refuses(400, "AccessDeniedException"))
	const transfer = `{"id":"x","from":"jane","to":"bank","asset":"USD","quantity":"1"}`
	broken.Must(503, "GET", "/v1/accounts/jane/balances/USD", "", "Ledger-User", "ann")
	broken.Must(503, "POST", "/v1/transfers", transfer, "Ledger-User", "ann")
	f.Next("Query", fault.Pass) // of the transaction itself
	broken.Must(503, "GET", "/v1/transactions/t-1", "", "Ledger-User", "ann")
	s.Must(404, "GET", "/v1/transactions/x", "")
}

// A denial does not wait for the data: how long it takes tells nothing of what there is.
func TestDenialDoesNotWaitForTheData(t *testing.T) {
	t.Parallel()
	s := openRoles(t)
	f := fault.NewSet()
	f.All("BatchGetItem", fault.Hangs)
	s.Beside(system.WithFaults(f)).Must(404, "GET", "/v1/accounts/jane/balances/USD", "", "Ledger-User", "nobody")
}
