package tests

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"ledger.example/tests/caller"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	template "ledger.example"
	"ledger.example/cmd/ledger/local"
	"ledger.example/cmd/ledger/pump"
	"ledger.example/functions/api"
	"ledger.example/functions/service"
	"ledger.example/ledger/wire"
)

// system is the whole ledger on a table of its own: the real handlers behind real HTTP, and the table's stream pumped
// into the real projector.
type system struct {
	*caller.Caller
	t        testing.TB
	table    string
	client   *dynamodb.Client // the service's own, recorded
	plain    *dynamodb.Client // for looking at the table past the service
	requests *recorder        // what the service asked the table for
	service  *service.Service
	pump     *pump.Pump
	log      *lockedBuffer
}

// timeToLog is how long after its answer a request may take to be in the log.
const timeToLog = 5 * time.Second

// systemOption changes how a system is made.
type systemOption func(*systemConfig)

type systemConfig struct {
	clientOptions []func(*dynamodb.Options)
	noPump        bool
	metrics       string
}

// withClient adds to the options of the service's client: faults beneath the real handlers, for example.
func withClient(o func(*dynamodb.Options)) systemOption {
	return func(c *systemConfig) { c.clientOptions = append(c.clientOptions, o) }
}

// withoutPump leaves the stream alone: nothing is projected.
func withoutPump(c *systemConfig) { c.noPump = true }

// withMetrics lets the service measure, for a namespace.
func withMetrics(namespace string) systemOption {
	return func(c *systemConfig) { c.metrics = namespace }
}

// newSystem starts a system for t; it ends with t.
func newSystem(t testing.TB, options ...systemOption) *system {
	t.Helper()
	_, table := newTable(t)
	return serve(t, table, options...)
}

// beside starts another process on the system's table: it shares no memory with the first, and pumps nothing.
func (s *system) beside(options ...systemOption) *system {
	s.t.Helper()
	return serve(s.t, s.table, append(options, withoutPump)...)
}

// serve starts a system on a table that is there.
func serve(t testing.TB, table string, options ...systemOption) *system {
	t.Helper()
	var c systemConfig
	for _, o := range options {
		o(&c)
	}
	s := &system{t: t, table: table, requests: &recorder{}, log: &lockedBuffer{}, plain: local.DynamoDB(store.Endpoint)}
	s.client = wire.NewClient(aws.Config{
		Region:       local.Region,
		BaseEndpoint: &store.Endpoint,
		Credentials:  credentials.NewStaticCredentialsProvider("test", "test", ""),
	}, append([]func(*dynamodb.Options){s.requests.record}, c.clientOptions...)...)
	log := slog.New(slog.NewJSONHandler(s.log, nil))
	var err error
	s.service, err = service.New(service.Config{
		Client: s.client, Table: table, Actor: api.LocalActor, Version: "test", Log: log, Metrics: c.metrics,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.listen(s.service.API())
	if !c.noPump {
		s.startPump()
	}
	return s
}

// listen serves a handler over HTTP until t ends, to callers of its own.
func (s *system) listen(h http.Handler) {
	s.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go server.Serve(listener)
	s.t.Cleanup(func() { server.Close() })
	s.Caller = caller.New(s.t, "http://"+listener.Addr().String())
}

// startPump pumps the table's stream into the projector until t ends.
func (s *system) startPump() {
	s.t.Helper()
	settings, err := local.SettingsFromTemplate(template.YAML)
	if err != nil {
		s.t.Fatal(err)
	}
	settings.Window = 0 // tests wait for projections all the time
	described, err := s.client.DescribeTable(s.t.Context(), &dynamodb.DescribeTableInput{TableName: &s.table})
	if err != nil {
		s.t.Fatal(err)
	}
	s.pump, err = pump.New(pump.Options{
		Stream:    local.Streams(store.Endpoint),
		StreamARN: *described.Table.LatestStreamArn,
		Handler:   s.service.Stream(),
		Settings:  settings,
		SetAside:  filepath.Join(s.t.TempDir(), "set-aside.jsonl"),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.pump.Run(ctx) }()
	s.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			s.t.Error("pump:", err)
		}
	})
}

// project waits until everything written before the call is projected.
func (s *system) project() {
	s.t.Helper()
	now := time.Now()
	caller.Eventually(s.t, 30*time.Second, "the stream is projected", func() bool { return s.pump.CaughtUp(now) })
}
