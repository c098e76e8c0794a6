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

// Each access pattern of users and groups takes these requests of a process that has cached nothing, and shows this.
// What was taken out or revoked is in none of them.
func TestAccessPatternsOfGroups(t *testing.T) {
	t.Parallel()
	register := newGroups(t)
	const (
		groupsOfAnn   = "Query GSI2 eventual 11 of PK2 = USER#ann AND PK BETWEEN GROUP# AND GROUP#~"
		accountsOfAnn = "Query GSI2 eventual 21 of PK2 = USER#ann AND PK BETWEEN ACCOUNT# AND ACCOUNT#~"
	)
	for _, c := range []struct {
		name, path string
		requests   []string
		shows      map[string]any
	}{
		{
			"Users of an account", "/v1/accounts/jane/members",
			[]string{"Query eventual 21 of PK = ACCOUNT#jane AND SK BETWEEN MEMBER# AND MEMBER#~"},
			map[string]any{"data 0 user": "ann", "data 0 role": "owner", "data 1 user": "bob", "data 2": nil},
		},
		{
			"groups of an account", "/v1/accounts/jane/groups",
			[]string{"Query eventual 21 of PK = ACCOUNT#jane AND SK BETWEEN GROUPED# AND GROUPED#~"},
			map[string]any{"data 0 group": "clients", "data 1 group": "desk", "data 1 account": "jane", "data 2": nil},
		},
		{
			"groups of an account that left one", "/v1/accounts/market/groups",
			[]string{"Query eventual 21 of PK = ACCOUNT#market AND SK BETWEEN GROUPED# AND GROUPED#~"},
			map[string]any{"data 0 group": "desk", "data 1": nil},
		},
		{
			"groups of a user", "/v1/users/ann/groups",
			[]string{"Query GSI2 eventual 21 of PK2 = USER#ann AND PK BETWEEN GROUP# AND GROUP#~"},
			map[string]any{"data 0 group": "clients", "data 0 role": "owner", "data 1 group": "desk",
				"data 1 role": "viewer", "data 2": nil},
		},
		{
			"users of a group (inverse index)", "/v1/groups/desk/members",
			[]string{"Query eventual 21 of PK = GROUP#desk AND SK BETWEEN MEMBER# AND MEMBER#~"},
			map[string]any{"data 0 user": "ann", "data 1 user": "cal", "data 1 role": "operator", "data 2": nil},
		},
		{
			"accounts of a group", "/v1/groups/desk/accounts",
			[]string{"Query GSI2 eventual 21 of PK2 = GROUP#desk AND PK BETWEEN ACCOUNT# AND ACCOUNT#~"},
			map[string]any{"data 0 account": "jane", "data 1 account": "market", "data 1 group": "desk", "data 2": nil},
		},
		{
			"accounts of a user, direct and through groups", "/v1/users/ann/accounts", []string{
				groupsOfAnn, accountsOfAnn,
				"Query GSI2 eventual 19 of PK2 = GROUP#clients AND PK BETWEEN ACCOUNT# AND ACCOUNT#~",
				"Query GSI2 eventual 19 of PK2 = GROUP#desk AND PK BETWEEN ACCOUNT# AND ACCOUNT#~",
			},
			map[string]any{
				"data 0 account": "jane", "data 0 role": "owner", "data 0 through": nil,
				"data 1 account": "market", "data 1 role": "operator", "data 1 through": nil,
				"data 2 account": "jane", "data 2 role": "owner", "data 2 through": "clients",
				"data 3 account": "jane", "data 3 role": "viewer", "data 3 through": "desk",
				"data 4 account": "market", "data 4 through": "desk", "data 5": nil, "next_cursor": nil,
			},
		},
		{
			"a group", "/v1/groups/desk", []string{"BatchGetItem strong GROUP#desk GROUP#desk"},
			map[string]any{"id": "desk"},
		},
		{
			"groups by prefix", "/v1/groups?prefix=d",
			[]string{"Query GSI2 eventual 21 of PK2 = GROUPS AND PK BETWEEN GROUP#d AND GROUP#d~"},
			map[string]any{"data 0 id": "desk", "data 1": nil},
		},
		{
			"totals of a group", "/v1/groups/desk/balances", []string{
				"Query GSI2 eventual 1001 of PK2 = GROUP#desk AND PK BETWEEN ACCOUNT# AND ACCOUNT#~",
				"Query eventual 21 of PK = ACCOUNT#jane AND SK BETWEEN BALANCE# AND BALANCE#~",
				"Query eventual 21 of PK = ACCOUNT#market AND SK BETWEEN BALANCE# AND BALANCE#~",
			},
			map[string]any{"accounts": 2.0, "data 0 asset": "AAPL", "data 0 quantity": "0", "data 1 asset": "USD",
				"data 1 quantity": "499000", "data 2": nil},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			reads(register.Beside(), c.path, c.requests...).Shows(t, c.shows)
		})
	}
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
