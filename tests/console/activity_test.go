package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"ledger.example/client"
	"ledger.example/events"
)

// bars returns the counts of the home page's chart, and the cells of its table in one line each.
func bars(page string) (counts []string, table string) {
	section := section(page, "activity-title")
	for _, bar := range regexp.MustCompile(`<li><span class="count">(.*?)</span>\s*<svg`).FindAllStringSubmatch(section, -1) {
		counts = append(counts, regexp.MustCompile(`<[^>]*>`).ReplaceAllString(bar[1], ""))
	}
	rows := strings.ReplaceAll(section[strings.Index(section, "<table"):], "</tr>", "\n")
	rows = regexp.MustCompile(`</t[dh]>\s*`).ReplaceAllString(rows, "|")
	return counts, regexp.MustCompile(`<[^>]*>`).ReplaceAllString(rows, "")
}

// The home page counts the transactions of each of the newest days, in the zone of the page, and what they moved, and
// the accounts by state. A hold moves nothing.
func TestActivityOfHome(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.ledger.OpenBooks()
	s.ledger.Must(http.StatusCreated, "PUT", "/v1/assets/EUR", `{"name":"Euro","scale":2}`)
	today := time.Now().UTC().Truncate(24 * time.Hour)
	for i, at := range []time.Time{
		today.AddDate(0, 0, -3).Add(time.Hour), today.AddDate(0, 0, -3).Add(23 * time.Hour), today.AddDate(0, 0, -13), today.AddDate(0, 0, -40),
	} {
		s.ledger.Must(http.StatusCreated, "POST", "/v1/transfers", fmt.Sprintf(
			`{"id":"then-%d","from":"bank","to":"jane","asset":"EUR","quantity":"100150","effective_at":"%s"}`, i, at.Format(time.RFC3339)))
	}
	s.ledger.Must(http.StatusCreated, "POST", "/v1/transfers", `{"id":"on-hold","from":"bank","to":"jane","asset":"EUR","quantity":"7","hold":{}}`)
	s.ledger.Must(http.StatusCreated, "PUT", "/v1/accounts/cold", `{}`)
	s.ledger.Must(http.StatusOK, "PATCH", "/v1/accounts/cold", `{"state":"frozen"}`)
	s.ledger.Project()
	page := s.eventually("", "1 frozen", "Volume by day")
	s.has(page, `<a href="/console/accounts?state=frozen">1 frozen</a>`, "0 closed", "counted at")
	s.lacks(page, "Only the newest", "at least")
	counts, table := bars(page)
	if len(counts) != 14 || counts[0] != "1" || counts[1] != "0" || counts[10] != "2" {
		t.Errorf("the days have %q", counts)
	}
	for _, want := range []string{
		today.AddDate(0, 0, -3).Format("2 January 2006") + "|2|", "|2,003.00|", today.AddDate(0, 0, -13).Format("2 January 2006") + "|1|", "|1,001.50|",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("the table lacks %q:\n%s", want, table)
		}
	}
	if strings.Contains(table, "0.07") {
		t.Errorf("the hold moved something:\n%s", table)
	}
	in, _ := bars(s.get("?zone=Asia/Tokyo", http.StatusOK))
	tokyo, _ := time.LoadLocation("Asia/Tokyo")
	at := 10 // the day in UTC, of which the last transaction is on the next day there
	if time.Now().In(tokyo).Day() != time.Now().UTC().Day() {
		at--
	}
	if in[at] != "1" || in[at+1] != "1" {
		t.Errorf("in Tokyo, the days have %q", in)
	}
}

// If there are too many transactions to count, the days say what was not counted.
func TestActivityOfMany(t *testing.T) {
	t.Parallel()
	s, f := newProxied(t)
	s.ledger.OpenBooks()
	now := time.Now().UTC()
	f.set("/v1/transactions?*", func(w http.ResponseWriter, r *http.Request) {
		first := 0
		_, _ = fmt.Sscan(r.URL.Query().Get("cursor"), &first)
		page := client.List[client.Transaction]{NextCursor: new(fmt.Sprint(first + client.PageLimit))}
		for i := range client.PageLimit {
			at := now.Add(-time.Duration(first+i) * time.Minute).Format(time.RFC3339Nano)
			legs := make([]client.Posting, 2)
			legs[0].Account, legs[0].Asset, legs[0].Quantity = "bank", "USD", events.NewAmount(-1)
			legs[1].Account, legs[1].Asset, legs[1].Quantity = "jane", "USD", events.NewAmount(1)
			page.Data = append(page.Data, client.Transaction{
				ID: fmt.Sprint(first + i), Status: client.StatusPosted, PostedAt: at, RecordedAt: at, Postings: legs,
			})
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(page)
	})
	page := s.eventually("", "Only the newest 5,000 transactions were counted, back to")
	counts, table := bars(page)
	if counts[0] != "not counted" || counts[9] != "not counted" || counts[12] != "1,440" {
		t.Errorf("the days have %q", counts)
	}
	if part := strings.Join(counts, " "); !strings.Contains(part, "at least ≥") || !strings.Contains(table, "at least ") {
		t.Errorf("no day is a part: %q\n%s", counts, table)
	}
}
