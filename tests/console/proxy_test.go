package console

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"

	"ledger.example/tests/harness/system"
)

// proxy is between a console and its ledger. It records requests, and can answer instead of the ledger. It is safe
// for concurrent use.
type proxy struct {
	ledger http.Handler

	mu     sync.Mutex
	asked  []string                    // method, path and query of each request
	answer map[string]http.HandlerFunc // answers instead of the ledger, by path and query; "?*" matches any query
}

// newProxied returns a console with a proxy in front of its ledger.
func newProxied(t testing.TB) (*site, *proxy) {
	t.Helper()
	return proxied(t, system.New(t, system.Pumped, system.Indexed("order")))
}

// proxied returns a console with a proxy in front of a ledger.
func proxied(t testing.TB, s *system.System) (*site, *proxy) {
	t.Helper()
	at, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	ledger := httputil.NewSingleHostReverseProxy(at)
	ledger.Transport = s.HTTP.Transport          // keeps enough connections open
	ledger.ErrorLog = log.New(io.Discard, "", 0) // no log of cancelled requests
	f := &proxy{ledger: ledger, answer: make(map[string]http.HandlerFunc)}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return siteOf(t, s, server.URL), f
}

func (f *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.asked = append(f.asked, r.Method+" "+r.URL.RequestURI())
	answer := f.answer[r.URL.RequestURI()]
	if answer == nil {
		answer = f.answer[r.URL.Path+"?*"]
	}
	f.mu.Unlock()
	if answer == nil {
		answer = f.ledger.ServeHTTP
	}
	answer(w, r)
}

// takeRequests returns the requests since the last call.
func (f *proxy) takeRequests() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	asked := f.asked
	f.asked = nil
	return asked
}

// set sets the handler for a path; nil lets the ledger answer again.
func (f *proxy) set(path string, answer http.HandlerFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer[path] = answer
}

// freeze repeats the ledger's current answer to a path from now on.
func (f *proxy) freeze(s *site, path string) {
	s.Helper()
	body := s.ledger.Must(http.StatusOK, "GET", path, "").Body
	f.set(path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.Copy(w, bytes.NewReader(body))
	})
}

// fail answers a path with an error.
func (f *proxy) fail(path string, status int) {
	f.set(path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"code":"internal","detail":"The test broke it.","status":500}`)
	})
}

// The home page says how far balances are behind, and says when they are up to date.
func TestBalanceLag(t *testing.T) {
	s, f := newProxied(t)
	s.fill()
	s.ledger.Project()
	s.has(s.eventually("", "balances are up to date"), "1 asset<", "3 accounts<", "0 open holds<")
	const balance = "/v1/accounts/jane/balances/USD"
	f.freeze(s, balance)
	s.do("transfer", values("from", "jane", "to", "shop", "asset", "USD", "quantity", "1.00"))
	s.do("transfer", values("from", "jane", "to", "shop", "asset", "USD", "quantity", "2.00"))
	s.ledger.Project()
	s.has(s.eventually("", " behind ("), "balances are", "behind (2 postings)")
	f.set(balance, nil)
	s.eventually("", "balances are up to date")
	for range 3 { // backdated transactions do not count for the lag
		s.ledger.Must(http.StatusCreated, "POST", "/v1/transfers", `{"from":"bank","to":"jane","asset":"USD","quantity":"1","effective_at":"2026-01-02T00:00:00Z"}`)
	}
	s.ledger.Project()
	s.has(s.get("", http.StatusOK), "balances are up to date")
	f.fail(balance, http.StatusForbidden)
	s.has(s.get("", http.StatusOK), "balance lag is unknown", "The test broke it.", "Newest transactions")
}

// If all transactions are backdated, the home page gives the number of missing postings but no duration.
func TestBalanceLagOfBackdatedImport(t *testing.T) {
	s, f := newProxied(t)
	s.ledger.OpenRegister()
	s.backdate("t-1", "USD", "2026-01-02T00:00:00Z")
	s.ledger.Project()
	s.eventually("", "balances are up to date")
	f.freeze(s, "/v1/accounts/jane/balances/USD")
	s.backdate("t-2", "USD", "2026-01-03T00:00:00Z")
	s.ledger.Project()
	s.eventually("", "balances are missing 1 posting")
}

// The home page of an unhealthy ledger is still shown.
func TestHealth(t *testing.T) {
	t.Parallel()
	s, f := newProxied(t)
	s.fill()
	s.eventually("", `<span class="status open">healthy`)
	for _, status := range []int{http.StatusForbidden, http.StatusInternalServerError} {
		f.fail("/healthz", status)
		page := s.get("", http.StatusOK)
		s.has(page, `<span class="status closed">not healthy`, "1 asset<", "3 accounts<")
		s.lacks(page, ">healthy")
	}
	f.fail("/v1/holds?*", http.StatusForbidden)
	s.has(s.get("", http.StatusForbidden), `class="fault"`, "Something went wrong in the ledger. It may have been done.", "The test broke it.")
}
