package console

import (
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ledger.example/tests/harness/caller"
)

// All words of a search must be in a transaction, in any of its texts or amounts. Quotes keep words together.
func TestSearchCombinesWords(t *testing.T) {
	s := newSite(t)
	s.people()
	s.ledger.Must(http.StatusCreated, "POST", "/v1/transfers", `{"id":"refund-1","from":"bank","to":"users:2:main","asset":"USD",
		"quantity":"37641","description":"Returned shoes","metadata":{"ticket":"A 17","order":"9"}}`)
	s.ledger.Must(http.StatusCreated, "POST", "/v1/transfers", `{"id":"refund-2","from":"bank","to":"users:1:main","asset":"USD","quantity":"123456"}`)
	s.ledger.Project()
	const one, two, ben = `/console/transactions/refund-1"`, `/console/transactions/refund-2"`, `/console/accounts/users:2:main"`
	s.eventually("search?q=refund", one, two)
	for text, want := range map[string]string{
		"Ben refund": one, "refund ben": one, "ben 376.41": one, "376.41": one, "-376.41": one, "$376.41": one, "376.41 USD": one, "$376.41 shoes": one,
		"ticket": one, `"a 17"`: one, `ticket="A 17"`: one, "order=9 ben": one, "order = 9 ben": one, "returned bank": one, "shoes users:2 usd": one,
		"1,234.56": two, "1234.56": two, "$1,234.56": two, "ann 1,234.56": two, "dollar": `/console/assets/USD"`, "roe ben": ben, "transfer refund-2 posted": two,
	} {
		s.has(s.get("search?q="+url.QueryEscape(text), http.StatusOK), want)
	}
	for _, text := range []string{"Ann refund-1", "ben 1,234.56", "€376.41", "37641", "376,41", "123,456", "1,23,4.56", "ticket=A", "order=9 ann", `"shoes returned"`} {
		page := s.get("search?q="+url.QueryEscape(text), http.StatusOK)
		s.has(page, "Nothing found for")
		s.lacks(page, one, two)
	}
	s.has(s.get("transactions?q=ben+refund", http.StatusOK), one)
	s.has(s.get("accounts?q=main+ben", http.StatusOK), ben)
	s.has(s.get("search?q=refund-1+ben&to=2020-01-01", http.StatusOK), "Nothing found for")
	s.has(s.get("search?q=refund-1+ben&from=2020-01-01", http.StatusOK), one)
	s.get("search?q=ben&from=x", http.StatusBadRequest)
}

// Amounts are printed and read in the notation that the reader has chosen, on all pages, in forms and in errors.
func TestNotationOfAmounts(t *testing.T) {
	s := newSite(t)
	s.people()
	s.ledger.Must(http.StatusCreated, "POST", "/v1/transfers", `{"id":"in","from":"bank","to":"jane","asset":"USD","quantity":"123456"}`)
	s.ledger.Project()
	const comma = "amounts=1.234,56"
	s.has(s.eventually("accounts/jane?"+comma, "<strong>4.734,56</strong>"), `href="/console/do/transfer?from=jane&amp;amounts=1.234%2C56"`,
		"Amounts are written like", "<strong>1.234,56</strong>")
	s.has(s.get("search?q=1.234,56&"+comma, http.StatusOK), `/console/transactions/in?amounts=1.234%2C56"`)
	s.has(s.get("search?q=$1.234,56&"+comma, http.StatusOK), `/console/transactions/in?`)
	s.lacks(s.get("search?q=1,234.56&"+comma, http.StatusOK), `/console/transactions/in?`)
	unread := s.get("search?q=1.234,56", http.StatusOK)
	s.has(html.UnescapeString(unread), "no amount as amounts are written here", "/console/search?amounts=1.234%2C56&q=1.234%2C56")
	s.has(s.get(link(unread, "Read amounts such as 1.234,56"), http.StatusOK), `/console/transactions/in?`)
	filled := values("from", "jane", "to", "shop", "asset", "USD", "quantity", "1.000,50")
	preview := s.preview("transfer?"+comma, filled)
	s.has(preview, `name="amounts" value="1.234,56"`, "-1.000,50", "4.734,56", "3.734,06")
	s.has(s.send("transfer", preview, nil, http.StatusOK), "1.000,50")
	form := s.get("do/transfer?"+comma, http.StatusOK)
	s.lacks(form, "Amounts are written like")
	filled.Set("quantity", "999.999,99")
	s.has(s.send("transfer", form, filled, http.StatusUnprocessableEntity), "3.734,06", "999.999,99")
	filled.Set("quantity", "1.5")
	s.has(html.UnescapeString(s.send("transfer", form, filled, http.StatusUnprocessableEntity)), `Quantity: "1.5" is not an amount such as 1.234,56`)
	form = s.get("do/transfer", http.StatusOK)
	filled.Set("from", "bank")
	for text, want := range map[string]string{"$3.00": "-3.00", "1,000": "-1,000.00", "3.00 USD": "-3.00"} {
		filled.Set("quantity", text)
		s.has(s.send("transfer", form, filled, http.StatusOK), want)
	}
	for text, want := range map[string]string{"3,00": "is not an amount such as 1,234.56", "€3.00": "is not an amount of USD", "1.000,50": "is not an amount"} {
		filled.Set("quantity", text)
		s.has(s.send("transfer", form, filled, http.StatusUnprocessableEntity), want)
	}
	s.get("accounts/jane?amounts=x", http.StatusBadRequest)
	s.has(s.get("accounts/jane?amounts="+url.QueryEscape("1 234,56"), http.StatusOK), "3\u202f734,06")
	s.has(s.get("accounts/jane/statement.csv?asset=USD&"+comma, http.StatusOK), "3734.06")
}

