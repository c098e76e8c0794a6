// Package client is a client of the ledger's HTTP API, version 1. Each route has a method, with one exception: Post
// serves all routes that post a transaction, reverse one, or end a hold.
//
// Create one Client with New and reuse it. A Client keeps connections open and remembers which of its writes got no
// answer. Its methods are safe for concurrent use, and return when their context ends. They panic only if a request is
// nil.
//
// # Amounts, times and ids
//
// An amount is a whole number of an asset's minor units, for example cents if the asset is a dollar with a scale of 2.
// events.NewAmount(2500) is 25.00 dollars. A time in an answer is a string in RFC 3339 format, in UTC, with six
// decimals. A pointer field is nil if the API answers null, and a string field is "" if the answer does not have it.
//
// The caller chooses ids: 1 to 64 of A-Z a-z 0-9 . _ : @ -. The id of a transaction is its idempotency key. Choose it
// before the first attempt, store it, and use it again in every retry. The number of an order is a good id.
//
// # Lists
//
// There are two ways to read a Listing. All iterates over all items and reads each page when the loop reaches it. Page
// reads one page, and takes the cursor that the previous page returned.
//
// # Errors
//
// An Error is a problem that the API answered, with a code. An UnknownError means that a write may have been applied:
// send the same request again, with the same id. DeniedError, StatusError and UnreachableError come from a gateway,
// from the network, or from another program at the address. Use errors.As to tell them apart.
//
// # Retries
//
// The client retries where the API allows it. The id of a write is chosen before the first attempt, so a retry never
// has a second effect. A write ends with an answer or with an UnknownError.
//
// A write has no answer if it ended with a timeout, a broken connection, or a 5xx other than a 503 with a code. Such a
// write may still be applied during the next 10 seconds: a command ends within 8 seconds, and the rest allows for the
// network. Until then, a 422 or a 404 does not prove that nothing was posted. If a 422 or a 404 follows such a write,
// the client waits until the 10 seconds have passed, sends the request again, and returns that answer. The client does
// not know about the writes of other clients.
package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"ledger.example/events"
	"ledger.example/internal/retry"
)

const (
	// DefaultURL is where `ledger up` listens by default.
	DefaultURL = "http://127.0.0.1:8080"
	// DefaultTimeout is how long a write is retried by default.
	DefaultTimeout = 30 * time.Second
	// readTimeout is the longest that a read is retried. It is shorter because a failed read loses nothing.
	readTimeout = 10 * time.Second
	// attemptTimeout bounds one attempt. It is longer than the 30 s within which an API Gateway HTTP API answers.
	attemptTimeout = 35 * time.Second
	// replyBytes bounds the size of a reply. A Lambda function answers with at most 6 MB.
	replyBytes = 8 << 20
)

// backoff is the delay between attempts.
var backoff = retry.Backoff{First: 100 * time.Millisecond, Max: 5 * time.Second, Jitter: retry.Half}

// ErrID is returned, wrapped, if an id of the request's path is invalid. Nothing was sent.
var ErrID = errors.New("an id has 1 to 64 characters of A-Z a-z 0-9 . _ : @ - and begins with a letter or a digit")

// Config configures a Client.
type Config struct {
	URL         string        // the API's URL, without /v1; http or https, with or without a path
	Timeout     time.Duration // how long a write is retried; 0 for DefaultTimeout
	Connections int           // idle connections that are kept open; 0 for the default of net/http
	Sign        Signer        // authenticates requests; nil for none
	User        string        // the user to act for, see WithUser; "" to act as the authenticated caller
}

// Client calls one API. It is safe for concurrent use. Create it with New.
type Client struct {
	base    string // without trailing slashes
	http    *http.Client
	sign    Signer
	user    string // of the Ledger-User header; "" for none
	timeout time.Duration
	isNew   bool        // PUTs are for what does not exist: see IfAbsent
	replied atomic.Bool // whether this address has ever replied

	unanswered *unanswered

	now  func() time.Time
	wait func(ctx context.Context, d time.Duration) error
}

