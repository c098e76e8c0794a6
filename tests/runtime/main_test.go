// Package runtime runs the real binaries of the functions as Lambda does: as separate processes that poll a runtime API
// for invocations. The runtime API is a fake. The store is DynamoDB Local, behind a proxy that counts requests and can
// delay them.
// Only it finds a binary that does not start, or answers an invocation in the wrong way.
package runtime

import (
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/internal/local/dynamolocal"
	"ledger.example/internal/local/dynamolocal/dynamolocaltest"
	"ledger.example/tests/harness/full"
	"ledger.example/tests/harness/process"
)

func TestMain(m *testing.M) { os.Exit(process.Main(m)) }

// The functions, by the folders of their mains.
const (
	command   = "functions/command"
	query     = "functions/query"
	projector = "functions/projector"
	lister    = "functions/lister"
	sweeper   = "functions/sweeper"
	forwarder = "functions/forwarder"
)

var functions = []string{command, query, projector, lister, sweeper, forwarder}

// buildAll builds every binary with the flags of the Makefile, for this machine.
var buildAll = sync.OnceValue(func() error {
	arguments := []string{"build", "-trimpath", "-tags", "lambda.norpc", "-ldflags", "-s -w", "-o", process.Folder}
	for _, folder := range functions {
		arguments = append(arguments, "./"+folder)
	}
	build := exec.Command("go", arguments...)
	build.Dir, build.Env = "../..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w: %s", err, out)
	}
	return nil
})

const reason = "builds and runs the functions' binaries"

// binary returns the path of a function's binary, which is built once per run.
func binary(t testing.TB, folder string) string {
	t.Helper()
	full.Only(t, reason)
	if err := buildAll(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(process.Folder, filepath.Base(folder))
}

// dynamoDB returns the endpoint of the DynamoDB Local that the tests share.
func dynamoDB(t testing.TB) string {
	t.Helper()
	full.Only(t, reason)
	return dynamolocaltest.Shared(t).Endpoint
}

// newTable creates the table of template.yaml, modified by change if not nil, and returns its name.
func newTable(t testing.TB, change func(*dynamodb.CreateTableInput)) string {
	t.Helper()
	in, err := dynamolocal.Table()
	if err != nil {
		t.Fatal(err)
	}
	in.TableName = aws.String("t-" + rand.Text())
	if change != nil {
		change(in)
	}
	if _, err := dynamolocal.DynamoDB(dynamoDB(t)).CreateTable(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	return *in.TableName
}

// store is DynamoDB Local behind a proxy.
type standin struct {
	url string

	mu          sync.Mutex
	connections int
	requests    []*http.Request
	// hold, if not nil, returns the channel that a request waits for; nil: the request does not wait
	hold func(operation string) <-chan struct{}
}

// newStore serves the proxy until t ends.
func newStore(t testing.TB) *standin {
	t.Helper()
	behind, err := url.Parse(dynamoDB(t))
	if err != nil {
		t.Fatal(err)
	}
	s := &standin{}
	proxy := httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(behind) }}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r.Clone(r.Context()))
		var until <-chan struct{}
		if s.hold != nil {
			until = s.hold(operation(r))
		}
		s.mu.Unlock()
		if until != nil {
			select {
			case <-until:
			case <-r.Context().Done():
				return
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.connections++
		}
	}
	server.Start()
	t.Cleanup(func() { server.Config.Close() })
	s.url = server.URL
	return s
}

// operation returns the name of a request's operation, for example "GetItem".
func operation(r *http.Request) string {
	_, name, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	return name
}

// setHold sets which requests wait from now on. nil: none.
func (s *standin) setHold(hold func(operation string) <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hold = hold
}

// stopAnswering lets the store accept requests, but not answer them.
func (s *standin) stopAnswering() {
	never := make(chan struct{})
	s.setHold(func(string) <-chan struct{} { return never })
}

// observed returns the number of connections and the requests so far.
func (s *standin) observed() (connections int, requests []*http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connections, s.requests
}

// writes counts the write requests so far.
func (s *standin) writes() (n int) {
	_, requests := s.observed()
	for _, r := range requests {
		switch operation(r) {
		case "PutItem", "UpdateItem", "TransactWriteItems":
			n++
		}
	}
	return n
}
