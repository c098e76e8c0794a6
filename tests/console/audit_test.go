package console

import (
	_ "embed" // for the entries
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ledger.example/client"
	"ledger.example/events"
)

// journaled answers the requests for the journal with entries, by their times. Their cursors are their numbers.
func (f *proxy) journaled(entries []client.JournalEntry) {
	f.set("/v1/journal?*", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		var i, limit int
		_, _ = fmt.Sscan(q.Get("limit"), &limit)
		if _, err := fmt.Sscan(q.Get("after"), &i); err != nil {
			for from := timeOf(q.Get("from")); i < len(entries) && timeOf(entries[i].At).Before(from); {
				i++
			}
		}
		page := client.JournalPage{Data: []client.JournalEntry{}}
		for ; i < len(entries) && len(page.Data) < limit; i++ {
			page.Data = append(page.Data, entries[i])
			page.Data[len(page.Data)-1].Cursor = strconv.Itoa(i + 1)
		}
		page.NextCursor = strconv.Itoa(i)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(page)
	})
}

// timeOf returns a time of the API, the zero time if the text is none.
func timeOf(text string) time.Time {
	at, _ := time.Parse(time.RFC3339Nano, text)
	return at
}

// eventsFile has an entry of a journal for each type of event.
//
//go:embed testdata/journal.json
var eventsFile []byte

// eachEvent returns an entry of each type of event, of one day in January 2026.
func eachEvent(t testing.TB) (all []client.JournalEntry) {
	t.Helper()
	if err := json.Unmarshal(eventsFile, &all); err != nil {
		t.Fatal(err)
	}
	for i := range all {
		all[i].At = fmt.Sprintf("2026-01-15T12:00:%02d.000000Z", i)
	}
	return all
}

// The page says who did what, newest first, with filters by account, actor, type and days.
func TestWhoDidWhat(t *testing.T) {
	s, p := newProxied(t)
	s.get("audit", http.StatusOK)
	const n = 1400
	day := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	var all []client.JournalEntry
	for i := range n { // one each second, and then more in one moment than a window has
		at := day.Add(time.Duration(min(i, n/2)) * time.Second).Format(time.RFC3339Nano)
		all = append(all, client.JournalEntry{ID: fmt.Sprint(i), Type: events.TypeGroupRegistered, At: at,
			Data: fmt.Appendf(nil, `{"id":"g-%05d"}`, i), Canonical: fmt.Sprintf(`{"Actor":"user-%d"}`, i%3)})
	}
	p.journaled(all)
	s.has(s.get("audit?from=2026-01-15", http.StatusOK), `/console/groups/g-01399"`, "group.registered", "user-1")
	s.checkPages("audit", "", "Go on searching", `/console/groups/(g-\d+)"`, n)
	s.checkPages("audit?from=2026-01-15&to=2026-01-15&actor=SER-2", "", "Go on searching", `/console/groups/(g-\d+)"`, n/3)
	s.has(s.get("audit?to=2026-01-14", http.StatusOK), "Nothing of this was listed before ")
	s.has(s.get("audit?type=hold.placed", http.StatusOK), "Nothing of this was listed before ")
	s.has(s.get("audit?account=g-00001", http.StatusOK), "Nothing of this was listed before ")
	for _, path := range []string{"type=x", "account=%20-", "from=x", "cursor=x", "cursor=99999999999999999.1", "cursor=1.1", "cursor=9.-1"} {
		s.get("audit?"+path, http.StatusBadRequest)
	}
	p.takeRequests()
	s.get("audit?from=2026-01-15", http.StatusOK)
	if asked := p.takeRequests(); len(asked) > 200 {
		t.Errorf("a page makes %d requests:\n%s", len(asked), strings.Join(asked, "\n"))
	}
}

// Each type of event names who did it, what it is about, and its accounts.
func TestWhoDidWhatOfEachType(t *testing.T) {
	s, p := newProxied(t)
	all := eachEvent(t)
	want := map[string][]string{
		events.TypeAssetRegistered: {"assets/USD"}, events.TypeAccountOpened: {"accounts/jane"}, events.TypeAccountChanged: {"accounts/cara", "frozen"},
		events.TypeMemberGranted: {"accounts/ann", "user u-ann", "owner"}, events.TypeMemberRevoked: {"accounts/ann", "user u-ann"},
		events.TypeGroupRegistered: {"groups/springfield"}, events.TypeGroupMemberGranted: {"groups/springfield", "user u-advisor", "operator"},
		events.TypeGroupMemberRevoked: {"groups/springfield", "user u-advisor"}, events.TypeGrouped: {"accounts/ann", "groups/springfield"},
		events.TypeUngrouped: {"accounts/ann", "groups/springfield"}, events.TypePeriodClosed: {"/console/periods", "closed before 2026-10-01 00:00:00", "September is audited"},
		events.TypePosted: {"transactions/deposit-1"}, events.TypeHeld: {"transactions/card-1", "Card payment"}, events.TypeCaptured: {"transactions/card-2"},
		events.TypeReleased: {"transactions/card-3", "The customer walked away"}, events.TypeExpired: {"transactions/old"},
	}
	for _, kind := range events.Types {
		i := slices.IndexFunc(all, func(e client.JournalEntry) bool { return e.Type == kind })
		if i < 0 || len(want[kind]) == 0 {
			t.Errorf("no entry of the type %s", kind)
			continue
		}
		p.journaled(all[i : i+1])
		page := s.get("audit?actor=&type="+kind, http.StatusOK)
		s.has(page, append([]string{`<bdi>local</bdi>`}, want[kind]...)...)
		if strings.Contains(string(all[i].Data)+all[i].Canonical, "ann") {
			s.has(s.get("audit?account=ann", http.StatusOK), kind+"</td>")
		}
	}
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
