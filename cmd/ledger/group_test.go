package main

import (
	"slices"
	"strings"
	"testing"
)

// team is a register with a group behind a stub.
func team() map[string]string {
	const (
		group  = `{"id":"desk","name":"The desk","description":"Trades","created_at":"2026-11-21T09:00:00.000000Z"}`
		member = `{"group":"desk","user":"u-17","role":"operator"}`
		direct = `{"account":"jane","user":"u-17","role":"viewer"}`
		place  = `{"group":"desk","account":"jane"}`
		joined = `{"group":"desk","account":"jane","groups":["clients","desk"]}`
		total  = `{"asset":"USD","accounts":2,"quantity":"12345","net_expenditure":"0","credits":"20000","debits":"7655","pending_debits":"100","pending_credits":"0","postings":3}`
	)
	list := func(items ...string) string { return `{"data":[` + strings.Join(items, ",") + `],"next_cursor":null}` }
	answers := register()
	for request, answer := range map[string]string{
		"PUT /v1/groups/desk":                    group,
		"GET /v1/groups/desk":                    group,
		"GET /v1/groups?limit=20&prefix=d":       list(group),
		"GET /v1/accounts/jane/groups?limit=20":  list(place),
		"GET /v1/users/u-17/groups?limit=20":     list(member),
		"PUT /v1/groups/desk/accounts/jane":      joined,
		"PUT /v1/groups/desk/accounts/full":      "422 too_many_groups",
		"DELETE /v1/groups/desk/accounts/jane":   strings.Replace(joined, `,"desk"]`, `]`, 1),
		"GET /v1/groups/desk/accounts?limit=20":  list(place),
		"GET /v1/groups/desk/members?limit=20":   list(member),
		"GET /v1/groups/desk/balances?limit=20":  `{"group":"desk","accounts":2,"data":[` + total + `],"next_cursor":null}`,
		"PUT /v1/groups/desk/members/u-17":       member,
		"DELETE /v1/groups/desk/members/u-17":    strings.Replace(member, `"operator"`, "null", 1),
		"PUT /v1/accounts/jane/members/u-17":     direct,
		"DELETE /v1/accounts/jane/members/u-17":  strings.Replace(direct, `"viewer"`, "null", 1),
		"GET /v1/accounts/jane/members?limit=20": list(direct),
		"GET /v1/users/u-17/accounts?limit=20": list(
			strings.Replace(direct, "}", `,"through":null}`, 1), strings.Replace(direct, "}", `,"through":"desk"}`, 1)),
	} {
		answers[request] = answer
	}
	return answers
}

func TestGroupsAndMembers(t *testing.T) {
	s := newStub(t, team())
	for _, c := range []struct {
		args, sent string
		shown      []string
	}{
		{"group register desk --name Desk --description d", `PUT /v1/groups/desk {"name":"Desk","description":"d"}`, []string{"Group        desk"}},
		{"group show desk", "", []string{"Description  Trades"}},
		{"group show desk --json", "", []string{`"id":"desk"`}},
		{"group list --prefix d", "", []string{"REGISTERED (UTC)", "desk   The desk  Trades"}},
		{"group list --account jane", "", []string{"desk   jane"}},
		{"group list --of-user u-17", "", []string{"u-17  operator  -        desk"}},
		{"group add desk jane", "PUT /v1/groups/desk/accounts/jane ", []string{"clients  jane", "desk     jane"}},
		{"group remove desk jane", "DELETE /v1/groups/desk/accounts/jane ", []string{"clients  jane"}},
		{"group accounts desk", "", []string{"desk   jane"}},
		{"group members desk", "", []string{"u-17  operator"}},
		{"group balances desk", "", []string{"USD      123.45", "1.00"}},
		{"member grant u-17 operator --group desk", `PUT /v1/groups/desk/members/u-17 {"role":"operator"}`, []string{"u-17  operator  -        desk"}},
		{"member grant u-17 viewer --account jane", `PUT /v1/accounts/jane/members/u-17 {"role":"viewer"}`, []string{"u-17  viewer  jane     -"}},
		{"member revoke u-17 --group desk", "DELETE /v1/groups/desk/members/u-17 ", []string{"u-17  none"}},
		{"member revoke u-17 --account jane", "DELETE /v1/accounts/jane/members/u-17 ", []string{"u-17  none  jane"}},
		{"member list --account jane", "", []string{"u-17  viewer"}},
		{"member list --group desk", "", []string{"u-17  operator"}},
		{"member list --of-user u-17", "", []string{"jane     viewer  -", "jane     viewer  desk"}},
	} {
		s.sent = nil
		code, out, problems := ledger(t, s.URL, strings.Fields(c.args)...)
		var want []string
		if c.sent != "" {
			want = []string{c.sent}
		}
		if code != exitDone || !slices.Equal(s.sent, want) {
			t.Errorf("%s: exit %d, %s\n got %q\nwant %q", c.args, code, problems, s.sent, want)
		}
		t.Run(c.args, func(t *testing.T) { says(t, out, c.shown...) })
	}
	for args, want := range map[string]int{
		"group add desk full": exitFailed, "group add desk": exitWrongUse, "member grant u-17 viewer": exitWrongUse,
		"member list": exitWrongUse, "member grant u-17 viewer --account a --group g": exitWrongUse,
		"group list --prefix d --account jane": exitWrongUse,
	} {
		if code, out, _ := ledger(t, s.URL, strings.Fields(args)...); code != want || out != "" {
			t.Errorf("%s: exit %d, %s", args, code, out)
		}
	}
}
