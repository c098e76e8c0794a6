package acceptance

import (
	"bytes"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"ledger.example/tests/harness/caller"
	"ledger.example/tests/harness/full"
)

// A history is newest first, in pages of any size, from a time (inclusive) to a time (exclusive). It covers all assets,
// or one asset, which also has strong reads.
func history(t *testing.T, s *caller.Caller) {
	s.OpenBooks()
	s.Must(201, "POST", "/v1/transactions",
		`{"id":"~swap","postings":[{"account":"~jane","asset":"~AAPL","quantity":"-1","cost":"-5"},{"account":"~jane","asset":"~USD","quantity":"-3"},{"account":"~jane","asset":"~AAPL","quantity":"1","cost":"5"},{"account":"~bank","asset":"~USD","quantity":"3"}]}`)
	for i := range 6 {
		id := fmt.Sprint("~h-", i)
		asset := []string{"~USD", "~AAPL", "~USD"}[i%3]
		from := map[string]string{"~USD": "~bank", "~AAPL": "~market"}[asset]
		s.Must(201, "POST", "/v1/transfers",
			fmt.Sprintf(`{"id":%q,"from":%q,"to":"~jane","asset":%q,"quantity":"%d","description":"number %[4]d"}`, id,
				from, asset, i+1))
	}

	var everything []map[string]any
	caller.Eventually(t, timeToProject, "the index has the history", func() bool {
		everything = s.All("/v1/accounts/~jane/postings", 100)
		return len(everything) == 12
	})
	// Within a transaction, too, the posting minted last is first.
	want := []string{"~h-5", "~h-4", "~h-3", "~h-2", "~h-1", "~h-0", "~swap", "~swap", "~swap", "~t-1", "~t-1", "~d-1"}
	if got := caller.Column(everything, "transaction"); !slices.Equal(got, want) {
		t.Fatalf("history is %q", got)
	}
	keys := caller.Column(everything, "id")
	if !slices.IsSortedFunc(keys, func(a, b string) int { return strings.Compare(b, a) }) ||
		len(slices.Compact(slices.Clone(keys))) != len(keys) {
		t.Errorf("postings are %q", keys)
	}
	first := everything[0]
	at, _ := first["posted_at"].(string)
	delete(first, "id")
	newest := fmt.Sprintf("map[account:~jane asset:~USD cost:0 description:number 6 kind:transfer pending:0 posted_at:%s "+
		"quantity:6 status:posted transaction:~h-5]", at)
	if got := fmt.Sprint(first); got != newest {
		t.Errorf("the newest posting is %s", got)
	}
	everything = s.All("/v1/accounts/~jane/postings", 100)

	lists := map[string]string{
		"": "", "?asset=~USD": "~USD", "?asset=~USD&consistency=strong": "~USD",
		"?asset=~AAPL&consistency=eventual": "~AAPL", "?asset=~GOLD": "~GOLD",
		"?asset=~GOLD&consistency=strong": "~GOLD",
	}
	of := func(asset string, keep func(at string) bool) []string {
		ids := []string{}
		for _, posting := range everything {
			if (asset == "" || posting["asset"] == asset) && keep(posting["posted_at"].(string)) {
				ids = append(ids, posting["id"].(string))
			}
		}
		return ids
	}
	always := func(string) bool { return true }
	for query, asset := range lists {
		for _, limit := range []int{2, 100} {
			if got, want := caller.Column(s.All("/v1/accounts/~jane/postings"+query, limit), "id"), of(asset,
				always); !slices.Equal(got, want) {
				t.Errorf("%s with limit %d: %q, want %q", query, limit, got, want)
			}
		}
	}

	// Times in answers sort as text.
	within := func(bounds string, keep func(at string) bool) {
		t.Helper()
		for query, asset := range map[string]string{"": "", "?asset=~USD": "~USD",
			"?asset=~USD&consistency=strong": "~USD"} {
			path := "/v1/accounts/~jane/postings" + query
			if got, want := caller.Column(s.All(path+caller.Separator(path)+bounds, 7), "id"), of(asset,
				keep); !slices.Equal(got, want) {
				t.Errorf("%s %s: %q, want %q", query, bounds, got, want)
			}
		}
	}
	low := everything[6]["posted_at"].(string)
	within("from="+low, func(at string) bool { return at >= low })
	within("to="+low, func(at string) bool { return at < low })
	within("from="+offset(t, low, "+02:00"), func(at string) bool { return at >= low })
	within("to="+offset(t, low, "-05:30"), func(at string) bool { return at < low })
	within("from="+later(t, low), func(at string) bool { return at > low })
	within("to="+later(t, low), func(at string) bool { return at <= low })
	high := everything[2]["posted_at"].(string)
	within("from="+low+"&to="+high, func(at string) bool { return at >= low && at < high })
	for _, bounds := range []string{"from=2100-01-01T00:00:00Z", "to=2000-01-01T00:00:00Z", "to=1950-01-01T00:00:00Z",
		"to=0001-01-01T00:00:00Z", "from=9999-12-31T23:59:59Z", "from=2030-01-01T00:00:00Z&to=2029-01-01T00:00:00Z"} {
		for _, query := range []string{"?", "?asset=~USD&consistency=strong&"} {
			if got := s.All("/v1/accounts/~jane/postings"+query+bounds, 5); len(got) != 0 {
				t.Errorf("%s%s: %v", query, bounds, got)
			}
		}
	}
	for _, bounds := range []string{"from=0001-01-01T00:00:00Z", "from=1950-01-01T00:00:00Z",
		"to=9999-12-31T23:59:59Z", "from=2000-01-01T00:00:00Z&to=2200-01-01T00:00:00Z"} {
		if got := s.All("/v1/accounts/~jane/postings?"+bounds, 5); len(got) != len(everything) {
			t.Errorf("%s: %d postings, want %d", bounds, len(got), len(everything))
		}
	}

	// A posting between two pages is before the first page: the second page has no duplicates or gaps.
	page := s.Must(200, "GET", "/v1/accounts/~jane/postings?limit=4", "")
	s.Must(201, "POST", "/v1/transfers",
		`{"id":"~meanwhile","from":"~bank","to":"~jane","asset":"~USD","quantity":"1"}`)
	rest := s.AllFrom("/v1/accounts/~jane/postings", 100, page.Value("next_cursor").(string))
	if got := caller.Column(rest, "id"); !slices.Equal(got, of("", always)[4:]) {
		t.Errorf("the second page is %q", got)
	}
}

