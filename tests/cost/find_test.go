package cost

import (
	"fmt"
	"net/url"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/functions/stream/streamtest"
	"ledger.example/internal/table"
	"ledger.example/projections"
	"ledger.example/tests/harness/system"
)

// newListed starts a ledger with 30 listed transfers. Every third has the metadata order=7.
func newListed(t *testing.T) (s *system.System, headers []table.Key) {
	t.Helper()
	s = system.New(t, system.Indexed("order"))
	s.OpenRegister()
	for i := range 30 {
		id := fmt.Sprintf("o-%d", i)
		s.Must(201, "POST", "/v1/transfers",
			fmt.Sprintf(`{"id":"%s","from":"bank","to":"jane","asset":"USD","quantity":"1",`+
				`"metadata":{"order":"%d","note":"x"}}`, id, 7+i%3))
		headers = append(headers, table.Transaction.Key(id))
	}
	streamtest.Deliver(t, s.Service.List(), streamtest.Keys(headers...))
	return s, headers
}

// A page of a list takes one query for each of its partitions, and one read of the transactions on it.
func TestAccessPatternsOfLists(t *testing.T) {
	t.Parallel()
	s, _ := newListed(t)
	checkPatterns(t, s, "lists.txt")
}

// writePage puts a page of the journal that was minted at a time, with entries of these headers.
func writePage(s *system.System, then time.Time, headers ...table.Key) {
	page := projections.JournalPage{ID: events.FirstKSUID(then)}
	for _, key := range headers {
		page.Entries = append(page.Entries, projections.JournalEntry{Event: key, At: then})
	}
	s.Put(projections.JournalForm.Item(page))
}

// A page of the journal takes one query and one read, or only the query if there is nothing new.
func TestRequestsOfTheJournal(t *testing.T) {
	t.Parallel()
	s, headers := newListed(t)
	writePage(s, time.Now().Add(-time.Hour), headers...) // pages that were just written are not read yet
	after := ""
	// The page of a cursor that has read it is read again, in the same query: it shows that the cursor is of this journal.
	for _, want := range []struct{ entries, pages int }{{20, 2}, {10, 2}, {0, 3}} {
		requests := []string{fmt.Sprintf("Query strong %d of PK = JOURNAL#0 AND SK BETWEEN ENTRIES#…", want.pages)}
		if after == "" {
			requests = append(requests, "Query strong 0 of PK = LANES …") // once a minute
		}
		if want.entries > 0 {
			requests = append(requests, "BatchGetItem strong TXN#o-…")
		}
		page := checkGet(s, "/v1/journal"+after, requests...)
		if got := len(page.Each("event", "data")); got != want.entries {
			t.Fatalf("read %d entries, want %d", got, want.entries)
		}
		after = "?after=" + url.QueryEscape(page.Text("next_cursor"))
	}
	// If the first pages of the journal have too few entries, one more query reads about as many as are needed for the rest.
	s, headers = newListed(t)
	then := time.Now().Add(-time.Hour)
	for i := range 10 {
		writePage(s, then.Add(time.Duration(i)*time.Second), headers[3*i:3*i+3]...)
	}
	page := checkGet(s, "/v1/journal?limit=15", "Query strong 2 of PK = JOURNAL#0 …",
		"Query strong 3 of PK = JOURNAL#0 …", "Query strong 0 of PK = LANES …", "BatchGetItem strong TXN#o-…")
	if got := len(page.Each("event", "data")); got != 15 {
		t.Errorf("read %d entries, want 15", got)
	}
}
