package runtime

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// lambda is a fake of Lambda's runtime API for one process (AWS, "Using the Lambda runtime API for custom runtimes").
type lambda struct {
	address string
	polls   chan struct{} // receives each poll of the process
	offered chan invocation
	started int           // number of invocations
	accept  chan struct{} // if not nil, each answer of a later invocation is accepted after a receive from it

	mu         sync.Mutex
	answers    map[string]chan answer // by the invocation's id
	unexpected []string               // requests that a runtime never sends
}

type invocation struct {
	id       string
	event    []byte
	deadline time.Time
}

// answer is the result of an invocation.
type answer struct {
	text   []byte
	failed bool // the function returned an error
	at     time.Time
}

const runtimePath = "/2018-06-01/runtime/"

// newLambda serves the fake until t ends.
func newLambda(t testing.TB) *lambda {
	t.Helper()
	l := &lambda{polls: make(chan struct{}, 1000), offered: make(chan invocation, 1),
		answers: make(map[string]chan answer)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+runtimePath+"invocation/next", l.next)
	mux.HandleFunc("POST "+runtimePath+"invocation/{id}/response", l.take(false))
	mux.HandleFunc("POST "+runtimePath+"invocation/{id}/error", l.take(true))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.unexpected = append(l.unexpected, r.Method+" "+r.URL.Path)
		http.NotFound(w, r)
	})
	server := httptest.NewServer(mux)
	l.address = server.Listener.Addr().String()
	t.Cleanup(func() {
		server.Config.Close()
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.unexpected) > 0 {
			t.Errorf("the function sent unexpected requests to the runtime API: %v", l.unexpected)
		}
	})
	return l
}

func (l *lambda) next(w http.ResponseWriter, r *http.Request) {
	l.polls <- struct{}{}
	select {
	case <-r.Context().Done():
	case i := <-l.offered:
		h := w.Header()
		h.Set("Lambda-Runtime-Aws-Request-Id", i.id)
		h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(i.deadline.UnixMilli(), 10))
		h.Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:us-east-1:123456789012:function:ledger")
		h.Set("Lambda-Runtime-Trace-Id", "Root=1-5bef4de7-ad49b0e87f6ef6c87fc2e700;Parent=9a9197af755a6419;Sampled=1")
		h.Set("Content-Type", "application/json")
		w.Write(i.event)
	}
}

func (l *lambda) take(failed bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		l.mu.Lock()
		to := l.answers[r.PathValue("id")]
		delete(l.answers, r.PathValue("id"))
		l.mu.Unlock()
		if err != nil || to == nil {
			http.Error(w, "no such invocation", http.StatusBadRequest)
			return
		}
		accept := l.accept // a test may set it as soon as it has the answer: for the next one
		to <- answer{text, failed, time.Now()}
		if accept != nil {
			<-accept
		}
		w.WriteHeader(http.StatusAccepted)
	}
}

// startInvocation gives the process an event, and returns the channel of its answer.
func (l *lambda) startInvocation(event []byte, deadline time.Time) <-chan answer {
	l.started++
	id := fmt.Sprintf("00000000-0000-4000-8000-%012d", l.started)
	to := make(chan answer, 1)
	l.mu.Lock()
	l.answers[id] = to
	l.mu.Unlock()
	l.offered <- invocation{id, event, deadline}
	return to
}

// output collects the output of a process.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// waitFor reports whether there is a line that contains all texts. It waits for it, because output can arrive after the
// answer.
func (o *output) waitFor(texts ...string) bool {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
	next:
		for line := range strings.Lines(o.String()) {
			for _, text := range texts {
				if !strings.Contains(line, text) {
					continue next
				}
			}
			return true
		}
	}
	return false
}