// New returns a client. It fails if the URL or the user is invalid.
func New(c Config) (*Client, error) {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil:
		// The error of url.Parse quotes the URL, which may contain a password.
		return nil, errors.New("not a URL, such as https://ledger.example.com")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, fmt.Errorf("%q is not an http or https URL", c.URL)
	case u.User != nil:
		return nil, errors.New("the URL has a user name, which the API does not use: remove the part before @")
	case u.RawQuery != "", u.Fragment != "":
		return nil, fmt.Errorf("%q has a query or a fragment", c.URL)
	case c.User != "" && !events.ValidID(c.User):
		return nil, fmt.Errorf("user %q is not an id: %w", c.User, ErrID)
	case c.Sign != nil && !mayBeSigned(u.Scheme, u.Hostname()):
		return nil, fmt.Errorf("%q is not https: requests with a signature or a token go over plain http to this "+
			"machine only", c.URL)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if c.Connections > 0 {
		transport.MaxIdleConns = 0 // no limit: there is one host, and the limit per host is enough
		transport.MaxIdleConnsPerHost = c.Connections
	}
	return &Client{
		base: strings.TrimRight(u.String(), "/"),
		http: &http.Client{
			Transport: transport,
			// net/http redirects a POST as a GET. Its 200 would look like a successful write.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		sign:    c.Sign,
		user:    c.User,
		timeout: cmp.Or(c.Timeout, DefaultTimeout),

		unanswered: &unanswered{},

		now:  time.Now,
		wait: retry.Sleep,
	}, nil
}

// WithUser returns a client that acts for a user: it may do only what the user's roles allow. The API accepts this from
// services and administrators only. The new client does not know which writes of c got no answer. Error: ErrID.
func (c *Client) WithUser(user string) (*Client, error) {
	if !events.ValidID(user) {
		return nil, fmt.Errorf("user %q is not an id: %w", user, ErrID)
	}
	of := c.copy()
	of.user, of.unanswered = user, &unanswered{}
	return of, nil
}

// IfAbsent returns a client whose methods that create something, or grant a role, do so only if there is nothing yet
// (If-None-Match: *). A user whose role was revoked counts as nothing. Otherwise the error is an Error with the code
// precondition_failed, and the call wrote nothing. After an attempt without an answer it is an UnknownError, because
// what exists may be what that attempt wrote: read it, and compare.
func (c *Client) IfAbsent() *Client {
	of := c.copy()
	of.isNew = true
	return of
}

func (c *Client) copy() *Client {
	return &Client{
		base: c.base, http: c.http, sign: c.sign, user: c.user, timeout: c.timeout, isNew: c.isNew,
		unanswered: c.unanswered, now: c.now, wait: c.wait,
	}
}

// mayLackRole reports whether err may mean that the user lacks a role. Such an answer proves nothing about earlier
// attempts: the user may have had the role then.
func (c *Client) mayLackRole(err error) bool {
	if _, isToken := c.sign.(bearer); c.user == "" && !isToken {
		return false
	}
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Status == http.StatusForbidden || e.Code == CodeAccountNotFound ||
		e.Code == CodeTransactionNotFound || e.Code == CodeGroupNotFound)
}

// call is one request. It may be sent several times.
type call struct {
	method   string
	path     string // relative to the base, escaped
	query    url.Values
	body     []byte // nil for none
	tag      string // of the If-Match header; "" for none
	isDry    bool   // a dry run: it writes nothing
	endsHold bool   // its first answer has the status 200
	id       string // of what is written
	// resources are the paths of everything that the call writes or depends on. An earlier write to one of them that
	// got no answer may still change the answer to this call.
	resources []string
	accept    func(body []byte) error // checks the body of a 2xx; nil for isAbout
	ids       map[string]string       // of the path, by their names
	err       error                   // why the call cannot be sent
}

// makeDry makes the call a dry run. It replaces the query.
func (c *call) makeDry() { c.isDry, c.query = true, url.Values{"dry_run": {"true"}} }

func (c call) writes() bool { return c.method != http.MethodGet && !c.isDry }

// accepts returns why the body of a 2xx is not an answer to the call.
func (c call) accepts(body []byte) error {
	if c.accept == nil {
		return c.isAbout(body)
	}
	return c.accept(body)
}

// transactionPath returns the path of a transaction. The id need not be valid.
func transactionPath(id string) string { return transactionsPath + "/" + escapeID(id) }

