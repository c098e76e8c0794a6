package app_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"ledger.example/events"
	"ledger.example/functions/api"
	"ledger.example/internal/app"
	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
)

// The own cost of a command is what everything but the store takes: the call of the API's handler with its log line,
// and a client of the SDK whose store answers at once, less a bare call of that client with the same request. So
// making the SDK's items counts, and what the SDK does with a request doesn't.

// ownAllocations are the bounds of a warm command's own cost: of a trade what docs/performance.md aims at, of others a
// little above what they take. Allocations are the same on every machine; times are only reported (BenchmarkOwnCost).
var ownAllocations = map[string]float64{
	"transfer": 100,
	"trade":    100,
	"settled":  130,
	"legs48":   600,
}

const (
	tradeBody   = `{"id":"t-1","asset":"AAPL","buyer":"jane","seller":"joe","quantity":"10","cost":"150000"}`
	settledBody = `{"id":"t-1","asset":"AAPL","buyer":"jane","seller":"joe","quantity":"10","cost":"9","settle":true}`
)

// commands are the bodies of the benchmarks, with what they are posted to.
func commands() []command {
	var legs bytes.Buffer
	for range events.PostingsMax / 2 {
		fmt.Fprint(&legs,
			`,{"account":"jane","asset":"USD","quantity":"-1"},{"account":"joe","asset":"USD","quantity":"1"}`)
	}
	return []command{
		{"transfer", "/v1/transfers", `{"id":"t-1","from":"jane","to":"joe","asset":"USD","quantity":"2500"}`},
		{"trade", "/v1/trades", tradeBody},
		{"settled", "/v1/trades", settledBody},
		{"legs48", "/v1/transactions", `{"id":"t-1","postings":[` + legs.String()[1:] + `]}`},
	}
}

type command struct{ name, path, body string }

// TestOwnAllocations holds the own cost of commands to its bounds, and logs what metrics add to it.
func TestOwnAllocations(t *testing.T) {
	const runs = 100
	for _, c := range commands() {
		s, measured := newStill(t, ""), newStill(t, "Ledger/books")
		post, postMeasured := s.poster(t, c), measured.poster(t, c)
		post() // what is named is looked up once
		postMeasured()
		whole, bare := testing.AllocsPerRun(runs, post), testing.AllocsPerRun(runs, s.bare(t))
		own, most := whole-bare, ownAllocations[c.name]
		t.Logf("%s: %.0f allocations of its own, at most %.0f; the SDK's %.0f; %.0f more with metrics",
			c.name, own, most, bare, testing.AllocsPerRun(runs, postMeasured)-whole)
		if own > most && !raced() {
			t.Errorf("%s takes %.0f allocations of its own, at most %.0f are allowed", c.name, own, most)
		}
	}
}

