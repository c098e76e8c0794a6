package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strconv"
	"time"
)

// verdict is what one attempt proves.
type verdict int

const (
	answered verdict = iota // the API's answer, success or refusal: final
	barred                  // a gateway refuses, or it cannot be signed: nothing was written, and a retry is no use
	notSent                 // no connection: nothing was written
	notNow                  // the API says that this attempt wrote nothing and may be made again
	unknown                 // it may have been applied, or may still be
)

// attempted is how one attempt ended.
type attempted struct {
	verdict    verdict
	status     int    // of a 2xx
	body       []byte // of a 2xx
	isReplay   bool   // a 2xx that says that it had been done before
	err        error
	retryAfter time.Duration // before the next attempt, as the API asks
}

// attempt sends the call once.
func (c *Client) attempt(ctx context.Context, k call) attempted {
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
		return attempted{verdict: answered, err: err}
	}
	req.Header.Set("Accept", "application/json")
	if k.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if k.tag != "" {
		req.Header.Set("If-Match", k.tag)
	}
	if c.user != "" {
		req.Header.Set("Ledger-User", c.user)
	}
	if c.sign != nil {
		// Each attempt anew: the one before may be minutes old.
		if err := c.sign.Sign(ctx, req, k.body, c.now()); err != nil {
			return attempted{verdict: barred, err: &DeniedError{Err: err}}
		}
	}
	limited, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	resp, err := c.http.Do(req.WithContext(limited))
	switch {
	case err != nil && neverSent(err):
		return attempted{verdict: notSent, err: err}
	case err != nil:
		return attempted{verdict: unknown, err: err}
	}
	defer resp.Body.Close()
	c.replied.Store(true)
	text, err := io.ReadAll(io.LimitReader(resp.Body, replyBytes+1))
	if err == nil && len(text) > replyBytes {
		err = fmt.Errorf("the reply has more than %d bytes", replyBytes)
	}
	if err != nil {
		return attempted{verdict: unknown, err: err}
	}
	return c.judge(k, resp, text)
}

// judge reads an answer by API.md's rule: a 4xx or 503 with a code wrote nothing; a 500, a 504 and a reply without a
// code leave the outcome unknown.
func (c *Client) judge(k call, resp *http.Response, text []byte) attempted {
	status := resp.StatusCode
	if status >= 200 && status < 300 {
		if err := k.accept(text); err != nil {
			err = fmt.Errorf("the answer is not a ledger's, check the address of the API (%s): %w", c.base, err)
			if isJSON := isType(resp, "application/json"); !isJSON && !k.writes() {
				return attempted{verdict: barred, err: err}
			}
			return attempted{verdict: unknown, err: err}
		}
		replay := resp.Header.Get("Idempotent-Replayed") == "true"
		return attempted{verdict: answered, status: status, body: text, isReplay: replay}
	}
	after := retryAfter(resp.Header.Get("Retry-After"))
	problem, ok := readProblem(resp, text)
	if !ok {
		err := &StatusError{Status: status, Message: message(text)}
		switch {
		case status == http.StatusUnauthorized, status == http.StatusForbidden:
			return attempted{verdict: barred, err: c.denied(resp, text)}
		case status >= 500, status == http.StatusRequestTimeout, status == http.StatusTooEarly,
			status == http.StatusTooManyRequests:
			return attempted{verdict: unknown, err: err, retryAfter: after}
		}
		return attempted{verdict: barred, err: err}
	}
	return judgeProblem(problem, after)
}

// judgeProblem reads what the API says of a whole request, or of one of a batch.
func judgeProblem(problem *Error, after time.Duration) attempted {
	status := problem.Status
	switch {
	// said before anything is looked up: a refusal that knows of no attempt before
	case status == http.StatusUnauthorized:
		return attempted{verdict: barred, err: problem}
	case status == http.StatusServiceUnavailable, status == http.StatusTooManyRequests:
		return attempted{verdict: notNow, err: problem, retryAfter: after}
	case status >= 500:
		return attempted{verdict: unknown, err: problem, retryAfter: after}
	}
	return attempted{verdict: answered, err: problem}
}

// readProblem reads a problem document of ours: one that has a code.
func readProblem(resp *http.Response, text []byte) (*Error, bool) {
	if !isType(resp, "application/problem+json") {
		return nil, false
	}
	problem := &Error{}
	if err := json.Unmarshal(text, problem); err != nil || problem.Code == "" {
		return nil, false
	}
	problem.Status = resp.StatusCode
	return problem, true
}

// isType reports whether a reply says that it is of a media type.
func isType(resp *http.Response, media string) bool {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return err == nil && kind == media
}

// neverSent reports whether a transport's error proves that no request left: no connection was made.
func neverSent(err error) bool {
	var op *net.OpError
	var certificate *tls.CertificateVerificationError
	return errors.As(err, &op) && op.Op == "dial" ||
		errors.As(err, &certificate) ||
		errors.Is(err, http.ErrSchemeMismatch)
}

// retryAfter reads the header, which is in seconds. It returns 0 when the header is absent or a date.
func retryAfter(header string) time.Duration {
	seconds, _ := strconv.ParseUint(header, 10, 31)
	return time.Duration(seconds) * time.Second
}
