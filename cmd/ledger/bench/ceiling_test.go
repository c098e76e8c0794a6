package bench

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	template "ledger.example"
	"ledger.example/cmd/ledger/local"
	"ledger.example/cmd/ledger/memory"
	"ledger.example/functions/api"
	"ledger.example/functions/service"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
)

const ours, twin = "ours", "ours-twin"

// opened is a ledger on a store in memory, whose transactions are captured, and a table beside.
type opened struct {
	t     *testing.T
	store *memory.Store
	capture
	handler http.Handler
}

func open(t *testing.T) *opened {
	o := &opened{t: t, store: memory.New(memory.Options{})}
	in, err := local.TableFromTemplate(template.YAML)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{ours, twin} {
		if _, err := local.CreateTable(t.Context(), o.store.DynamoDB(), in, name); err != nil {
			t.Fatal(err)
		}
	}
	s, err := service.New(service.Config{
		Client: o.store.DynamoDB(o.keep), Table: ours, Actor: api.LocalActor, Version: "test", Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	o.handler = s.API()
	return o
}

func (o *opened) send(status int, method, path, body string) *httptest.ResponseRecorder {
	o.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	o.handler.ServeHTTP(w, r)
	if w.Code != status {
		o.t.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	return w
}

// register opens two limited accounts, of which one has 1000 from an unlimited one.
func (o *opened) register() {
	o.t.Helper()
	o.send(201, "PUT", "/v1/assets/USD", `{"name":"US dollar","scale":2}`)
	o.send(201, "PUT", "/v1/accounts/source", `{"name":"Source","overdraft":"unlimited"}`)
	o.send(201, "PUT", "/v1/accounts/jane", `{"name":"Jane"}`)
	o.send(201, "PUT", "/v1/accounts/joe", `{"name":"Joe"}`)
	o.send(201, "POST", "/v1/transfers", `{"id":"deposit","from":"source","to":"jane","asset":"USD","quantity":"1000"}`)
}

// Everything that succeeded while the capture was on is written to the twin as it was written to our table, to which nothing
// is written; also the debits of a guard that are only covered in our order.
func TestReplay(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.register()
	o.start()
	for i := range 50 {
		o.send(201, "POST", "/v1/transfers", fmt.Sprintf(`{"id":"in-%d","from":"source","to":"jane","asset":"USD","quantity":"10"}`, i))
		o.send(201, "POST", "/v1/transfers", fmt.Sprintf(`{"id":"out-%d","from":"jane","to":"joe","asset":"USD","quantity":"30"}`, i))
	}
	o.send(422, "POST", "/v1/transfers", `{"id":"refused","from":"jane","to":"joe","asset":"USD","quantity":"3000"}`)
	inputs := o.take()
	o.send(201, "POST", "/v1/transfers", `{"id":"off","from":"source","to":"joe","asset":"USD","quantity":"1"}`)
	if again := o.take(); len(inputs) != 100 || len(again) != 0 {
		t.Fatalf("%d transactions were kept, and %d when nothing was to be", len(inputs), len(again))
	}
	out, err := replay(t.Context(), o.store.DynamoDB(), twin, inputs, 8)
	if err != nil || out.count() != len(inputs) || out.failed > 0 || out.elapsed <= 0 || out.used.allocations == 0 {
		t.Fatalf("%+v %v", out, err)
	}
	want, got := make(map[table.Key]wire.Item), make(map[table.Key]wire.Item)
	for _, in := range inputs {
		for _, a := range in.TransactItems {
			if a.Put == nil {
				continue
			}
			if *a.Put.TableName != ours {
				t.Fatal("what was captured was changed")
			}
			k, _ := wire.KeyOf(a.Put.Item)
			want[k] = a.Put.Item
		}
	}
	spent := table.SpendKey("jane", "USD")
	want[spent] = wire.Key(spent)
	maps.Copy(want[spent], wire.Item{table.AttrType: wire.String(table.KindSpend), table.AttrSpent: wire.Integer(1500)})
	pages := dynamodb.NewScanPaginator(o.store.DynamoDB(), &dynamodb.ScanInput{TableName: aws.String(twin)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			k, _ := wire.KeyOf(item)
			got[k] = item
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the twin has %d items and not the %d that were written", len(got), len(want))
	}
	// What fails measures nothing.
	if out, err := replay(t.Context(), o.store.DynamoDB(), twin, inputs, 8); err == nil || out.failed != int64(len(inputs)) {
		t.Errorf("all that is there already: %+v %v", out, err)
	}
}

// A conflict is met as ours is: sent again, as another request.
func TestReplayOfAConflict(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.register()
	o.start()
	o.send(201, "POST", "/v1/transfers", `{"id":"once","from":"jane","to":"joe","asset":"USD","quantity":"30"}`)
	inputs := o.take()
	tokens, tries := make(map[string]bool), 0
	conflicts := func(opts *dynamodb.Options) {
		opts.APIOptions = append(opts.APIOptions, func(stack *middleware.Stack) error {
			return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("conflicts",
				func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (out middleware.InitializeOutput, m middleware.Metadata, err error) {
					tokens[*in.Parameters.(*dynamodb.TransactWriteItemsInput).ClientRequestToken] = true
					if tries++; tries < 3 {
						return out, m, &types.TransactionCanceledException{CancellationReasons: []types.CancellationReason{
							{Code: aws.String(wire.ReasonNone)}, {Code: aws.String(wire.ReasonConflict)},
						}}
					}
					return next.HandleInitialize(ctx, in)
				}), middleware.After)
		})
	}
	out, err := replay(t.Context(), o.store.DynamoDB(conflicts), twin, inputs, 1)
	if err != nil || out.count() != 1 || out.repeated != 2 || out.failed != 0 || len(tokens) != 3 {
		t.Errorf("%+v %v, %d tokens", out, err, len(tokens))
	}
}

// The echo answers what we answered to such a request, to the byte, but only to what is JSON.
func TestEcho(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.register()
	post := `{"id":"e-1","from":"jane","to":"joe","asset":"USD","quantity":"30"}`
	kept := new(keeper)
	for _, r := range []request{
		{method: "POST", path: "/v1/transfers", body: []byte(post), id: "e-1"},
		{method: "GET", path: "/v1/accounts/jane/balances/USD", query: "consistency=strong"},
		{method: "GET", path: "/v1/accounts/jane/balances/USD"},
	} {
		status, path := http.StatusOK, r.path
		if r.id != "" {
			status = http.StatusCreated
		}
		if r.query != "" {
			path += "?" + r.query
		}
		w := o.send(status, r.method, path, string(r.body))
		kept.keep(&r, answer{w.Code, w.Header(), w.Body.Bytes()})
	}
	e := newEcho(kept.taken())
	for _, x := range kept.taken() {
		w := httptest.NewRecorder()
		e.ServeHTTP(w, httptest.NewRequest(x.request.method, x.request.path+"?"+x.request.query, strings.NewReader(string(x.request.body))))
		if w.Code != x.answer.status || w.Body.String() != string(x.answer.body) || !reflect.DeepEqual(w.Header(), x.answer.header) {
			t.Errorf("%s: %d %s %v", x.request.path, w.Code, w.Body, w.Header())
		}
	}
	for body, status := range map[string]int{post: 201, post[:20]: 400, `{"id":7}`: 400} {
		w := httptest.NewRecorder()
		if e.ServeHTTP(w, httptest.NewRequest("POST", "/v1/transfers", strings.NewReader(body))); w.Code != status {
			t.Errorf("%s: %d", body, w.Code)
		}
	}

	var served sync.WaitGroup
	r := &run{Config: Config{Clients: 2, Count: 20}, pool: newPool(2), inside: &inside{Local: Local{
		Serve: func(h http.Handler) (string, func() error, error) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return "", nil, err
			}
			server := &http.Server{Handler: h}
			served.Go(func() { _ = server.Serve(listener) })
			return "http://" + listener.Addr().String(), server.Close, nil
		},
	}}}
	out, err := r.echoed(t.Context(), kept.taken())
	served.Wait() // it was stopped
	if err != nil || out.count() != r.Count || out.used.cpu == 0 {
		t.Errorf("%+v %v", out, err)
	}
}
