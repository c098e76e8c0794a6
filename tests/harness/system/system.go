// Package system runs a complete ledger in a test process: the real handlers behind HTTP, on a new table. A pump, if
// the test wants one, delivers the table's stream to the real projector and lister. The table is in memory, or in the
// DynamoDB Local of the test process. The package records the requests that the ledger sends to the table.
package system

import (
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/functions/access"
	"ledger.example/functions/api"
	"ledger.example/functions/app"
	"ledger.example/tests/harness/caller"
	"ledger.example/tests/harness/inject"
	"ledger.example/tests/harness/setup"
)

// LogTimeout is the most time between a request's answer and its entry in the log.
const LogTimeout = 5 * time.Second

// System is one process of the ledger, with its own caches, and a caller of its API.
type System struct {
	*caller.Caller
	Store    *Store
	Table    string
	Plain    *dynamodb.Client // for direct access to the table; not recorded
	Client   *dynamodb.Client // the ledger's client; recorded
	Requests *Recorder        // the ledger's requests to the table
	Service  *app.Service
	Log      *Log

	pump setup.Pumps
}

// Option configures a process of the ledger.
type Option func(*config)

type config struct {
	store   *Store
	client  []func(*dynamodb.Options)
	faults  *inject.Set
	pumped  bool
	metrics string
	caller  func(*http.Request) access.Caller
	indexed []string
	direct  bool
}

// On sets the store. The default is a new in-memory store.
func On(s *Store) Option { return func(c *config) { c.store = s } }

// Client adds an option to the ledger's client of the table.
func Client(o func(*dynamodb.Options)) Option {
	return func(c *config) { c.client = append(c.client, o) }
}

// WithFaults injects faults into the ledger's requests to the table.
func WithFaults(f *inject.Set) Option { return func(c *config) { c.faults = f } }

// Pumped starts a pump. Without one, the test delivers records itself.
func Pumped(c *config) { c.pumped = true }

// Metrics switches metrics on, in a namespace.
func Metrics(namespace string) Option { return func(c *config) { c.metrics = namespace } }

// Indexed sets the metadata keys by which transactions are listed. The default is none.
func Indexed(keys ...string) Option { return func(c *config) { c.indexed = keys } }

// Direct calls the API's handler without a network, so that a ledger in memory can run in a testing/synctest bubble.
func Direct(c *config) { c.direct = true }

// Actor sets the service that calls the API. The default is the local caller.
func Actor(name string) Option {
	return func(c *config) {
		c.caller = func(*http.Request) access.Caller { return access.Caller{Service: name, Admin: true} }
	}
}

// Calls sets the function that identifies the caller of a request.
func Calls(who func(*http.Request) access.Caller) Option { return func(c *config) { c.caller = who } }

// New starts a ledger on a new table. It stops when t ends.
func New(t testing.TB, options ...Option) *System {
	t.Helper()
	c := configure(options)
	return serve(t, c, c.store.NewTable(t))
}

// NewProcess starts another process of the ledger on the same table. It shares no memory with the first, and has no pump
// unless an option starts one.
func (s *System) NewProcess(options ...Option) *System {
	s.T.Helper()
	return s.Store.Serve(s.T, s.Table, options...)
}

// Serve starts a process of the ledger on an existing table.
func (s *Store) Serve(t testing.TB, table string, options ...Option) *System {
	t.Helper()
	return serve(t, configure(append(options, On(s))), table)
}

func configure(options []Option) config {
	c := config{caller: api.LocalCaller}
	for _, o := range options {
		o(&c)
	}
	if c.store == nil {
		c.store = Memory(nil)
	}
	return c
}

func serve(t testing.TB, c config, table string) *System {
	t.Helper()
	s := &System{Store: c.store, Table: table, Plain: c.store.clients.Client(), Requests: &Recorder{}, Log: &Log{}}
	s.Client = c.store.client(c.faults, append([]func(*dynamodb.Options){s.Requests.record}, c.client...)...)
	var err error
	s.Service, err = app.New(app.Config{
		Client: s.Client, Table: table, Caller: c.caller, Version: "test", Metrics: c.metrics,
		Indexed: c.indexed,
		Log:     slog.New(slog.NewJSONHandler(s.Log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	if c.direct {
		s.Caller = caller.NewDirect(t, s.Service.API())
	} else {
		s.Caller = caller.New(t, listen(t, s.Service.API()))
	}
	if c.pumped {
		s.StartPump()
	}
	return s
}

// listen serves a handler over HTTP until t ends, and returns its URL.
func listen(t testing.TB, h http.Handler) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })
	return "http://" + listener.Addr().String()
}

// StartPump delivers the table's stream to the projector and the lister until the test ends.
func (s *System) StartPump() {
	s.T.Helper()
	s.pump = setup.Pump(s.T, s.Store.clients.Streams, s.Stream(), s.Service, s.Service)
}

// Stream returns the ARN of the table's stream.
func (s *System) Stream() string {
	s.T.Helper()
	described, err := s.Plain.DescribeTable(s.T.Context(), &dynamodb.DescribeTableInput{TableName: &s.Table})
	if err != nil {
		s.T.Fatal(err)
	}
	return *described.Table.LatestStreamArn
}

// Project waits until the pump has projected everything that was written before the call.
func (s *System) Project() {
	s.T.Helper()
	now := time.Now()
	caller.Eventually(s.T, 30*time.Second, "the stream is projected", func() bool { return s.pump.CaughtUp(now) })
}
