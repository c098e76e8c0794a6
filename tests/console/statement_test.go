package console

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// A statement has an opening, lines with counterparties and balances, and a closing, in the days of its zone. It says
// whether it is settled, and its files are named by account, asset and period.
func TestStatementPage(t *testing.T) {
	s := newSite(t)
	s.ledger.OpenBooks()
	for id, at := range map[string]string{"a-first": "2026-01-15T12:00:00Z", "b-new-year": "2025-12-31T23:30:00Z", "c-last": "2026-01-31T22:59:59Z", "d-next": "2026-01-31T23:00:00Z"} {
		s.ledger.Must(http.StatusCreated, "POST", "/v1/transfers", fmt.Sprintf(`{"id":%q,"from":"bank","to":"shop","asset":"USD","quantity":"1000","description":"In","effective_at":%q}`, id, at))
	}
	s.ledger.Project()
	s.ledger.Must(http.StatusCreated, "POST", "/v1/transfers", `{"id":"e-out","from":"shop","to":"jane","asset":"USD","quantity":"300","effective_at":"2026-01-20T12:00:00Z"}`)
	s.ledger.Project()
	const path = "accounts/shop/statement?asset=USD&"
	shows := func(query string, texts ...string) string {
		t.Helper()
		page := s.eventually(path+query, texts...)
		s.has(page, texts...)
		return page
	}
	page := shows("from=2026-01-01&to=2026-01-31", "Statement of ", `accounts/shop"`, "days in UTC", "Opening</dt>", "10.00 USD", "In</dt>", "30.00 USD", "Out</dt>", "3.00 USD",
		"Closing</dt>", "37.00 USD", "Settled:", "Opening balance", "<strong>10.00", "a-first", `accounts/bank"`, "10.00", "20.00", "e-out", `accounts/jane"`, "-3.00", "17.00",
		"c-last", "27.00", "d-next", "37.00", "Closing balance", "<strong>37.00")
	s.lacks(page, "b-new-year", "Not settled")
	page = shows("month=2026-01&zone=Europe/Berlin", "days in Europe/Berlin", "Opening</dt>", "0.00 USD", "27.00 USD", "Time (Europe/Berlin)", "2026-01-01 00:30:00", "b-new-year",
		"2026-01-31 23:59:59", "c-last", "<strong>27.00")
	s.lacks(page, "d-next")
	s.has(page, `value="2026-01"`)
	s.has(s.get(link(page, "Month after"), http.StatusOK), "days in Europe/Berlin", `value="2026-02"`, "d-next")
	s.has(s.get(link(page, "Month before"), http.StatusOK), `value="2025-12"`)
	r, err := s.browser.Get(s.url + link(page, "CSV"))
	if err != nil {
		t.Fatal(err)
	}
	if name := r.Header.Get("Content-Disposition"); name != `attachment; filename="shop-USD-2026-01-01-2026-01-31.csv"` {
		t.Errorf("the file is %s", name)
	}
	s.has(s.read(r, http.StatusOK), "opening,", "b-new-year", "c-last", "closing,")
	s.has(s.get("accounts/shop/statement", http.StatusOK), time.Now().UTC().Format("2006-01"), "Not settled yet") // the present month
	s.has(s.get(path+"from=9000-01-01", http.StatusOK), "these days are in the future")
	s.has(s.get("accounts/jane/statement?asset=AAPL", http.StatusOK), "Opening</dt>")
	s.get(path+"month=x", http.StatusBadRequest)
	s.get(path+"from=2026-02-01&to=2026-01-01", http.StatusBadRequest)
	s.get("accounts/nobody/statement", http.StatusNotFound)
	s.get("accounts/shop/statement?asset=NONE", http.StatusNotFound)
	s.ledger.Must(http.StatusCreated, "PUT", "/v1/accounts/empty", `{}`)
	s.has(s.get("accounts/empty/statement", http.StatusOK), "no postings yet")
	s.has(s.get("accounts/shop?asset=USD", http.StatusOK), `/console/accounts/shop/statement?asset=USD`)
}

// The pages of a long statement have each line once; its opening and closing are those of all lines. All lines fit on
// one page, for printing.
func TestLongStatement(t *testing.T) {
	s := newSite(t)
	const many = 230
	s.fillMany(1, many)
	line := `<td class="what"><a href="/console/transactions/(paid-\d+)">`
	s.eventually("accounts/many-00000/statement", "230.00 USD")
	page := s.get("accounts/many-00000/statement", http.StatusOK)
	s.has(page, "Closing</dt>", "230.00 USD", "Opening balance", "The statement goes on")
	s.lacks(page, "Closing balance")
	s.checkPages("accounts/many-00000/statement", "", "More lines", line, many)
	r, err := s.browser.Get(s.url + link(page, "All lines on one page, to print"))
	if err != nil {
		t.Fatal(err)
	}
	whole := s.read(r, http.StatusOK)
	s.has(whole, "Opening balance", "Closing balance", "<strong>230.00")
	if n := len(regexp.MustCompile(line).FindAllString(whole, -1)); n != many {
		t.Errorf("the whole statement has %d lines", n)
	}
}

// On paper there are no menus, forms or links to more, and the text is black on white, also in dark mode.
func TestStatementOnPaper(t *testing.T) {
	t.Parallel()
	b := newBrowser(t)
	b.fill()
	b.run(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Media: "print", Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}},
		})
		return err
	}))
	b.run(b.open("accounts/jane/statement?asset=USD"))
	b.shows("Closing balance")
	shown := evaluate(b, chromedp.Evaluate[string](`[...document.querySelectorAll("header, nav, form, footer, .unprinted")]
		.filter(e => e.getClientRects().length).map(e => e.outerHTML.slice(0, 80)).join("\n")`))
	if strings.TrimSpace(shown) != "" {
		t.Errorf("on paper are\n%s", shown)
	}
	colors := evaluate(b, chromedp.Evaluate[string](`getComputedStyle(document.body).color + " " + getComputedStyle(document.body).backgroundColor`))
	if colors != "rgb(0, 0, 0) rgb(255, 255, 255)" {
		t.Errorf("the colors on paper are %s", colors)
	}
}
