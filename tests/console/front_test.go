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

	"ledger.example/tests/system"
)

// front stands between a console and its ledger. It counts what the console asks for, and can answer in the ledger's
// place. It is safe for concurrent use.
type front struct {
	ledger http.Handler

	mu     sync.Mutex
	asked  []string                    // method, path and query of each request
	answer map[string]http.HandlerFunc // instead of the ledger, by path and query; "?*" is any query
}

// newFronted returns a console with a front before its ledger.
func newFronted(t testing.TB) (*site, *front) {
	t.Helper()
	s := system.New(t, system.Pumped, system.Indexed("order"))
	at, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(at)
	proxy.Transport = s.HTTP.Transport          // which keeps as many connections open as are needed
	proxy.ErrorLog = log.New(io.Discard, "", 0) // of requests that the console gave up
	f := &front{ledger: proxy, answer: make(map[string]http.HandlerFunc)}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return siteOf(t, s, server.URL), f
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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

// take returns what was asked for since it was called last.
func (f *front) take() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	asked := f.asked
	f.asked = nil
	return asked
}

// set answers a path in the ledger's place from now on; nil lets the ledger answer again.
func (f *front) set(path string, answer http.HandlerFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer[path] = answer
}

// keep goes on answering a path as the ledger answers it now.
func (f *front) keep(s *site, path string) {
	s.Helper()
	body := s.ledger.Must(http.StatusOK, "GET", path, "").Body
	f.set(path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.Copy(w, bytes.NewReader(body))
	})
}

// fails answers a path with a problem.
func (f *front) fails(path string, status int) {
	f.set(path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"code":"internal","detail":"The test broke it.","status":500}`)
	})
}

// The first page says how far the balances are behind what is posted, and from when on they are not.
func TestHowFarBalancesTrail(t *testing.T) {
	s, f := newFronted(t)
	s.fill()
	s.ledger.Project()
	s.has(s.eventually("", "balances are up to date"), "1 asset, 3 accounts, 0 open holds")
	const balance = "/v1/accounts/jane/balances/USD"
	f.keep(s, balance)
	s.do("transfer", values("from", "jane", "to", "shop", "asset", "USD", "quantity", "1.00"))
	s.do("transfer", values("from", "jane", "to", "shop", "asset", "USD", "quantity", "2.00"))
	s.ledger.Project()
	s.has(s.eventually("", " behind ("), "balances are", "behind (2 postings)")
	f.set(balance, nil)
	s.eventually("", "balances are up to date")
	for range 3 { // posted for an earlier time: it says nothing of how far balances trail
		s.ledger.Must(http.StatusCreated, "POST", "/v1/transfers", `{"from":"bank","to":"jane","asset":"USD","quantity":"1","effective_at":"2026-01-02T00:00:00Z"}`)
	}
	s.ledger.Project()
	s.has(s.get("", http.StatusOK), "balances are up to date")
	f.fails(balance, http.StatusForbidden)
	s.has(s.get("", http.StatusOK), "balance lag is unknown", "The test broke it.", "Newest transactions")
}

// Of what is posted for an earlier time alone, the first page does not say since when it is left out.
func TestHowFarBalancesTrailAfterAnImport(t *testing.T) {
	s, f := newFronted(t)
	s.ledger.OpenRegister()
	s.backdate("t-1", "USD", "2026-01-02T00:00:00Z")
	s.ledger.Project()
	s.eventually("", "balances are up to date")
	f.keep(s, "/v1/accounts/jane/balances/USD")
	s.backdate("t-2", "USD", "2026-01-03T00:00:00Z")
	s.ledger.Project()
	s.eventually("", "balances are missing 1 posting")
}

// A ledger that says that it is not well is shown all the same.
func TestHealth(t *testing.T) {
	t.Parallel()
	s, f := newFronted(t)
	s.fill()
	s.eventually("", `<span class="status open">healthy`)
	for _, status := range []int{http.StatusForbidden, http.StatusInternalServerError, http.StatusServiceUnavailable} {
		f.fails("/healthz", status)
		page := s.get("", http.StatusOK)
		s.has(page, `<span class="status closed">not healthy`, "1 asset, 3 accounts", "jane")
		s.lacks(page, ">healthy")
	}
	f.fails("/v1/assets?*", http.StatusForbidden)
	s.has(s.get("", http.StatusForbidden), `class="fault"`, "The test broke it.")
}
