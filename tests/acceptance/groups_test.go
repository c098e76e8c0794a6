package acceptance

import (
	"fmt"
	"slices"
	"testing"

	"ledger.example/events"
	"ledger.example/tests/caller"
)

// Groups, their accounts and their members are registered, changed and refused, and listed from both sides.
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
	s.Must(201, "PUT", "/v1/groups/~desk/members/~u-1", `{"role":"operator"}`)
	s.Must(200, "PUT", "/v1/groups/~desk/members/~u-1", `{"role":"viewer"}`)
	s.Must(201, "PUT", "/v1/groups/~desk/members/~u-2", `{"role":"owner"}`)
	s.Must(200, "DELETE", "/v1/groups/~desk/members/~u-2", "")
	s.Must(201, "PUT", "/v1/accounts/~bank/members/~u-1", `{"role":"owner"}`)
	for path, want := range map[string][]string{
		"/v1/groups?prefix=~":          {"~desk", "~idle"},
		"/v1/groups/~desk/accounts":    {"~desk ~jane", "~desk ~market"},
		"/v1/groups/~idle/accounts":    {"~idle ~jane"},
		"/v1/accounts/~jane/groups":    {"~desk ~jane", "~idle ~jane"},
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
	refuse(t, s, []caller.Refusal{
		refusal("", "PUT /v1/groups/~desk", `{"name":"Other"}`, 409, "group_exists", "name", "description"),
		refusal("", "PUT /v1/groups/~desk", `{"id":"~idle"}`, 400, "invalid_request", "id"),
		refusal("", "PUT /v1/groups/~new", `{"created_at":"2026-11-21T09:06:39Z"}`, 400, "invalid_request", "created_at"),
		refusal("", "PUT /v1/groups/~desk", `{"accounts":[]}`, 400, "malformed_body", "accounts"),
		refusal("", "PUT /v1/groups/~desk/accounts/~bank", "", 422, "too_many_groups"),
		refusal("", "PUT /v1/groups/~none/accounts/~bank", "", 404, "group_not_found"),
		refusal("", "PUT /v1/groups/~desk/accounts/~none", "", 404, "account_not_found"),
		refusal("", "DELETE /v1/groups/~none/accounts/~bank", "", 404, "group_not_found"),
		refusal("", "PUT /v1/groups/~none/members/~u-1", `{"role":"viewer"}`, 404, "group_not_found"),
		refusal("", "PUT /v1/groups/~desk/members/~u-1", `{"role":"admin"}`, 400, "invalid_request", "role"),
		refusal("", "GET /v1/groups/~none", "", 404, "group_not_found"),
		refusal("", "GET /v1/groups/~none/accounts", "", 404, "group_not_found"),
		refusal("", "GET /v1/groups/~none/members", "", 404, "group_not_found"),
		refusal("", "GET /v1/groups/~none/balances", "", 404, "group_not_found"),
		refusal("", "GET /v1/accounts/~none/groups", "", 404, "account_not_found"),
		refusal("", "PUT /v1/groups/no%20id/accounts/~bank", "", 400, "invalid_request", "group"),
		refusal("a group in a group", "PUT /v1/groups/~desk/groups/~idle", `{}`, 404, "not_found"),
	})
}
