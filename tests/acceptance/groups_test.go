package acceptance

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ledger.example/events"
	"ledger.example/tests/harness/caller"
)

// Groups and their accounts, and the roles of users on accounts and in groups, are registered, changed and refused, and
// listed from both sides. A grant sets a role, whatever it was before. So does a revocation.
func groupsBothWays(t *testing.T, s *caller.Caller) {
	s.OpenRegister()
	desk := s.Must(201, "PUT", "/v1/groups/~desk", `{"name":"The desk","description":"Trades"}`)
	again := s.Must(200, "PUT", "/v1/groups/~desk", `{"description":"Trades","name":"The desk"}`)
	if got := s.Must(200, "GET", "/v1/groups/~desk", ""); string(got.Body) != string(desk.Body) ||
		string(again.Body) != string(desk.Body) {
		t.Errorf("registered %s, replayed %s, read %s", desk.Body, again.Body, got.Body)
	}
	s.Must(200, "PUT", "/v1/groups/~desk", string(desk.Body)) // the answer is a valid request
	s.Must(201, "PUT", "/v1/groups/~idle", `{}`)

	s.Must(201, "PUT", "/v1/groups/~desk/accounts/~jane", "")
	if got := s.Must(201, "PUT", "/v1/groups/~idle/accounts/~jane", ""); got.Value("groups", 0) != "~desk" ||
		got.Value("groups", 1) != "~idle" || got.Value("group") != "~idle" || got.Value("account") != "~jane" {
		t.Errorf("answered %s", got.Body)
	}
	s.Must(200, "PUT", "/v1/groups/~idle/accounts/~jane", "")
	s.Must(201, "PUT", "/v1/groups/~desk/accounts/~market", "")
	s.Must(201, "PUT", "/v1/groups/~desk/accounts/~bank", "")
	for range 2 { // the second time, the account is not in the group
		if got := s.Must(200, "DELETE", "/v1/groups/~desk/accounts/~bank", ""); fmt.Sprint(got.Value("groups")) != "[]" {
			t.Errorf("answered %s", got.Body)
		}
	}
	for _, grant := range []string{
		"groups/~desk ~u-1 operator 201", "groups/~desk ~u-1 viewer 200", "groups/~desk ~u-2 owner 201", "groups/~desk ~u-2  200",
		"accounts/~bank ~u-1  200", "accounts/~bank ~u-1 viewer 201", "accounts/~bank ~u-1 viewer 200", "accounts/~bank ~u-1 operator 200",
		"accounts/~bank ~u-1  200", "accounts/~bank ~u-1  200", "accounts/~bank ~u-1 owner 201", "accounts/~jane ~u-3 operator 201",
		"accounts/~jane ~U-3 owner 201", "accounts/~jane ~a@example.com viewer 201", "accounts/~jane ~u-2 viewer 201", "accounts/~jane ~u-2  200",
	} {
		part := strings.Split(grant, " ")
		place, user, role := part[0], part[1], part[2]
		status, _ := strconv.Atoi(part[3])
		method, body, shown := "PUT", fmt.Sprintf(`{"role":%q}`, role), fmt.Sprintf("%q", role)
		if role == "" {
			method, body, shown = "DELETE", "", "null"
		}
		of, id, _ := strings.Cut(place, "s/")
		want := fmt.Sprintf(`{%q:%q,"user":%q,"role":%s}`, of, id, user, shown)
		got := s.Must(status, method, "/v1/"+place+"/members/"+user, body, "Idempotency-Key", "") // which is ignored
		if strings.TrimSpace(string(got.Body)) != want {
			t.Errorf("%s: answered %s", grant, got.Body)
		}
	}
	for path, want := range map[string][]string{
		"/v1/groups?prefix=~":          {"~desk", "~idle"},
		"/v1/groups/~desk/accounts":    {"~desk ~jane", "~desk ~market"},
		"/v1/groups/~idle/accounts":    {"~idle ~jane"},
		"/v1/accounts/~jane/groups":    {"~desk ~jane", "~idle ~jane"},
		"/v1/accounts/~jane/members":   {"~jane ~U-3 owner", "~jane ~a@example.com viewer", "~jane ~u-3 operator"},
		"/v1/accounts/~bank/groups":    {},
		"/v1/groups/~desk/members":     {"~desk ~u-1 viewer"},
		"/v1/groups/~idle/members":     {},
		"/v1/users/~u-1/groups":        {"~desk ~u-1 viewer"},
		"/v1/users/~u-2/groups":        {},
		"/v1/users/~u-1/accounts":      {"~bank ~u-1 owner", "~jane ~u-1 viewer ~desk", "~market ~u-1 viewer ~desk"},
		"/v1/users/~nobody-1/groups":   {},
		"/v1/users/~nobody-1/accounts": {},
	} {
		shown := func(limit int) []string {
			got := []string{}
			for _, m := range s.All(path, limit) {
				line := ""
				for _, name := range []string{"id", "group", "account", "user", "role", "through"} {
					if m[name] != nil {
						line += fmt.Sprint(" ", m[name])
					}
				}
				got = append(got, line[1:])
			}
			return got
		}
		caller.Eventually(t, timeToProject, fmt.Sprintf("%s is %q", path, want),
			func() bool { return slices.Equal(shown(100), want) })
		if got := shown(1); !slices.Equal(got, want) {
			t.Errorf("%s with limit 1: %q, want %q", path, got, want)
		}
	}

	s.Must(201, "POST", "/v1/transfers", `{"id":"~d","from":"~bank","to":"~jane","asset":"~USD","quantity":"500"}`)
	s.Must(201, "POST", "/v1/transfers", `{"id":"~e","from":"~jane","to":"~market","asset":"~USD","quantity":"200"}`)
	projected(s, "~jane", "~market")
	totals := s.Must(200, "GET", "/v1/groups/~desk/balances", "")
	totals.Shows(t, map[string]any{
		"group": "~desk", "data 0 asset": "~USD", "data 0 accounts": 2.0, "data 0 quantity": "500",
		"data 0 credits": "700", "data 0 debits": "200", "data 1": nil, "next_cursor": nil,
	})

	for i := range events.AccountGroupsMax {
		group := fmt.Sprintf("/v1/groups/~g%d", i)
		s.Must(201, "PUT", group, `{}`)
		s.Must(201, "PUT", group+"/accounts/~bank", "")
	}
	refuseAll(t, s, "groups.txt")
}

