// Package gateway emulates an API Gateway HTTP API for tests. It authorizes requests by signature or token, and passes
// them to a function as events (payload format 2.0).
package gateway

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"
)

// Function is a Lambda function behind the gateway.
type Function = func(context.Context, lambdaevents.APIGatewayV2HTTPRequest) (
	lambdaevents.APIGatewayV2HTTPResponse, error)

// Identity is the authenticated sender of a request.
type Identity = lambdaevents.APIGatewayV2HTTPRequestContextAuthorizerDescription

// An Authorizer authenticates requests. Its error is the Answer with which the gateway refuses the request.
type Authorizer interface {
	Authorize(r *http.Request, body []byte) (*Identity, error)
}

// Answer is an answer of the gateway itself, without a call of the function.
type Answer struct {
	Status int
	Header http.Header
	Body   string
	Reason string // for the output of a failed test
}

func (a Answer) Error() string { return a.Reason }

// Message returns the gateway's own answer in JSON.
func Message(status int, message string) Answer {
	text, _ := json.Marshal(map[string]string{"message": message}) // cannot fail for strings
	return Answer{Status: status, Body: string(text), Reason: message}
}

// Gateway serves one function.
type Gateway struct {
	*httptest.Server // with its URL

	authorizer Authorizer
	function   Function

	mu      sync.Mutex
	faulty  *Answer
	refused []string
}

// New starts a gateway, and stops it at the end of t.
func New(t testing.TB, a Authorizer, f Function) *Gateway {
	t.Helper()
	g := &Gateway{authorizer: a, function: f}
	g.Server = httptest.NewServer(g)
	t.Cleanup(g.Close)
	return g
}

// Fail makes the gateway answer all authorized requests with an Answer; nil ends that.
func (g *Gateway) Fail(with *Answer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.faulty = with
}

// Refused returns the refused requests so far, with reasons.
func (g *Gateway) Refused() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]string(nil), g.refused...)
}

// ServeHTTP implements http.Handler.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := g.pass(w, r); err != nil {
		answer, ok := errors.AsType[Answer](err)
		if !ok {
			answer = Message(http.StatusInternalServerError, "Internal Server Error")
		}
		for name, values := range answer.Header {
			w.Header()[name] = values
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(answer.Status)
		io.WriteString(w, answer.Body)
		g.mu.Lock()
		defer g.mu.Unlock()
		g.refused = append(g.refused, r.Method+" "+r.RequestURI+": "+err.Error())
	}
}

func (g *Gateway) pass(w http.ResponseWriter, r *http.Request) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	identity, err := g.authorizer.Authorize(r, body)
	if err != nil {
		return err
	}
	g.mu.Lock()
	faulty := g.faulty
	g.mu.Unlock()
	if faulty != nil {
		return *faulty
	}
	event, err := Event(r, body, identity)
	if err != nil {
		return err
	}
	// Lambda does not cancel a function when the client disconnects.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), time.Minute)
	defer cancel()
	out, err := g.function(ctx, event)
	if err != nil {
		return err
	}
	text := []byte(out.Body)
	if out.IsBase64Encoded {
		if text, err = base64.StdEncoding.DecodeString(out.Body); err != nil {
			return err
		}
	}
	for name, value := range out.Headers {
		w.Header().Set(name, value)
	}
	w.WriteHeader(out.StatusCode)
	w.Write(text)
	return nil
}

// Event converts a request to an event (payload format 2.0). The path is decoded once, header names are in lower case,
// values of the same header are joined by commas, and a body that is not text is in base64.
func Event(r *http.Request, body []byte, who *Identity) (e lambdaevents.APIGatewayV2HTTPRequest, err error) {
	e.Version, e.RawPath, e.RawQueryString = "2.0", r.URL.Path, r.URL.RawQuery
	e.Headers = map[string]string{"host": r.Host}
	for name, values := range r.Header {
		e.Headers[strings.ToLower(name)] = strings.Join(values, ",")
	}
	e.Body = string(body)
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if media != "application/json" && !strings.HasPrefix(media, "text/") {
		e.Body, e.IsBase64Encoded = base64.StdEncoding.EncodeToString(body), true
	}
	about := &e.RequestContext
	about.Stage, about.DomainName, about.Authorizer = "$default", r.Host, who
	about.HTTP.Method, about.HTTP.Path, about.HTTP.SourceIP = r.Method, r.URL.Path, "203.0.113.1"
	text, err := json.Marshal(e) // an event travels as JSON
	if err != nil {
		return e, err
	}
	e = lambdaevents.APIGatewayV2HTTPRequest{}
	return e, json.Unmarshal(text, &e)
}
