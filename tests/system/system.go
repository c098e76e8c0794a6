// Package system runs a complete ledger for a test: the real handlers behind real HTTP, on a table of the test's own.
// A test can also ask for a pump, which passes the table's stream to the real projector. The table is in memory, or in
// the DynamoDB Local of the test process. The package records the requests that the ledger sends to the table.
package system

import (
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/functions/api"
	"ledger.example/internal/access"
	"ledger.example/internal/app"
	"ledger.example/tests/caller"
	"ledger.example/tests/fault"
	"ledger.example/tests/setup"
)

// LogTimeout is how long after its answer a request may take to be in the log.
const LogTimeout = 5 * time.Second

// System is a process of the ledger, and a caller of its API.
type System struct {
	*caller.Caller
	Store    *Store
	Table    string
	Plain    *dynamodb.Client // the table past the ledger
	Client   *dynamodb.Client // the ledger's own, recorded
	Requests *Recorder        // what the ledger asked the table for
	Service  *app.Service
	Log      *Log

	pump setup.Pumps
}

// Option changes how a process of the ledger is made.
type Option func(*config)

type config struct {
	store   *Store
	client  []func(*dynamodb.Options)
	faults  *fault.Set
	pumped  bool
	metrics string
	form    int
	caller  func(*http.Request) access.Caller
	indexed []string
	direct  bool
}

// On chooses the store; without it, each system has a store in memory.
func On(s *Store) Option { return func(c *config) { c.store = s } }

// Client adds an option to the ledger's client of the table.
func Client(o func(*dynamodb.Options)) Option {
	return func(c *config) { c.client = append(c.client, o) }
}

// WithFaults lets the ledger's requests to the table meet faults.
func WithFaults(f *fault.Set) Option { return func(c *config) { c.faults = f } }

// Pumped projects all the time. Without it, a test delivers records by itself.
func Pumped(c *config) { c.pumped = true }

// Metrics lets the ledger measure, for a namespace.
func Metrics(namespace string) Option { return func(c *config) { c.metrics = namespace } }

// NewestForm sets the newest stored form that the ledger may write, as the parameter of template.yaml does.
func NewestForm(form int) Option { return func(c *config) { c.form = form } }

// Indexed sets the metadata keys by which transactions are listed; without it, there are none.
func Indexed(keys ...string) Option { return func(c *config) { c.indexed = keys } }

// Direct lets calls reach the API without a network, so that a ledger in memory can run in a bubble of
// testing/synctest.
func Direct(c *config) { c.direct = true }

// Actor sets the service that calls the API; without it, the local caller does.
func Actor(name string) Option {
	return func(c *config) {
		c.caller = func(*http.Request) access.Caller { return access.Caller{Service: name, Admin: true} }
	}
}

// Calls sets who calls the API.
func Calls(who func(*http.Request) access.Caller) Option { return func(c *config) { c.caller = who } }

// New starts a ledger on a table of its own; it ends with t.
func New(t testing.TB, options ...Option) *System {
	t.Helper()
	c := configure(options)
	return serve(t, c, c.store.NewTable(t))
}

// Beside starts another process of the ledger on the same table. It shares no memory with the first, and pumps nothing
// unless an option says so.
func (s *System) Beside(options ...Option) *System {
	s.T.Helper()
	return s.Store.Serve(s.T, s.Table, options...)
}

// Serve starts a process of the ledger on a table that is there.
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
		NewestForm: c.form, Indexed: c.indexed,
		Log: slog.New(slog.NewJSONHandler(s.Log, nil)),
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

// StartPump pumps the table's stream into the projector and the lister until the test ends.
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

// Project waits until everything written before the call is projected by the pump.
func (s *System) Project() {
	s.T.Helper()
	now := time.Now()
	caller.Eventually(s.T, 30*time.Second, "the stream is projected", func() bool { return s.pump.CaughtUp(now) })
}
