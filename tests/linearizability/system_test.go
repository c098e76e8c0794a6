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
	"ledger.example/tests/harness/full"
	"ledger.example/tests/harness/setup"
)

const (
	tableName = "ledger"
	// maxReadDelay is the longest delay of a read of the store.
	maxReadDelay = 4 * time.Millisecond
	// maxWriteDelay is the longest time after which a write is applied whose connection broke.
	maxWriteDelay = 400 * time.Millisecond
)

// system is a ledger on one table: several API servers that share no memory, on a store that loses answers, and a pump
// that projects during the reads.
type system struct {
	t       *testing.T
	store   setup.Store
	servers []*httptest.Server
	late    sync.WaitGroup // writes in flight whose connection broke
}

// startSystem starts a system, in the full run on DynamoDB Local, otherwise in memory.
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
		s.serve(setup.Service(t, s.store.Client(s.injectFaults), tableName, api.LocalCaller).API())
	}
	pumped := setup.Service(t, s.store.Client(), tableName, api.LocalCaller)
	setup.Pump(t, s.store.Streams, stream, pumped, pumped)
	return s
}

// serve starts an HTTP server, and returns its URL.
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

// shutDown stops the servers, waits for all requests in flight, and returns the URL of a new server without faults.
func (s *system) shutDown() string {
	s.t.Helper()
	for _, server := range s.servers {
		if err := server.Config.Shutdown(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
	}
	s.late.Wait()
	return s.serve(setup.Service(s.t, s.store.Client(), tableName, api.LocalCaller).API())
}

// injectFaults is a client option that injects faults above the SDK's retries. Package faults tests faults below them.
func (s *system) injectFaults(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("injectFaults", s.send), middleware.After)
	})
}

// errBroken is the error of a broken connection. The outcome of a write is then unknown.
var errBroken = &smithyhttp.RequestSendError{Err: &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}}

// send sends one request to the store. It delays reads. It drops some writes, and applies some now or later without an
// answer. A cancelled context does not stop a write, so that shutDown can wait for it.
func (s *system) send(ctx context.Context, in middleware.InitializeInput,
	next middleware.InitializeHandler) (zero middleware.InitializeOutput, metadata middleware.Metadata, err error) {
	if middleware.GetOperationName(ctx) != "TransactWriteItems" {
		select {
		case <-time.After(rand.N(maxReadDelay)):
		case <-ctx.Done():
		}
		return next.HandleInitialize(ctx, in)
	}
	ctx = context.WithoutCancel(ctx)
	apply := func() { next.HandleInitialize(ctx, in) }
	switch rand.IntN(30) {
	case 0:
		return zero, metadata, errBroken
	case 1:
		apply()
		return zero, metadata, errBroken
	case 2:
		s.late.Go(func() {
			time.Sleep(rand.N(maxWriteDelay))
			apply()
		})
		return zero, metadata, errBroken
	}
	return next.HandleInitialize(ctx, in)
}
