package runtime

import (
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// store is DynamoDB Local behind a proxy.
type store struct {
	url string

	mu          sync.Mutex
	connections int
	requests    []*http.Request
	hold        func(operation string) <-chan struct{} // nil, or until when a request of that kind is held back
}

// newStore serves the proxy until t ends.
func newStore(t testing.TB) *store {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	behind, err := url.Parse(dynamoDB.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	s := &store{url: "http://" + listener.Addr().String()}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(behind) }}
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	proxy.Transport = transport
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.mu.Lock()
			s.requests = append(s.requests, r.Clone(r.Context()))
			var until <-chan struct{}
			if s.hold != nil {
				until = s.hold(operation(r))
			}
			s.mu.Unlock()
			if until != nil {
				select {
				case <-until:
				case <-r.Context().Done():
					return
				}
			}
			proxy.ServeHTTP(w, r)
		}),
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.connections++
			}
		},
	}
	go server.Serve(listener)
	t.Cleanup(func() {
		server.Close()
		transport.CloseIdleConnections()
	})
	return s
}

// operation is what a request asks for, such as "GetItem".
func operation(r *http.Request) string {
	_, name, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	return name
}

// holding sets what is held back from now on.
func (s *store) holding(hold func(operation string) <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hold = hold
}

// silent makes the store accept requests and not answer.
func (s *store) silent() {
	never := make(chan struct{})
	s.holding(func(string) <-chan struct{} { return never })
}

// seen returns how many connections were made, and the requests so far.
func (s *store) seen() (connections int, requests []*http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connections, s.requests
}

// writes counts the requests so far that write.
func (s *store) writes() (n int) {
	_, requests := s.seen()
	for _, r := range requests {
		switch operation(r) {
		case "PutItem", "UpdateItem", "TransactWriteItems":
			n++
		}
	}
	return n
}
