package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/ledger/table"
	"ledger.example/projections"
)

// instant is the time of everything in the tests.
var instant = time.Date(2026, 11, 21, 9, 6, 39, 123456000, time.UTC)

// fixture is an API over a small book: jane holds 10 AAPL and 350000 USD, market is unlimited, shop is empty, margin may
// owe 500000 USD. What the handlers ask for is noted in calls, in order.
type fixture struct {
	http.Handler
	config   Config
	commands *fakeCommands
	facts    *fakeFacts
	lists    *fakeLists
	strong   *fakeStrong
	log      *bytes.Buffer
	calls    *calls
}

type calls struct {
	mu    sync.Mutex
	names []string
	err   error // answers every call, if set
}

func (c *calls) note(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.names = append(c.names, name)
	return c.err
}

func (c *calls) taken() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := slices.Clone(c.names)
	c.names = nil
	slices.Sort(names)
	return strings.Join(names, " ")
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	c := &calls{}
	facts := &fakeFacts{calls: c,
		assets: map[string]events.AssetRegistered{
			"USD":  {ID: "USD", Name: "US dollar", Scale: 2, Actor: "a", At: instant},
			"AAPL": {ID: "AAPL", Name: "Apple <Inc.>", Description: "Common stock", Currency: "USD", Actor: "a", At: instant},
		},
		accounts: map[string]events.AccountOpened{
			"jane":   {ID: "jane", Name: "Jane Doe", Profile: `{"email":"j@example.com"}`, Actor: "a", At: instant},
			"market": {ID: "market", Name: "Market", Profile: "{}", Overdraft: events.Overdraft{Unlimited: true}, Actor: "a", At: instant},
			"margin": {ID: "margin", Profile: "{}", Overdraft: events.Overdraft{Limits: map[string]events.Amount{"USD": events.NewAmount(500000)}}, Actor: "a", At: instant},
			"shop":   {ID: "shop", Profile: "{}", Actor: "a", At: instant},
		},
		transactions: map[string]events.TransactionPosted{},
	}
	minter := events.NewMinter(func() time.Time { return instant }, nil)
	ids, _, err := minter.Mint(3)
	if err != nil {
		t.Fatal(err)
	}
	lists := &fakeLists{calls: c, facts: facts}
	for i, leg := range []events.Leg{
		{Account: "jane", Asset: "USD", Quantity: events.NewAmount(500000)},
		{Account: "jane", Asset: "AAPL", Quantity: events.NewAmount(10), Cost: events.NewAmount(150000)},
		{Account: "jane", Asset: "USD", Quantity: events.NewAmount(-150000)},
	} {
		leg.ID = ids[i]
		lists.postings = append(lists.postings, events.PostingRecorded{Leg: leg, Transaction: "t-1", Kind: events.KindTrade})
		lists.count(t, leg)
	}
	facts.transactions["t-1"] = events.TransactionPosted{ID: "t-1", Kind: events.KindTrade, Legs: []events.Leg{lists.postings[1].Leg, lists.postings[2].Leg}}
	f := &fixture{commands: &fakeCommands{calls: c, ids: ids}, facts: facts, lists: lists, strong: &fakeStrong{calls: c, lists: lists}, log: &bytes.Buffer{}, calls: c}
	f.config = Config{
		Commands: f.commands, Facts: facts, Lists: lists, Strong: f.strong, Actor: LocalActor, Version: "v1.2.3",
		Log: slog.New(slog.NewJSONHandler(f.log, nil)),
	}
	f.Handler = New(f.config)
	return f
}

// do sends a request; headers are pairs. A body is sent as JSON unless the headers say otherwise.
func (f *fixture) do(t testing.TB, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if body != "" || method == http.MethodPut || method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	return w
}

// answer decodes a reply's body.
func answer[T any](t testing.TB, w *httptest.ResponseRecorder) (v T) {
	t.Helper()
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		t.Fatalf("%v in %s", err, w.Body)
	}
	return v
}

// refused fails unless w is a problem of this status and code, and returns its fields as "field field".
func refused(t testing.TB, w *httptest.ResponseRecorder, status int, code ledger.Code) (fields string) {
	t.Helper()
	p := answer[problem](t, w)
	if w.Code != status || p.Status != status || p.Code != code {
		t.Fatalf("answered %d %s, want %d %s", w.Code, w.Body, status, code)
	}
	if got := w.Header().Get("Content-Type"); got != problemType {
		t.Fatalf("Content-Type is %q", got)
	}
	if p.Type != "/problems/"+string(code) || p.Title == "" || p.Detail == "" || p.RequestID == "" || p.RequestID != w.Header().Get("X-Request-Id") {
		t.Fatalf("problem is not whole: %s", w.Body)
	}
	var names []string
	for _, f := range p.Errors {
		if f.Rule == "" {
			t.Fatalf("no rule for %s", f.Field)
		}
		names = append(names, f.Field)
	}
	return strings.Join(names, " ")
}

