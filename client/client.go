// Package client calls the ledger's HTTP API, version 1. Each route has a method. The routes that post one
// transaction, reverse one or end a hold share a method: Post takes a request for each.
//
// Make one Client with New, and keep it: it holds connections open, and knows which of its writes got no answer. All
// its methods are safe for concurrent use. A method that sends something ends with its context. Only a nil request
// panics.
//
// # Amounts, times and ids
//
// Amounts are whole numbers of an asset's minor units (cents of a dollar with a scale of 2), as package events has
// them: events.NewAmount(2500) are 25.00 dollars. Times in answers are texts in RFC 3339 with six decimals, in UTC. A
// field that is a pointer is nil where the API answers null; a text that an answer does not have is "". Ids are the
// caller's: 1 to 64 of A-Z a-z 0-9 . _ : @ -. The id of a transaction is what makes it unique, so choose one before
// the first attempt and keep it, such as the number of an order.
//
// # Lists
//
// A Listing is read in one of two ways. All goes through all items, and reads each page when the loop gets to it. Page
// reads one page, from the cursor of the page before.
//
// # Errors
//
// Error is the API's own refusal of a request, with a code: it wrote nothing. UnknownError says that a write may have
// been applied: send the same again, with the same id. DeniedError, StatusError and UnreachableError come from what
// stands before the API. Find them with errors.As.
//
// # Retries
//
// The client retries where the API allows it. A write carries an id that is chosen before the first attempt, so it
// never has two effects. It ends with an answer, or with an UnknownError.
//
// A write without an answer is one that ended with a timeout, a broken connection, or a 5xx other than a 503 with a
// code. Until the command timeout has passed, it may still be applied. Only after that does a 422 or a 404 prove that
// nothing was posted. The client therefore waits for the command timeout before it reports a 422 or a 404 after such a
// write, and asks once more. It does not know the writes of other clients.
package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"ledger.example/events"
	"ledger.example/internal/retry"
)

const (
	// DefaultURL is where `ledger up` listens by default.
	DefaultURL = "http://127.0.0.1:8080"
	// DefaultTimeout is how long a write is retried by default: a person waits for it.
	DefaultTimeout = 30 * time.Second
	// readTimeout bounds the same for a read, which loses nothing by failing early.
	readTimeout = 10 * time.Second
	// attemptTimeout bounds one attempt: a command lives 8 s, an API Gateway HTTP API answers within 30 s.
	attemptTimeout = 35 * time.Second
	// replyBytes bounds a reply: a Lambda function answers at most 6 MB.
	replyBytes = 8 << 20
)

// backoff paces attempts.
var backoff = retry.Backoff{First: 100 * time.Millisecond, Max: 5 * time.Second, Jitter: retry.Half}

// ErrID is returned, wrapped, for an id that cannot stand in a path; nothing was sent.
var ErrID = errors.New("an id is 1 to 64 of A-Z a-z 0-9 . _ : @ - and begins with a letter or a digit")

// Config says whom to call.
type Config struct {
	URL         string        // of the API without /v1: http or https, with or without a path
	Timeout     time.Duration // how long a write is retried; 0: DefaultTimeout
	Connections int           // kept open for concurrent calls; 0: those of net/http
	Sign        Signer        // nil: requests are not signed
	User        string        // act for this user alone, as services and administrators may; "": as who signs
}

// Client calls one API. It is safe for concurrent use. Make it with New.
type Client struct {
	base    string // without slashes at its end
	http    *http.Client
	sign    Signer
	user    string // for whom it acts, "" for itself
	timeout time.Duration
	replied atomic.Bool // some reply has come from this address

	unanswered unanswered

	now  func() time.Time
	wait func(ctx context.Context, d time.Duration) error
}

