package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// verdict says what one attempt proves.
type verdict int

const (
	answered     verdict = iota // the API answered, with success or a refusal
	notRetryable                // a gateway refused the request, or it could not be signed; it wrote nothing
	notSent                     // no connection; it wrote nothing
	retryable                   // the API says that this attempt wrote nothing and may be retried
	unknown                     // it may have been applied, or may still be
)

// attemptResult is the result of one attempt.
type attemptResult struct {
	verdict    verdict
	status     int    // of a 2xx
	body       []byte // of a 2xx
	isReplay   bool   // a 2xx with Idempotent-Replayed
	err        error
	retryAfter time.Duration // from the Retry-After header; 0 for none
}

// attempt sends the call once.
func (c *Client) attempt(ctx context.Context, k call) attemptResult {
	target := c.base + k.path
	if len(k.query) > 0 {
		target += "?" + k.query.Encode()
	}
	var body io.Reader
	if k.body != nil {
		body = bytes.NewReader(k.body)
	}
	req, err := http.NewRequestWithContext(ctx, k.method, target, body)
	if err != nil {
		return attemptResult{verdict: answered, err: err}
	}
	req.Header.Set("Accept", "application/json")
	if k.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if k.tag != "" {
		req.Header.Set("If-Match", k.tag)
	}
	if c.isNew && k.method == http.MethodPut {
		req.Header.Set("If-None-Match", "*")
	}
	if c.user != "" {
		req.Header.Set("Ledger-User", c.user)
	}
	if c.sign != nil {
		// Sign every attempt: a signature expires.
		if err := c.sign.Sign(ctx, req, k.body, c.now()); err != nil {
			return attemptResult{verdict: notRetryable, err: &DeniedError{Err: err}}
		}
	}
	limited, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	resp, err := c.http.Do(req.WithContext(limited))
	switch {
	case err != nil && neverSent(err):
		return attemptResult{verdict: notSent, err: err}
	case err != nil:
		return attemptResult{verdict: unknown, err: err}
	}
	defer resp.Body.Close()
	c.replied.Store(true)
	text, err := io.ReadAll(io.LimitReader(resp.Body, replyBytes+1))
	if err == nil && len(text) > replyBytes {
		err = fmt.Errorf("the reply has more than %d bytes", replyBytes)
	}
	if err != nil {
		return attemptResult{verdict: unknown, err: err}
	}
	return c.judge(k, resp, text)
}

// judge returns what a reply proves. A 4xx or 503 with a code wrote nothing. After a 500, a 504, or a reply without a
// code the outcome is unknown.
func (c *Client) judge(k call, resp *http.Response, text []byte) attemptResult {
	status := resp.StatusCode
	if status >= 200 && status < 300 {
		if err := k.accepts(text); err != nil {
			err = fmt.Errorf("the answer is not a ledger's, check the address of the API (%s): %w", c.base, err)
			if isJSON := isType(resp, "application/json"); !isJSON && !k.writes() {
				return attemptResult{verdict: notRetryable, err: err}
			}
			return attemptResult{verdict: unknown, err: err}
		}
		replay := resp.Header.Get("Idempotent-Replayed") == "true"
		return attemptResult{verdict: answered, status: status, body: text, isReplay: replay}
	}
	after := retryAfter(resp.Header.Get("Retry-After"))
	problem, ok := readProblem(resp, text)
	if !ok {
		err := &StatusError{Status: status, Message: message(text)}
		switch {
		case status == http.StatusUnauthorized, status == http.StatusForbidden:
			return attemptResult{verdict: notRetryable, err: c.denied(resp, text)}
		case status >= 500, status == http.StatusRequestTimeout, status == http.StatusTooEarly,
			status == http.StatusTooManyRequests:
			return attemptResult{verdict: unknown, err: err, retryAfter: after}
		}
		return attemptResult{verdict: notRetryable, err: err}
	}
	return judgeProblem(problem, after)
}

// judgeProblem returns what a problem proves. It is the problem of a request, or of one request of a batch.
func judgeProblem(problem *Error, after time.Duration) attemptResult {
	status := problem.Status
	switch {
	// The API authenticates before it reads the table, so a 401 proves nothing about earlier attempts.
	case status == http.StatusUnauthorized:
		return attemptResult{verdict: notRetryable, err: problem}
	case status == http.StatusServiceUnavailable, status == http.StatusTooManyRequests:
		return attemptResult{verdict: retryable, err: problem, retryAfter: after}
	case status >= 500:
		return attemptResult{verdict: unknown, err: problem, retryAfter: after}
	}
	return attemptResult{verdict: answered, err: problem}
}

// readProblem parses a problem of the API, which has a code. ok is false for any other reply.
func readProblem(resp *http.Response, text []byte) (*Error, bool) {
	if !isType(resp, "application/problem+json") {
		return nil, false
	}
	problem := &Error{}
	if err := json.Unmarshal(text, problem); err != nil || problem.Code == "" {
		return nil, false
	}
	problem.Status, problem.Raw = resp.StatusCode, text
	return problem, true
}

// isType reports whether a reply has the media type.
func isType(resp *http.Response, media string) bool {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return err == nil && kind == media
}

// neverSent reports whether the error of a transport proves that nothing was sent, because there was no connection.
func neverSent(err error) bool {
	var op *net.OpError
	var certificate *tls.CertificateVerificationError
	return errors.As(err, &op) && op.Op == "dial" ||
		errors.As(err, &certificate) ||
		errors.Is(err, http.ErrSchemeMismatch)
}

// retryAfter parses a Retry-After header in seconds. It returns 0 if the header is absent or a date.
func retryAfter(header string) time.Duration {
	seconds, _ := strconv.ParseUint(header, 10, 31)
	return time.Duration(seconds) * time.Second
}

// commandTimeout is how long a write that got no answer may still be applied. A command makes its last attempt within
// 8 s (commandTimeout of package ledger). The rest allows for the network.
const commandTimeout = 10 * time.Second

// unanswered records the writes without an answer that may still be applied, by the paths of their resources. It is
// safe for concurrent use.
type unanswered struct {
	mu sync.Mutex
	at map[string]time.Time // when the last attempt failed
}

// add records that a write to the paths got no answer. It forgets writes that can no longer be applied.
func (u *unanswered) add(paths []string, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.at == nil {
		u.at = make(map[string]time.Time)
	}
	maps.DeleteFunc(u.at, func(_ string, at time.Time) bool { return now.Sub(at) >= commandTimeout })
	for _, path := range paths {
		u.at[path] = now
	}
}

// remaining returns how long such a write to one of the paths may still be applied, 0 if there is none.
func (u *unanswered) remaining(paths []string, now time.Time) (remaining time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, path := range paths {
		if at, ok := u.at[path]; ok {
			remaining = max(remaining, commandTimeout-now.Sub(at))
		}
	}
	return remaining
}
