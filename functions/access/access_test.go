package access

import (
	"context"
	"testing"

	"ledger.example/events"
)

// UserOf distinguishes users from services for all their names.
func TestActor(t *testing.T) {
	for actor, want := range map[string]string{
		Caller{Service: "arn:aws:iam::1:user/jane#AIDA", Admin: true}.Actor():  "",
		Caller{Service: "arn:aws:iam::1:user/jane#AIDA", User: "u-17"}.Actor(): "u-17",
		Caller{Service: "https://id.example.com/", User: "jwt:a_b-c"}.Actor():  "jwt:a_b-c",
		Caller{Service: "https://id/#a via b", Admin: true}.Actor():            "",
		"local": "", "": "", " via x": "", "a b via x": "", "u-17 via a via b": "u-17",
	} {
		if user, ok := UserOf(actor); user != want || ok != (want != "") {
			t.Errorf("%q is of the user %q, %v", actor, user, ok)
		}
	}
}

// fixed are constant grants, by account or group. Their numbers are 1 on accounts, 2 in groups, and 3 of groups.
type fixed struct {
	roles  map[string]events.Role
	groups map[string][]string
}

func (f fixed) NewestGrant(_ context.Context, account, _ string) (events.Role, int64, error) {
	return f.roles[account], 1, nil
}

func (f fixed) NewestGroupGrant(_ context.Context, group, _ string) (events.Role, int64, error) {
	return f.roles["group "+group], 2, nil
}

func (f fixed) NewestGroups(_ context.Context, account string) ([]string, int64, error) {
	return f.groups[account], 3, nil
}

// The strongest role counts, and only groups of the account count. An unknown role gives no rights. A right names the
// grants that give it, so that it is outdated when one of them is.
func TestStrongestRole(t *testing.T) {
	r := Resolver{fixed{
		map[string]events.Role{"a": "viewer", "b": "owner", "c": "king", "group g": "operator", "group h": "owner",
			"group k": "king"},
		map[string][]string{"a": {"g"}, "b": {"g"}, "d": {"g", "h"}, "e": {"k"}},
	}}
	none := Right{Grant: 1}
	want := map[string]Right{"a": {Operator, "g", 2, 3}, "b": {Role: Owner, Grant: 1}, "c": none, "d": {Owner, "h", 2, 3}, "e": none, "f": none}
	needs := make(map[string]Role)
	for account := range want {
		needs[account] = Owner
	}
	got, _, err := r.Rights(t.Context(), "u", needs)
	if err != nil {
		t.Fatal(err)
	}
	for account, right := range want {
		if got[account] != right {
			t.Errorf("%s: %+v, want %+v", account, got[account], right)
		}
	}
}
