// Package console tests the console's pages with a complete ledger: by plain HTTP, like a browser without scripts, and
// in Chromium.
// Only it finds a page that a browser cannot use.
package console

import (
	"context"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ledger.example/client"
	"ledger.example/internal/desk/console"
	"ledger.example/internal/desk/units"
	"ledger.example/tests/harness/system"
)

const (
	pageBytes = 100 << 10   // maximum size of a page
	timeout   = time.Minute // for projections and browser actions
)

// site is a console with its own ledger, and an HTTP client for its pages.
type site struct {
	testing.TB
	ledger  *system.System
	url     string
	browser http.Client
}

func newSite(t testing.TB) *site {
	t.Helper()
	s := system.New(t, system.Pumped, system.Indexed("order"))
	return siteOf(t, s, s.URL)
}

// siteOf returns a console that calls the ledger at a URL.
func siteOf(t testing.TB, s *system.System, url string) *site {
	t.Helper()
	return siteAs(t, s, url, "")
}

// siteAs is siteOf for a console that acts as a user, "" for none.
func siteAs(t testing.TB, s *system.System, url, user string) *site {
	t.Helper()
	api, err := client.New(client.Config{URL: url, Connections: units.LoadingAtOnce, User: user})
	if err != nil {
		t.Fatal(err)
	}
	return siteWith(t, s, api, console.Address{URL: s.URL, User: user})
}

// siteWith returns a console with a client and an address.
func siteWith(t testing.TB, s *system.System, api *client.Client, at console.Address) *site {
	t.Helper()
	ctx, end := context.WithCancel(context.Background())
	server := httptest.NewServer(console.New(ctx, api, at))
	t.Cleanup(server.Close)
	t.Cleanup(end) // runs before server.Close, which waits for open event streams
	return &site{TB: t, ledger: s, url: server.URL + console.Path}
}

// get returns a page and fails the test if it has another status.
func (s *site) get(path string, status int) string {
	s.Helper()
	r, err := s.browser.Get(s.url + path)
	if err != nil {
		s.Fatal(err)
	}
	return s.read(r, status)
}

func (s *site) read(r *http.Response, status int) string {
	s.Helper()
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.Fatal(err)
	}
	if r.StatusCode != status {
		s.Fatalf("%s: %d, want %d:\n%s", r.Request.URL, r.StatusCode, status, body)
	}
	if status == http.StatusOK && r.Request.Method != http.MethodGet {
		s.Errorf("%s answers a form without a redirect, so Back would resubmit it", r.Request.URL)
	}
	isWhole := strings.Contains(r.Request.URL.Path, "trial-balance") || r.Request.URL.Query().Has("all")
	if len(body) > pageBytes && !isWhole {
		s.Errorf("%s has %d bytes, want at most %d", r.Request.URL, len(body), pageBytes)
	}
	if csp := r.Header.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'") {
		s.Errorf("%s has the Content-Security-Policy %q", r.Request.URL, csp)
	}
	return string(body)
}

var input = regexp.MustCompile(`<input[^>]*type="hidden"[^>]*name="([^"]*)"[^>]*value="([^"]*)"`)

// send submits the form on a page with the filled-in values, and returns the next page.
func (s *site) send(action, page string, filled url.Values, status int) string {
	s.Helper()
	return s.read(s.post(action, page, filled), status)
}

func (s *site) post(action, page string, filled url.Values) *http.Response {
	s.Helper()
	return s.submit("do/"+action, page, filled)
}

// submit posts the form on a page to a path.
func (s *site) submit(path, page string, filled url.Values) *http.Response {
	s.Helper()
	values := url.Values{}
	for _, hidden := range input.FindAllStringSubmatch(page, -1) {
		values.Set(hidden[1], html.UnescapeString(hidden[2]))
	}
	for name, value := range filled {
		values[name] = value
	}
	r, err := s.browser.PostForm(s.url+path, values)
	if err != nil {
		s.Fatal(err)
	}
	return r
}

// do fills in, previews and confirms a form, and returns the next page.
func (s *site) do(action string, filled url.Values) string {
	s.Helper()
	preview := s.send(action, s.get("do/"+action, http.StatusOK), filled, http.StatusOK)
	return s.send(action, preview, nil, http.StatusOK)
}

// status sends a request with headers, and returns the status of the answer. The header Host is the request's host.
func (s *site) status(method, path, body string, headers ...string) int {
	s.Helper()
	r, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(headers); i += 2 {
		if r.Header.Set(headers[i], headers[i+1]); headers[i+1] == "" {
			r.Header.Del(headers[i])
		}
	}
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	answer, err := s.browser.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	answer.Body.Close()
	return answer.StatusCode
}

