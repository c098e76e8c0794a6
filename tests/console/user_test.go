package console

import (
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"
)

// cookie has the browser send a cookie with every page.
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

// A user that can be none never means everybody: the page says so, and shows nothing.
func TestNoUserIsNotEverybody(t *testing.T) {
	s := newSite(t)
	s.fill()
	s.has(s.look("  jane  "), "Viewing as", "jane")
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

// A console of a user stays that user's, whatever other consoles left in the browser.
func TestConsoleOfAUser(t *testing.T) {
	all := newSite(t)
	all.fill()
	s := siteAs(t, all.ledger, all.ledger.URL, "u-1")
	s.cookie("ledger-user-", "u-2")
	page := s.get("", http.StatusOK)
	s.has(page, "Viewing as", "u-1")
	s.lacks(page, "Stop viewing as this user")
	all.cookie("ledger-user-", "")
	all.cookie("ledger-user", "u-2") // of a console on another port
	all.has(all.get("", http.StatusOK), "Newest transactions")
}

// What is wrong with a request is not blamed on the ledger.
func TestFaultsOfRequests(t *testing.T) {
	s := newSite(t)
	s.has(s.read(s.post("account", "", values("name", strings.Repeat("x", 70_000))), http.StatusRequestEntityTooLarge))
	r, err := s.browser.Post(s.url+"do/account", "application/x-www-form-urlencoded", strings.NewReader("token=%zz"))
	if err != nil {
		t.Fatal(err)
	}
	s.read(r, http.StatusBadRequest)
}