// A search that finds nothing goes on by itself until it is at the end or stopped, says how far it is, and keeps to a
// pace. Without it, a link goes on.
func TestSearchGoesOn(t *testing.T) {
	s, f := newProxied(t)
	const many = 900
	s.fillMany(1, many) // the first was paid first
	first := s.ledger.Must(http.StatusOK, "GET", "/v1/transactions/paid-00000", "").Text("posted_at")
	day, _ := time.Parse(time.RFC3339, first)
	back := "Searched back to " + day.Format("2 January 2006")
	f.takeRequests()
	began := time.Now()
	page := s.get("search?q=%22paid-00000%22+many", http.StatusOK)
	s.has(page, `<p class="progress">`+back+", nothing yet", ">Stop</a>", `/console/transactions/paid-00000"`)
	if took := time.Since(began); took < 100*time.Millisecond {
		t.Errorf("900 transactions took %s: there is no pace", took)
	}
	s.has(s.get("search?q=nothing+of+it", http.StatusOK), back, "Nothing found for")
	s.has(s.get("transactions?q=nothing+of+it", http.StatusOK), back, "No transactions.")
	page = s.get(link(page, "Stop"), http.StatusOK)
	s.has(page, "The search was stopped", "Go on searching")
	s.lacks(page, "/console/transactions/paid-")
	s.has(s.get(link(page, "Go on searching"), http.StatusOK), `/console/transactions/paid-00000"`)
	s.checkPages("transactions?q=paid-000", "", "Go on searching", `/console/transactions/(paid-000\d\d)"`, 100)

	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "GET", s.url+"search?q=nothing+of+it", nil)
	if err != nil {
		t.Fatal(err)
	}
	reached := make(chan bool)
	var n atomic.Int64
	f.set("/v1/transactions?*", func(w http.ResponseWriter, r *http.Request) { // a list without an end
		w.Header().Set("Content-Type", "application/json")
		page := n.Add(1)
		if page == 8 {
			close(reached)
		}
		fmt.Fprintf(w, `{"data":[%s],"next_cursor":"c%d"}`, strings.TrimSuffix(strings.Repeat(`{"id":"x","posted_at":"`+first+`"},`, 100), ","), page)
	})
	answer, err := s.browser.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	some := make([]byte, 64<<10)
	for text := ""; !strings.Contains(text, "nothing yet"); { // what is sent can be read at once
		size, err := answer.Body.Read(some)
		if text += string(some[:size]); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	<-reached
	leave()
	_, _ = io.Copy(io.Discard, answer.Body)
	caller.Eventually(t, timeout, "the search ends when its reader leaves", func() bool {
		f.takeRequests()
		time.Sleep(200 * time.Millisecond) // five times its pace
		return len(f.takeRequests()) == 0
	})
}
