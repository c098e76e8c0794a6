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

// asked returns the requests to the table of one request by a user, sorted: those of a round trip have no order.
func asked(s *system.System, status int, method, path, body, user string) []string {
	s.T.Helper()
	s.Requests.Take()
	var headers []string
	if user != "" {
		headers = []string{"Ledger-User", user}
	}
	s.Must(status, method, path, body, headers...)
	lines := system.Lines(s.Requests.Take())
	slices.Sort(lines)
	return lines
}

func same(t *testing.T, what string, got []string, wanted ...string) {
	t.Helper()
	slices.Sort(wanted)
	if !slices.Equal(got, wanted) {
		t.Errorf("%s asked for\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(wanted, "\n"))
	}
}

// A user's read is the same requests, and beside them the user's grant and the account's groups; only when the direct
// role is too weak, the grants in those groups. Services pay nothing.
func TestReadOfAUser(t *testing.T) {
	t.Parallel()
	s := openRoles(t)
	const path = "/v1/accounts/jane/balances/USD"
	plain := asked(s, 200, "GET", path, "", "")
	count := func(lines []string, part string) int {
		n := 0
		for _, line := range lines {
			if strings.Contains(line, part) {
				n++
			}
		}
		return n
	}
	for _, c := range []struct {
		user                  string
		status                int
		direct, groups, group int
	}{{"ann", 200, 1, 1, 0}, {"bob", 200, 1, 1, 0}, {"gus", 200, 1, 1, 1}, {"nobody", 404, 1, 1, 1}} {
		lines := asked(s, c.status, "GET", path, "", c.user)
		if len(lines) != len(plain)+c.direct+c.groups+c.group ||
			count(lines, "= ACCOUNT#jane AND SK BETWEEN GRANT#"+c.user+"#") != c.direct || count(lines, "= ACCOUNT#jane AND SK BETWEEN GROUPS#") != c.groups ||
			count(lines, "= GROUP#desk AND SK BETWEEN GRANT#"+c.user+"#") != c.group {
			t.Errorf("%s asked for\n%s\nbeside\n%s", c.user, strings.Join(lines, "\n"), strings.Join(plain, "\n"))
		}
		for _, line := range lines {
			if !slices.Contains(plain, line) && !strings.Contains(line, "strong") {
				t.Errorf("%s: %s is not strong", c.user, line)
			}
		}
	}
	// All at the same time.
	f := fault.NewSet()
	f.All(fault.AnyOperation, meeting(int64(len(plain)+2)))
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
	same(t, "a service", operations(asked(warm, 201, "POST", "/v1/transactions", body("p-1"), "")), "TransactWriteItems")
	f.All("Query", meeting(2*accounts))
	got := operations(asked(warm, 201, "POST", "/v1/transactions", body("p-2"), "ann"))
	same(t, "a user", got, append(slices.Repeat([]string{"Query"}, 2*accounts), "TransactWriteItems")...)
	// Refused before the first attempt: nothing but the check.
	f.Clear()
	refused := operations(asked(warm, 422, "POST", "/v1/transactions", body("p-3"), "nobody"))
	same(t, "a refusal", refused, slices.Repeat([]string{"Query"}, 2*accounts)...)
}

// operations returns the first words.
func operations(lines []string) (names []string) {
	for _, line := range lines {
		name, _, _ := strings.Cut(line, " ")
		names = append(names, name)
	}
	return names
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
