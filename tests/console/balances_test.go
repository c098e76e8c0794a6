package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ledger.example/client"
)

var accountRow = regexp.MustCompile(`<td><a href="/console/accounts/([^"?]*)(?:\?[^"]*)?">`)

// accountsIn returns the ids of the accounts of a page, in its order.
func accountsIn(page string) (ids []string) {
	for _, row := range accountRow.FindAllStringSubmatch(page, -1) {
		ids = append(ids, row[1])
	}
	return ids
}

// The list of accounts has balances in a chosen asset, and can be sorted: a page says so if it is a part of the list.
// Filters hold, and links carry all choices on.
func TestAccountsWithBalances(t *testing.T) {
	t.Parallel()
	s, f := newProxied(t)
	s.people()
	s.ledger.Must(http.StatusCreated, "PUT", "/v1/assets/EUR", `{"name":"Euro","scale":2}`)
	s.ledger.Must(http.StatusCreated, "POST", "/v1/transfers",
		`{"from":"users:1:main","to":"users:3:main","asset":"USD","quantity":"700","hold":{}}`)
	s.ledger.Project()
	in := s.eventually("accounts?asset=USD", "7.00")
	s.has(in, `<option selected>USD`, "The accounts that hold", "Ann Poe", "-50.00", "7.00", "43.00", "Ben Roe", "50.00")
	s.lacks(in, "accounts/shop", "This page is sorted")
	for path, want := range map[string]string{
		"accounts?asset=USD&q=users":                           "1 2 3",
		"accounts?asset=USD&sort=balance&q=users":              "2 3 1",
		"accounts?asset=USD&sort=balance&q=poe":                "3 1",
		"accounts?asset=USD&sort=name&state=frozen":            "",
		"accounts?asset=EUR&sort=balance":                      "",
		"accounts?sort=name&q=users":                           "1 2 3",
		"accounts?sort=balance&q=users":                        "1 2 3", // of no asset
		"accounts?asset=USD&sort=-name&q=users+poe":            "1 3",
		"accounts?asset=USD&sort=name&q=users&zone=Asia/Tokyo": "1 2 3",
	} {
		var got []string
		for _, id := range accountsIn(s.get(path, http.StatusOK)) {
			got = append(got, strings.TrimSuffix(strings.TrimPrefix(id, "users:"), ":main"))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s has %q, want %q", path, got, want)
		}
	}
	sorted := s.get("accounts?asset=USD&sort=balance&q=poe&state=open&zone=Asia/Tokyo", http.StatusOK)
	s.has(sorted, `aria-sort="descending"><a`, `<input type="hidden" name="sort" value="balance">`)
	byName, _ := url.Parse(link(sorted, "Name"))
	if q := byName.Query(); q.Get("sort") != "name" || q.Get("asset") != "USD" || q.Get("q") != "poe" || q.Get("state") != "open" ||
		q.Get("zone") != "Asia/Tokyo" {
		t.Errorf("the heading leads to %s, which lost a choice", byName)
	}
	s.has(s.get("accounts?asset=GBP", http.StatusNotFound), `class="fault"`)
	s.has(s.get("accounts?asset=%2F", http.StatusBadRequest), `class="fault"`, "is not the id of an asset")
	s.viewAs("u-17")
	s.lacks(s.get("accounts?asset=USD", http.StatusOK), "Balance in", "users:1")
	s.viewAs("")
	for i := range 110 {
		s.ledger.Must(http.StatusCreated, "PUT", fmt.Sprintf("/v1/accounts/z-%03d", i), `{}`)
	}
	s.batch(110, func(i int) string {
		return fmt.Sprintf(`{"transfer":{"id":"z-%d","from":"bank","to":"z-%03d","asset":"EUR","quantity":"%d"}}`, i, i, i+1)
	})
	s.ledger.Project()
	s.get("", http.StatusOK) // reads the names
	f.takeRequests()
	page := s.get("accounts?asset=EUR&sort=balance", http.StatusOK)
	s.has(page, "This page is sorted by balance. The list goes on, by id.")
	if ids := accountsIn(page); len(ids) != 100 || ids[0] != "z-098" || ids[99] != "bank" {
		t.Errorf("the page has %v", ids)
	}
	s.checkPages("accounts?asset=EUR&sort=balance", "", "More", accountRow.String(), 111)
}

