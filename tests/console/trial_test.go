package console

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ledger.example/client"
	"ledger.example/internal/desk/console"
)

// pastLedger answers for a ledger whose clock stands at now. It has one account with one balance, as if nothing had
// been paid on the other side.
type pastLedger struct {
	now    time.Time
	behind time.Duration // how far the store's clock is behind
	reads  []string      // the times of balances, with the consistency
}

const microseconds = "2006-01-02T15:04:05.000000Z"

func (l *pastLedger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	at, _ := time.Parse(time.RFC3339Nano, r.URL.Query().Get("at"))
	if at.After(l.now) {
		at = l.now
	}
	settled := !at.After(l.now.Add(-l.behind - 10*time.Second))
	switch path := r.URL.Path; {
	case path == "/v1/accounts", path == "/v1/assets":
		fmt.Fprint(w, `{"data":[{"id":"one","scale":2}],"next_cursor":null}`)
	case strings.HasSuffix(path, "/balances"):
		l.reads = append(l.reads, at.Format(microseconds)+r.URL.Query().Get("consistency"))
		fmt.Fprint(w, `{"data":[{"account":"one","asset":"one","quantity":"5","credits":"5","debits":"0"}],"next_cursor":null}`)
	case strings.HasSuffix(path, "/balances/one"):
		fmt.Fprintf(w, `{"account":"one","asset":"one","at":%q,"settled":%t}`, at.Format(microseconds), settled)
	default:
		fmt.Fprint(w, `{"id":"one","scale":2}`)
	}
}

// The trial balance is of the newest settled time by the ledger's clock, and links to that of now. A total that is not
// zero is an error if its time is settled, after a second reading. Both are read strongly.
func TestTrialBalanceIsSettled(t *testing.T) {
	l := &pastLedger{now: time.Now().Add(-3 * time.Hour).UTC().Truncate(time.Microsecond)}
	api := httptest.NewServer(l)
	defer api.Close()
	c, err := client.New(client.Config{URL: api.URL})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(console.New(context.Background(), c, console.Address{URL: api.URL}))
	defer server.Close()
	s := &site{TB: t, url: server.URL + console.Path}
	const fault, linkToNow = `class="fault" role="alert"`, `href="/console/trial-balance?at=now"`
	shows := func(path string, at time.Time, reads int, has, lacks []string) {
		t.Helper()
		l.reads = nil
		page := html.UnescapeString(s.get(path, http.StatusOK))
		s.has(page, has...)
		s.has(page, "<time datetime=\""+at.Format(microseconds))
		s.lacks(page, lacks...)
		for _, read := range l.reads {
			if read != at.Format(microseconds)+"strong" {
				t.Errorf("%s: read as of %s", path, read)
			}
		}
		if len(l.reads) != reads {
			t.Errorf("%s: %d readings, want %d", path, len(l.reads), reads)
		}
	}
	settled := []string{fault, "do not sum up to zero", linkToNow}
	unsettled := []string{"not settled", "Show the newest settled time"}
	shows("trial-balance", l.now.Add(-10*time.Second), 2, settled, []string{"not settled"})
	shows("trial-balance?at=now", l.now, 2, unsettled, []string{fault, linkToNow})
	day := l.now.AddDate(0, 0, 2).Format(time.DateOnly) // it has not ended: as of now
	shows("trial-balance?to="+day, l.now, 2, unsettled, []string{fault, linkToNow})
	shows("trial-balance?prefix=o", l.now.Add(-10*time.Second), 1, []string{"need not be zero"}, []string{fault})
	l.behind = 1500 * time.Millisecond
	shows("trial-balance", l.now.Add(-12*time.Second), 2, settled, []string{"not settled"})
	s.get("trial-balance?at=x", http.StatusBadRequest)
	s.get("trial-balance?at=now&to=2026-01-01", http.StatusBadRequest)
}
