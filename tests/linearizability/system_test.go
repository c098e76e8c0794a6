package linearizability

import (
	"context"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
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
	store   setup.Store
	servers []*httptest.Server
	late    sync.WaitGroup // writes under way whose connection broke
}

// startSystem starts it on DynamoDB Local, in the short run on a store in memory.
func startSystem(t *testing.T, processes int) *system {
	t.Helper()
	s := &system{t: t}
	if full.Enabled() {
		s.store = setup.DynamoDBLocal(t)
	} else {
		s.store = setup.Memory(memdb.Options{})
	}
	stream := setup.Table(t, s.store.Client(), tableName)
	for range processes {
		s.serve(setup.Service(t, s.store.Client(s.disturb), tableName, api.LocalCaller).API())
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

// disturb is a client option that puts the faults between the ledger and the SDK. What befalls the SDK's own attempts
// is for package faults.
func (s *system) disturb(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("disturb", s.send), middleware.After)
	})
}

// errBroken is the connection's, after which its caller does not know what became of a write.
var errBroken = &smithyhttp.RequestSendError{Err: &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}}

// send sends one request to the store. A read is held back for a while. A write may be lost on its way, or done now or
// later without an answer. One that was sent is carried out whoever gives it up: what is under way is known.
func (s *system) send(ctx context.Context, in middleware.InitializeInput,
	next middleware.InitializeHandler) (zero middleware.InitializeOutput, metadata middleware.Metadata, err error) {
	if middleware.GetOperationName(ctx) != "TransactWriteItems" {
		select {
		case <-time.After(rand.N(slowest)):
		case <-ctx.Done():
		}
		return next.HandleInitialize(ctx, in)
	}
	ctx = context.WithoutCancel(ctx)
	carryOut := func() { next.HandleInitialize(ctx, in) }
	switch rand.IntN(30) {
	case 0:
		return zero, metadata, errBroken
	case 1:
		carryOut()
		return zero, metadata, errBroken
	case 2:
		s.late.Go(func() {
			time.Sleep(rand.N(latest))
			carryOut()
		})
		return zero, metadata, errBroken
	}
	return next.HandleInitialize(ctx, in)
}
