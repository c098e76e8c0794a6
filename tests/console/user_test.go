package console

import (
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"
)

// cookie makes the browser send a cookie with every request.
func (s *site) cookie(name, value string) {
	s.Helper()
	page, err := http.NewRequest(http.MethodGet, s.url, nil)
	if err != nil {
		s.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.Fatal(err)
	}
	jar.SetCookies(page.URL, []*http.Cookie{{Name: name + page.URL.Port(), Value: value, Path: "/"}})
	s.browser.Jar = jar
}

// With an invalid user in the cookie, pages show an error and no data. They never fall back to full access.
func TestInvalidUserShowsNothing(t *testing.T) {
	s := newSite(t)
	s.fill()
	s.has(s.viewAs("  jane  "), "Viewing as", "jane")
	s.has(s.read(s.submit("user", s.get("do/transfer", http.StatusOK), values("user", "a b")), http.StatusBadRequest),
		"user: must be")
	s.has(s.get("", http.StatusOK), "Viewing as", "jane")
	s.cookie("ledger-user-", "-")
	for _, path := range []string{"", "accounts/jane", "accounts/jane/statement.csv?asset=USD", "live"} {
		page := s.get(path, http.StatusBadRequest)
		s.has(page, "Stop viewing as this user", "user: must be")
		s.lacks(page, "100.00")
	}
}

// A console that acts as a fixed user ignores the user cookie, and cookies of consoles on other ports are ignored.
func TestConsoleOfFixedUser(t *testing.T) {
	all := newSite(t)
	all.fill()
	s := siteAs(t, all.ledger, all.ledger.URL, "u-1")
	s.cookie("ledger-user-", "u-2")
	page := s.get("", http.StatusOK)
	s.has(page, "Viewing as", "u-1")
	s.lacks(page, "Stop viewing as this user")
	all.cookie("ledger-user-", "")
	all.cookie("ledger-user", "u-2") // without a port: not this console's cookie
	all.has(all.get("", http.StatusOK), "Newest transactions")
}

// Invalid requests get 4xx, not an error of the ledger.
func TestBadRequests(t *testing.T) {
	s := newSite(t)
	s.has(s.read(s.post("account", "", values("name", strings.Repeat("x", 70_000))), http.StatusRequestEntityTooLarge))
	if status := s.status("POST", "do/account", "token=%zz"); status != http.StatusBadRequest {
		t.Errorf("a malformed form: %d", status)
	}
}

// A search for a user says where the user has a role, and leads to what the user sees.
func TestSearchOfAUser(t *testing.T) {
	s := newSite(t)
	s.ledger.OpenBooks()
	s.ledger.Must(http.StatusCreated, "PUT", "/v1/groups/desk", `{}`)
	s.ledger.Must(http.StatusCreated, "PUT", "/v1/groups/desk/accounts/market", "")
	s.ledger.Must(http.StatusCreated, "PUT", "/v1/groups/desk/members/u-17", `{"role":"operator"}`)
	s.ledger.Must(http.StatusCreated, "PUT", "/v1/accounts/jane/members/u-17", `{"role":"viewer"}`)
	s.ledger.Project()
	page := s.eventually("search?q=u-17", "accounts/market", "accounts/jane", "/console/groups/desk")
	s.has(page, "viewer of the account", "through the group desk", "operator of the group", "View as u-17")
	s.lacks(page, "Nothing found")
	s.has(s.get("search?q=u-18", http.StatusOK), "Nothing found for")
	s = siteAs(t, s.ledger, s.ledger.URL, "u-17")
	s.lacks(s.get("search?q=u-17", http.StatusOK), "operator of the group")
}
