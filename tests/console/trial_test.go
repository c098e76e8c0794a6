package console

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"strconv"
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

// manyLedger answers for a ledger with many accounts. The first paid one cent to each other one.
type manyLedger int

func (l manyLedger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	first, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
	account, isBalances := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/v1/accounts/a"), "/balances")
	switch {
	case r.URL.Path == "/v1/accounts":
		var all []string
		last := min(first+100, int(l))
		for i := first; i < last; i++ {
			all = append(all, fmt.Sprintf(`{"id":"a%05d"}`, i))
		}
		next := "null"
		if last < int(l) {
			next = fmt.Sprintf("%q", strconv.Itoa(last))
		}
		fmt.Fprintf(w, `{"data":[%s],"next_cursor":%s}`, strings.Join(all, ","), next)
	case r.URL.Path == "/v1/assets":
		fmt.Fprint(w, `{"data":[{"id":"USD","scale":2}],"next_cursor":null}`)
	case isBalances && account == "00000":
		fmt.Fprintf(w, `{"data":[{"asset":"USD","quantity":"-%d","credits":"0","debits":"%[1]d"}],"next_cursor":null}`, int(l)-1)
	case isBalances:
		fmt.Fprint(w, `{"data":[{"asset":"USD","quantity":"1","credits":"1","debits":"0"}],"next_cursor":null}`)
	case strings.HasPrefix(r.URL.Path, "/v1/accounts/"):
		fmt.Fprintf(w, `{"asset":"USD","at":%q,"settled":true}`, time.Now().Add(-time.Minute).UTC().Format(microseconds))
	default:
		fmt.Fprint(w, `{"id":"USD","scale":2}`)
	}
}

// The trial balance has all accounts, however many, and its totals are theirs. The CSV has the same.
func TestTrialBalanceIsWhole(t *testing.T) {
	t.Parallel()
	const many = 10_050
	api := httptest.NewServer(manyLedger(many))
	defer api.Close()
	c, err := client.New(client.Config{URL: api.URL, Connections: 8})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(console.New(context.Background(), c, console.Address{URL: api.URL}))
	defer server.Close()
	s := &site{TB: t, url: server.URL + console.Path}
	const line, total = `<td><a href="/console/accounts/a`, "Total of all accounts"
	page := s.get("trial-balance", http.StatusOK)
	s.has(page, "All 10,050 lines", total, ">100.49<", ">100.49<", "<strong>0.00</strong>")
	rest := s.get(link(page, "More"), http.StatusOK)
	s.has(rest, total, ">100.49<", "<strong>0.00</strong>")
	if n, more := strings.Count(page, line), strings.Count(rest, line); n+more != many || more == 0 {
		t.Errorf("the pages have %d and %d lines", n, more)
	}
	csv := strings.Split(strings.TrimSpace(s.get(link(page, "CSV"), http.StatusOK)), "\n")
	if len(csv) != many+2 || !strings.HasPrefix(csv[many+1], ",USD,100.49,100.49,0.00") {
		t.Errorf("the CSV has %d lines, and ends with %q", len(csv), csv[len(csv)-1])
	}
}
