package linearizability

import (
	"context"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	template "ledger.example"
	"ledger.example/cmd/ledger/local"
	"ledger.example/cmd/ledger/pump"
	"ledger.example/functions/api"
	"ledger.example/functions/service"
	"ledger.example/ledger/wire"
)

const (
	tableName = "ledger"
	// slowest is the longest that a read of the store is held back.
	slowest = 4 * time.Millisecond
	// latest is the longest that a write is under way after its connection broke.
	latest = 400 * time.Millisecond
)

// random is a source for several at once.
type random struct {
	mu sync.Mutex
	r  *rand.Rand
}

func (r *random) intN(n int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.r.IntN(n)
}

func (r *random) upTo(most time.Duration) time.Duration { return time.Duration(r.intN(int(most))) }

// system is the ledger on one table: handlers behind real HTTP, in processes that share no memory, over a store whose
// answers get lost; and a pump, so that folds move under the reads.
type system struct {
	t       *testing.T
	random  *random
	store   *local.Server
	servers []*http.Server
	urls    []string
	late    sync.WaitGroup // writes under way whose connection broke
	pump    *pump.Pump
}

func startSystem(t *testing.T, processes int, r *rand.Rand) *system {
	t.Helper()
	store, err := local.Start(t.Context(), local.Options{})
	if err != nil {
		t.Fatal("this test needs DynamoDB Local, and it could not be started:", err)
	}
	t.Cleanup(func() {
		if err := store.Stop(context.Background()); err != nil {
			t.Error("stopping DynamoDB Local:", err)
		}
	})
	in, err := local.TableFromTemplate(template.YAML)
	if err != nil {
		t.Fatal(err)
	}
	table, err := local.CreateTable(t.Context(), local.DynamoDB(store.Endpoint), in, tableName)
	if err != nil {
		t.Fatal(err)
	}
	s := &system{t: t, random: &random{r: r}, store: store}
	for range processes {
		s.serve(s.faulty(s.open(s.disturb).API()))
	}
	s.startPump(*table.LatestStreamArn)
	return s
}

// open makes the ledger of one process.
func (s *system) open(options ...func(*dynamodb.Options)) *service.Service {
	s.t.Helper()
	client := wire.NewClient(aws.Config{
		Region:       local.Region,
		BaseEndpoint: &s.store.Endpoint,
		Credentials:  credentials.NewStaticCredentialsProvider("test", "test", ""),
	}, options...)
	l, err := service.New(service.Config{
		Client: client, Table: tableName, Actor: api.LocalActor, Version: "test", Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return l
}

// serve serves a process over HTTP.
func (s *system) serve(h http.Handler) (url string) {
	s.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go server.Serve(listener)
	s.t.Cleanup(func() { server.Close() })
	s.servers = append(s.servers, server)
	s.urls = append(s.urls, "http://"+listener.Addr().String())
	return s.urls[len(s.urls)-1]
}

// settle ends the processes, with all that they have under way, and returns the URL of a new one that nothing disturbs.
func (s *system) settle() string {
	s.t.Helper()
	for _, server := range s.servers {
		if err := server.Shutdown(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
	}
	s.late.Wait()
	return s.serve(s.open().API())
}

func (s *system) startPump(stream string) {
	s.t.Helper()
	settings, err := local.SettingsFromTemplate(template.YAML)
	if err != nil {
		s.t.Fatal(err)
	}
	settings.Window = 0 // folds move all the time
	s.pump, err = pump.New(pump.Options{
		Stream: local.Streams(s.store.Endpoint), StreamARN: stream, Handler: s.open().Stream(), Settings: settings,
		SetAside: filepath.Join(s.t.TempDir(), "set-aside.jsonl"),
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

// fault is what befalls the first write of a request.
type fault int

const (
	none     fault = iota
	lost           // on its way: the connection breaks, and nothing is done
	done           // it is done, and the connection breaks before the answer
	doneLate       // the connection breaks, and it is done later, whoever still waits for it
	blind          // as done, and what became of it cannot be read: the caller hears that the outcome is unknown
)

// plan is what befalls one request of a caller.
type plan struct {
	mu    sync.Mutex
	fault fault
	blind bool // what is read of it from now on is refused
}

type planKey struct{}

// faulty plans what befalls each post.
func (s *system) faulty(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			p := &plan{}
			if n := s.random.intN(30); n < int(blind) {
				p.fault = fault(n + 1)
			}
			r = r.WithContext(context.WithValue(r.Context(), planKey{}, p))
		}
		h.ServeHTTP(w, r)
	})
}

// take returns the fault of the first write, and none for all others.
func (p *plan) take() fault {
	if p == nil {
		return none
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.fault
	p.fault, p.blind = none, p.blind || f == blind
	return f
}

func (p *plan) isBlind() bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.blind
}

// disturb is a client option that puts the faults between the SDK and the store.
func (s *system) disturb(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("disturb", s.send), middleware.After)
	})
}

var (
	errBroken = &smithyhttp.RequestSendError{Err: &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}}
	errDenied = &smithy.GenericAPIError{Code: "AccessDeniedException", Fault: smithy.FaultClient}
)

// send sends one request to the store, or not. A write that was sent is carried out whoever gives it up: what is under way is
// known.
func (s *system) send(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (out middleware.DeserializeOutput, metadata middleware.Metadata, err error) {
	p, _ := ctx.Value(planKey{}).(*plan)
	if middleware.GetOperationName(ctx) != "TransactWriteItems" {
		if p.isBlind() {
			return out, metadata, errDenied
		}
		select {
		case <-time.After(s.random.upTo(slowest)):
		case <-ctx.Done():
		}
		return next.HandleDeserialize(ctx, in)
	}
	ctx = context.WithoutCancel(ctx)
	switch p.take() {
	case lost:
		return out, metadata, errBroken
	case done, blind:
		out, _, _ = next.HandleDeserialize(ctx, in)
		discard(out)
		return middleware.DeserializeOutput{}, metadata, errBroken
	case doneLate:
		s.late.Go(func() {
			<-time.After(s.random.upTo(latest))
			out, _, _ := next.HandleDeserialize(ctx, in)
			discard(out)
		})
		return out, metadata, errBroken
	}
	return next.HandleDeserialize(ctx, in)
}

func discard(out middleware.DeserializeOutput) {
	if r, ok := out.RawResponse.(*smithyhttp.Response); ok {
		io.Copy(io.Discard, r.Body)
		r.Body.Close()
	}
}
