// Package caller is an HTTP client of the ledger for tests. It needs only the ledger's URL.
package caller

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// timeout is the time limit of a request. It is long, so that tests pass on busy machines.
	timeout = time.Minute
	// resends is the number of retries that Must does after answers with an unknown outcome.
	resends = 3
)

// Caller sends requests to one ledger, for one test. It is safe for concurrent use.
type Caller struct {
	T    testing.TB
	URL  string
	HTTP *http.Client
	// Prefix replaces ~ in the paths, bodies and headers of requests. In answers, ~ replaces the prefix. Tests that
	// share a ledger have different prefixes, so that ~jane is another account in each of them.
	Prefix string
	// Answered, if not nil, is called with every answer.
	Answered func(method, path string, r Reply)
}

// New returns a caller of the ledger at url.
func New(t testing.TB, url string) *Caller {
	connections := &http.Transport{MaxIdleConnsPerHost: 64} // for concurrent requests; no proxy
	t.Cleanup(connections.CloseIdleConnections)
	return &Caller{T: t, URL: url, HTTP: &http.Client{Transport: connections, Timeout: timeout}}
}

// NewDirect returns a caller that calls a handler in this process, without a network.
func NewDirect(t testing.TB, ledger http.Handler) *Caller {
	return &Caller{T: t, URL: "http://ledger.invalid", HTTP: &http.Client{Transport: direct{ledger}, Timeout: timeout}}
}

// direct passes requests to a handler. The handler continues when the request is cancelled.
type direct struct{ http.Handler }

// RoundTrip implements http.RoundTripper.
func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	answered := make(chan *http.Response, 1)
	go func() {
		answer := httptest.NewRecorder()
		d.ServeHTTP(answer, r)
		answered <- answer.Result()
	}()
	select {
	case answer := <-answered:
		return answer, nil
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}

// Reply is an answer over HTTP.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
}

// Value decodes the body and returns the value at a path of keys (string) and positions (int), nil if there is none.
func (r Reply) Value(path ...any) any {
	var v any
	if json.Unmarshal(r.Body, &v) != nil {
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

// Text returns Value if it is a string, else "".
func (r Reply) Text(path ...any) string {
	text, _ := r.Value(path...).(string)
	return text
}

// Shows fails t unless the body has the wanted values. Its keys are paths with steps separated by spaces.
func (r Reply) Shows(t testing.TB, wanted map[string]any) {
	t.Helper()
	for path, want := range wanted {
		var steps []any
		for step := range strings.FieldsSeq(path) {
			if position, err := strconv.Atoi(step); err == nil {
				steps = append(steps, position)
			} else {
				steps = append(steps, step)
			}
		}
		if got := r.Value(steps...); got != want {
			t.Errorf("%s is %v, want %v: %s", path, got, want, r.Body)
		}
	}
}

// Code returns the code of an error, or "".
func (r Reply) Code() string { return r.Text("code") }

// Send sends one request. A non-empty body is sent as JSON. Headers are pairs of name and value.
func (c *Caller) Send(method, path, body string, headers ...string) Reply {
	c.T.Helper()
	r, err := c.Try(method, path, body, headers...)
	if err != nil {
		c.T.Fatal(err)
	}
	return r
}

// Try is Send for any goroutine: it returns the error instead of failing the test.
func (c *Caller) Try(method, path, body string, headers ...string) (Reply, error) {
	request, err := http.NewRequestWithContext(c.T.Context(), method, c.URL+c.out(path), strings.NewReader(c.out(body)))
	if err != nil {
		return Reply{}, err
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], c.out(headers[i+1]))
	}
	return c.Do(request)
}

// out replaces ~ by the prefix.
func (c *Caller) out(text string) string { return strings.ReplaceAll(text, "~", c.Prefix) }

// in replaces the prefix by ~.
func (c *Caller) in(text string) string {
	if c.Prefix == "" {
		return text
	}
	return strings.ReplaceAll(text, c.Prefix, "~")
}

// Do sends a request unchanged.
func (c *Caller) Do(request *http.Request) (Reply, error) {
	response, err := c.HTTP.Do(request)
	if err != nil {
		return Reply{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return Reply{}, err
	}
	r := Reply{response.StatusCode, response.Header, []byte(c.in(string(body)))}
	for _, name := range []string{"Location", "X-Request-Id"} {
		if value := r.Header.Get(name); value != "" {
			r.Header.Set(name, c.in(value))
		}
	}
	if c.Answered != nil {
		c.Answered(request.Method, request.URL.Path, r)
	}
	return r, nil
}

// Must is Send, but fails the test unless the answer has the given status. It retries a request with an id if its
// outcome is unknown, which happens on busy machines. A retry of a request that should get 201 may get 200, as a
// replay.
func (c *Caller) Must(status int, method, path, body string, headers ...string) Reply {
	c.T.Helper()
	canRetry := method != "POST" || strings.Contains(body, `"id":`) || len(headers) > 0 &&
		headers[0] == "Idempotency-Key"
	for sent := 1; ; sent++ {
		r := c.Send(method, path, body, headers...)
		switch {
		case r.Status == status, sent > 1 && status == 201 && r.Status == 200:
			return r
		case canRetry && sent <= resends && r.Status > http.StatusNotImplemented:
			c.T.Logf("retrying %s %s after %d %s", method, path, r.Status, r.Code())
		default:
			c.T.Fatalf("%s %s %s: status %d, want %d: %s", method, path, body, r.Status, status, r.Body)
		}
	}
}

// AtOnce does n calls concurrently and returns their answers. It fails t if a call returns an error.
func AtOnce(t testing.TB, n int, call func(i int) (Reply, error)) []Reply {
	t.Helper()
	answers, errs := make([]Reply, n), make([]error, n)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			answers[i], errs[i] = call(i)
		})
	}
	close(start)
	all.Wait()
	for i, err := range errs {
		if err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
	}
	return answers
}

// Eventually polls ok until it is true, and fails t if the deadline passes first. The pause grows with the time that ok
// takes, so that a slow server gets fewer polls.
func Eventually(t testing.TB, within time.Duration, what string, ok func() bool) {
	t.Helper()
	pause := 20 * time.Millisecond
	for end := time.Now().Add(within); ; time.Sleep(pause) {
		began := time.Now()
		if ok() {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("timeout after %v: %s", within, what)
		}
		pause = max(pause, 2*time.Since(began))
	}
}
