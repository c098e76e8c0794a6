package client_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"ledger.example/client"
)

// answering returns a client of a fake API with one answer for each URI, and the URIs that were requested.
func answering(t *testing.T, answers map[string]string) (*client.Client, *[]string) {
	t.Helper()
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RequestURI())
		answer, ok := answers[r.URL.RequestURI()]
		if !ok {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusBadRequest)
			answer = `{"code":"invalid_cursor"}`
		}
		fmt.Fprint(w, answer)
	}))
	t.Cleanup(s.Close)
	c, err := client.New(client.Config{URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	return c, &asked
}

// A search sends its filters as parameters. Its iterator reads on after an empty page that has a next cursor.
func TestSearchSendsFiltersAndReadsAllPages(t *testing.T) {
	day := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	const first = "/v1/transactions?from=2026-11-22T00%3A00%3A00Z&limit=100&metadata.order=10%3D01&order=asc&to=2026-11-23T00%3A00%3A00Z"
	after := func(cursor string) string { return strings.Replace(first, "?", "?cursor="+cursor+"&", 1) }
	c, asked := answering(t, map[string]string{
		first: `{"data":[{"id":"a"}],"next_cursor":"c1"}`, after("c1"): `{"data":[],"next_cursor":"c2"}`,
		after("c2"):                  `{"data":[{"id":"b"}],"next_cursor":null}`,
		"/v1/transactions?limit=100": `{"data":[],"next_cursor":null}`,
	})
	var ids []string
	for one, err := range c.Transactions(client.Search{
		From: day, To: day.AddDate(0, 0, 1), Key: "order", Value: "10=01", OldestFirst: true,
	}).All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, one.ID)
	}
	for one, err := range c.Transactions(client.Search{}).All(t.Context()) {
		t.Errorf("found %v, %v", one, err)
	}
	if !slices.Equal(ids, []string{"a", "b"}) || len(*asked) != 4 {
		t.Errorf("found %q by %q", ids, *asked)
	}
}

// The iterator over the journal begins at the given position, and stops at the newest entry or when the loop breaks.
func TestJournalStopsAtNewestEntry(t *testing.T) {
	const journal = "/v1/journal?"
	entry := func(cursor string) string {
		return `{"type":"transaction.posted","cursor":"` + cursor + `","data":{"id":"t"}}`
	}
	c, asked := answering(t, map[string]string{
		journal + "limit=100":                               `{"data":[` + entry("c1") + `,` + entry("c2") + `],"next_cursor":"c2"}`,
		journal + "after=c2&limit=100":                      `{"data":[],"next_cursor":"c3"}`, // an empty page before the end
		journal + "after=c3&limit=100":                      `{"data":[` + entry("c4") + `],"next_cursor":"c4"}`,
		journal + "after=c4&limit=100":                      `{"data":[],"next_cursor":"c4"}`,
		journal + "from=2026-11-22T00%3A00%3A00Z&limit=100": `{"data":[],"next_cursor":"c4"}`,
	})
	read := func(from client.JournalFrom, most int) (cursors string) {
		for e, err := range c.Journal(t.Context(), from) {
			if err != nil {
				return cursors + "failed"
			}
			if cursors += e.Cursor + " "; len(cursors) >= 3*most {
				break
			}
		}
		return cursors
	}
	for _, one := range []struct {
		from client.JournalFrom
		most int
		want string
		asks int
	}{
		{client.JournalFrom{}, 9, "c1 c2 c4 ", 4},
		{client.JournalFrom{}, 1, "c1 ", 1},
		{client.JournalFrom{After: "c2"}, 9, "c4 ", 3},
		{client.JournalFrom{After: "x"}, 9, "failed", 1},
		{client.JournalFrom{Time: time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)}, 9, "", 2},
	} {
		*asked = nil
		if got := read(one.from, one.most); got != one.want || len(*asked) != one.asks {
			t.Errorf("%+v: read %q by %q", one.from, got, *asked)
		}
	}
}
