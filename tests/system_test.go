package tests

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	t        testing.TB
	url      string
	table    string
	client   *dynamodb.Client // the service's own, recorded
	plain    *dynamodb.Client // for looking at the table past the service
	requests *recorder        // what the service asked the table for
	service  *service.Service
	pump     *pump.Pump
	log      *lockedBuffer
	caller   *http.Client
}

// systemOption changes how a system is made.
type systemOption func(*systemConfig)

type systemConfig struct {
	clientOptions []func(*dynamodb.Options)
	noPump        bool
}

// withClient adds to the options of the service's client: faults beneath the real handlers, for example.
func withClient(o func(*dynamodb.Options)) systemOption {
	return func(c *systemConfig) { c.clientOptions = append(c.clientOptions, o) }
}

// withoutPump leaves the stream alone: nothing is projected.
func withoutPump(c *systemConfig) { c.noPump = true }

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
	s.service, err = service.New(service.Config{Client: s.client, Table: table, Actor: api.LocalActor, Version: "test", Log: log})
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
	s.url = "http://" + listener.Addr().String()
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go server.Serve(listener)
	connections := &http.Transport{MaxIdleConnsPerHost: 64} // many callers at once, none through a proxy
	s.caller = &http.Client{Transport: connections}
	s.t.Cleanup(func() {
		connections.CloseIdleConnections()
		server.Close()
	})
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
	eventually(s.t, 30*time.Second, "the stream is projected", func() bool { return s.pump.CaughtUp(now) })
}

// reply is an answer over HTTP.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// value decodes the body and walks into it by keys (string) and positions (int); nil where there is nothing.
func (r reply) value(path ...any) any {
	var v any
	if json.Unmarshal(r.body, &v) != nil {
		return nil
	}
	for _, step := range path {
		switch step := step.(type) {
		case string:
			object, _ := v.(map[string]any)
			v = object[step]
		case int:
			list, _ := v.([]any)
			if step >= len(list) {
				return nil
			}
			v = list[step]
		}
	}
	return v
}

// code is the error's stable name, or "".
func (r reply) code() string {
	code, _ := r.value("code").(string)
	return code
}

// send makes one request; a body that is not empty is sent as JSON. Headers come as name, value, ….
func (s *system) send(method, path, body string, headers ...string) reply {
	s.t.Helper()
	r, err := s.try(method, path, body, headers...)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// try is send for any goroutine: its error says that no answer came.
func (s *system) try(method, path, body string, headers ...string) (reply, error) {
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	return s.do(request)
}

// do makes one request as it is.
func (s *system) do(request *http.Request) (reply, error) {
	response, err := s.caller.Do(request)
	if err != nil {
		return reply{}, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	return reply{response.StatusCode, response.Header, answer}, err
}

// resends is how often must sends a request again of which the answer doesn't say that it was done.
const resends = 3

// must is send, and fails t unless the status is the one given. As callers are told to, it sends a request with an id
// again after a 503 or a 504, which a machine that is too busy may cause; of 201, it may see the replay then.
func (s *system) must(status int, method, path, body string, headers ...string) reply {
	s.t.Helper()
	repeatable := method != "POST" || strings.Contains(body, `"id":`) || len(headers) > 0 && headers[0] == "Idempotency-Key"
	for sent := 1; ; sent++ {
		r := s.send(method, path, body, headers...)
		switch {
		case r.status == status, sent > 1 && status == 201 && r.status == 200:
			return r
		case repeatable && sent <= resends && (r.status == 503 || r.status == 504):
			s.t.Logf("%s %s is sent again after %d %s", method, path, r.status, r.code())
		default:
			s.t.Fatalf("%s %s %s: status %d, not %d: %s", method, path, body, r.status, status, r.body)
		}
	}
}
