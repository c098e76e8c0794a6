package cost

import (
	"fmt"
	"slices"
	"testing"

	"ledger.example/tests/system"
)

// newGroups starts a register with two groups of two accounts each, with members, all projected.
func newGroups(t testing.TB) *system.System {
	t.Helper()
	s := newRegister(t)
	for _, group := range []string{"clients", "desk"} {
		s.Must(201, "PUT", "/v1/groups/"+group, `{}`)
	}
	for _, place := range []string{"clients/accounts/jane", "desk/accounts/jane", "desk/accounts/market"} {
		s.Must(201, "PUT", "/v1/groups/"+place, "")
	}
	for member, role := range map[string]string{
		"desk/members/ann": "viewer", "desk/members/cal": "operator", "clients/members/ann": "owner",
	} {
		s.Must(201, "PUT", "/v1/groups/"+member, `{"role":"`+role+`"}`)
	}
	s.Must(201, "PUT", "/v1/groups/clients/accounts/market", "")
	s.Must(200, "DELETE", "/v1/groups/clients/accounts/market", "")
	s.Must(201, "PUT", "/v1/groups/desk/members/dan", `{"role":"viewer"}`)
	s.Must(200, "DELETE", "/v1/groups/desk/members/dan", "")
	s.DeliverAll()
	return s
}

// What was taken out or revoked is in none of the lists.
func TestAccessPatternsOfGroups(t *testing.T) {
	t.Parallel()
	checkPatterns(t, newGroups(t), "groups.txt")
}

// Commands of a warm process read the newest event and put the next one; the same again only reads.
func TestRequestsOfGroupCommands(t *testing.T) {
	t.Parallel()
	s := newGroups(t)
	for _, c := range []struct {
		status             int
		method, path, body string
		requests           []string
	}{
		{201, "PUT", "/v1/groups/new", `{"name":"New"}`, []string{"PutItem GROUP#new GROUP#new if attribute_not_exists(PK)"}},
		{200, "PUT", "/v1/groups/new", `{"name":"New"}`, nil},
		{201, "PUT", "/v1/groups/new/accounts/jane", "", []string{
			"Query strong newest first, 1 of PK = ACCOUNT#jane AND SK BETWEEN GROUPS#000000000001 AND GROUPS#~",
			"PutItem ACCOUNT#jane GROUPS#000000000003 if attribute_not_exists(PK)",
		}},
		{200, "PUT", "/v1/groups/new/accounts/jane", "", []string{
			"Query strong newest first, 1 of PK = ACCOUNT#jane AND SK BETWEEN GROUPS#000000000001 AND GROUPS#~",
		}},
		{201, "PUT", "/v1/groups/new/members/eve", `{"role":"viewer"}`, []string{
			"Query strong newest first, 1 of PK = GROUP#new AND SK BETWEEN GRANT#eve# AND GRANT#eve#~",
			"PutItem GROUP#new GRANT#eve#000000000001 if attribute_not_exists(PK)",
		}},
	} {
		s.Requests.Take()
		s.Must(c.status, c.method, c.path, c.body)
		system.WantRequests(t, s.Requests.Take(), c.requests...)
	}
}

// A grant by a user relies on their own right: on the grant that gives it, and on what groups the account is in if it
// comes through one.
func TestRequestsOfAGrantByAUser(t *testing.T) {
	t.Parallel()
	s := newGroups(t)
	s.Must(201, "PUT", "/v1/groups/clients/members/gina", `{"role":"owner"}`)
	const absent = " if attribute_not_exists(PK)"
	newest := func(account, user string) string {
		return "Query strong newest first, 1 of PK = " + account + " AND SK BETWEEN GRANT#" + user + "# AND GRANT#" + user + "#~"
	}
	const groups = "Query strong newest first, 1 of PK = ACCOUNT#jane AND SK BETWEEN GROUPS#000000000001 AND GROUPS#~"
	same(t, "an owner", asked(s, 201, "PUT", "/v1/accounts/jane/members/new", `{"role":"viewer"}`, "ann"),
		newest("ACCOUNT#jane", "ann"), groups, newest("ACCOUNT#jane", "new"),
		"TransactWriteItems put ACCOUNT#jane GRANT#new#000000000001"+absent+
			", check ACCOUNT#jane GRANT#ann#000000000002"+absent)
	same(t, "an owner through a group", asked(s, 200, "DELETE", "/v1/accounts/jane/members/new", "", "gina"),
		newest("ACCOUNT#jane", "gina"), groups, newest("GROUP#clients", "gina"), newest("GROUP#desk", "gina"),
		newest("ACCOUNT#jane", "new"),
		"TransactWriteItems put ACCOUNT#jane GRANT#new#000000000002"+absent+
			", check GROUP#clients GRANT#gina#000000000002"+absent+", check ACCOUNT#jane GROUPS#000000000003"+absent)
	same(t, "an owner of a group", asked(s, 201, "PUT", "/v1/groups/clients/members/new", `{"role":"viewer"}`, "gina"),
		newest("GROUP#clients", "gina"), newest("GROUP#clients", "new"),
		"TransactWriteItems put GROUP#clients GRANT#new#000000000001"+absent+
			", check GROUP#clients GRANT#gina#000000000002"+absent)
}

// The pages of a user's accounts fit together, whatever their size: each way to an account comes once, in order.
func TestPagesOfAUsersAccounts(t *testing.T) {
	t.Parallel()
	s := newGroups(t)
	want := []string{"jane <nil>", "market <nil>", "jane clients", "jane desk", "market desk"}
	for _, limit := range []string{"1", "2", "3", "4", "5", "6"} {
		var got []string
		for cursor := ""; ; {
			r := s.Must(200, "GET", "/v1/users/ann/accounts?limit="+limit+cursor, "")
			for i := 0; r.Value("data", i) != nil; i++ {
				got = append(got, fmt.Sprint(r.Value("data", i, "account"), " ", r.Value("data", i, "through")))
			}
			if r.Value("next_cursor") == nil {
				break
			}
			cursor = "&cursor=" + r.Text("next_cursor")
		}
		if !slices.Equal(got, want) {
			t.Errorf("limit %s: %q", limit, got)
		}
	}
}
