package api

import (
	"strings"
	"testing"
)

// Lists come from projections, which lag. After a revocation was acknowledged, no list shows the user what they lost:
// their own accounts and groups, and accounts that were taken out of their group.
func TestListsHideRevokedItems(t *testing.T) {
	f := newFixture(t)
	list := func(path, want string) {
		t.Helper()
		for _, user := range [][]string{{userHeader, "u-17"}, nil} {
			shown := f.do(t, "GET", path, "", user...).Body.String()
			if has := strings.Contains(shown, want); has != (user == nil) {
				t.Errorf("%s as %v: %s", path, user, shown)
			}
		}
	}
	revoke := func(path string) {
		t.Helper()
		if w := f.do(t, "DELETE", path, ""); w.Code != 200 {
			t.Fatalf("%s answered %d %s", path, w.Code, w.Body)
		}
	}
	revoke("/v1/groups/desk/accounts/market")
	list("/v1/groups/desk/accounts", "market")
	list("/v1/users/u-17/accounts", "market")
	if w := f.do(t, "GET", "/v1/groups/desk/accounts", "", userHeader, "u-17"); !strings.Contains(w.Body.String(), "jane") {
		t.Errorf("the rest of the group: %s", w.Body)
	}
	revoke("/v1/groups/desk/members/u-17")
	list("/v1/users/u-17/groups", "desk")
	if w := f.do(t, "GET", "/v1/users/u-17/accounts", "", userHeader, "u-17"); !strings.Contains(w.Body.String(), "jane") {
		t.Errorf("the role of their own: %s", w.Body)
	}
	revoke("/v1/accounts/jane/members/u-17")
	list("/v1/users/u-17/accounts", "jane")
}