// do sends the call until it gets a final answer or the timeout passes. A 422 or 404 that an unanswered write may still
// change is not final. Then do waits, even beyond the timeout, and sends the call again. Errors: *Error, *DeniedError,
// *StatusError, *UnknownError, *UnreachableError, or the last failure of a read.
func (c *Client) do(ctx context.Context, k call) (attemptResult, error) {
	timeout := c.timeout
	if !k.writes() {
		timeout = min(timeout, readTimeout)
	}
	it := &item{call: k}
	_ = c.sendUntilDone(ctx, []*item{it}, timeout, func([]*item) (attemptResult, error) {
		c.settle(it, c.attempt(ctx, k))
		return it.last, nil
	})
	return it.last, it.err
}

// An item is a call that is being sent, by itself or in a batch.
type item struct {
	call
	kind    Kind
	inBatch []byte // the body in a batch

	attempts     int
	last         attemptResult // of the last attempt
	maybeApplied bool
	isPending    bool  // the last attempt was refused, but an unanswered write may still change that
	isDone       bool  // last is the answer, unless there is an err
	err          error // nil unless it is done
}

// end makes err the outcome, as an UnknownError if an earlier attempt may have been applied.
func (it *item) end(err error) {
	if err != nil && (it.maybeApplied || it.isPending) {
		err = &UnknownError{ID: it.id, Attempts: it.attempts, Err: err}
	}
	it.err, it.isDone = err, true
}

// settle updates an item with the result of an attempt.
func (c *Client) settle(it *item, a attemptResult) {
	it.attempts++
	it.last, it.isPending = a, false
	switch {
	case a.verdict == answered && it.maybeApplied && (c.mayLackRole(a.err) || isPrecondition(a.err)):
		// An earlier attempt may have been applied: before the role was revoked, before the account was changed again,
		// or it wrote what a request that must not find anything found.
		it.end(a.err)
	case a.verdict == answered && isRefusal(a.err) && c.unanswered.remaining(it.resources, c.now()) > 0:
		it.isPending = true
	case a.verdict == answered:
		it.err, it.isDone = a.err, true
	case a.verdict == notRetryable: // proves nothing about earlier attempts
		it.end(a.err)
	case a.verdict == unknown && it.writes():
		it.maybeApplied = true
		c.unanswered.add(it.resources, c.now())
	case a.verdict == notSent && !it.maybeApplied && !c.replied.Load():
		it.end(&UnreachableError{URL: c.base, Err: a.err})
	}
}

// sendUntilDone sends items until each has an outcome or the timeout passes. Beyond the timeout it waits for refusals
// that an unanswered write may still change. once sends items once. Its error ends the loop.
func (c *Client) sendUntilDone(
	ctx context.Context, items []*item, timeout time.Duration, once func([]*item) (attemptResult, error),
) error {
	deadline := c.now().Add(timeout)
	giveUp := func(it *item) {
		err := it.last.err
		if it.last.verdict == notSent && !it.maybeApplied && ctx.Err() == nil {
			err = &UnreachableError{URL: c.base, Err: err}
		}
		it.end(err)
	}
	for attempt := 1; len(items) > 0; attempt++ {
		a, err := once(items)
		if err != nil {
			return err
		}
		pause := max(backoff.Delay(attempt), a.retryAfter)
		isOver := c.now().Add(pause).After(deadline) || ctx.Err() != nil
		items = slices.DeleteFunc(slices.Clone(items), func(it *item) bool {
			if isOver && !it.isDone && !it.isPending {
				giveUp(it)
			}
			return it.isDone
		})
		if len(items) > 0 && c.wait(ctx, c.pauseBefore(items, pause)) != nil {
			for _, it := range items {
				giveUp(it)
			}
			return nil
		}
	}
	return nil
}

// pauseBefore returns the time until items are sent again. It is pause, unless all items were refused: then it is the
// time after which all refusals are final.
func (c *Client) pauseBefore(items []*item, pause time.Duration) time.Duration {
	final := time.Duration(0)
	for _, it := range items {
		if !it.isPending {
			return pause
		}
		final = max(final, c.unanswered.remaining(it.resources, c.now()))
	}
	return final
}

// isRefusal reports whether err is a 422 or a 404. Those depend on what is stored, so an unanswered write that is
// applied later may change them. Other refusals do not.
func isRefusal(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Status == http.StatusUnprocessableEntity || e.Status == http.StatusNotFound)
}

// isPrecondition reports whether err is a 412.
func isPrecondition(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Status == http.StatusPreconditionFailed
}

// escapeID escapes an id for a path. It escapes ":" and "@", too: they are legal in a path, but signers do not agree on
// how to encode them.
func escapeID(id string) string { return url.QueryEscape(id) }
