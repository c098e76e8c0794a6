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
	"ledger.example/functions/app"
	"ledger.example/internal/table"
)

// The own cost of a command is the cost of the ledger's code without the SDK and the store: the cost of a call of the
// API's handler with a fake store, less the cost of sending the same request with the SDK alone. Building the SDK's
// items counts as own cost.

// ownAllocations are the most allocations of a command with warm caches. The bound of a trade is the goal in
// docs/performance.md. The other bounds are a little above the current number. Allocations do not depend on the
// machine; times do, and are only reported (BenchmarkOwnCost).
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

// commands returns the commands to measure, with their paths and bodies.
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

// TestOwnAllocations checks the own allocations of commands against their bounds, and logs how many metrics add.
func TestOwnAllocations(t *testing.T) {
	const runs = 20
	for _, c := range commands() {
		s, withMetrics := newFakeStore(t, ""), newFakeStore(t, "Ledger/books")
		post, postWithMetrics := s.poster(t, c), withMetrics.poster(t, c)
		post() // fills the cache of accounts and assets
		postWithMetrics()
		total, bare := testing.AllocsPerRun(runs, post), testing.AllocsPerRun(runs, s.bare(t))
		own, most := total-bare, ownAllocations[c.name]
		t.Logf("%s: %.0f own allocations, at most %.0f; the SDK's %.0f; %.0f more with metrics",
			c.name, own, most, bare, testing.AllocsPerRun(runs, postWithMetrics)-total)
		if own > most && !hasRaceDetector() {
			t.Errorf("%s takes %.0f own allocations, at most %.0f are allowed", c.name, own, most)
		}
	}
}

// hasRaceDetector reports whether the race detector is enabled. It drops items of each sync.Pool at random, which
// causes more allocations.
func hasRaceDetector() bool {
	info, _ := debug.ReadBuildInfo()
	return info != nil && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// BenchmarkOwnCost measures, for each command, the whole call (command) and the SDK's part of it (bare). The difference
// is the own cost.
func BenchmarkOwnCost(b *testing.B) {
	for _, c := range commands() {
		b.Run(c.name+"/command", func(b *testing.B) {
			s := newFakeStore(b, "")
			post := s.poster(b, c)
			post()
			b.ReportAllocs()
			for b.Loop() {
				post()
			}
		})
		b.Run(c.name+"/bare", func(b *testing.B) {
			s := newFakeStore(b, "")
			s.poster(b, c)()
			send := s.bare(b)
			b.ReportAllocs()
			for b.Loop() {
				send()
			}
		})
	}
}

// fakeStore is a service with a fake store. The store accepts every write and stores nothing. It has the two accounts
// and the two assets of the commands, and the guards of the accounts.
type fakeStore struct {
	client *dynamodb.Client
	api    http.Handler
	items  map[table.Key]table.Item
	sent   atomic.Pointer[dynamodb.TransactWriteItemsInput] // the last one
}

const books = "books"

func newFakeStore(t testing.TB, metrics string) *fakeStore {
	t.Helper()
	s := &fakeStore{items: make(map[table.Key]table.Item)}
	at := time.Now().UTC().Truncate(time.Microsecond)
	for _, e := range []events.Event{
		events.AssetRegistered{ID: "USD", Name: "US dollar", Scale: 2, Actor: "local", At: at},
		events.AssetRegistered{ID: "AAPL", Name: "Apple Inc.", Currency: "USD", Actor: "local", At: at},
		events.AccountOpened{ID: "jane", Name: "Jane Doe", Profile: "{}", Actor: "local", At: at},
		events.AccountOpened{ID: "joe", Name: "Joe Bloggs", Profile: "{}", Actor: "local", At: at},
	} {
		s.items[table.EventKey(e)] = table.EventItem(e)
	}
	for _, account := range []string{"jane", "joe"} {
		for _, asset := range []string{"USD", "AAPL"} {
			key := table.Spend.Key(account, asset)
			guard := table.Begin(key, table.Spend.Type)
			guard[table.AttrSpent], guard[table.AttrChange] = table.Integer(0), table.Integer(1)
			s.items[key] = guard
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

// instead answers requests in place of the SDK's HTTP client.
func (s *fakeStore) instead(stack *middleware.Stack) error {
	return stack.Serialize.Add(middleware.SerializeMiddlewareFunc("FakeStore", func(
		ctx context.Context, in middleware.SerializeInput, _ middleware.SerializeHandler,
	) (out middleware.SerializeOutput, _ middleware.Metadata, err error) {
		switch request := in.Parameters.(type) {
		case *dynamodb.TransactWriteItemsInput:
			s.sent.Store(request)
			out.Result = &dynamodb.TransactWriteItemsOutput{}
		case *dynamodb.BatchGetItemInput:
			found := &dynamodb.BatchGetItemOutput{Responses: make(map[string][]table.Item)}
			for _, key := range request.RequestItems[books].Keys {
				k, err := table.KeyOf(key)
				if err != nil {
					return out, middleware.Metadata{}, err
				}
				if item := s.items[k]; item != nil {
					found.Responses[books] = append(found.Responses[books], item)
				}
			}
			out.Result = found
		default:
			err = fmt.Errorf("the fake store does not support %T", request)
		}
		return out, dated(ctx), err
	}), middleware.Before)
}

// dated returns the metadata of a reply with a Date header, from which the ledger reads the store's clock.
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

// poster returns a function that posts the command, which must succeed. Only the handler allocates.
func (s *fakeStore) poster(t testing.TB, c command) func() {
	body := &body{}
	r := httptest.NewRequest(http.MethodPost, c.path, body)
	r.Header.Set("Content-Type", "application/json")
	r.ContentLength = int64(len(c.body))
	w := &recorder{header: make(http.Header)}
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

// bare returns a function that sends the last write again, with the SDK alone.
func (s *fakeStore) bare(t testing.TB) func() {
	in, ctx := s.sent.Load(), t.Context()
	return func() {
		if _, err := s.client.TransactWriteItems(ctx, in); err != nil {
			t.Error(err)
		}
	}
}

// body is a reusable request body.
type body struct{ bytes.Reader }

func (*body) Close() error { return nil }

// recorder is a reusable response writer that records the response.
type recorder struct {
	header http.Header
	status int
	text   []byte
}

func (w *recorder) reset() {
	clear(w.header)
	w.status, w.text = 0, w.text[:0]
}

func (w *recorder) Header() http.Header { return w.header }

func (w *recorder) WriteHeader(status int) { w.status = status }

func (w *recorder) Write(b []byte) (int, error) {
	w.text = append(w.text, b...)
	return len(b), nil
}
