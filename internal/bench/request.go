package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"ledger.example/client"
	"ledger.example/client/sign"
	"ledger.example/internal/retry"
)

const (
	attemptTimeout = 35 * time.Second // of one attempt: an API Gateway HTTP API answers within 30 s
	attemptsMax    = 10               // of one request
	retryAfterMax  = 10 * time.Second // bounds the pause that an answer may ask for
	answerBytes    = 8 << 20          // bounds an answer: a Lambda function sends at most 6 MB
)

var backoff = retry.Backoff{First: 50 * time.Millisecond, Max: 2 * time.Second, Jitter: retry.Half,
	Random: rand.Int64N}

// newPool returns the connection pool of the workloads and the ceilings, with one connection for each client. It is
// used without an http.Client, which would follow redirects and retry requests.
func newPool(clients int) *http.Transport {
	pool := http.DefaultTransport.(*http.Transport).Clone()
	pool.MaxIdleConns = 0 // the bound per host suffices
	pool.MaxIdleConnsPerHost = clients
	pool.DisableCompression = true
	return pool
}

// endpoint sends requests to one API, without retries. It is safe for concurrent use.
type endpoint struct {
	pool http.RoundTripper
	base *url.URL      // without a slash at its end
	sign client.Signer // nil: requests are not signed
}

func newEndpoint(pool http.RoundTripper, base string, sign client.Signer) (*endpoint, error) {
	u, err := url.Parse(strings.TrimRight(base, "/"))
	if err != nil {
		return nil, fmt.Errorf("not a URL: %w", err)
	}
	return &endpoint{pool: pool, base: u, sign: sign}, nil
}

// request is one HTTP request. Its path and query need no escaping.
type request struct {
	method, path, query string
	body                []byte // nil: none
	names               string // id of the transaction or account that must be in the answer; "": none
}

// answer is a response that was read completely.
type answer struct {
	status int
	header http.Header
	body   []byte // in the caller's buffer
}

// send sends a request once and reads the answer into buffer, which it resets. After an error, the outcome of the
// request is unknown.
func (e *endpoint) send(ctx context.Context, r *request, buffer *bytes.Buffer) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	u := *e.base
	u.Path += r.path
	u.RawQuery = r.query
	// Without GetBody, net/http never retries a request.
	req := (&http.Request{Method: r.method, URL: &u, Header: make(http.Header, 2)}).WithContext(ctx)
	if r.body != nil {
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(r.body)), int64(len(r.body))
		req.Header["Content-Type"] = []string{"application/json"}
	}
	if e.sign != nil {
		if err := e.sign.Sign(ctx, req, r.body, time.Now()); err != nil {
			return answer{}, err
		}
	}
	resp, err := e.pool.RoundTrip(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	buffer.Reset()
	n, err := buffer.ReadFrom(io.LimitReader(resp.Body, answerBytes+1))
	if err == nil && n > answerBytes {
		err = fmt.Errorf("the answer has more than %d bytes", answerBytes)
	}
	if err != nil {
		return answer{}, err
	}
	return answer{status: resp.StatusCode, header: resp.Header, body: buffer.Bytes()}, nil
}

// counts has the outcomes of requests, and the number of retries. While a load runs, mu must be held.
type counts struct {
	mu      sync.Mutex
	done    int64            // requests that succeeded
	errors  map[string]int64 // requests that failed after all attempts, by code
	faults  int64            // failed requests except those with 503 or 429, which a ledger may answer
	retries int64
}

// failed returns the number of failed requests.
func (c *counts) failed() (n int64) {
	for _, requests := range c.errors {
		n += requests
	}
	return n
}

// check returns the failures that are not allowed. Every debit is covered, so refusals are not allowed either.
func (c *counts) check(workload string) []Failed {
	if c.faults == 0 {
		return nil
	}
	return []Failed{{checkErrors, workload, "no errors except 503",
		fmt.Sprintf("%d, with the codes %s", c.faults, strings.Join(slices.Sorted(maps.Keys(c.errors)), ", "))}}
}

// verdict is what an attempt proves about its request.
type verdict int

