package acceptance

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"ledger.example/tests/caller"
)

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
	if one := s.Must(200, "GET", "/v1/transactions/~o-3", ""); !strings.Contains(string(found.Body),
		strings.TrimSpace(string(one.Body))) {
		t.Errorf("listed as %s, read as %s", found.Body, one.Body)
	}
}

// The journal has every event, some seconds late. A reader that follows its cursor misses none.
func journalFollowed(t *testing.T, s *caller.Caller) {
	first := postToFind(t, s)
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
