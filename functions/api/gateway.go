package api

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	lambdaevents "github.com/aws/aws-lambda-go/events"
)

// answerMargin is the part of an invocation's time that is reserved for sending the answer.
const answerMargin = 250 * time.Millisecond

// GatewayFunction is a Lambda function behind an API Gateway HTTP API.
type GatewayFunction = func(
	context.Context, lambdaevents.APIGatewayV2HTTPRequest,
) (lambdaevents.APIGatewayV2HTTPResponse, error)

// Gateway adapts a handler to an API Gateway HTTP API (payload format 2.0). The deadline of a request is answerMargin
// before that of the invocation.
func Gateway(h http.Handler) GatewayFunction {
	return func(
		ctx context.Context, e lambdaevents.APIGatewayV2HTTPRequest,
	) (lambdaevents.APIGatewayV2HTTPResponse, error) {
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

// gatewayRequest returns the HTTP request of an event. It fails if the event is of another kind, such as a record of a
// queue or a request in the format of a REST API, and if the body is not base64 although the event says so.
func gatewayRequest(ctx context.Context, e lambdaevents.APIGatewayV2HTTPRequest) (*http.Request, error) {
	if e.RequestContext.HTTP.Method == "" {
		return nil, errors.New("the invocation is not a request of an HTTP API in the payload format 2.0")
	}
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
		// An HTTP API and sam local decode rawPath once, and do not decode rawQueryString. (A Lambda function URL does
		// not decode either.) They also decode an encoded slash, which then separates segments; ids have no slashes.
		URL:   &url.URL{Path: path(e.RawPath, about.Stage), RawQuery: e.RawQueryString},
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        make(http.Header, len(e.Headers)+1),
		Body:          io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)),
		RemoteAddr:    about.HTTP.SourceIP,
	}
	r.RequestURI = r.URL.RequestURI()
	// Names are in lower case. Several values of one header are joined by commas, and stay joined.
	for name, value := range e.Headers {
		r.Header.Set(name, value)
	}
	if len(e.Cookies) > 0 {
		r.Header.Set("Cookie", strings.Join(e.Cookies, "; "))
	}
	// sam local calls every domain localhost, so only the header has the host.
	if r.Host = r.Header.Get("Host"); r.Host == "" {
		r.Host = about.DomainName
	}
	r.Header.Del("Content-Length") // it is that of the body before decoding
	info := gatewayInfo{about.RequestID, about.Authorizer}
	return r.WithContext(context.WithValue(ctx, gatewayKey{}, info)), nil
}

// gatewayKey is the key of gatewayInfo in a request's context.
type gatewayKey struct{}

// gatewayInfo is what only the gateway knows about a request.
type gatewayInfo struct {
	id string // the gateway's request id, which is in its access log
	// authorizer identifies the caller. It is nil if the caller is not authenticated.
	authorizer *lambdaevents.APIGatewayV2HTTPRequestContextAuthorizerDescription
}

// gatewayInfoOf returns the gateway's information about a request, the zero value if no gateway sent it.
func gatewayInfoOf(r *http.Request) gatewayInfo {
	about, _ := r.Context().Value(gatewayKey{}).(gatewayInfo)
	return about
}

// path removes the stage from the beginning of a path. A path does not contain the default stage.
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

// gatewayWriter records a handler's answer.
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

// response returns the answer in the gateway's format. Each header has one value, and a body that is not UTF-8 is
// encoded as base64.
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
	delete(out.Headers, "Content-Length") // the gateway sets it
	switch {
	case method == http.MethodHead:
	case utf8.Valid(w.body.Bytes()):
		out.Body = w.body.String()
	default:
		out.Body, out.IsBase64Encoded = base64.StdEncoding.EncodeToString(w.body.Bytes()), true
	}
	return out
}

// dockerHost is the name by which containers know this machine (functions/local.json).
const dockerHost = "host.docker.internal"

// OwnHost passes requests to next if their Host is a name of this machine or one of names, which are in lower case, and
// rejects all others. The SDK can read the rejection as an error of DynamoDB.
//
// It is for servers on this machine, which do not authenticate callers, so web pages of other sites must not reach
// next. By DNS rebinding such a page can point its own host name to 127.0.0.1, and the browser then sends that name as
// Host.
func OwnHost(next http.Handler, names ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isOwnHost(r.Host, names) {
			next.ServeHTTP(w, r)
			return
		}
		p := newProblem(codeForeignHost,
			"The request's Host is not a name of this machine: use localhost, an IP address, or a name of `up --host`.")
		p.RequestID = RequestID(r.Header)
		refusal := struct {
			*problem
			SDKType string `json:"__type"`
			Message string `json:"message"`
		}{p, string(p.Code), p.Detail}
		w.Header().Set("X-Request-Id", p.RequestID)
		w.Header().Set("Content-Type", problemType)
		w.WriteHeader(p.Status)
		_ = json.NewEncoder(w).Encode(refusal) // it fails if the caller has disconnected
	})
}

// isOwnHost reports whether a host, with or without a port, is a name of this machine that no other site can have: an
// IP address, localhost and its subdomains (RFC 6761), dockerHost, or one of names.
func isOwnHost(host string, names []string) bool {
	if name, port, err := net.SplitHostPort(host); err == nil && strings.Trim(port, "0123456789") == "" {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || host == dockerHost ||
		slices.Contains(names, host)
}