// What follows the first ten thousand accounts is found as soon as the API answers: those are in memory. A list of
// balances reads the names that are not.
func TestBeyondTheNames(t *testing.T) {
	t.Parallel()
	s, f := newProxied(t)
	s.people()
	const known, all = 10_000, 10_010
	account := func(i int) client.Account {
		a := client.Account{ID: fmt.Sprintf("many-%05d", i), State: client.StateOpen, Name: "One of many"}
		if i == all-1 {
			a.State = client.StateFrozen
		}
		return a
	}
	answer := func(w http.ResponseWriter, value any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(value)
	}
	f.set("/v1/accounts?*", func(w http.ResponseWriter, r *http.Request) {
		first := 0
		_, _ = fmt.Sscan(r.URL.Query().Get("cursor"), &first)
		page := client.List[client.Account]{}
		for i := first; i < min(first+client.PageLimit, all); i++ {
			page.Data = append(page.Data, account(i))
		}
		if next := first + client.PageLimit; next < all {
			page.NextCursor = new(fmt.Sprint(next))
		}
		answer(w, page)
	})
	s.has(s.eventually("", "or more accounts"), "10,000 or more accounts")
	f.takeRequests()
	s.has(s.get("accounts?state=frozen", http.StatusOK), fmt.Sprintf("many-%05d", all-1))
	s.lacks(s.get("accounts?q=nobody", http.StatusOK), "/console/accounts/many")
	listed := slices.DeleteFunc(f.takeRequests(), func(asked string) bool { return !strings.Contains(asked, "cursor=") })
	if len(listed) > 2+known/client.PageLimit { // the names may be read again
		t.Errorf("the lists take %d requests, want one each: %q", len(listed), listed)
	}
	f.set("/v1/assets/USD/holders?*", func(w http.ResponseWriter, _ *http.Request) {
		page := client.List[client.Balance]{}
		for _, i := range []int{5, all - 1} {
			page.Data = append(page.Data, client.Balance{Account: account(i).ID, Asset: "USD"})
		}
		answer(w, page)
	})
	f.set("/v1/accounts/"+account(all-1).ID, func(w http.ResponseWriter, _ *http.Request) { answer(w, account(all-1)) })
	s.has(s.get("accounts?asset=USD", http.StatusOK), "many-00005", account(all-1).ID, "frozen")
	part := s.get("accounts?asset=USD&state=open", http.StatusOK)
	s.has(part, "many-00005", "Only the first 10,000 were looked at.")
	s.lacks(part, account(all-1).ID)
}

// The chart of many postings takes few requests, and none of a time at which the balance was that of the end. The page
// says that it does not show each posting.
func TestChartOfMany(t *testing.T) {
	t.Parallel()
	s, f := newProxied(t)
	s.ledger.OpenBooks()
	s.ledger.Must(http.StatusCreated, "PUT", "/v1/accounts/hall", `{}`)
	const many = 310
	s.batch(many, func(i int) string {
		return fmt.Sprintf(`{"transfer":{"id":"m-%d","from":"bank","to":"hall","asset":"USD","quantity":"1","effective_at":"%s"}}`,
			i, time.Now().Add(-20*24*time.Hour+time.Duration(i)*time.Second).UTC().Format(time.RFC3339))
	})
	s.ledger.Project()
	page := s.eventually("accounts/hall?asset=USD", "310<")
	s.has(page, "if there are more than 300, the first, the last, and 10 balances at equal times between them")
	s.lacks(s.get("accounts/shop?asset=USD", http.StatusOK), "more than 300")
	last := time.Now().Add(-19 * 24 * time.Hour)
	f.takeRequests()
	s.has(s.get("accounts/hall/chart.svg?asset=USD", http.StatusOK), "<svg", "<path")
	late := 0
	for _, asked := range f.takeRequests() {
		address, _ := url.Parse(strings.TrimPrefix(asked, "GET "))
		if at, err := time.Parse(time.RFC3339Nano, address.Query().Get("at")); err == nil && at.After(last) {
			late++
		}
	}
	if late != 1 {
		t.Errorf("the chart asks for %d balances after the last posting, want one", late)
	}
}
