package cost

import (
	"testing"

	"ledger.example/tests/harness/system"
)

// newGroups starts a ledger as newRegister does, with two groups of accounts, and their members, all projected.
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

// Accounts that were removed and members that were revoked are in none of the lists.
func TestAccessPatternsOfGroups(t *testing.T) {
	t.Parallel()
	checkPatterns(t, newGroups(t), "groups.txt")
}

// Commands about groups read the newest event and put the next one. A repeated command only reads.
func TestRequestsOfGroupCommands(t *testing.T) {
	t.Parallel()
	s := newGroups(t)
	for _, c := range []struct {
		status             int
		method, path, body string
		requests           []string
	}{
		{201, "PUT", "/v1/groups/new", `{"name":"New"}`, []string{"PutItem GROUP#new GROUP#new" + ifAbsent}},
		{200, "PUT", "/v1/groups/new", `{"name":"New"}`, nil},
		{201, "PUT", "/v1/groups/new/accounts/jane", "", []string{
			newestGroups, "PutItem ACCOUNT#jane GROUPS#000000000003" + ifAbsent,
		}},
		{200, "PUT", "/v1/groups/new/accounts/jane", "", []string{newestGroups}},
		{201, "PUT", "/v1/groups/new/members/eve", `{"role":"viewer"}`, []string{
			newestGrant("GROUP#new", "eve"), "PutItem GROUP#new GRANT#eve#000000000001" + ifAbsent,
		}},
	} {
		checkRequest(s, "", c.status, c.method, c.path, c.body, c.requests...)
	}
}

// A grant by a user is conditional on the granter's own right: on the grant that gives it, and if that is in a group,
// also on the groups of the account.
func TestRequestsOfAGrantByAUser(t *testing.T) {
	t.Parallel()
	s := newGroups(t)
	s.Must(201, "PUT", "/v1/groups/clients/members/gina", `{"role":"owner"}`)
	checkRequest(s, "ann", 201, "PUT", "/v1/accounts/jane/members/new", `{"role":"viewer"}`,
		newestGrant("ACCOUNT#jane", "ann"), newestGroups, newestGrant("ACCOUNT#jane", "new"),
		"TransactWriteItems put ACCOUNT#jane GRANT#new#000000000001"+ifAbsent+
			", check ACCOUNT#jane GRANT#ann#000000000002"+ifAbsent)
	// An owner through a group.
	checkRequest(s, "gina", 200, "DELETE", "/v1/accounts/jane/members/new", "",
		newestGrant("ACCOUNT#jane", "gina"), newestGroups, newestGrant("GROUP#clients", "gina"),
		newestGrant("GROUP#desk", "gina"), newestGrant("ACCOUNT#jane", "new"),
		"TransactWriteItems put ACCOUNT#jane GRANT#new#000000000002"+ifAbsent+
			", check GROUP#clients GRANT#gina#000000000002"+ifAbsent+", check ACCOUNT#jane GROUPS#000000000003"+ifAbsent)
	// An owner of a group.
	checkRequest(s, "gina", 201, "PUT", "/v1/groups/clients/members/new", `{"role":"viewer"}`,
		newestGrant("GROUP#clients", "gina"), newestGrant("GROUP#clients", "new"),
		"TransactWriteItems put GROUP#clients GRANT#new#000000000001"+ifAbsent+
			", check GROUP#clients GRANT#gina#000000000002"+ifAbsent)
}

// newestGrant returns the request for a user's newest grant on an account or in a group.
func newestGrant(partition, user string) string {
	return "Query strong newest first, 1 of PK = " + partition + " AND SK BETWEEN GRANT#" + user + "# AND GRANT#" +
		user + "#~"
}

// newestGroups is the request for the newest change of jane's groups.
const newestGroups = "Query strong newest first, 1 of PK = ACCOUNT#jane AND SK BETWEEN GROUPS#000000000001 AND GROUPS#~"
