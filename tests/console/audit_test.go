package console

import (
	_ "embed" // for the entries
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"ledger.example/client"
	"ledger.example/events"
)

// journaled answers the requests for the journal with n entries, one each second from a time on, and all after it at
// once.
func (f *proxy) journaled(first time.Time, n, together int) {
	at := func(i int) time.Time { return first.Add(time.Duration(min(i, n-together)) * time.Second) }
	f.set("/v1/journal?*", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		var i, limit int
		_, _ = fmt.Sscan(q.Get("limit"), &limit)
		if _, err := fmt.Sscan(q.Get("after"), &i); err != nil {
			from, _ := time.Parse(time.RFC3339Nano, q.Get("from"))
			for i < n && at(i).Before(from) {
				i++
			}
		}
		var all []string
		for ; i < n && len(all) < limit; i++ {
			all = append(all, fmt.Sprintf(`{"id":"GROUP#g-%05d/x","type":"group.registered","at":%q,"cursor":"%d","data":{"id":"g-%05d"},"canonical":"{\"Actor\":\"user-%d\"}"}`,
				i, at(i).Format(time.RFC3339Nano), i+1, i, i%3))
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"data":[%s],"next_cursor":"%d"}`, strings.Join(all, ","), i)
	})
}

// The page says who did what, newest first, with filters by account, actor, type and days.
func TestWhoDidWhat(t *testing.T) {
	s, p := newProxied(t)
	s.get("audit", http.StatusOK)
	const n = 1400
	day := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	p.journaled(day, n, 700) // more than a window has, in one moment
	s.has(s.get("audit?from=2026-01-15", http.StatusOK), `/console/groups/g-01399"`, "group.registered", "user-1")
	s.checkPages("audit", "", "Go on searching", `/console/groups/(g-\d+)"`, n)
	s.checkPages("audit?from=2026-01-15&to=2026-01-15&actor=SER-2", "", "Go on searching", `/console/groups/(g-\d+)"`, n/3)
	s.has(s.get("audit?to=2026-01-14", http.StatusOK), "Nothing was done.")
	s.has(s.get("audit?type=hold.placed", http.StatusOK), "Nothing was done.")
	s.has(s.get("audit?account=g-00001", http.StatusOK), "Nothing was done.")
	for _, path := range []string{"type=x", "account=%20-", "from=x", "cursor=x", "cursor=99999999999999999.1", "cursor=1.1", "cursor=9.-1"} {
		s.get("audit?"+path, http.StatusBadRequest)
	}
	p.takeRequests()
	s.get("audit?from=2026-01-15", http.StatusOK)
	if asked := p.takeRequests(); len(asked) > 200 {
		t.Errorf("a page makes %d requests:\n%s", len(asked), strings.Join(asked, "\n"))
	}
}

// eventsFile has an entry of a journal for each type of event.
//
//go:embed testdata/journal.json
var eventsFile []byte

// Each type of event names who did it, what it is about, and its accounts.
func TestWhoDidWhatOfEachType(t *testing.T) {
	s, p := newProxied(t)
	var all []client.JournalEntry
	if err := json.Unmarshal(eventsFile, &all); err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{
		events.TypeAssetRegistered: {"assets/USD"}, events.TypeAccountOpened: {"accounts/jane"}, events.TypeAccountChanged: {"accounts/cara", "frozen"},
		events.TypeMemberGranted: {"accounts/ann", "user u-ann", "owner"}, events.TypeMemberRevoked: {"accounts/ann", "user u-ann"},
		events.TypeGroupRegistered: {"groups/springfield"}, events.TypeGroupMemberGranted: {"groups/springfield", "user u-advisor", "operator"},
		events.TypeGroupMemberRevoked: {"groups/springfield", "user u-advisor"}, events.TypeGrouped: {"accounts/ann", "groups/springfield"},
		events.TypeUngrouped: {"accounts/ann", "groups/springfield"}, events.TypePeriodClosed: {"/console/periods", "closed before 2026-10-01 00:00:00", "September is audited"},
		events.TypePosted: {"transactions/deposit-1"}, events.TypeHeld: {"transactions/card-1", "Card payment"}, events.TypeCaptured: {"transactions/card-2"},
		events.TypeReleased: {"transactions/card-3", "The customer walked away"}, events.TypeExpired: {"transactions/old"},
	}
	var shown client.JournalEntry
	p.set("/v1/journal?*", func(w http.ResponseWriter, r *http.Request) {
		page := client.JournalPage{Data: []client.JournalEntry{}, NextCursor: "2"}
		from, err := time.Parse(time.RFC3339Nano, r.URL.Query().Get("from"))
		if err == nil && !timeOf(t, shown.At).Before(from) {
			page.Data = append(page.Data, shown)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(page)
	})
	for _, kind := range events.Types {
		i := slices.IndexFunc(all, func(e client.JournalEntry) bool { return e.Type == kind })
		if i < 0 || len(want[kind]) == 0 {
			t.Errorf("no entry of the type %s", kind)
			continue
		}
		shown = all[i]
		shown.At = "2026-11-01T12:00:00.000000Z"
		page := s.get("audit?actor=&type="+kind, http.StatusOK)
		s.has(page, append([]string{`<bdi>local</bdi>`}, want[kind]...)...)
		if strings.Contains(string(shown.Data)+shown.Canonical, "ann") {
			s.has(s.get("audit?account=ann", http.StatusOK), kind+"</td>")
		}
	}
}

func timeOf(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// Users may not see what others did.
func TestUsersDoNotSeeWhoDidWhat(t *testing.T) {
	s := newSite(t)
	s.ledger.OpenBooks()
	s.ledger.Must(http.StatusCreated, "PUT", "/v1/accounts/jane/members/u-17", `{"role":"owner"}`)
	s.ledger.Project()
	s = siteAs(t, s.ledger, s.ledger.URL, "u-17")
	s.lacks(s.get("audit", http.StatusForbidden), "<tbody>")
}
