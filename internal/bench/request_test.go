package bench

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// answers is a network with scripted answers: "201", "422 code", "cut" (the request arrives, but its answer does not),
// or "none" (the connection is refused). The last one repeats.
type answers struct {
	given []string

	mu   sync.Mutex
	sent []string // bodies
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
	}
	answer := a.given[min(len(a.sent), len(a.given)-1)]
	a.sent = append(a.sent, string(body))
	status, code := 0, ""
	switch fmt.Sscan(answer, &status, &code); {
	case answer == "cut":
		return nil, io.ErrUnexpectedEOF
	case answer == "none":
		return nil, &net.OpError{Op: "dial", Err: errors.New("refused")}
	}
	text := `{"id":"t-1"}`
	header := http.Header{}
	switch {
	case status == 200 && code == "other":
		text = `{"id":"t-2"}`
	case status == 200:
		header.Set("Idempotent-Replayed", "true")
	case status >= 400 && code != "":
		text = fmt.Sprintf(`{"code":%q}`, code)
	case status >= 400:
		text = "<html>"
	}
	if status == 503 {
		header.Set("Retry-After", "3")
	}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(text)),
		Request: r}, nil
}

func TestCall(t *testing.T) {
	for _, c := range []struct {
		answers  string // separated by commas
		code     string
		fatal    bool
		unknown  bool
		attempts int
		counts   *counts
		waited   time.Duration // at least
	}{
		{answers: "201", attempts: 1, counts: &counts{done: 1}},
		{answers: "200", attempts: 1, counts: &counts{done: 1}},
		{answers: "503 throttled,201", attempts: 2, counts: &counts{done: 1, retries: 1}, waited: 3 * time.Second},
		{answers: "504 outcome_unknown,200", attempts: 2, counts: &counts{done: 1, retries: 1}},
		{answers: "cut,201", attempts: 2, counts: &counts{done: 1, retries: 1}},
		{answers: "503,201", attempts: 2, counts: &counts{done: 1, retries: 1}}, // without a code, from a gateway: the outcome is unknown
		{answers: "429,201", attempts: 2, counts: &counts{done: 1, retries: 1}},
		{answers: "200 other,201", attempts: 2, counts: &counts{done: 1, retries: 1}}, // of another program
		{answers: "none,201", attempts: 2, counts: &counts{done: 1, retries: 1}},
		{answers: "422 insufficient_funds", code: "insufficient_funds", attempts: 1, counts: &counts{errors: map[string]int64{"insufficient_funds": 1}}},
		{answers: "cut,422 insufficient_funds", code: "insufficient_funds", attempts: 2,
			counts: &counts{retries: 1, errors: map[string]int64{"insufficient_funds": 1}}},
		{answers: "409 transaction_id_reused", code: "transaction_id_reused", attempts: 1,
			counts: &counts{errors: map[string]int64{"transaction_id_reused": 1}}},
		{answers: "503 contention", code: "contention", attempts: attemptsMax,
			counts: &counts{retries: attemptsMax - 1, errors: map[string]int64{"contention": 1}}},
		{answers: "504 outcome_unknown", code: "outcome_unknown", unknown: true, attempts: attemptsMax,
			counts: &counts{retries: attemptsMax - 1, errors: map[string]int64{"outcome_unknown": 1}}},
		{answers: "cut,503 throttled", code: "throttled", unknown: true, attempts: attemptsMax,
			// the first may have been applied
			counts: &counts{retries: attemptsMax - 1, errors: map[string]int64{"throttled": 1}}},
		{answers: "none", fatal: true, attempts: attemptsMax, counts: &counts{retries: attemptsMax - 1}},
		{answers: "cut", fatal: true, attempts: attemptsMax, counts: &counts{retries: attemptsMax - 1}},
		{answers: "401 unauthenticated", fatal: true, attempts: 1, counts: &counts{}},
		{answers: "403", fatal: true, attempts: 1, counts: &counts{}},
		{answers: "404", fatal: true, attempts: 1, counts: &counts{}}, // not our API
	} {
		synctest.Test(t, func(t *testing.T) {
			network := &answers{given: strings.Split(c.answers, ",")}
			load, err := newEndpoint(network, "http://ledger.example", nil)
			if err != nil {
				t.Fatal(err)
			}
			r := &Run{load: load}
			n := new(counts)
			began := time.Now()
			out, err := r.call(t.Context(), t.Context(),
				&request{method: "POST", path: "/v1/transfers", body: []byte("{}"), names: "t-1"}, new(bytes.Buffer), n)
			if (err != nil) != c.fatal || out.code != c.code || out.unknown != c.unknown ||
				len(network.sent) != c.attempts || time.Since(began) < c.waited {
				t.Errorf("%s: %v, code %q, unknown %v, after %d attempts and %s", c.answers, err, out.code,
					out.unknown, len(network.sent), time.Since(began))
			}
			for _, body := range network.sent {
				if body != "{}" {
					t.Errorf("%s: %q was sent", c.answers, body)
				}
			}
			if n.done != c.counts.done || n.retries != c.counts.retries || !maps.Equal(n.errors, c.counts.errors) {
				t.Errorf("%s: counted %+v", c.answers, n)
			}
		})
	}
}

// A transaction of unknown outcome is retried at the end, and added to the book if it was posted.
func TestResolveRetriesUnknownOutcomes(t *testing.T) {
	given := strings.Split(strings.Repeat("504 outcome_unknown,", attemptsMax), ",")[:attemptsMax]
	for last, c := range map[string]struct {
		postings int64
		pending  int
	}{"200": {1, 0}, "422 insufficient_funds": {0, 0}, "504 outcome_unknown": {0, 1}} {
		synctest.Test(t, func(t *testing.T) {
			r := newRun(2, 1)
			r.load, _ = newEndpoint(&answers{given: append(slices.Clone(given), last)}, "http://ledger.example", nil)
			d := &draft{}
			d.transfer(r.fixture, "t-1", 0, 1, cash, 5)
			out, err := r.call(t.Context(), t.Context(), &d.request, new(bytes.Buffer), new(counts))
			if err != nil || !out.unknown {
				t.Fatalf("%v: %+v", err, out)
			}
			r.record(d, out)
			d.transfer(r.fixture, "t-2", 1, 0, cash, 7) // the client reuses its draft
			if err := r.resolve(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := r.book.at(0, cash); got.postings.Load() != c.postings || got.quantity.Load() != -5*c.postings ||
				len(r.pending) != c.pending {
				t.Errorf("%s: %d postings of %d, %d still unknown", last, got.postings.Load(), got.quantity.Load(),
					len(r.pending))
			}
		})
	}
}
