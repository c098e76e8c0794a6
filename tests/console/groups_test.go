package console

import (
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"

	"ledger.example/tests/harness/full"
)

// viewAs switches the browser to a user, "" for none, and returns the page that follows.
func (s *site) viewAs(user string) string {
	s.Helper()
	if s.browser.Jar == nil {
		var err error
		if s.browser.Jar, err = cookiejar.New(nil); err != nil {
			s.Fatal(err)
		}
	}
	return s.read(s.submit("user", s.get("do/transfer", http.StatusOK), values("user", user)), http.StatusOK)
}

// Forms register a group, add accounts and a member, and remove them. The member sees the group in between.
func TestGroupByForms(t *testing.T) {
	s := newSite(t)
	s.fill()
	s.has(s.get("groups", http.StatusOK), "No groups")
	s.has(s.do("group", values("id", "desk", "name", "Front desk", "description", "Those who serve")),
		"Group desk", "Front desk", "Those who serve", "no postings yet", "This group has no accounts", "No users have a role here")
	s.has(s.do("group-add", values("group", "desk", "account", "jane")), "Group desk", `href="/console/accounts/jane"`)
	s.do("group-add", values("group", "desk", "account", "shop"))
	s.has(s.do("grant-group", values("group", "desk", "user", "u-7", "role", "viewer")), "Group desk", "u-7", "viewer")
	s.do("transfer", values("from", "jane", "to", "shop", "asset", "USD", "quantity", "30.00"))
	s.eventually("accounts/jane", "<strong>70.00</strong>")
	s.eventually("accounts/shop", "<strong>30.00</strong>")
	s.has(s.eventually("groups/desk", `data-label="Accounts">2</td>`, "<strong>100.00</strong>"), `href="/console/assets/USD"`, "0.00",
		`href="/console/accounts/jane"`, "group-remove?group=desk&amp;account=shop", "View as u-7")
	s.has(s.eventually("accounts/jane", "groups/desk"), "No users have a role here", `href="/console/groups/desk"`, "Add to a group")
	s.has(s.eventually("groups", "Front desk"), `href="/console/groups/desk"`)
	s.has(s.get("groups?q=DES", http.StatusOK), "Front desk")
	s.has(s.get("groups?q=front", http.StatusOK), "Front desk")
	s.has(s.get("groups?q=x", http.StatusOK), "No groups")
	s.has(s.get("search?q=desk", http.StatusOK), "<h1>Group desk</h1>")
	s.has(s.get("search?q=des", http.StatusOK), "Groups</h2>", "Front desk")

	s.has(s.viewAs("u-7"), "Accounts of u-7", "jane", "viewer", `href="/console/groups/desk">desk</a>`, "shop", `href="/console/groups/desk">desk</a>: viewer`)
	s.has(s.get("groups/desk", http.StatusOK), "<strong>100.00</strong>", "u-7")
	s.has(s.get("groups", http.StatusOK), `href="/console/groups/desk">desk</a>`)
	form := s.get("do/group-add", http.StatusOK)
	s.has(s.refused("group-add", form, values("group", "desk", "account", "bank")), "You may not do this")
	s.has(s.refused("grant-group", form, values("group", "desk", "user", "u-8", "role", "viewer")), "You may not do this")
	s.has(s.refused("grant-account", form, values("account", "jane", "user", "u-8", "role", "viewer")), "You may not do this")
	s.viewAs("")

	s.do("group-remove", values("group", "desk", "account", "jane"))
	page := s.do("revoke-group", values("group", "desk", "user", "u-7"))
	s.has(page, "No users have a role here")
	s.lacks(page, "accounts/jane") // jane was removed
	s.has(s.viewAs("u-7"), "This user has no role on any account")
	s.get("groups/desk", http.StatusNotFound)
}

// refused previews and confirms a form that the API refuses, and returns the page with the error.
func (s *site) refused(action, page string, filled map[string][]string) string {
	s.Helper()
	preview := s.send(action, page, filled, http.StatusOK)
	return s.send(action, preview, nil, http.StatusUnprocessableEntity)
}

// Groups that do not exist and cursors of other lists are refused.
func TestRefusedGroupPages(t *testing.T) {
	s := newSite(t)
	s.fill()
	s.do("group", values("id", "desk", "name", "Front desk"))
	for _, path := range []string{"groups/none", "groups/a%2Fb"} {
		s.has(s.get(path, http.StatusNotFound), `class="fault"`)
	}
	for _, path := range []string{"groups?cursor=x", "groups/desk?accounts=x", "groups/desk?members=x", "groups/desk?totals=x", "accounts/jane?members=x"} {
		s.has(s.get(path, http.StatusBadRequest), "This page is not there any more")
	}
}

