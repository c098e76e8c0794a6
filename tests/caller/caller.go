// Package caller calls a ledger over HTTP for tests. It needs only the ledger's URL.
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
	// timeout is how long an answer may take: far longer than a command lives, for machines that are busy.
	timeout = time.Minute
	// resends is how often Must sends a request again of which the answer doesn't say that it was done.
	resends = 3
)

// Caller calls the ledger at one URL, for one test. It is safe for concurrent use.
type Caller struct {
	T    testing.TB
	URL  string
	HTTP *http.Client
	// Prefix is what ~ stands for in paths, bodies and headers that are sent; in answers it is written ~ again. A test
	// that calls its accounts ~jane and ~bank meets nobody else's, and one without a prefix has jane and bank.
	Prefix string
	// Answered, if set, is called with every answer.
	Answered func(method, path string, r Reply)
}

// New returns a caller of the ledger at url.
func New(t testing.TB, url string) *Caller {
	connections := &http.Transport{MaxIdleConnsPerHost: 64} // many callers at once, none through a proxy
	t.Cleanup(connections.CloseIdleConnections)
	return &Caller{T: t, URL: url, HTTP: &http.Client{Transport: connections, Timeout: timeout}}
}

// NewDirect returns a caller of a ledger in this process, without a network between them.
func NewDirect(t testing.TB, ledger http.Handler) *Caller {
	return &Caller{T: t, URL: "http://ledger.invalid", HTTP: &http.Client{Transport: direct{ledger}, Timeout: timeout}}
}

// direct hands requests to a handler, which goes on when its caller hangs up.
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

// Value decodes the body and walks into it by keys (string) and positions (int); nil where there is nothing.
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

// Text is Value where there is a text, else "".
func (r Reply) Text(path ...any) string {
	text, _ := r.Value(path...).(string)
	return text
}

// Shows fails t unless the body has these values at these paths, whose steps are separated by spaces.
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
			t.Errorf("%s is %v, not %v: %s", path, got, want, r.Body)
		}
	}
}

// Code is an error's stable name, or "".
func (r Reply) Code() string { return r.Text("code") }

// Send makes one request; a body that is not empty is sent as JSON. Headers come as name, value, ….
func (c *Caller) Send(method, path, body string, headers ...string) Reply {
	c.T.Helper()
	r, err := c.Try(method, path, body, headers...)
	if err != nil {
		c.T.Fatal(err)
	}
	return r
}

// Try is Send for any goroutine: its error says that no answer came.
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

// out writes the prefix for ~.
func (c *Caller) out(text string) string { return strings.ReplaceAll(text, "~", c.Prefix) }

// in writes ~ for the prefix.
func (c *Caller) in(text string) string {
	if c.Prefix == "" {
		return text
	}
	return strings.ReplaceAll(text, c.Prefix, "~")
}

// Do makes one request as it is.
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

// Must is Send, and fails the test unless the status is the one given. As callers should, it sends a request with an
// id again after an answer without an outcome, which a machine that is too busy may cause; of 201, it may see the
// replay then.
func (c *Caller) Must(status int, method, path, body string, headers ...string) Reply {
	c.T.Helper()
	repeatable := method != "POST" || strings.Contains(body, `"id":`) || len(headers) > 0 &&
		headers[0] == "Idempotency-Key"
	for sent := 1; ; sent++ {
		r := c.Send(method, path, body, headers...)
		switch {
		case r.Status == status, sent > 1 && status == 201 && r.Status == 200:
			return r
		case repeatable && sent <= resends && r.Status > http.StatusNotImplemented:
			c.T.Logf("%s %s is sent again after %d %s", method, path, r.Status, r.Code())
		default:
			c.T.Fatalf("%s %s %s: status %d, not %d: %s", method, path, body, r.Status, status, r.Body)
		}
	}
}

// AtOnce runs n calls at once, and returns their answers. A request to which no answer comes fails t.
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

// Eventually polls ok until it is true, and fails t when it is not within the deadline. What answers slowly isn't
// asked more often for it.
func Eventually(t testing.TB, within time.Duration, what string, ok func() bool) {
	t.Helper()
	pause := 20 * time.Millisecond
	for end := time.Now().Add(within); ; time.Sleep(pause) {
		asked := time.Now()
		if ok() {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", within, what)
		}
		pause = max(pause, 2*time.Since(asked))
	}
}
