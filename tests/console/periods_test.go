package console

import (
	"fmt"
	"html"
	"net/http"
	"strings"
	"testing"
)

// The books are closed and opened again with a form. Its preview says what is still open. The home page, the trial
// balance and the list say through when they are closed, in the days of the zone.
func TestClosingTheBooks(t *testing.T) {
	s, p := newProxied(t)
	s.ledger.OpenBooks()
	const home = "No period of the books is closed."
	s.has(s.get("", http.StatusOK), `<a href="/console/periods">`+home)
	s.has(s.get("periods", http.StatusOK), home, `href="/console/do/close-books"`, "The books were never closed.")
	s.lacks(s.get("periods", http.StatusOK), "do/open-books")
	s.backdate("late", "USD", "2026-01-31T22:59:59Z")
	s.backdate("february", "USD", "2026-01-31T23:00:00Z")
	s.ledger.Project()
	p.mu.Lock()
	hold := `{"id":"%s","kind":"transfer","status":"held","posted_at":"%s","recorded_at":"%[2]s","expires_at":"2026-12-01T00:00:00.000000Z",` +
		`"postings":[{"account":"jane","asset":"USD","quantity":"-100","cost":"0"},{"account":"shop","asset":"USD","quantity":"100","cost":"0"}]}`
	p.answer["/v1/holds?*"] = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"data":[`+hold+`,`+hold+`],"next_cursor":null}`, "h-january", "2026-01-31T12:00:00.000000Z", "h-february", "2026-02-01T12:00:00.000000Z")
	}
	p.mu.Unlock()

	const berlin = "?zone=Europe%2FBerlin"
	january := values("through", "2026-01-31", "reason", "January is audited")
	preview := s.preview("close-books"+berlin, january)
	s.has(preview, home, "The books will be closed through 31 January 2026 (Europe/Berlin)", "1 hold: they end later", "Settled</dt><dd>yes", "Behind</dt>",
		"1 backdated transaction<", "Trial balance at the end of this period", "h-january")
	s.lacks(preview, "h-february")
	listed := s.get(link(preview, "1 backdated transaction"), http.StatusOK)
	s.has(listed, "transactions/late")
	s.lacks(listed, "transactions/february")
	number := values("number", "1")
	page := s.send("close-books", preview, number, http.StatusOK)
	const closed = "The books are closed through 31 January 2026 (Europe/Berlin)."
	s.has(page, closed, "do/open-books", "<td class=\"number\" data-label=\"Number\">1</td>", "January is audited")
	again := s.send("close-books", preview, number, http.StatusOK) // the same closing
	if n := strings.Count(again, "January is audited"); n != 1 {
		t.Errorf("the books were closed %d times", n)
	}
	for _, path := range []string{"" + berlin, "periods" + berlin, "trial-balance" + berlin, "do/close-books" + berlin} {
		s.has(s.get(path, http.StatusOK), closed)
	}
	const inUTC = "The books are closed before 31 January 2026, 23:00:00 (UTC)."
	s.has(s.get("", http.StatusOK), inUTC)
	s.has(s.get("trial-balance?to=2026-01-31", http.StatusOK), inUTC)
	refused := s.send("transfer", s.get("do/transfer"+berlin, http.StatusOK), values("from", "bank", "to", "jane", "asset", "USD", "quantity", "1", "effective_at", "2026-01-31"), http.StatusUnprocessableEntity)
	s.has(refused, "The books are closed for this date")

	wrong := func(action, text string, filled map[string][]string) {
		t.Helper()
		page := s.send(action, s.get("do/"+action, http.StatusOK), filled, http.StatusUnprocessableEntity)
		s.has(html.UnescapeString(page), text, `aria-invalid="true"`)
	}
	wrong("close-books", "Close through: the books are closed that far already", values("through", "2026-01-30", "reason", "x"))
	wrong("close-books", "Close through: this day is not over", values("through", "2999-01-30", "reason", "x"))
	wrong("close-books", "Reason: must not be blank", values("through", "2026-02-28"))
	wrong("open-books", "Open from: this day is open already", values("from", "2026-02-01", "reason", "x"))
	stale := s.send("close-books", s.preview("close-books", values("through", "2026-02-28", "reason", "x")), values("number", "1", "through", "2026-02-27"), http.StatusUnprocessableEntity)
	s.has(stale, "somebody closed or opened the books meanwhile", "open it again")
	s.has(s.get(link(stale, "open it again"), http.StatusOK), `name="number" value="2"`, `value="2026-02-27"`)

	preview = s.preview("close-books", values("through", "2026-02-28", "reason", "February is audited"))
	s.send("close-books", preview, nil, http.StatusOK)
	preview = s.preview("open-books", values("from", "2026-02-01", "reason", "An invoice is missing"))
	s.has(preview, "The books will be closed through 31 January 2026 (UTC)")
	s.lacks(preview, "What is still open")
	page = s.send("open-books", preview, nil, http.StatusOK)
	s.has(page, "The books are closed through 31 January 2026 (UTC).", "An invoice is missing", "February is audited", "January is audited")
	if n := strings.Count(page, "opens what is after it"); n != 1 {
		t.Errorf("%d closings open the books", n)
	}
	page = s.send("open-books", s.preview("open-books", values("from", "2000-01-01", "reason", "All again")), nil, http.StatusOK)
	s.has(page, home, "not at all")
	s.lacks(page, "do/open-books")
}

// A list of closings that goes on says of each one whether it opened the books.
func TestManyClosings(t *testing.T) {
	s := newSite(t)
	s.ledger.OpenBooks()
	const many = 51
	for i := range many {
		s.ledger.Must(http.StatusCreated, "PUT", fmt.Sprintf("/v1/periods/%d", i+1), fmt.Sprintf(`{"closed_before":"2026-0%d-01T00:00:00Z","reason":"r"}`, 2+i%2))
	}
	page := s.get("periods", http.StatusOK)
	if n := strings.Count(page, "opens what is after it"); n != 25 {
		t.Errorf("%d closings open the books, want 25", n)
	}
	s.has(s.get(link(page, "More"), http.StatusOK), "The books are closed through 31 January 2026 (UTC).", `data-label="Number">1<`)
}

// A user is not told when the books are closed.
func TestUsersSeeNoClosings(t *testing.T) {
	s := newSite(t)
	s.ledger.OpenBooks()
	s.ledger.Must(http.StatusCreated, "PUT", "/v1/periods/1", `{"closed_before":"2026-02-01T00:00:00Z","reason":"r"}`)
	s.ledger.Must(http.StatusCreated, "PUT", "/v1/accounts/jane/members/u-17", `{"role":"owner"}`)
	s.ledger.Project()
	s = siteAs(t, s.ledger, s.ledger.URL, "u-17")
	s.lacks(s.get("", http.StatusOK), "books are closed")
	s.get("periods", http.StatusForbidden)
}
