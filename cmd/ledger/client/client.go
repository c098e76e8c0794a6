// Package client calls the ledger's HTTP API, version 1.
//
// It asks again where the API says that this is safe, so that a write either gets an answer or is reported as unknown,
// and never has two effects: every write that it sends carries an id chosen before the first attempt.
package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"ledger.example/events"
)

const (
	// DefaultURL is where `ledger up` listens unless told otherwise.
	DefaultURL = "http://127.0.0.1:8080"
	// DefaultPatience is how long a write is asked again for when nothing else is configured: a person waits for it.
	DefaultPatience = 30 * time.Second
	// readPatience bounds the same for a read, which loses nothing by failing early.
	readPatience = 10 * time.Second
	// attemptTimeout bounds one attempt: a command lives 8 s, an API Gateway HTTP API answers within 30 s.
	attemptTimeout = 35 * time.Second
	// firstPause and longestPause bound the pauses between attempts, which double.
	firstPause   = 100 * time.Millisecond
	longestPause = 5 * time.Second
	// replyBytes bounds a reply: a Lambda function answers at most 6 MB.
	replyBytes = 8 << 20
)

// ErrID is returned, wrapped, for an id that cannot stand in a path; nothing was sent.
var ErrID = errors.New("an id is 1 to 64 of A-Z a-z 0-9 . _ : @ - and begins with a letter or a digit")

// Config says whom to call.
type Config struct {
	URL         string        // of the API without /v1: http or https, with or without a path
	Patience    time.Duration // how long a write is asked again for; 0: DefaultPatience
	Connections int           // kept open for concurrent calls; 0: those of net/http
	Sign        Signer        // nil: requests are not signed
}

// Client calls one API. It is safe for concurrent use.
type Client struct {
	base     string // without slashes at its end
	http     *http.Client
	sign     Signer
	patience time.Duration
	replied  atomic.Bool // some reply has come from this address

	now  func() time.Time
	wait func(ctx context.Context, d time.Duration) error
}

// New returns a client. The error says what is wrong with the URL.
func New(c Config) (*Client, error) {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil:
		return nil, fmt.Errorf("not a URL: %w", err)
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, fmt.Errorf("%q is not an http or https URL", c.URL)
	case u.RawQuery != "", u.Fragment != "":
		return nil, fmt.Errorf("%q has a query or a fragment", c.URL)
	case c.Sign != nil && !mayBeSigned(u.Scheme, u.Hostname()):
		return nil, fmt.Errorf("%q is not https: signed requests go over plain http to this machine only", c.URL)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if c.Connections > 0 {
		transport.MaxIdleConns = 0 // the bound per host is enough: there is one
		transport.MaxIdleConnsPerHost = c.Connections
	}
	patience := c.Patience
	if patience == 0 {
		patience = DefaultPatience
	}
	return &Client{
		base: strings.TrimRight(u.String(), "/"),
		http: &http.Client{
			Transport: transport,
			// A redirected POST becomes a GET, whose 200 would pass for an answer.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		sign:     c.Sign,
		patience: patience,
		now:      time.Now,
		wait:     wait,
	}, nil
}

// URL returns the address that the client calls.
func (c *Client) URL() string { return c.base }

// call is one request, sent as often as it takes.
type call struct {
	method string
	path   string // below the base, escaped
	query  url.Values
	body   []byte // of a write
	id     string // of what a write makes, for the error when its outcome stays unknown
	accept func(body []byte) error
}

func (c call) writes() bool { return c.method != http.MethodGet }

// do sends the call until it is answered or patience ends. Errors: *Error, *DeniedError, *StatusError, *UnknownError,
// *UnreachableError, or the last failure of a read.
func (c *Client) do(ctx context.Context, k call) (reply, error) {
	patience := c.patience
	if !k.writes() {
		patience = min(patience, readPatience)
	}
	deadline := c.now().Add(patience)
	maybeApplied := false
	for attempt := 0; ; attempt++ {
		a := c.attempt(ctx, k)
		switch {
		case a.verdict == answered, a.verdict == barred && !maybeApplied:
			return a.reply, a.err
		case a.verdict == barred: // which says nothing about the attempts before
			return reply{}, &UnknownError{ID: k.id, Attempts: attempt + 1, Err: a.err}
		case a.verdict == unknown:
			maybeApplied = k.writes()
		}
		if a.verdict == notSent && !maybeApplied && !c.replied.Load() {
			return reply{}, &UnreachableError{URL: c.base, Err: a.err}
		}
		pause := max(backoff(attempt), a.retryAfter)
		over := c.now().Add(pause).After(deadline) || ctx.Err() != nil
		if over || c.wait(ctx, pause) != nil {
			if maybeApplied {
				return reply{}, &UnknownError{ID: k.id, Attempts: attempt + 1, Err: a.err}
			}
			return reply{}, a.err
		}
	}
}

// backoff returns the pause after the given attempt, counted from 0: doubling, and shortened by chance by up to a half so
// that clients that failed together don't come back together.
func backoff(attempt int) time.Duration {
	d := longestPause
	if attempt < 10 { // the shift stays in range
		d = min(firstPause<<attempt, longestPause)
	}
	return d - rand.N(d/2)
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// segments builds a path of fixed parts and ids in turn: "accounts", account, "balances", asset. Error: ErrID.
func segments(parts ...string) (string, error) {
	path := "/v1"
	for i, p := range parts {
		if i%2 == 1 {
			if !events.ValidID(p) {
				return "", fmt.Errorf("%q is not an id: %w", p, ErrID)
			}
			// ":" and "@" too: they may stand in a path as they are, and then signatures differ in how they count them.
			p = url.QueryEscape(p)
		}
		path += "/" + p
	}
	return path, nil
}