const (
	final    verdict = iota // it succeeded or was rejected
	declined                // nothing was written, and it may be retried
	unknown                 // it may have been applied, or may still be applied
)

// result is the outcome of a request, and the answer to its last attempt.
type result struct {
	answer
	verdict        // of the last attempt
	code    string // "" if it succeeded
	unknown bool   // an attempt may have been applied, and no later attempt proves the outcome
	retried bool   // an attempt failed; net/http may still read its body
}

// call sends a request until its outcome is known, at most attemptsMax times and with the same id, and counts the
// outcome. The answer is in buffer. An error ends the load: the ledger does not answer, something else answers, or the
// caller is rejected.
//
// When ctx ends, there are no more attempts. When under ends, the attempt in flight is aborted. Neither is an error.
func (r *Run) call(ctx, under context.Context, req *request, buffer *bytes.Buffer, n *counts) (out result, err error) {
	isAnswered := false
	for attempt := 1; ; attempt++ {
		a, err := r.load.send(under, req, buffer)
		if unsigned, ok := errors.AsType[*sign.Error](err); ok {
			return result{}, unsigned
		}
		isAnswered = isAnswered || err == nil
		v, code, fatal := classify(req, a, err)
		if fatal != nil {
			return result{}, fatal
		}
		out = result{a, v, code, v == unknown || out.unknown && v == declined, attempt > 1 || code != ""}
		isLast := attempt == attemptsMax
		switch {
		case v != final && ctx.Err() != nil:
			return out, nil
		case v != final && isLast && !isAnswered:
			return result{}, fmt.Errorf("no answer after %d attempts: %w", attemptsMax, err)
		}
		n.mu.Lock()
		switch {
		case v == final && code == "":
			r.noteSuccess()
			n.done++
		case v == final, isLast:
			if n.errors == nil {
				n.errors = make(map[string]int64)
			}
			n.errors[code]++
			if v != declined {
				n.faults++
			}
		default:
			n.retries++
		}
		n.mu.Unlock()
		if v == final || isLast || retry.Sleep(ctx, max(backoff.Delay(attempt), retryAfter(a))) != nil {
			return out, nil
		}
	}
}

// classify applies the rules of the API to an answer. After a 4xx or 503 with a code, nothing was written. After a 500,
// a 504, an answer without a code, or no answer, the outcome is unknown. fatal is a reason to end the load.
func classify(req *request, a answer, err error) (v verdict, code string, fatal error) {
	if err != nil {
		if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
			return declined, "no_connection", nil
		}
		return unknown, "no_answer", nil // aborted or timed out
	}
	if a.status >= 200 && a.status < 300 {
		if req.names != "" && !bytes.Contains(a.body, []byte(`"`+req.names+`"`)) {
			return unknown, "not_an_answer", nil
		}
		return final, "", nil
	}
	var problem struct{ Code string }
	_ = json.Unmarshal(a.body, &problem) // any other body has no code
	code = problem.Code
	if code == "" {
		code = "status_" + strconv.Itoa(a.status)
	}
	mayRetry := a.status == http.StatusServiceUnavailable || a.status == http.StatusTooManyRequests
	switch {
	case a.status == http.StatusUnauthorized, a.status == http.StatusForbidden:
		return final, code, fmt.Errorf("%s %s: the caller is rejected: %d %s", req.method, req.path, a.status,
			http.StatusText(a.status))
	case problem.Code != "" && mayRetry:
		return declined, code, nil
	case a.status >= 500, problem.Code == "" &&
		(mayRetry || a.status == http.StatusRequestTimeout || a.status == http.StatusTooEarly):
		return unknown, code, nil
	case problem.Code == "":
		return final, code, fmt.Errorf("%s %s: %w", req.method, req.path, &client.StatusError{Status: a.status})
	}
	return final, code, nil
}

// retryAfter returns the pause of the Retry-After header, or 0.
func retryAfter(a answer) time.Duration {
	seconds, _ := strconv.Atoi(a.header.Get("Retry-After")) // 0 if it is not a number
	return min(time.Duration(max(seconds, 0))*time.Second, retryAfterMax)
}
