package forward

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/functions/app"
	"ledger.example/internal/store"
	"ledger.example/projections"
	"ledger.example/tests/system"
)

// Forwarding reads the journal exactly as a reader of the API does: no request more. Beside that it reads its cursor
// once a run, and moves it once a page of 100 events. A run that finds nothing takes two requests.
func TestRequests(t *testing.T) {
	s := system.New(t)
	const pages, entries = 10, 100
	for p := range pages {
		at := time.Now().Add(-time.Hour + time.Duration(p)*time.Second).UTC().Truncate(time.Microsecond)
		page := projections.JournalPage{ID: events.FirstKSUID(at)}
		for i := range entries {
			e := events.AccountOpened{ID: fmt.Sprintf("a-%d-%d", p, i), Name: "A", Profile: "{}", Actor: "test", At: at}
			s.Put(store.EventItem(e))
			page.Entries = append(page.Entries, projections.EntryOf(e))
		}
		s.Put(projections.JournalForm.Item(page))
	}
	counted := func() map[string]int {
		all := make(map[string]int)
		for _, line := range system.Lines(s.Requests.Take()) {
			operation, _, _ := strings.Cut(line, " ")
			all[operation]++
		}
		return all
	}
	counted()
	path, read := "/v1/journal?limit=100", 0
	for {
		r := s.Must(200, "GET", path, "")
		next := r.Text("next_cursor")
		n := strings.Count(string(r.Body), `"canonical"`)
		if read += n; n == 0 {
			break
		}
		path = "/v1/journal?limit=100&after=" + next
	}
	reading := counted()
	b := &target{}
	run := s.Service.Forward("events", b.deliver)
	if _, err := run(t.Context(), app.Forwarding{}); err != nil || len(b.got) != read || read != pages*entries {
		t.Fatalf("%d forwarded, %d read, %v", len(b.got), read, err)
	}
	forwarding := counted()
	want := maps.Clone(reading)
	want["GetItem"]++
	want["PutItem"] += pages
	if t.Logf("%d events: reading %v, forwarding %v", read, reading, forwarding); !maps.Equal(forwarding, want) {
		t.Errorf("forwarding takes %v, reading %v", forwarding, reading)
	}
	if _, err := run(t.Context(), app.Forwarding{}); err != nil {
		t.Error(err)
	}
	if idle := counted(); !maps.Equal(idle, map[string]int{"GetItem": 1, "Query": 1}) {
		t.Errorf("a run that finds nothing takes %v", idle)
	}
}