// An owner grants roles to others, but cannot change their own role.
func TestOwnersGrantByForms(t *testing.T) {
	s := newSite(t)
	s.fill()
	s.has(s.do("grant-account", values("account", "jane", "user", "u-1", "role", "owner")), "Account jane", "u-1", "owner")
	s.viewAs("u-1")
	form := s.get("do/revoke-account?account=jane&user=u-1", http.StatusOK)
	s.has(form, `name="account" value="jane"`, `name="user" value="u-1"`)
	s.has(s.refused("revoke-account", form, values("account", "jane", "user", "u-1")), "Users cannot change their own role")
	s.has(s.do("grant-account", values("account", "jane", "user", "u-2", "role", "operator")), "u-1", "owner", "u-2", "operator")
	s.has(s.do("grant-account", values("account", "jane", "user", "u-2", "role", "viewer")), "u-2", "viewer")
	page := s.do("revoke-account", values("account", "jane", "user", "u-2"))
	s.lacks(page, "u-2")
}

// Markup in a group's name is escaped, and long lists of a group are paged.
func TestLargeAndHostileGroup(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.fill()
	long := func(name string, i int) string { return fmt.Sprintf("%s%03d%s", name, i, strings.Repeat("-", 60))[:64] }
	group := long("gang-", 0)
	s.do("group", values("id", group, "name", `<script>alert("1")</script>`+"\u202E", "description", `"><img src=x onerror=alert(1)>`))
	const many = 60
	for i := range many {
		s.ledger.Must(http.StatusCreated, "PUT", "/v1/accounts/"+long("acc", i), `{"overdraft":"unlimited"}`)
		s.ledger.Must(http.StatusCreated, "PUT", "/v1/groups/"+group+"/accounts/"+long("acc", i), "")
		s.ledger.Must(http.StatusCreated, "PUT", "/v1/groups/"+group+"/members/"+long("usr", i), `{"role":"operator"}`)
		asset := long("ast", i)
		s.ledger.Must(http.StatusCreated, "PUT", "/v1/assets/"+asset, `{"name":"Asset","scale":18}`)
		s.ledger.Must(http.StatusCreated, "POST", "/v1/transfers", fmt.Sprintf(`{"from":%q,"to":"bank","asset":%q,"quantity":"9999999999999999999999999999"}`,
			long("acc", i), asset))
	}
	for _, path := range []string{"groups/" + group, "groups", "search?q=gang"} {
		page := s.eventually(path, "&lt;script&gt;")
		if strings.Contains(page, "<script>alert") || strings.Contains(page, "<img src=x") {
			t.Errorf("%s has unescaped markup:\n%s", path, page)
		}
	}
	account := "accounts/" + long("acc", 0)
	for i := range many {
		s.ledger.Must(http.StatusCreated, "PUT", "/v1/"+account+"/members/"+long("usr", i), `{"role":"owner"}`)
	}
	s.ledger.Project()
	const member = `<button>View as (usr\d+)`
	s.checkPages("groups/"+group, "accounts-title", "More accounts", `>(acc\d+)-*</a>`, many)
	s.checkPages("groups/"+group, "members-title", "More members", member, many)
	s.checkPages("groups/"+group, "totals-title", "More balances", `>(ast\d+)-*</a>`, many)
	s.checkPages(account, "members-title", "More members", member, many)
}

// The totals of a group of many accounts are added up. If that takes long, as in the full run, the page has none until
// somebody asks for them.
func TestTotalsOfManyAccounts(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	accounts := full.Count(120, 2400)
	s.fillMany(accounts, accounts)
	s.ledger.Must(http.StatusCreated, "PUT", "/v1/groups/crowd", `{}`)
	for i := range accounts {
		s.ledger.Must(http.StatusCreated, "PUT", fmt.Sprintf("/v1/groups/crowd/accounts/many-%05d", i), "")
	}
	s.ledger.Project()
	if full.Enabled() {
		page := s.eventually("groups/crowd", "This group has many balances")
		s.lacks(page, "data-label=\"Posted\"")
		s.has(s.get(link(page, "Add up all of them"), http.StatusOK), `<strong>2,400.00</strong>`)
		return
	}
	s.has(s.eventually("groups/crowd", `<strong>120.00</strong>`), "More accounts")
}