// has fails the test unless a page has the texts in this order.
func (s *site) has(page string, texts ...string) {
	s.Helper()
	rest := page
	for _, text := range texts {
		_, after, ok := strings.Cut(rest, text)
		if !ok {
			s.Fatalf("the page lacks %q, or has it in the wrong place:\n%s", text, page)
		}
		rest = after
	}
}

// lacks fails the test if a page has one of the texts.
func (s *site) lacks(page string, texts ...string) {
	s.Helper()
	for _, text := range texts {
		if strings.Contains(page, text) {
			s.Errorf("the page has %q:\n%s", text, page)
		}
	}
}

// eventually polls a page until it has some texts, because projections are asynchronous.
func (s *site) eventually(path string, texts ...string) string {
	s.Helper()
	for deadline := time.Now().Add(timeout); ; time.Sleep(20 * time.Millisecond) {
		page := s.get(path, http.StatusOK)
		missing := slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return strings.Contains(page, text) })
		if len(missing) == 0 {
			return page
		}
		if time.Now().After(deadline) {
			s.Fatalf("%s never shows %q:\n%s", path, missing, page)
		}
	}
}

func values(pairs ...string) url.Values {
	v := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
	}
	return v
}

// fill registers USD, opens the accounts bank, jane and shop, and posts a transfer from bank to jane, all by forms.
func (s *site) fill() {
	s.Helper()
	s.do("asset", values("id", "USD", "name", "US dollar", "scale", "2"))
	s.do("account", values("id", "bank", "name", "Bank", "unlimited", "yes"))
	s.do("account", values("id", "jane", "name", "Jane Doe"))
	s.do("account", values("id", "shop", "name", "Shop"))
	s.do("transfer", values("from", "bank", "to", "jane", "asset", "USD", "quantity", "100.00"))
}

// An empty ledger shows the first steps. Pages have the right plural, and say what is not there yet or no longer possible.
func TestTextsOfSomeStates(t *testing.T) {
	s := newSite(t)
	s.has(s.get("", http.StatusOK), "healthy", "no transactions yet", "0 assets", "0 accounts", "0 open holds", "0 groups", "No transactions yet")
	s.has(s.get("search?q=nobody", http.StatusOK), "Nothing found for")
	for _, path := range []string{"accounts/nobody", "assets/none", "transactions/none", "accounts/a%2Fb", "do/nothing", "x"} {
		s.has(s.get(path, http.StatusNotFound), `class="fault"`)
	}
	s.has(s.get("", http.StatusOK), "This ledger is empty. Three steps")
	s.do("asset", values("id", "USD", "name", "US dollar", "scale", "1"))
	s.has(s.get("assets/USD", http.StatusOK), "1 decimal place<")
	s.lacks(s.eventually("", "1 asset<"), "is empty")
	s.do("account", values("id", "bank", "unlimited", "yes"))
	s.do("account", values("id", "jane"))
	s.has(s.get("accounts/jane", http.StatusOK), "has no postings yet", "Users and roles")
	s.ledger.Must(http.StatusCreated, "POST", "/v1/transfers", `{"id":"t-1","from":"bank","to":"jane","asset":"USD","quantity":"5"}`)
	s.ledger.Must(http.StatusCreated, "POST", "/v1/transactions/t-1/reversals", `{"id":"t-2","quantity":"2"}`)
	s.has(s.get("transactions/t-1", http.StatusOK), "do/reverse?transaction=t-1", "transactions/t-2")
	s.ledger.Must(http.StatusCreated, "POST", "/v1/transactions/t-1/reversals", `{"id":"t-3"}`)
	reversed := s.get("transactions/t-1", http.StatusOK)
	s.has(reversed, "Reversed by", "transactions/t-2", "transactions/t-3")
	s.lacks(reversed, "do/reverse") // fully reversed
	s.has(s.get("accounts/jane?asset=USD&from=9000-01-01", http.StatusOK), "No statement yet")
}

