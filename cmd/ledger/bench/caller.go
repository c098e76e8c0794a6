package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"ledger.example/cmd/ledger/client"
)

const (
	// attemptTimeout bounds one attempt: a command lives 8 s, an API Gateway HTTP API answers within 30 s.
	attemptTimeout = 35 * time.Second
	// replyBytes bounds a reply: a Lambda function answers at most 6 MB.
	replyBytes = 8 << 20
)

// newPool returns what all of a run's load goes through, ours and the ceilings': it keeps a connection for each of the clients.
// There is no http.Client around it: what that does is not wanted here.
func newPool(clients int) *http.Transport {
	pool := http.DefaultTransport.(*http.Transport).Clone()
	pool.MaxIdleConns = 0 // the bound per host is enough
	pool.MaxIdleConnsPerHost = clients + probesMax
	pool.DisableCompression = true
	return pool
}

// caller sends requests to one API, each once. It follows nothing and repeats nothing. It is safe for concurrent use.
type caller struct {
	pool http.RoundTripper
	base *url.URL      // without a slash at its end
	sign client.Signer // nil: requests are not signed
}

func newCaller(pool http.RoundTripper, base string, sign client.Signer) (*caller, error) {
	u, err := url.Parse(strings.TrimRight(base, "/"))
	if err != nil {
		return nil, fmt.Errorf("not a URL: %w", err)
	}
	return &caller{pool: pool, base: u, sign: sign}, nil
}

// request is one request as it goes over the wire. Ids that stand in a path or a query need no escaping: they are made here.
type request struct {
	method, path, query string
	body                []byte    // nil: none
	id                  string    // of the transaction that it posts; "": it is a read
	about               [2]string // texts that the answer to a read must have
}

// isAnswered tells whether a body looks like the answer to a read, so cheaply that it may be timed: an object that has the
// texts that it must.
func (r *request) isAnswered(body []byte) bool {
	for _, text := range r.about {
		if !quotes(body, text) {
			return false
		}
	}
	body = bytes.TrimRight(body, "\n")
	return r.about[0] == "" || body[0] == '{' && body[len(body)-1] == '}'
}

// quotes tells whether a text stands in quotes somewhere in a body; the empty one always does.
func quotes(body []byte, text string) bool {
	for rest := body; text != ""; {
		i := bytes.Index(rest, []byte(text))
		if i < 0 {
			return false
		}
		end := i + len(text)
		if i > 0 && rest[i-1] == '"' && end < len(rest) && rest[end] == '"' {
			return true
		}
		rest = rest[end:]
	}
	return true
}

// answer is a reply that was read to its end.
type answer struct {
	status int
	header http.Header
	body   []byte // in the buffer that was given
}

// send sends a request once, and reads the whole answer into buffer, which it resets. Safe for concurrent use with a buffer
// each. An error leaves open what became of the request.
func (c *caller) send(ctx context.Context, r *request, buffer *bytes.Buffer) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	u := *c.base
	u.Path += r.path
	u.RawQuery = r.query
	// No GetBody: net/http would repeat the request in silence.
	req := (&http.Request{Method: r.method, URL: &u, Header: make(http.Header, 2)}).WithContext(ctx)
	if r.body != nil {
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(r.body)), int64(len(r.body))
		req.Header["Content-Type"] = []string{"application/json"}
	}
	if c.sign != nil {
		if err := c.sign.Sign(ctx, req, r.body, time.Now()); err != nil {
			return answer{}, err
		}
	}
	resp, err := c.pool.RoundTrip(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	buffer.Reset()
	n, err := buffer.ReadFrom(io.LimitReader(resp.Body, replyBytes+1))
	if err == nil && n > replyBytes {
		err = fmt.Errorf("the reply has more than %d bytes", replyBytes)
	}
	if err != nil {
		return answer{}, err
	}
	return answer{status: resp.StatusCode, header: resp.Header, body: buffer.Bytes()}, nil
}

// exchange is a request of ours and what was answered, kept for the ceiling that answers the same.
type exchange struct {
	request request // with a body of its own
	answer  answer  // the same
}
