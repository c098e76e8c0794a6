package console

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// section returns the part of a page below the title with an id, all of it if the id is "".
func section(page, title string) string {
	if title == "" {
		return page
	}
	_, page, _ = strings.Cut(page, `id="`+title+`"`)
	page, _, _ = strings.Cut(page, "</section>")
	return page
}

// checkPages follows the links with a text through all pages of a list, and collects the matches of a pattern. It fails
// unless there are want matches, without duplicates.
func (s *site) checkPages(path, title, text, what string, want int) {
	s.Helper()
	found := map[string]bool{}
	for at, more := path, true; more; {
		page := section(s.get(at, http.StatusOK), title)
		shown := regexp.MustCompile(what).FindAllStringSubmatch(page, -1)
		for _, one := range shown {
			if found[one[1]] {
				s.Fatalf("%s repeats %s of an earlier page", at, one[1])
			}
			found[one[1]] = true
		}
		at = link(page, text)
		if more = at != ""; more && len(shown) == 0 {
			s.Fatalf("an empty page of %s links to %s", path, at)
		}
	}
	if len(found) != want {
		s.Errorf("%s: the pages behind %q have %d items, want %d", path, text, len(found), want)
	}
}

// Every list with more items than a page has a link to the next page.
func TestListsArePaged(t *testing.T) {
	s := newSite(t)
	const many = 60
	s.fillMany(many, many)
	for i := range many {
		s.ledger.Must(http.StatusCreated, "PUT", fmt.Sprintf("/v1/groups/many-%02d", i), `{}`)
		s.ledger.Must(http.StatusCreated, "PUT", fmt.Sprintf("/v1/accounts/tagged-%02d", i),
			`{"metadata":{"tier":"gold","city":"Bern"}}`)
		s.ledger.Must(http.StatusOK, "PATCH", "/v1/accounts/many-00001", fmt.Sprintf(`{"name":"Name %02d"}`, i))
	}
	s.batch(many, func(i int) string {
		return fmt.Sprintf(`{"transfer":{"id":"held-%02d","from":"market","to":"many-00000","asset":"USD","quantity":"1","hold":{},"metadata":{"order":"many"}}}`, i)
	})
	s.ledger.Project()
	const tagged = `<a href="/console/accounts/(tagged-\d+)">`
	const held, group = `<a href="/console/transactions/(held-\d+)">`, `<a href="/console/groups/(many-\d+)">`
	for _, c := range []struct {
		path, title, text, what string
		want                    int
	}{
		{"accounts", "", "More", `<a href="/console/accounts/(many-\d+)">`, many},
		{"accounts?q=MANY", "", "More", `<a href="/console/accounts/(many-\d+)">`, many},
		{"accounts?q=name+59", "", "More", `<a href="/console/accounts/(many-\d+)">`, 1},
		{"accounts?q=tier%3Dgold", "", "Go on searching", tagged, many},
		{"accounts?q=city%3DBern", "", "Go on searching", tagged, many},
		{"accounts?q=tier%3Dgold+tagged-5", "", "Go on searching", tagged, 10},
		{"accounts?q=tier%3Dgol", "", "Go on searching", tagged, 0},
		{"groups", "", "More", group, many},
		{"groups?q=any-", "", "More", group, many},
		{"transactions?q=order%3Dmany", "", "Go on searching", held, many},
		{"transactions?q=held-", "", "Go on searching", held, many},
		{"transactions?status=held", "", "Go on searching", held, many},
		{"transactions?q=0.01", "", "Go on searching", held, many},
		{"transactions?kind=trade&q=0.01", "", "Go on searching", held, 0},
		{"holds", "", "More", held, many},
		{"holds?due=later", "", "Go on searching", held, many},
		{"holds?due=overdue", "", "Go on searching", held, 0},
		{"accounts/many-00000", "holds-title", "More holds", held, many},
		{"accounts/many-00001", "changes-title", "More changes", `data-label="Version">(\d+)</td>`, many + 1},
	} {
		s.checkPages(c.path, c.title, c.text, c.what, c.want)
	}
	for text, path := range map[string]string{"More holds": "accounts/many-00000", "More changes": "accounts/many-00001"} {
		more := link(s.get(path+"?asset=USD&from=2026-01-01&to=2099-01-01", http.StatusOK), text)
		s.has(s.get(more, http.StatusOK), "<option selected>USD", `value="2026-01-01"`, `value="2099-01-01"`) // the filter is kept
	}
	s.has(section(s.get("accounts/many-00001", http.StatusOK), "changes-title"), "name", "Name 59", "name", "Name 58")
}

