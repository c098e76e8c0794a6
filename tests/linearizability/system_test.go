package linearizability

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"ledger.example/functions/api"
	"ledger.example/internal/local/memdb"
	"ledger.example/tests/full"
	"ledger.example/tests/setup"
)

const (
	tableName = "ledger"
	// slowest is the longest that a read of the store is held back.
	slowest = 4 * time.Millisecond
	// latest is the longest that a write is under way after its connection broke.
	latest = 400 * time.Millisecond
)

// system is the ledger on one table: handlers behind real HTTP, in processes that share no memory, over a store whose
// answers get lost; and a pump, so that folds move under the reads.
type system struct {
	t       *testing.T
	random  *random
	store   setup.Store
	servers []*httptest.Server
	late    sync.WaitGroup // writes under way whose connection broke
}

// startSystem starts it on DynamoDB Local, in the short run on a store in memory.
func startSystem(t *testing.T, processes int, r *random) *system {
	t.Helper()
	s := &system{t: t, random: r}
	if full.Enabled() {
		s.store = setup.DynamoDBLocal(t)
	} else {
		s.store = setup.Memory(memdb.Options{})
	}
	stream := setup.Table(t, s.store.Client(), tableName)
	for range processes {
		s.serve(s.faulty(setup.Service(t, s.store.Client(s.disturb), tableName, api.LocalCaller).API()))
	}
	pumped := setup.Service(t, s.store.Client(), tableName, api.LocalCaller)
	setup.Pump(t, s.store.Streams, stream, pumped, pumped)
	return s
}

// serve serves a process over HTTP.
func (s *system) serve(h http.Handler) (url string) {
	server := httptest.NewServer(h)
	s.t.Cleanup(server.Close)
	s.servers = append(s.servers, server)
	return server.URL
}

func (s *system) urls() (all []string) {
	for _, server := range s.servers {
		all = append(all, server.URL)
	}
	return all
}

// settle ends the processes, with all that they have under way, and returns the URL of a new one that nothing disturbs.
func (s *system) settle() string {
	s.t.Helper()
	for _, server := range s.servers {
		if err := server.Config.Shutdown(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
	}
	s.late.Wait()
	return s.serve(setup.Service(s.t, s.store.Client(), tableName, api.LocalCaller).API())
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
			// A blind command takes all of its time: too long for the short run.
			if n := s.random.intN(30); n < int(full.Count(doneLate, blind)) {
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

// disturb is a client option that puts the faults between the ledger and the SDK. What befalls the SDK's own attempts
// is for package faults.
func (s *system) disturb(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("disturb",
			func(ctx context.Context, in middleware.InitializeInput,
				next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
				return s.send(ctx, in, next)
			}), middleware.After)
	})
}

var (
	errBroken = &smithyhttp.RequestSendError{Err: &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}}
	errDenied = &smithy.GenericAPIError{Code: "AccessDeniedException", Fault: smithy.FaultClient}
)

// send lets next send one request to the store, or not. A write that was sent is carried out whoever gives it up: what
// is under way is known.
func (s *system) send(ctx context.Context, in middleware.InitializeInput,
	next middleware.InitializeHandler) (zero middleware.InitializeOutput, metadata middleware.Metadata, err error) {
	p, _ := ctx.Value(planKey{}).(*plan)
	if middleware.GetOperationName(ctx) != "TransactWriteItems" {
		if p.isBlind() {
			return zero, metadata, errDenied
		}
		select {
		case <-time.After(s.random.upTo(slowest)):
		case <-ctx.Done():
		}
		return next.HandleInitialize(ctx, in)
	}
	ctx = context.WithoutCancel(ctx)
	carryOut := func() { next.HandleInitialize(ctx, in) }
	switch p.take() {
	case lost:
		return zero, metadata, errBroken
	case done, blind:
		carryOut()
		return zero, metadata, errBroken
	case doneLate:
		s.late.Go(func() {
			time.Sleep(s.random.upTo(latest))
			carryOut()
		})
		return zero, metadata, errBroken
	}
	return next.HandleInitialize(ctx, in)
}
