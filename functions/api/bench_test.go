package api

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ledger.example/events"
	"ledger.example/ledger"
)

// benchBodies are the commands of the benchmarks, and what they are posted to.
var benchBodies = []struct{ name, path, body string }{
	{"transfer", "/v1/transfers", `{"id":"t-1","from":"jane","to":"joe","asset":"USD","quantity":"2500"}`},
	{"trade", "/v1/trades", `{"id":"t-1","asset":"AAPL","buyer":"jane","seller":"joe","quantity":"10","cost":"150000"}`},
	{"settled", "/v1/trades", `{"id":"t-1","asset":"AAPL","buyer":"jane","seller":"joe","quantity":"10","cost":"150000","settle":true}`},
	{"legs48", "/v1/transactions", `{"id":"t-1","postings":[` +
		strings.Repeat(`{"account":"jane","asset":"USD","quantity":"-1"},`, 47) + `{"account":"joe","asset":"USD","quantity":"47"}]}`},
}

// posts is a ledger that has posted everything already.
type posts struct {
	Commands
	posted ledger.Posted
}

func (p posts) Post(context.Context, ledger.PostingRequest) (ledger.Posted, error) {
	return p.posted, nil
}

// postedLegs is a transaction of so many legs.
func postedLegs(b *testing.B, n int) events.TransactionPosted {
	ids, _, err := events.NewMinter(nil, nil).Mint(n)
	if err != nil {
		b.Fatal(err)
	}
	t := events.TransactionPosted{ID: "t-1", Kind: events.KindTrade}
	for _, id := range ids {
		t.Legs = append(t.Legs, events.Leg{ID: id, Account: "jane", Asset: "AAPL", Quantity: events.NewAmount(-10), Cost: events.NewAmount(-150000)})
	}
	return t
}

// BenchmarkPost is the whole handler around the ledger: a command is read, and answered with a transaction of two legs.
func BenchmarkPost(b *testing.B) {
	h := New(Config{Commands: posts{posted: ledger.Posted{Transaction: postedLegs(b, 2)}}, Actor: LocalActor, Log: slog.New(slog.NewJSONHandler(io.Discard, nil))})
	for _, c := range benchBodies {
		b.Run(c.name, func(b *testing.B) {
			text := []byte(c.body)
			r := httptest.NewRequest(http.MethodPost, c.path, http.NoBody)
			r.Header.Set("Content-Type", jsonType)
			r.ContentLength = int64(len(text))
			w := &gatewayWriter{header: http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				*w = gatewayWriter{header: w.header}
				r.Body = io.NopCloser(bytes.NewReader(text))
				if h.ServeHTTP(w, r); w.status != http.StatusCreated {
					b.Fatalf("%d %s", w.status, w.body.String())
				}
			}
		})
	}
}

// BenchmarkDecode reads a command out of a body.
func BenchmarkDecode(b *testing.B) {
	for _, c := range benchBodies {
		b.Run(c.name, func(b *testing.B) {
			h := &api{Config: Config{Commands: declines{}}}
			handle := map[string]func(*api, *request) (reply, error){
				"/v1/transfers": (*api).postTransfer, "/v1/trades": (*api).postTrade, "/v1/transactions": (*api).postTransaction,
			}[c.path]
			plain, text := httptest.NewRequest(http.MethodPost, c.path, http.NoBody), []byte(c.body)
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				root, twice, err := parse(text)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := handle(h, &request{Request: plain, actor: "local", body: root, twice: twice}); err != errDeclined {
					b.Fatal(err)
				}
			}
		})
	}
}

var errDeclined = &ledger.Error{Code: ledger.CodeInternal}

// declines is a ledger that does nothing.
type declines struct{ Commands }

func (declines) Post(context.Context, ledger.PostingRequest) (ledger.Posted, error) {
	return ledger.Posted{}, errDeclined
}

// BenchmarkAnswer encodes the answer to a command.
func BenchmarkAnswer(b *testing.B) {
	for name, n := range map[string]int{"legs2": 2, "legs4": 4, "legs48": 48} {
		b.Run(name, func(b *testing.B) {
			t := postedLegs(b, n)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := marshal(showTransaction(t)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