// New returns a client. The error says what is wrong with the URL or the user.
func New(c Config) (*Client, error) {
	u, err := url.Parse(c.URL)
	switch {
	case err != nil:
		return nil, errors.New("not a URL, such as https://ledger.example.com") // a parser's error may have a password
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, fmt.Errorf("%q is not an http or https URL", c.URL)
	case u.User != nil:
		return nil, errors.New("the URL has a user name, which the API does not know: leave out what stands before @")
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
		transport.MaxIdleConns = 0 // the bound per host is enough: there is one
		transport.MaxIdleConnsPerHost = c.Connections
	}
	return &Client{
		base: strings.TrimRight(u.String(), "/"),
		http: &http.Client{
			Transport: transport,
			// A redirected POST becomes a GET, whose 200 would pass for an answer.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		sign:    c.Sign,
		user:    c.User,
		timeout: cmp.Or(c.Timeout, DefaultTimeout),
		now:     time.Now,
		wait:    retry.Sleep,
	}, nil
}

// WithUser returns a client that acts for one user alone: it may do what the user's roles allow. Only services and
// administrators may have one. It knows nothing of what c sent without an answer. Error: ErrID.
func (c *Client) WithUser(user string) (*Client, error) {
	if !events.ValidID(user) {
		return nil, fmt.Errorf("user %q is not an id: %w", user, ErrID)
	}
	return &Client{
		base: c.base, http: c.http, sign: c.sign, user: user, timeout: c.timeout, now: c.now, wait: c.wait,
	}, nil
}

// saysNoRole reports whether an answer to a user may say that a role is missing. It says nothing about the attempts
// before: they may have been made with the role.
func (c *Client) saysNoRole(err error) bool {
	if _, isToken := c.sign.(bearer); c.user == "" && !isToken {
		return false
	}
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Status == http.StatusForbidden || e.Code == CodeAccountNotFound ||
		e.Code == CodeTransactionNotFound || e.Code == CodeGroupNotFound)
}

// call is one request, sent as often as it takes.
type call struct {
	method string
	path   string // below the base, escaped
	query  url.Values
	body   []byte // of a write
	tag    string // of the If-Match header; "" for none
	isDry  bool   // it asks what a write would do
	// makesNothing tells a write that ends or changes what is there, and is answered by 200 the first time.
	makesNothing bool
	id           string // of what is written or looked up, for the error when the outcome stays unknown
	// about holds the paths of what is written or looked up: an earlier send to one of them that got no answer may
	// still change the answer to this call.
	about  []string
	accept func(body []byte) error
}

func (c call) writes() bool { return c.method != http.MethodGet && !c.isDry }

// transactionPath is the path of a transaction, whose id need not be valid.
func transactionPath(id string) string { return "/v1/transactions/" + url.QueryEscape(id) }

// do sends the call until it is answered or its time is over. A refusal that may come too early is no answer: do waits
// beyond the timeout until it is final, or ctx ends. Errors: *Error, *DeniedError, *StatusError, *UnknownError,
// *UnreachableError, or the last failure of a read.
func (c *Client) do(ctx context.Context, k call) (attempted, error) {
	timeout := c.timeout
	if !k.writes() {
		timeout = min(timeout, readTimeout)
	}
	deadline := c.now().Add(timeout)
	maybeApplied := false
	for attempt := 0; ; attempt++ {
		a := c.attempt(ctx, k)
		switch {
		case a.verdict == answered && maybeApplied && c.saysNoRole(a.err):
			// The role may have been revoked since an attempt that was applied.
			return attempted{}, &UnknownError{ID: k.id, Attempts: attempt + 1, Err: a.err}
		case a.verdict == answered && isRefusal(a.err):
			if left := c.unanswered.left(k.about, c.now()); left > 0 {
				if c.wait(ctx, left) != nil {
					return attempted{}, &UnknownError{ID: k.id, Attempts: attempt + 1, Err: a.err}
				}
				continue
			}
			return attempted{}, a.err
		case a.verdict == answered && maybeApplied && isCode(a.err, CodeVersionMismatch):
			// The attempt before may have made the version that is there now.
			return attempted{}, &UnknownError{ID: k.id, Attempts: attempt + 1, Err: a.err}
		case a.verdict == answered, a.verdict == barred && !maybeApplied:
			return a, a.err
		case a.verdict == barred: // which says nothing about the attempts before
			return attempted{}, &UnknownError{ID: k.id, Attempts: attempt + 1, Err: a.err}
		case a.verdict == unknown && k.writes():
			maybeApplied = true
			c.unanswered.note(k.about, c.now())
		}
		if a.verdict == notSent && !maybeApplied && !c.replied.Load() {
			return attempted{}, &UnreachableError{URL: c.base, Err: a.err}
		}
		pause := max(backoff.Delay(attempt+1), a.retryAfter)
		over := c.now().Add(pause).After(deadline) || ctx.Err() != nil
		if over || c.wait(ctx, pause) != nil {
			switch {
			case maybeApplied:
				return attempted{}, &UnknownError{ID: k.id, Attempts: attempt + 1, Err: a.err}
			case a.verdict == notSent && ctx.Err() == nil:
				return attempted{}, &UnreachableError{URL: c.base, Err: a.err}
			}
			return attempted{}, a.err
		}
	}
}

// isRefusal reports whether an answer says that something was not done or isn't there, which an earlier send may
// change. No other refusal depends on what is under way.
func isRefusal(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Status == http.StatusUnprocessableEntity || e.Status == http.StatusNotFound)
}

// isCode reports whether an answer is a refusal with a code.
func isCode(err error, code string) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == code
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
