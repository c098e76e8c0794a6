package memdb_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ledger.example/functions/api"
	"ledger.example/functions/app"
	"ledger.example/internal/local/memdb"
)

// newAPI returns the whole API on a memory store. jane and joe have the assets that they trade, and jane's newest
// postings of USD are not projected.
func newAPI(b testing.TB) http.Handler {
	b.Helper()
	_, client := open(b, memdb.Options{})
	s, err := app.New(app.Config{
		Client: client, Table: books, Caller: api.LocalCaller, Version: "v1", Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	h := s.API()
	for _, r := range []struct{ method, path, body string }{
		{"PUT", "/v1/assets/USD", `{"name":"US dollar","scale":2}`},
		{"PUT", "/v1/assets/AAPL", `{"name":"Apple Inc.","scale":0,"currency":"USD"}`},
		{"PUT", "/v1/accounts/bank", `{"name":"Bank","overdraft":"unlimited"}`},
		{"PUT", "/v1/accounts/jane", `{"name":"Jane Doe"}`},
		{"PUT", "/v1/accounts/joe", `{"name":"Joe Bloggs"}`},
		{"POST", "/v1/transfers", `{"from":"bank","to":"jane","asset":"USD","quantity":"1000000000000000"}`},
		{"POST", "/v1/transfers", `{"from":"bank","to":"joe","asset":"AAPL","quantity":"1000000000000000"}`},
	} {
		send(b, h, r.method, r.path, r.body)
	}
	for range 50 {
		send(b, h, "POST", "/v1/transfers", `{"from":"bank","to":"jane","asset":"USD","quantity":"1"}`)
	}
	return h
}

// send sends one request, which must succeed.
func send(b testing.TB, h http.Handler, method, path, body string) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code >= 300 {
		b.Fatalf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
}

// Concurrent trades, for lock profiles.
func BenchmarkTradeParallel(b *testing.B) {
	h := newAPI(b)
	b.SetParallelism(4) // callers per processor
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			send(b, h, "POST", "/v1/trades",
				`{"asset":"AAPL","buyer":"jane","seller":"joe","quantity":"10","cost":"150000","settle":true}`)
		}
	})
}
