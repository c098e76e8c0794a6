package api

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/middleware"

	"ledger.example/internal/local/dynamolocal"
	"ledger.example/internal/local/memdb"
	"ledger.example/internal/table"
	"ledger.example/ledger"
	"ledger.example/projections"
)

// instant is the time of all events in the tests.
var instant = time.Date(2026, 11, 21, 9, 6, 39, 123456000, time.UTC)

const goodTransfer = `{"from":"jane","to":"shop","asset":"USD","quantity":"1"}`

// placed is the body of a hold from jane to the shop.
const placed = `{"id":"h-1","from":"jane","to":"shop","asset":"USD","quantity":"5000","hold":{}}`

// register sets up the data of a fixture: jane has 10 AAPL and 350000 USD, market is unlimited, shop and fees are
// empty, and margin has an overdraft of 500000 USD. The group desk contains jane and market.
var register = [][3]string{
	{"PUT", "/v1/assets/USD", `{"name":"US dollar","scale":2}`},
	{"PUT", "/v1/assets/AAPL", `{"name":"Apple <Inc.>","description":"Common stock","scale":0,"currency":"USD"}`},
	{"PUT", "/v1/accounts/jane", `{"name":"Jane Doe","profile":{"email":"j@example.com"}}`},
	{"PUT", "/v1/accounts/market", `{"name":"Market","overdraft":"unlimited"}`},
	{"PUT", "/v1/accounts/margin", `{"overdraft":{"USD":"500000"}}`},
	{"PUT", "/v1/accounts/shop", `{}`},
	{"PUT", "/v1/accounts/fees", `{}`},
	{"PUT", "/v1/accounts/jane/members/u-17", `{"role":"viewer"}`},
	{"PUT", "/v1/groups/desk", `{"name":"The desk"}`},
	{"PUT", "/v1/groups/desk/accounts/jane", ``},
	{"PUT", "/v1/groups/desk/accounts/market", ``},
	{"PUT", "/v1/groups/desk/members/u-17", `{"role":"operator"}`},
	{"POST", "/v1/transfers", `{"id":"d-1","from":"market","to":"jane","asset":"USD","quantity":"500000"}`},
	{"POST", "/v1/trades",
		`{"id":"t-1","asset":"AAPL","buyer":"jane","seller":"market","quantity":"10","cost":"150000","settle":true}`},
}

// fixture is an API over a ledger in memory.
type fixture struct {
	http.Handler
	config    Config
	client    *dynamodb.Client
	now       time.Time
	commands  *spied
	projector *projections.Projector
	log       *bytes.Buffer
	legs      []leg        // posted, oldest first
	asked     atomic.Int64 // requests to the store
	fails     error        // if set, the store fails every request with it
}

// spied is a ledger that records postings, and fails if a test sets an error.
type spied struct {
	Commands
	last     ledger.Request
	until    time.Time // the deadline of the last posting
	failWith error
}

func (s *spied) Post(ctx context.Context, r ledger.Request) (ledger.Posted, error) {
	s.last = r
	s.until, _ = ctx.Deadline()
	if s.failWith != nil {
		return ledger.Posted{}, s.failWith
	}
	return s.Commands.Post(ctx, r)
}

