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