// fakeCommands records the last command, and answers as if it were the first of its kind.
type fakeCommands struct {
	*calls
	ids      []events.KSUID
	last     any
	again    bool // what is asked for was there before
	failWith error
	until    time.Time // the deadline of the last posting
}

func (c *fakeCommands) did(name string, command any) error {
	c.last = command
	return cmp.Or(c.note(name), c.failWith)
}

func (c *fakeCommands) RegisterAsset(_ context.Context, r ledger.RegisterAsset) (events.AssetRegistered, bool, error) {
	err := c.did("RegisterAsset", r)
	return events.AssetRegistered{ID: r.ID, Name: r.Name, Description: r.Description, Scale: r.Scale, Currency: r.Currency, At: instant}, !c.again, err
}

func (c *fakeCommands) OpenAccount(_ context.Context, r ledger.OpenAccount) (events.AccountOpened, bool, error) {
	err := c.did("OpenAccount", r)
	return events.AccountOpened{ID: r.ID, Name: r.Name, Profile: r.Profile, Overdraft: r.Overdraft, At: instant}, !c.again, err
}

func (c *fakeCommands) Post(ctx context.Context, r ledger.PostingRequest) (ledger.Posted, error) {
	c.until, _ = ctx.Deadline()
	if err := c.did("Post", r); err != nil {
		return ledger.Posted{}, err
	}
	if err := r.Rules(); err != nil {
		return ledger.Posted{}, err
	}
	legs := []events.Leg{
		{ID: c.ids[0], Account: "jane", Asset: "USD", Quantity: events.NewAmount(-1)},
		{ID: c.ids[1], Account: "shop", Asset: "USD", Quantity: events.NewAmount(1)},
	}
	return ledger.Posted{Transaction: events.TransactionPosted{ID: "t-1", Kind: events.KindTransfer, Legs: legs}, Replayed: c.again}, nil
}

func (c *fakeCommands) Grant(_ context.Context, r ledger.GrantMember) (bool, error) {
	return !c.again, c.did("Grant", r)
}

func (c *fakeCommands) Revoke(_ context.Context, r ledger.RevokeMember) error {
	return c.did("Revoke", r)
}

// fakeFacts is definitions and transactions in memory.
type fakeFacts struct {
	*calls
	assets       map[string]events.AssetRegistered
	accounts     map[string]events.AccountOpened
	transactions map[string]events.TransactionPosted
}

func fact[T any](c *calls, name string, all map[string]T, id string, code ledger.Code) (T, error) {
	err := c.note(name)
	v, ok := all[id]
	if err == nil && !ok {
		err = &ledger.Error{Code: code, Detail: "There is none.", OfPath: true}
	}
	return v, err
}

func (f *fakeFacts) Asset(_ context.Context, id string) (events.AssetRegistered, error) {
	return fact(f.calls, "Asset", f.assets, id, ledger.CodeAssetNotFound)
}

func (f *fakeFacts) Account(_ context.Context, id string) (events.AccountOpened, error) {
	return fact(f.calls, "Account", f.accounts, id, ledger.CodeAccountNotFound)
}

func (f *fakeFacts) Transaction(_ context.Context, id string) (events.TransactionPosted, error) {
	return fact(f.calls, "Transaction", f.transactions, id, ledger.CodeTransactionNotFound)
}

// fakeStrong answers with what the lists hold, and notes the floors that it was given.
type fakeStrong struct {
	*calls
	lists *fakeLists
	floor *events.Amount
}

func (s *fakeStrong) Balance(_ context.Context, k projections.Key, floor *events.Amount) (projections.Balance, error) {
	s.floor = floor
	return s.lists.balances[k], s.note("strong.Balance")
}

func (s *fakeStrong) Balances(_ context.Context, account string, floor func(string) *events.Amount, p projections.Slice) (projections.Listed[projections.Balance], error) {
	s.floor = floor("USD")
	return pick(s.lists.of(account), p, func(b projections.Balance) string { return b.Asset }), s.note("strong.Balances")
}

// pick is the slice of a sorted list.
func pick[T any](all []T, s projections.Slice, position func(T) string) (l projections.Listed[T]) {
	for _, v := range all {
		if s.After != "" && position(v) <= s.After {
			continue
		}
		if len(l.Items) == s.Limit {
			l.Next = position(l.Items[s.Limit-1])
			break
		}
		l.Items = append(l.Items, v)
	}
	return l
}

var errAbsent = table.ErrAbsent

// doQuery is do for GET with a query that no URL parser would take.
func (f *fixture) doQuery(t testing.TB, path, query string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.URL.RawQuery = query
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	return w
}
