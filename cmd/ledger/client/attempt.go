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
	barred                  // something in front of the API refuses, or it cannot be signed: nothing was written, and asking again is no use
	notSent                 // no connection: nothing was written
	notNow                  // the API says that this attempt wrote nothing and may be made again
	unknown                 // it may have been applied, or may still be
)

// reply is a 2xx.
type reply struct {
	status int
	body   []byte
}

type attempted struct {
	verdict    verdict
	reply      reply
	err        error
	retryAfter time.Duration
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
	if c.sign != nil {
		// Each attempt anew: the one before may be minutes old.
		if err := c.sign.Sign(ctx, req, k.body, c.now()); err != nil {
			return attempted{verdict: barred, err: &DeniedError{Err: err}}
		}
	}
	limited, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	resp, err := c.http.Do(req.WithContext(limited))
	if err != nil {
		if neverSent(err) {
			return attempted{verdict: notSent, err: err}
		}
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
	return c.judge(ctx, k, resp, text)
}

// judge reads an answer by API.md's rule: a 4xx or 503 with a code wrote nothing; a 500, a 504 and a reply without a
// code leave the outcome unknown.
func (c *Client) judge(ctx context.Context, k call, resp *http.Response, text []byte) attempted {
	status := resp.StatusCode
	if status >= 200 && status < 300 {
		if err := k.accept(text); err != nil {
			return attempted{verdict: unknown, err: fmt.Errorf("the reply cannot be read: %w", err)}
		}
		return attempted{verdict: answered, reply: reply{status: status, body: text}}
	}
	after := retryAfter(resp.Header.Get("Retry-After"), c.now())
	problem, ok := readProblem(resp, text)
	if !ok {
		err := &StatusError{Status: status, Message: message(text)}
		switch {
		case status == http.StatusUnauthorized, status == http.StatusForbidden:
			return attempted{verdict: barred, err: c.denied(ctx, resp, text)}
		case status >= 500, status == http.StatusRequestTimeout, status == http.StatusTooEarly, status == http.StatusTooManyRequests:
			return attempted{verdict: unknown, err: err, retryAfter: after}
		}
		return attempted{verdict: barred, err: err}
	}
	switch {
	case status == http.StatusUnauthorized: // said before anything is looked up: a refusal that knows of no attempt before
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
	if kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || kind != "application/problem+json" {
		return nil, false
	}
	problem := &Error{}
	if err := json.Unmarshal(text, problem); err != nil || problem.Code == "" {
		return nil, false
	}
	problem.Status = resp.StatusCode
	return problem, true
}

// neverSent tells whether a transport's error proves that no request left: no connection was made.
func neverSent(err error) bool {
	var op *net.OpError
	var certificate *tls.CertificateVerificationError
	return errors.As(err, &op) && op.Op == "dial" ||
		errors.As(err, &certificate) ||
		errors.Is(err, http.ErrSchemeMismatch)
}

// retryAfter reads the header's two forms, seconds and a date; 0 when it is absent or neither.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(header); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}
