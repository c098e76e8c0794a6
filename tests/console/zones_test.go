package console

import (
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"ledger.example/client"
	"ledger.example/internal/desk/console"
)

var (
	linkTo = regexp.MustCompile(`<a [^>]*href="([^"]*)"`)
	aForm  = regexp.MustCompile(`(?s)<form.*?</form>`)
)

// The zone of days that was chosen goes with each link, each form and each redirect, until another is chosen.
func TestZoneGoesAlong(t *testing.T) {
	s := newSite(t)
	s.people()
	s.backdate("old", "USD", "2026-01-02T23:00:00Z")
	s.ledger.Must(http.StatusCreated, "PUT", "/v1/groups/desk/accounts/jane", "")
	s.ledger.Must(http.StatusCreated, "PUT", "/v1/accounts/jane/members/u-17", `{"role":"viewer"}`)
	s.ledger.Must(http.StatusCreated, "POST", "/v1/transfers", `{"id":"held","from":"bank","to":"jane","asset":"USD","quantity":"1","hold":{}}`)
	s.ledger.Project()
	const zone, hidden = "zone=Asia%2FTokyo", `<input type="hidden" name="zone" value="Asia/Tokyo">`
	for _, path := range []string{"", "?q=x", "accounts/jane", "accounts/jane?asset=USD&from=2026-01-03", "accounts/none", "assets/USD", "groups/desk",
		"transactions/old", "transactions/held", "transactions", "accounts", "assets", "holds", "groups", "trial-balance", "trial-balance?at=now", "periods", "audit", "refusals?code=x", "do/close-books", "search?q=poe",
		"search?q=00", "do/transfer", "do/transfer?from=x", "do/legs", "nowhere"} {
		at := path + "?" + zone
		if strings.Contains(path, "?") {
			at = path + "&" + zone
		}
		r, err := s.browser.Get(s.url + at)
		if err != nil {
			t.Fatal(err)
		}
		page := s.read(r, r.StatusCode)
		for _, found := range linkTo.FindAllStringSubmatch(page, -1) {
			link := html.UnescapeString(found[1])
			if isOfPage := strings.HasPrefix(link, "#"); !isOfPage && strings.Count(link, zone) != 1 {
				t.Errorf("%s links to %s", at, link)
			}
		}
		for _, form := range aForm.FindAllString(page, -1) {
			if chooser := `name="zone" value="Asia/Tokyo" list`; strings.Contains(form, `class="zones"`) {
				if strings.Count(form, chooser) != 1 || strings.Count(form, `name="zone"`) != 1 {
					t.Errorf("%s has the choice %s", at, form)
				}
				continue
			}
			if strings.Count(form, hidden) != 1 || strings.Count(form, `name="zone"`) != 1 {
				t.Errorf("%s has the form %s", at, form)
			}
		}
		if without := s.url + path; !strings.Contains(path, "nowhere") && !strings.Contains(path, "none") {
			r, err := s.browser.Get(without)
			if err != nil {
				t.Fatal(err)
			}
			page := s.read(r, http.StatusOK)
			s.lacks(page, "zone=", `type="hidden" name="zone"`)
			if strings.Contains(page, "Amounts are written") != strings.Contains(page, `name="zone" value="UTC" list`) {
				t.Errorf("%s has one choice without the other", path)
			}
		}
	}
	noon := s.get("accounts/jane?"+zone, http.StatusOK) // the days of a link's page are of the zone
	s.has(noon, "Days are in Asia/Tokyo")
	for path, want := range map[string]string{"search?q=jane&" + zone: "/console/accounts/jane?" + zone, "search?q=old&" + zone: "/console/transactions/old?" + zone} {
		if is := s.redirect(path); is != want {
			t.Errorf("%s redirects to %s, want %s", path, is, want)
		}
	}
	preview := s.preview("transfer?"+zone, values("from", "bank", "to", "jane", "asset", "USD", "quantity", "1"))
	s.has(s.send("transfer", preview, nil, http.StatusOK), "Movements", `href="/console/accounts/jane?`+zone+`"`)
	viewed := s.submit("user", s.get("?"+zone, http.StatusOK), values("user", "u-17"))
	defer viewed.Body.Close()
	if viewed.Request.URL.RawQuery != zone {
		t.Errorf("after the choice of a user, the page is %s", viewed.Request.URL)
	}
}

// The zone is chosen at the end of a page, without a script. What else the page shows stays, also amounts and words with
// signs of their own.
func TestZoneIsChosen(t *testing.T) {
	s := newSite(t)
	s.people()
	s.backdate("old", "USD", "2026-01-31T23:30:00Z")
	s.ledger.Project()
	s.has(s.eventually("accounts/jane?asset=USD&to=2026-02-01", "/old"), "Days are in UTC")
	chooser := regexp.MustCompile(`(?s)<form class="zones".*?</form>`)
	page := s.get("transactions?q=%22a+%26+b%22&from=2026-02-01&cursor=&amounts=1.234%2C56", http.StatusOK)
	form := chooser.FindString(page)
	s.has(form, `action="/console/transactions"`, `name="amounts" value="1.234,56"`, `name="from" value="2026-02-01"`, `name="q" value="&#34;a &amp; b&#34;"`, `name="zone" value="UTC"`, "Europe/Berlin")
	s.lacks(form, "cursor")
	s.lacks(s.get("transactions?from=2026-02-01", http.StatusOK), "transactions/old")
	s.has(s.get("transactions?from=2026-02-01&zone=Europe/Berlin", http.StatusOK), "transactions/old", `name="zone" value="Europe/Berlin" list`)
	if page := s.get("do/transfer?zone=Europe/Berlin", http.StatusOK); chooser.MatchString(page) {
		t.Error("a form has a choice of the zone")
	}
}

// A console with a zone of its own has its days in it, until a reader chooses another one, which may be UTC.
func TestZoneOfTheConsole(t *testing.T) {
	s := newSite(t)
	s.people()
	s.backdate("old", "USD", "2026-01-31T23:30:00Z")
	s.ledger.Project()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	api, err := client.New(client.Config{URL: s.ledger.URL})
	if err != nil {
		t.Fatal(err)
	}
	s = siteWith(t, s.ledger, api, console.Address{URL: s.ledger.URL, Zone: berlin})
	page := s.eventually("transactions?from=2026-02-01", "transactions/old", `name="zone" value="Europe/Berlin" list`)
	s.lacks(page, "zone=", `type="hidden" name="zone"`)
	s.has(s.get("transactions?from=2026-02-01&zone=Europe/Berlin", http.StatusOK), "transactions/old")
	inUTC := s.get("transactions?from=2026-02-01&zone=UTC", http.StatusOK)
	s.has(inUTC, `href="/console/accounts?zone=UTC"`, "Days are in UTC", `name="zone" value="UTC" list`)
	s.lacks(inUTC, "transactions/old")
	s.has(s.get("accounts/jane/statement?asset=USD&from=2026-02-01&to=2026-02-01", http.StatusOK), "transactions/old")
	s.has(s.get("do/close-books", http.StatusOK), "Europe/Berlin")
	s.has(s.get("audit", http.StatusOK), "Days are in Europe/Berlin")
}

// redirect returns the address that a page redirects to.
func (s *site) redirect(path string) string {
	s.Helper()
	browser := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := browser.Get(s.url + path)
	if err != nil {
		s.Fatal(err)
	}
	defer r.Body.Close()
	return r.Header.Get("Location")
}