// A service that acts for a user sees only what the user's roles allow. Everything else does not exist for it.
func callersAndRoles(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	s.Must(200, "GET", "/v1/me", "").Shows(t, map[string]any{"as": "administrator", "user": nil})
	as := []string{"Ledger-User", s.Prefix + "ann"}
	s.Must(200, "GET", "/v1/me", "", as...).Shows(t, map[string]any{"as": "user", "user": "~ann"})
	transfer := func(id string) string {
		return `{"id":"` + id + `","from":"~jane","to":"~shop","asset":"~USD","quantity":"50"}`
	}
	s.Must(404, "GET", "/v1/accounts/~jane", "", as...)
	s.Must(422, "POST", "/v1/transfers", transfer("~c-1"), as...)
	s.Must(201, "PUT", "/v1/accounts/~jane/members/~ann", `{"role":"viewer"}`)
	s.Must(200, "GET", "/v1/accounts/~jane", "", as...)
	s.Must(403, "POST", "/v1/transfers", transfer("~c-1"), as...).Shows(t,
		map[string]any{"code": "forbidden", "role": "operator"})
	s.Must(200, "PUT", "/v1/accounts/~jane/members/~ann", `{"role":"operator"}`)
	s.Must(201, "POST", "/v1/transfers", transfer("~c-1"), as...)
	s.Must(200, "GET", "/v1/transactions/~c-1", "", as...).Shows(t, map[string]any{"hidden_postings": 1.0})
	s.Must(200, "PUT", "/v1/accounts/~jane/members/~ann", `{"role":"owner"}`)
	s.Must(201, "PUT", "/v1/accounts/~jane/members/~bob", `{"role":"owner"}`, as...)
	s.Must(403, "DELETE", "/v1/accounts/~jane/members/~ann", "", as...)
	s.Must(200, "DELETE", "/v1/accounts/~jane/members/~ann", "", "Ledger-User", s.Prefix+"bob")
	s.Must(404, "DELETE", "/v1/accounts/~jane/members/~bob", "", as...)
	s.Must(422, "POST", "/v1/transfers", transfer("~c-2"), as...)
	s.Must(404, "GET", "/v1/transactions/~c-1", "", as...)
	s.Must(400, "GET", "/v1/me", "", "Ledger-User", "")
}