// unprojected returns a fixture whose register is not projected.
func unprojected(t testing.TB) *fixture {
	t.Helper()
	const name = "books"
	f := &fixture{log: &bytes.Buffer{}, now: instant}
	now := func() time.Time { return f.now }
	client := memdb.New(memdb.Options{Now: now}).DynamoDB(func(o *dynamodb.Options) {
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("fixture", func(ctx context.Context,
				in middleware.InitializeInput, next middleware.InitializeHandler,
			) (out middleware.InitializeOutput, m middleware.Metadata, err error) {
				if f.asked.Add(1); f.fails != nil {
					return out, m, f.fails
				}
				return next.HandleInitialize(ctx, in)
			}), middleware.After)
		})
	})
	f.client = client
	if _, err := dynamolocal.CreateTable(t.Context(), client, name); err != nil {
		t.Fatal(err)
	}
	v := table.NewTable(client, name)
	reader := projections.NewReader(v, slog.New(slog.DiscardHandler))
	f.projector = projections.NewProjector(v, now, slog.New(slog.DiscardHandler))
	c := ledger.Config{Table: table.NewTable(client, name), Projections: reader, Now: now}
	commands := ledger.New(c)
	f.commands = &spied{Commands: commands}
	f.config = Config{ // two ledgers, so that reads have an empty cache
		Commands: f.commands, Resources: ledger.New(c), Lists: projections.NewLists(v), Strong: reader,
		Past: projections.NewPast(v, now), Now: now,
		Grants:          ledger.New(c),
		Caller:          LocalCaller,
		Journal:         projections.NewJournalReader(v, now),
		IndexedMetadata: []string{"order", "customer"},
		Version:         "v1.2.3", Log: slog.New(slog.NewJSONHandler(f.log, nil)),
	}
	f.Handler = New(f.config)
	for _, r := range register {
		w := f.do(t, r[0], r[1], r[2])
		if w.Code != http.StatusCreated {
			t.Fatalf("%s answered %d %s", r[1], w.Code, w.Body)
		}
		f.legs = append(f.legs, answer[transaction](t, w).Postings...)
	}
	f.log.Reset()
	f.asked.Store(0)
	return f
}

// newFixture returns a fixture whose register is projected.
func newFixture(t testing.TB) *fixture {
	t.Helper()
	f := unprojected(t)
	records := []projections.Record{
		record(table.Grant.Key("jane", "u-17", 1)), record(table.GroupGrant.Key("desk", "u-17", 1)),
		record(table.Grouping.Key("jane", 1)), record(table.Grouping.Key("market", 1)),
	}
	for _, leg := range f.legs {
		records = append(records, record(table.Posting.Key(leg.Account, leg.Asset, leg.ID)))
	}
	if failed, err := f.projector.Project(t.Context(), records); failed != "" || err != nil {
		t.Fatal(failed, err)
	}
	f.log.Reset()
	f.asked.Store(0)
	return f
}

// items returns every item of the table.
func (f *fixture) items(t testing.TB) map[table.Key]table.Item {
	t.Helper()
	all := map[table.Key]table.Item{}
	pages := dynamodb.NewScanPaginator(f.client, &dynamodb.ScanInput{TableName: aws.String("books")})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			key, err := table.KeyOf(item)
			if err != nil {
				t.Fatal(err)
			}
			all[key] = item
		}
	}
	return all
}

// record returns the stream record of a new item.
func record(k table.Key) projections.Record {
	return projections.Record{SequenceNumber: k.SK, PK: k.PK, SK: k.SK}
}

// do sends a request. headers alternates names and values. A body is sent as JSON unless the headers say otherwise. The
// query may be malformed.
func (f *fixture) do(t testing.TB, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	target, query, _ := strings.Cut(target, "?")
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.URL.RawQuery = query
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

// must sends a request and returns the answer, which must have the status.
func (f *fixture) must(t *testing.T, status int, method, target, body string) *httptest.ResponseRecorder {
	t.Helper()
	w := f.do(t, method, target, body)
	if w.Code != status {
		t.Fatalf("%s %s %s answered %d %s, want %d", method, target, body, w.Code, w.Body, status)
	}
	return w
}

// answer decodes the body of a reply.
func answer[T any](t testing.TB, w *httptest.ResponseRecorder) (v T) {
	t.Helper()
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		t.Fatalf("%v in %s", err, w.Body)
	}
	return v
}

// refused checks that w is a problem with the status and code, and returns the names of its fields, separated by
// spaces. The acceptance suite checks what all problems have in common.
func refused(t testing.TB, w *httptest.ResponseRecorder, status int, code ledger.Code) (fields string) {
	t.Helper()
	p := answer[problem](t, w)
	if w.Code != status || p.Status != status || p.Code != code {
		t.Fatalf("answered %d %s, want %d %s", w.Code, w.Body, status, code)
	}
	var names []string
	for _, f := range p.Errors {
		names = append(names, f.Field)
	}
	return strings.Join(names, " ")
}