// A card payment by forms: a hold, a partial capture and a partial reversal.
func TestCardPaymentByForms(t *testing.T) {
	s := newSite(t)
	s.fill()
	page := s.do("hold", values("from", "jane", "to", "shop", "asset", "USD", "quantity", "50.00"))
	s.has(page, "held", "Capture", "Release", "jane", "50.00", "shop")
	id := regexp.MustCompile(`do/capture\?transaction=([A-Za-z0-9]+)`).FindStringSubmatch(page)[1]
	s.eventually("accounts/jane", "Open holds")
	s.has(s.get("accounts/jane", http.StatusOK), "<strong>100.00", "50.00</td>", "50.00</td>") // posted, pending, available

	form := s.get("do/capture?transaction="+id, http.StatusOK)
	preview := s.send("capture", form, values("quantity", "42.10"), http.StatusOK)
	s.has(preview, "What will be posted", "42.10")
	s.has(s.get("transactions/"+id, http.StatusOK), "held") // a preview changes nothing
	s.has(s.send("capture", preview, nil, http.StatusOK), "captured", "How the hold ended", "42.10")

	form = s.get("do/reverse?transaction="+id, http.StatusOK)
	preview = s.send("reverse", form, values("quantity", "2.10"), http.StatusOK)
	s.has(s.send("reverse", preview, nil, http.StatusOK), "reversal", "reverses", id)
	s.has(s.get("transactions/"+id, http.StatusOK), "Reversals</h2>", "2.10", "<strong>40.00", "Reversed by")
	s.has(s.eventually("accounts/shop", "<strong>40.00</strong>"), "40.00")
	front := s.eventually("", "balances are up to date")
	s.has(front, `/transactions/`+id+`">`+id+`</a>`, "42.10")
	s.lacks(front, ">50.00<") // the held amount, of which less was captured
	s.has(s.eventually("assets/USD", "60.00"), "jane", "60.00", "shop", "40.00")
	s.has(s.do("state", values("account", "shop", "state", "frozen")), "Account shop", `class="status frozen"`)
}

// The files of an account have their media types. Those of an asset that does not exist are not found.
func TestFilesOfAnAccount(t *testing.T) {
	s := newSite(t)
	s.fill()
	s.has(s.eventually("accounts/jane?asset=USD", "chart.svg"), "statement.csv")
	for file, kind := range map[string]string{"statement.csv": "text/csv; charset=utf-8", "statement.json": "application/json", "chart.svg": "image/svg+xml"} {
		r, err := s.browser.Get(s.url + "accounts/jane/" + file + "?asset=USD")
		if err != nil || r.Header.Get("Content-Type") != kind {
			t.Fatalf("%s: %v, %v", file, r, err)
		}
		r.Body.Close()
	}
	s.has(s.get("accounts/jane/statement.csv?asset=none", http.StatusNotFound), `class="fault"`)
}

// Forms without the console's token, and forms of other sites, are refused.
func TestForgedForms(t *testing.T) {
	s := newSite(t)
	forged := values("id", "evil", "name", "Evil", "confirmed", "yes")
	s.has(s.read(s.post("account", "", forged), http.StatusForbidden), "did not come from a page of this console")
	forged.Set("token", input.FindStringSubmatch(s.get("do/account", http.StatusOK))[2])
	if status := s.status("POST", "do/account", forged.Encode(), "Sec-Fetch-Site", "cross-site"); status != http.StatusForbidden {
		t.Errorf("a form of another site: %d", status)
	}
	s.get("accounts/evil", http.StatusNotFound)
}

// Pages of other sites and ports may link to the console. They cannot load anything from it, and their attempts make no
// request to the API.
func TestForeignLoadsAreRefused(t *testing.T) {
	t.Parallel()
	s, f := newProxied(t)
	s.ledger.OpenBooks()
	f.takeRequests()
	for headers, status := range map[[3]string]int{ // Sec-Fetch-Site, -Mode and -Dest
		{"cross-site", "no-cors", "image"}:     http.StatusForbidden,
		{"same-site", "no-cors", "image"}:      http.StatusForbidden,
		{"cross-site", "cors", "empty"}:        http.StatusForbidden,
		{"cross-site", "navigate", "iframe"}:   http.StatusForbidden,
		{"cross-site", "", ""}:                 http.StatusForbidden,
		{"cross-site", "navigate", "document"}: http.StatusOK,
		{"same-origin", "no-cors", "image"}:    http.StatusOK,
		{"none", "navigate", "document"}:       http.StatusOK,
		{"", "", ""}:                           http.StatusOK,
	} {
		for _, path := range []string{"accounts/jane/chart.svg?asset=USD", "accounts/jane", "static/console.css"} {
			got := s.status("GET", path, "", "Sec-Fetch-Site", headers[0], "Sec-Fetch-Mode", headers[1], "Sec-Fetch-Dest", headers[2])
			if got != status {
				t.Errorf("%s with %q: %d, want %d", path, headers, got, status)
			}
			if asked := f.takeRequests(); status == http.StatusForbidden && len(asked) > 0 {
				t.Errorf("%s with %q makes requests: %q", path, headers, asked)
			}
		}
	}
}