// raced reports whether the race detector is in this program: it makes every sync.Pool forget, at random, so that more
// is allocated.
func raced() bool {
	info, _ := debug.ReadBuildInfo()
	return info != nil && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// BenchmarkOwnCost shows, for each command, the whole call (command) and the SDK's part of it (bare): the own cost is
// the difference.
func BenchmarkOwnCost(b *testing.B) {
	for _, c := range commands() {
		b.Run(c.name+"/command", func(b *testing.B) {
			s := newStill(b, "")
			post := s.poster(b, c)
			post()
			b.ReportAllocs()
			for b.Loop() {
				post()
			}
		})
		b.Run(c.name+"/bare", func(b *testing.B) {
			s := newStill(b, "")
			s.poster(b, c)()
			send := s.bare(b)
			b.ReportAllocs()
			for b.Loop() {
				send()
			}
		})
	}
}

// still is a service on a store that takes every write and keeps nothing, and knows the two accounts and the two
// assets of the commands, and the accounts' guards.
type still struct {
	client *dynamodb.Client
	api    http.Handler
	known  map[table.Key]ddb.Item
	sent   atomic.Pointer[dynamodb.TransactWriteItemsInput] // the last
}

const books = "books"

func newStill(t testing.TB, metrics string) *still {
	t.Helper()
	s := &still{known: make(map[table.Key]ddb.Item)}
	at := time.Now().UTC().Truncate(time.Microsecond)
	for _, e := range []events.Event{
		events.AssetRegistered{ID: "USD", Name: "US dollar", Scale: 2, Actor: "local", At: at},
		events.AssetRegistered{ID: "AAPL", Name: "Apple Inc.", Currency: "USD", Actor: "local", At: at},
		events.AccountOpened{ID: "jane", Name: "Jane Doe", Profile: "{}", Actor: "local", At: at},
		events.AccountOpened{ID: "joe", Name: "Joe Bloggs", Profile: "{}", Actor: "local", At: at},
	} {
		s.known[ddb.EventKey(e)] = ddb.EventItem(e)
	}
	for _, account := range []string{"jane", "joe"} {
		for _, asset := range []string{"USD", "AAPL"} {
			key := table.SpendKey(account, asset)
			guard := ddb.Key(key)
			guard[table.AttrType], guard[table.AttrSpent] = ddb.String(table.KindSpend), ddb.Integer(0)
			guard[table.AttrChange] = ddb.Integer(1)
			s.known[key] = guard
		}
	}
	s.client = dynamodb.New(dynamodb.Options{Region: "us-east-1",
		APIOptions: []func(*middleware.Stack) error{s.instead}})
	v, err := app.New(app.Config{
		Client: s.client, Table: books, Caller: api.LocalCaller, Version: "v1", Metrics: metrics,
		Log: slog.New(slog.NewJSONHandler(io.Discard, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.api = v.API()
	return s
}

// instead answers where the SDK would begin to make an HTTP request.
func (s *still) instead(stack *middleware.Stack) error {
	return stack.Serialize.Add(middleware.SerializeMiddlewareFunc("Still", func(
		ctx context.Context, in middleware.SerializeInput, _ middleware.SerializeHandler,
	) (out middleware.SerializeOutput, _ middleware.Metadata, err error) {
		switch request := in.Parameters.(type) {
		case *dynamodb.TransactWriteItemsInput:
			s.sent.Store(request)
			out.Result = &dynamodb.TransactWriteItemsOutput{}
		case *dynamodb.BatchGetItemInput:
			found := &dynamodb.BatchGetItemOutput{Responses: make(map[string][]ddb.Item)}
			for _, key := range request.RequestItems[books].Keys {
				k, err := ddb.KeyOf(key)
				if err != nil {
					return out, middleware.Metadata{}, err
				}
				if item := s.known[k]; item != nil {
					found.Responses[books] = append(found.Responses[books], item)
				}
			}
			out.Result = found
		default:
			err = fmt.Errorf("the still store was asked for a %T", request)
		}
		return out, dated(ctx), err
	}), middleware.Before)
}

// dated is the metadata of a reply that tells the store's clock.
func dated(ctx context.Context) middleware.Metadata {
	_, metadata, _ := awsmiddleware.RecordResponseTiming{}.HandleDeserialize(ctx, middleware.DeserializeInput{},
		middleware.DeserializeHandlerFunc(func(context.Context,
			middleware.DeserializeInput) (out middleware.DeserializeOutput, m middleware.Metadata, err error) {
			out.RawResponse = &smithyhttp.Response{Response: &http.Response{
				Header: http.Header{"Date": {time.Now().UTC().Format(http.TimeFormat)}},
			}}
			return out, m, nil
		}))
	return metadata
}

// poster returns a function that posts the command, which must succeed. It makes nothing anew but what the handler
// does.
func (s *still) poster(t testing.TB, c command) func() {
	body := &body{}
	r := httptest.NewRequest(http.MethodPost, c.path, body)
	r.Header.Set("Content-Type", "application/json")
	r.ContentLength = int64(len(c.body))
	w := &keeper{header: make(http.Header)}
	text := []byte(c.body)
	return func() {
		body.Reset(text)
		w.reset()
		s.api.ServeHTTP(w, r)
		if w.status != http.StatusCreated {
			t.Errorf("%s %s: %d %s", c.path, c.body, w.status, w.text)
		}
	}
}

// bare returns a function that sends the last transaction once more.
func (s *still) bare(t testing.TB) func() {
	in, ctx := s.sent.Load(), t.Context()
	return func() {
		if _, err := s.client.TransactWriteItems(ctx, in); err != nil {
			t.Error(err)
		}
	}
}

// body is the body of a request, used again and again.
type body struct{ bytes.Reader }

func (*body) Close() error { return nil }

// keeper is a response writer that keeps what it is given.
type keeper struct {
	header http.Header
	status int
	text   []byte
}

func (w *keeper) reset() {
	clear(w.header)
	w.status, w.text = 0, w.text[:0]
}

func (w *keeper) Header() http.Header { return w.header }

func (w *keeper) WriteHeader(status int) { w.status = status }

func (w *keeper) Write(b []byte) (int, error) {
	w.text = append(w.text, b...)
	return len(b), nil
}