// offset formats a time with a UTC offset, escaped for a query.
func offset(t *testing.T, at, by string) string {
	t.Helper()
	zone, err := time.Parse("-07:00", by)
	if err != nil {
		t.Fatal(err)
	}
	return url.QueryEscape(parseTime(t, at).In(zone.Location()).Format(time.RFC3339Nano))
}

// later returns the time 100 ns later. It is between two times of postings.
func later(t *testing.T, at string) string {
	t.Helper()
	return parseTime(t, at).Add(100 * time.Nanosecond).Format(time.RFC3339Nano)
}

// parseTime parses a time in an answer: RFC 3339 in UTC with six decimals. It must be recent.
func parseTime(t *testing.T, text any) time.Time {
	t.Helper()
	s, _ := text.(string)
	at, err := time.Parse("2006-01-02T15:04:05.000000Z", s)
	if err != nil || time.Since(at).Abs() > 10*time.Minute {
		t.Fatalf("time %q: %v", s, err)
	}
	return at
}

// postToFind posts transactions to search for, and returns the posted_at of the first one.
func postToFind(t *testing.T, s *caller.Caller) (first time.Time) {
	t.Helper()
	s.OpenBooks()
	first, err := time.Parse(time.RFC3339, s.Must(200, "GET", "/v1/transactions/~d-1", "").Text("posted_at"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		s.Must(201, "POST", "/v1/transfers", fmt.Sprintf(`{"id":"~o-%d","from":"~bank","to":"~jane","asset":"~USD",`+
			`"quantity":"1","metadata":{"order":"~%d","note":"n"}}`, i, i%2))
	}
	s.Must(201, "POST", "/v1/transfers", hold("~h-1"))
	s.Must(200, "POST", "/v1/transactions/~h-1/capture", `{"quantity":"40"}`)
	return first
}

// Transactions can be listed by time, in both orders, and by metadata.
func finding(t *testing.T, s *caller.Caller) {
	first := postToFind(t, s)
	ours := func(path string, limit int) (ids string) {
		for _, one := range s.All(path, limit) {
			if id := fmt.Sprint(one["id"]); strings.HasPrefix(id, "~") {
				ids += id + " "
			}
		}
		return strings.TrimSpace(ids)
	}
	const all = "~d-1 ~t-1 ~o-0 ~o-1 ~o-2 ~o-3 ~o-4 ~h-1"
	since := "/v1/transactions?from=" + first.Format(time.RFC3339Nano)
	caller.Eventually(t, timeToProject, "the transactions are listed", func() bool {
		return ours(since+"&order=asc", 100) == all
	})
	newest := strings.Fields(all)
	slices.Reverse(newest)
	for path, want := range map[string]string{
		since: strings.Join(newest, " "),
		since + "&to=" + first.Format(time.RFC3339Nano):                       "",
		since + "&to=" + first.Add(time.Microsecond).Format(time.RFC3339Nano): "~d-1",
		"/v1/transactions?metadata.order=~0":                                  "~o-4 ~o-2 ~o-0",
		"/v1/transactions?metadata.order=~1&order=asc":                        "~o-1 ~o-3",
		"/v1/transactions?metadata.order=~2":                                  "",
	} {
		caller.Eventually(t, timeToProject, path+" lists "+want, func() bool { return ours(path, 2) == want })
	}
	found := s.Must(200, "GET", "/v1/transactions?metadata.order=~1&limit=1", "")
	if one := unreversed(t, s.Must(200, "GET", "/v1/transactions/~o-3", "")); !bytes.Contains(found.Body,
		bytes.TrimSpace(one)) {
		t.Errorf("listed as %s, read as %s", found.Body, one)
	}
}

// The journal has every event, some seconds late. A reader that follows its cursor misses none. The short run does not
// wait for it.
func journalFollowed(t *testing.T, s *caller.Caller) {
	first := postToFind(t, s)
	if !full.Enabled() {
		s.Must(200, "GET", "/v1/journal?limit=1", "")
		return
	}
	var seen []string
	after := "?from=" + first.Add(-10*time.Second).Format(time.RFC3339Nano)
	caller.Eventually(t, timeToProject+time.Minute, "all events are in the journal", func() bool {
		for {
			page := s.Must(200, "GET", "/v1/journal"+after, "")
			for i := 0; page.Value("data", i) != nil; i++ {
				id, _ := page.Value("data", i, "data", "id").(string)
				if kind := page.Text("data", i, "type"); strings.HasPrefix(id, "~") &&
					(strings.HasPrefix(kind, "transaction.") || strings.HasPrefix(kind, "hold.")) {
					seen = append(seen, kind+" "+id)
				}
			}
			if after = "?after=" + url.QueryEscape(page.Text("next_cursor")); page.Value("data", 0) == nil {
				break
			}
		}
		slices.Sort(seen)
		seen = slices.Compact(seen) // entries may be delivered twice
		return len(seen) >= 9
	})
	if got := strings.Join(seen, ", "); got != "hold.captured ~h-1, hold.placed ~h-1, transaction.posted ~d-1, "+
		"transaction.posted ~o-0, transaction.posted ~o-1, transaction.posted ~o-2, transaction.posted ~o-3, "+
		"transaction.posted ~o-4, transaction.posted ~t-1" {
		t.Errorf("the journal has %s", got)
	}
	for after, found := "&limit=100", false; !found; { // ~jane was opened before
		page := s.Must(200, "GET", "/v1/journal?type=account.opened"+after, "")
		for i := 0; page.Value("data", i) != nil; i++ {
			found = found || page.Text("data", i, "data", "id") == "~jane"
		}
		next := "&limit=100&after=" + url.QueryEscape(page.Text("next_cursor"))
		if !found && next == after {
			t.Fatal("the journal does not have the opening of ~jane")
		}
		after = next
	}
}