// The actor and the times of a transaction are the same in every answer.
func actorsAndTimes(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	s.Must(201, "POST", "/v1/transactions", `{"id":"~n-1","description":"d","metadata":{"order":"1001"},"postings":[`+
		`{"account":"~bank","asset":"~USD","quantity":"-7"},{"account":"~jane","asset":"~USD","quantity":"7"}]}`)
	s.Must(200, "GET", "/v1/transactions/~n-1", "").Shows(t, map[string]any{"description": "d", "metadata order": "1001"})
	projected(s, "~jane")
	if got := s.Must(200, "GET", "/healthz", ""); got.Value("status") != "ok" || got.Text("version") == "" {
		t.Errorf("health: %s", got.Body)
	}
	page := s.Must(200, "GET", "/v1/accounts/~jane/summary?newest=1", "") // four older postings follow
	page.Shows(t, map[string]any{"account id": "~jane", "summary holdings": 2.0, "balances data 0 asset": "~AAPL",
		"balances data 1 quantity": "350007", "postings data 0 transaction": "~n-1", "postings data 1": nil})

	// Every answer has the same actor.
	posted := s.Must(200, "POST", "/v1/transfers", `{"id":"~d-1","from":"~bank","to":"~jane","asset":"~USD","quantity":"500000"}`)
	for _, path := range []string{"/v1/transactions/~d-1", "/v1/transactions/~t-1", "/v1/assets/~USD", "/v1/accounts/~jane"} {
		if got := s.Must(200, "GET", path, "").Text("actor"); got == "" || got != posted.Text("actor") {
			t.Errorf("%s has the actor %q, %s", path, got, posted.Body)
		}
	}

	// All times of a transaction are equal: posted_at, the as_of_time of balances, and the times in the summary.
	at := s.Must(200, "GET", "/v1/transactions/~n-1", "").Value("posted_at")
	parseTime(t, at)
	usdNow := s.Must(200, "GET", "/v1/accounts/~jane/balances/~USD", "")
	if usdNow.Value("as_of_time") != at || usdNow.Value("as_of") != s.Must(200, "GET", "/v1/transactions/~n-1", "").Value("postings", 1, "id") {
		t.Errorf("as of %s, posted at %v", usdNow.Body, at)
	}
	if page.Value("summary", "last_posting_at") != at || page.Value("postings", "data", 0, "posted_at") != at {
		t.Errorf("last posted at %v: %s", at, page.Body)
	}
	if first := s.Must(200, "GET", "/v1/transactions/~d-1", "").Value("posted_at"); page.Value("summary", "first_posting_at") != first {
		t.Errorf("first posted at %v: %s", first, page.Body)
	}
}

// Members show who granted their role, and when, to owners and administrators only: those of the account, directly or
// through a group, or of the group. The same role again changes neither.
func grantedToOwners(t *testing.T, s *caller.Caller) {
	s.OpenRegister()
	const ofJane, ofDesk = "/v1/accounts/~jane/members", "/v1/groups/~desk/members"
	as := func(user string) []string { return []string{"Ledger-User", s.Prefix + user} }
	grant := func(status int, list, user, role string, by ...string) {
		s.Must(status, "PUT", list+"/~"+user, `{"role":"`+role+`"}`, by...)
	}
	s.Must(201, "PUT", "/v1/groups/~desk", `{}`)
	s.Must(201, "PUT", "/v1/groups/~desk/accounts/~jane", "")
	for user, role := range map[string]string{"ann": "owner", "cid": "viewer"} {
		grant(201, ofJane, user, role)
		grant(201, ofDesk, user+"-desk", role)
	}
	grant(201, ofJane, "bob", "viewer", as("ann")...)
	grant(201, ofDesk, "bob", "viewer", as("ann-desk")...)
	member := func(list, user string, by ...string) map[string]any {
		for _, m := range s.Must(200, "GET", list, "", by...).Value("data").([]any) {
			if is := m.(map[string]any); is["user"] == "~"+user {
				return is
			}
		}
		return nil
	}
	shows := func(list, user, by, role string) (at any) {
		t.Helper()
		caller.Eventually(t, timeToProject, user+" is "+role, func() bool { return member(list, user)["role"] == role })
		m := member(list, user)
		if text, _ := m["granted_at"].(string); m["granted_by"] != by || text == "" {
			t.Errorf("%s shows %v, granted by %s", list, m, by)
		}
		return m["granted_at"]
	}
	admin := s.Must(200, "GET", "/v1/me", "").Text("actor")
	for list, owners := range map[string][]string{ofJane: {"ann", "ann-desk"}, ofDesk: {"ann-desk"}} {
		owner := s.Must(200, "GET", "/v1/me", "", as(owners[0])...).Text("actor")
		first := shows(list, "bob", owner, "viewer")
		grant(200, list, "bob", "viewer") // by an administrator, and the same role
		grant(201, list, "dan", "viewer")
		shows(list, "dan", admin, "viewer") // so what came before is projected
		if again := shows(list, "bob", owner, "viewer"); again != first {
			t.Errorf("granted again at %v, first at %v", again, first)
		}
		for _, user := range owners {
			if m := member(list, "bob", as(user)...); m["granted_by"] != owner || m["granted_at"] != first {
				t.Errorf("%s reads %v in %s", user, m, list)
			}
		}
		grant(200, list, "bob", "operator")
		if last := shows(list, "bob", admin, "operator"); last == first {
			t.Errorf("another role was also granted at %v", last)
		}
		for _, user := range []string{"bob", "cid-desk"} {
			m := member(list, "bob", as(user)...)
			if _, by := m["granted_by"]; by || m["granted_at"] != nil || m["role"] != "operator" {
				t.Errorf("%s reads %v in %s", user, m, list)
			}
		}
	}
}