// A search for key=value trims both. Without a key it finds nothing. The key need not be indexed.
func TestSearchOfMetadata(t *testing.T) {
	s := newSite(t)
	s.fill()
	s.ledger.Must(http.StatusCreated, "POST", "/v1/transfers",
		`{"id":"t-1","from":"jane","to":"shop","asset":"USD","quantity":"1","metadata":{"order":"many"}}`)
	s.ledger.Project()
	s.eventually("search?q=order%3Dmany", "transactions/t-1")
	s.ledger.Must(http.StatusCreated, "PUT", "/v1/accounts/gold-1", `{"metadata":{"order":"many"}}`)
	s.ledger.Project()
	s.eventually("search?q=order%3Dmany", "accounts/gold-1")
	s.has(s.get("accounts?q=order%3Dmany", http.StatusOK), "accounts/gold-1")
	s.lacks(s.get("accounts?q=order%3Dmany", http.StatusOK), "accounts/jane")
	for _, text := range []string{"=", "=zzz", " = many"} {
		page := s.get("search?q="+url.QueryEscape(text), http.StatusOK)
		s.has(page, "Nothing found for", "metadata such as order=1001")
		s.lacks(page, "console/transactions/")
	}
	s.has(s.get("search?q="+url.QueryEscape(" order  =  many "), http.StatusOK), "transactions/t-1")
	s.lacks(s.get("search?q=", http.StatusOK), "Nothing found") // an empty search
	s.has(s.get("search?q="+url.QueryEscape("straße\u202Eb=c"), http.StatusOK), "Nothing found for <bdi>straße\u202Eb=c</bdi>")
}

// Viewed as a user, the console shows only what the user's roles allow. Users do not find items that they may not see. Asset pages show them no holders, and transactions show the number of
// hidden postings.
func TestHiddenFromUsers(t *testing.T) {
	s := newSite(t)
	s.fill()
	s.ledger.Must(http.StatusCreated, "POST", "/v1/transactions", `{"id":"t-1","postings":[{"account":"bank","asset":"USD","quantity":"-3"},`+
		`{"account":"jane","asset":"USD","quantity":"2"},{"account":"shop","asset":"USD","quantity":"1"}]}`)
	s.ledger.Must(http.StatusCreated, "POST", "/v1/transfers", `{"id":"t-2","from":"bank","to":"jane","asset":"USD","quantity":"1"}`)
	s.ledger.Must(http.StatusCreated, "POST", "/v1/transfers", `{"id":"t-3","from":"bank","to":"shop","asset":"USD","quantity":"1"}`)
	s.ledger.Must(http.StatusCreated, "PUT", "/v1/groups/desk", `{}`)
	s.ledger.Must(http.StatusCreated, "PUT", "/v1/accounts/jane/members/u-17", `{"role":"viewer"}`)
	s.has(s.eventually("accounts/jane", "u-17"), `action="/console/accounts/jane#history-title"`, "Users and roles", "<td>u-17</td><td>viewer</td>")
	s.has(s.viewAs("u-17"), "Viewing as", "u-17", "Accounts of u-17", "jane", "viewer")
	s.eventually("accounts/jane", "100.03")
	s.get("accounts/bank", http.StatusNotFound)
	s.has(s.send("transfer", s.get("do/transfer", http.StatusOK), values("from", "jane", "to", "shop", "asset", "USD", "quantity", "1"),
		http.StatusUnprocessableEntity), "You may not do this")
	for _, text := range []string{"zz", "nope", "bank", "ban", "desk", "t-3", "order=1001", "="} {
		s.has(s.get("search?q="+url.QueryEscape(text), http.StatusOK), "Nothing found")
	}
	s.has(s.get("search?q=a", http.StatusOK), "Accounts</h2>", "jane")
	s.has(s.get("search?q=dollar", http.StatusOK), "Assets</h2>", "USD")
	s.has(s.get("accounts", http.StatusOK), "jane")
	s.has(s.get("", http.StatusOK), "jane", "Jane Doe", "viewer", "100.03 USD")
	s.has(s.get("search?q=USD", http.StatusOK), "Asset USD", "US dollar", "Users may not list the holders")
	s.has(s.get("transactions/t-1", http.StatusOK), "jane", "2 more postings are of accounts that you may not see.")
	s.has(s.get("transactions/t-2", http.StatusOK), "jane", "1 more posting is of an account that you may not see.")
	s.has(s.viewAs(""), "Newest transactions")
}
