package client_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
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
	read := func(from client.JournalQuery, most int) (cursors string) {
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
		from client.JournalQuery
		most int
		want string
		asks int
	}{
		{client.JournalQuery{}, 9, "c1 c2 c4 ", 4},
		{client.JournalQuery{}, 1, "c1 ", 1},
		{client.JournalQuery{After: "c2"}, 9, "c4 ", 3},
		{client.JournalQuery{After: "x"}, 9, "failed", 1},
		{client.JournalQuery{From: time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)}, 9, "", 2},
	} {
		*asked = nil
		if got := read(one.from, one.most); got != one.want || len(*asked) != one.asks {
			t.Errorf("%+v: read %q by %q", one.from, got, *asked)
		}
	}
}
