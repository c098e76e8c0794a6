package api

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	lambdaevents "github.com/aws/aws-lambda-go/events"
)

// answerMargin is kept of an invocation's time, for the answer: what is not sent by Lambda's deadline is never sent.
const answerMargin = 250 * time.Millisecond

// Gateway adapts a handler to requests of an API Gateway HTTP API (payload format 2.0). The context is Lambda's: what its
// deadline leaves, less answerMargin, is the request's time.
func Gateway(h http.Handler) func(context.Context, lambdaevents.APIGatewayV2HTTPRequest) (lambdaevents.APIGatewayV2HTTPResponse, error) {
	return func(ctx context.Context, e lambdaevents.APIGatewayV2HTTPRequest) (lambdaevents.APIGatewayV2HTTPResponse, error) {
		if deadline, ok := ctx.Deadline(); ok {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, deadline.Add(-answerMargin))
			defer cancel()
		}
		r, err := gatewayRequest(ctx, e)
		if err != nil {
			return lambdaevents.APIGatewayV2HTTPResponse{}, err
		}
		w := &gatewayWriter{header: http.Header{}}
		h.ServeHTTP(w, r)
		return w.response(r.Method), nil
	}
}

func gatewayRequest(ctx context.Context, e lambdaevents.APIGatewayV2HTTPRequest) (*http.Request, error) {
	body := []byte(e.Body)
	if e.IsBase64Encoded {
		var err error
		if body, err = base64.StdEncoding.DecodeString(e.Body); err != nil {
			return nil, fmt.Errorf("body of the gateway's request: %w", err)
		}
	}
	about := e.RequestContext
	r := &http.Request{
		Method: about.HTTP.Method,
		// An HTTP API decodes rawPath, once, and so does sam local; rawQueryString stays as it came. (A Lambda function
		// URL would not decode.) What was an encoded slash is a slash, then, and no part of an id; our ids have neither.
		URL:   &url.URL{Path: path(e.RawPath, about.Stage), RawQuery: e.RawQueryString},
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        make(http.Header, len(e.Headers)+1),
		Body:          io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)),
		Host:          about.DomainName,
		RemoteAddr:    about.HTTP.SourceIP,
	}
	r.RequestURI = r.URL.RequestURI()
	// Names come in lower case; the values of one that was sent several times come joined by commas, and stay so.
	for name, value := range e.Headers {
		r.Header.Set(name, value)
	}
	if len(e.Cookies) > 0 {
		r.Header.Set("Cookie", strings.Join(e.Cookies, "; "))
	}
	r.Header.Del("Content-Length") // says what the gateway received, perhaps encoded
	return r.WithContext(context.WithValue(ctx, callerKey{}, caller(about.Authorizer))), nil
}

// path leaves out the stage, which begins the path unless it is the default one.
func path(raw, stage string) string {
	if stage == "" || stage == "$default" {
		return raw
	}
	if rest, ok := strings.CutPrefix(raw, "/"+stage); ok && (rest == "" || rest[0] == '/') {
		if rest == "" {
			return "/"
		}
		return rest
	}
	return raw
}

// callerKey is the key in a request's context of who the gateway says sends it.
type callerKey struct{}

// caller returns the identity that the gateway's authorizer vouches for, "" when there was none: the ARN (else the id) of
// an IAM identity, or the subject of a JWT.
func caller(a *lambdaevents.APIGatewayV2HTTPRequestContextAuthorizerDescription) string {
	switch {
	case a == nil:
	case a.IAM != nil && a.IAM.UserARN != "":
		return a.IAM.UserARN
	case a.IAM != nil && a.IAM.CallerID != "":
		return a.IAM.CallerID
	case a.JWT != nil:
		return a.JWT.Claims["sub"]
	}
	return ""
}

// GatewayActor names the caller for whom the gateway vouches. Without one it names nobody, and nothing is served: a
// gateway without an authorizer, or one that is emulated and skips it, opens nothing. Only if local is set, which is for
// that emulation, it is then LocalActor.
func GatewayActor(local bool) func(*http.Request) string {
	return func(r *http.Request) string {
		if actor, _ := r.Context().Value(callerKey{}).(string); actor != "" || !local {
			return actor
		}
		return LocalActor(r)
	}
}

// LocalActor names whoever calls a server on this machine.
func LocalActor(*http.Request) string { return "local" }

// gatewayWriter gathers a handler's answer.
type gatewayWriter struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (w *gatewayWriter) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *gatewayWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

// Write implements http.ResponseWriter.
func (w *gatewayWriter) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(b)
}

func (w *gatewayWriter) response(method string) lambdaevents.APIGatewayV2HTTPResponse {
	w.WriteHeader(http.StatusOK)
	out := lambdaevents.APIGatewayV2HTTPResponse{StatusCode: w.status, Headers: make(map[string]string, len(w.header))}
	for name, values := range w.header {
		if name == "Set-Cookie" {
			out.Cookies = values
			continue
		}
		out.Headers[name] = strings.Join(values, ", ")
	}
	delete(out.Headers, "Content-Length") // the gateway counts
	switch {
	case method == http.MethodHead:
	case utf8.Valid(w.body.Bytes()):
		out.Body = w.body.String()
	default:
		out.Body, out.IsBase64Encoded = base64.StdEncoding.EncodeToString(w.body.Bytes()), true
	}
	return out
}
