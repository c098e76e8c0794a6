package api

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"

	"ledger.example/functions/api/gatewaytest"
	"ledger.example/ledger"
)

// sample is the request that AWS publishes as the example of payload format 2.0 ("Working with AWS Lambda proxy
// integrations for HTTP APIs"), in whose authorizer and body the tests put what they need.
const sample = `{
  "version": "2.0",
  "routeKey": "$default",
  "rawPath": "/my/path",
  "rawQueryString": "parameter1=value1&parameter1=value2&parameter2=value",
  "cookies": ["cookie1", "cookie2"],
  "headers": {"header1": "value1", "header2": "value1,value2"},
  "queryStringParameters": {"parameter1": "value1,value2", "parameter2": "value"},
  "requestContext": {
    "accountId": "123456789012",
    "apiId": "api-id",
    "authentication": null,
    "authorizer": {"jwt": {"claims": {"claim1": "value1", "claim2": "value2"}, "scopes": ["scope1", "scope2"]}},
    "domainName": "id.execute-api.us-east-1.amazonaws.com",
    "domainPrefix": "id",
    "http": {"method": "POST", "path": "/my/path", "protocol": "HTTP/1.1", "sourceIp": "192.0.2.1", "userAgent": "agent"},
    "requestId": "id",
    "routeKey": "$default",
    "stage": "$default",
    "time": "12/Mar/2020:19:03:58 +0000",
    "timeEpoch": 1583348638390
  },
  "body": "Hello from Lambda",
  "pathParameters": {"parameter1": "value1"},
  "isBase64Encoded": false,
  "stageVariables": {"stageVariable1": "value1", "stageVariable2": "value2"}
}`

func gatewayEvent(t testing.TB, change func(*lambdaevents.APIGatewayV2HTTPRequest)) (e lambdaevents.APIGatewayV2HTTPRequest) {
	t.Helper()
	if err := json.Unmarshal([]byte(sample), &e); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&e)
	}
	return e
}

func TestGatewayRequest(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*lambdaevents.APIGatewayV2HTTPRequest)
		check  func(r *http.Request, body string) bool
	}{
		"as published": {nil, func(r *http.Request, body string) bool {
			return r.Method == "POST" && r.URL.Path == "/my/path" && r.URL.RawQuery == "parameter1=value1&parameter1=value2&parameter2=value" &&
				r.Header.Get("Header2") == "value1,value2" && r.Header.Get("Cookie") == "cookie1; cookie2" && body == "Hello from Lambda" &&
				r.ContentLength == 17 && r.Host == "id.execute-api.us-east-1.amazonaws.com" && r.RemoteAddr == "192.0.2.1"
		}},
		"base64": {func(e *lambdaevents.APIGatewayV2HTTPRequest) { e.Body, e.IsBase64Encoded = "AP8=", true }, func(r *http.Request, body string) bool {
			return body == "\x00\xff" && r.ContentLength == 2
		}},
		"a path that was decoded": {func(e *lambdaevents.APIGatewayV2HTTPRequest) { e.RawPath = "/v1/accounts/a b%2F:@" }, func(r *http.Request, _ string) bool {
			segments, ok := split(r.URL.EscapedPath())
			return ok && len(segments) == 3 && segments[2] == "a b%2F:@"
		}},
		"a stage": {func(e *lambdaevents.APIGatewayV2HTTPRequest) {
			e.RequestContext.Stage, e.RawPath = "prod", "/prod/v1/assets"
		}, func(r *http.Request, _ string) bool { return r.URL.Path == "/v1/assets" }},
		"a stage alone": {func(e *lambdaevents.APIGatewayV2HTTPRequest) { e.RequestContext.Stage, e.RawPath = "prod", "/prod" },
			func(r *http.Request, _ string) bool { return r.URL.Path == "/" }},
		"a stage that is not in the path": {func(e *lambdaevents.APIGatewayV2HTTPRequest) {
			e.RequestContext.Stage, e.RawPath = "prod", "/production/v1"
		}, func(r *http.Request, _ string) bool { return r.URL.Path == "/production/v1" }},
		"the sender's length": {func(e *lambdaevents.APIGatewayV2HTTPRequest) { e.Headers["content-length"] = "9999" }, func(r *http.Request, _ string) bool {
			return r.ContentLength == 17 && r.Header.Get("Content-Length") == ""
		}},
	} {
		seen := false
		_, err := Gateway(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if seen = true; err != nil || !c.check(r, string(body)) {
				t.Errorf("%s: %+v with the body %q, %v", name, r, body, err)
			}
		}))(t.Context(), gatewayEvent(t, c.change))
		if err != nil || !seen {
			t.Errorf("%s: %v", name, err)
		}
	}
	called := false
	_, err := Gateway(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called = true }))(t.Context(), gatewayEvent(t, func(e *lambdaevents.APIGatewayV2HTTPRequest) { e.IsBase64Encoded = true }))
	if err == nil || called {
		t.Error("a body that isn't base64 is passed on")
	}
}

// The events that AWS publishes are understood whole, and so is what it does to a request: names of headers in any case,
// repeated parameters as they came, several cookies, bodies as text or base64, a decoded path.
func TestGatewayTakesPublishedEvents(t *testing.T) {
	f := newFixture(t)
	c := f.config
	c.Actor = GatewayActor(true)
	handler := Gateway(New(c))
	for _, name := range []string{
		"apigw-v2-request-iam.json", "apigw-v2-request-jwt-authorizer.json", "apigw-v2-request-lambda-authorizer.json", "apigw-v2-request-no-authorizer.json",
	} {
		e := gatewaytest.Published(t, name)
		r, err := gatewayRequest(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil || string(body) != e.Body || r.ContentLength != int64(len(e.Body)) {
			t.Errorf("%s: body %q of %d bytes, %v", name, body, r.ContentLength, err)
		}
		if r.Method != e.RequestContext.HTTP.Method || r.URL.Path != e.RawPath || r.Host != e.RequestContext.DomainName ||
			r.Header.Get("Cookie") != strings.Join(e.Cookies, "; ") {
			t.Errorf("%s: %s %s of %s with %v", name, r.Method, r.URL, r.Host, r.Header)
		}
		for given, value := range e.Headers {
			if !strings.EqualFold(given, "Content-Length") && r.Header.Get(strings.ToUpper(given)) != value {
				t.Errorf("%s: headers %v", name, r.Header)
			}
		}
		parameters := r.URL.Query()
		for given, joined := range e.QueryStringParameters {
			if strings.Join(parameters[given], ",") != joined {
				t.Errorf("%s: query %q", name, r.URL.RawQuery)
			}
		}

		// A parameter that the caller repeated is refused, as everywhere.
		e.RawPath, e.RequestContext.HTTP.Method = "/v1/accounts", "GET"
		e.RawQueryString = "limit=1&limit=2&prefix=ja%6Ee&other=%zz"
		out, err := handler(t.Context(), e)
		if err != nil || out.StatusCode != http.StatusBadRequest || !strings.Contains(out.Body, `"limit"`) || !strings.Contains(out.Body, `"other"`) || strings.Contains(out.Body, `"prefix"`) {
			t.Errorf("%s: repeated parameters answered %+v, %v", name, out, err)
		}
		// The path was percent-encoded when it was sent: it comes decoded, once.
		for path, status := range map[string]int{
			"/v1/accounts/jane": 200, "/v1/accounts/users:jane@example.com": 404, "/v1/accounts/j%61ne": 400, "/v1/accounts/ja ne": 400,
			"/v1/accounts/ja?ne#x": 400, "/v1/accounts/j\u00e4ne": 400, "/v1/accounts/ja/ne": 404, "/v1/accounts/%zz": 400, "/v1//accounts": 404, "": 404,
			"/v1/accounts/../assets": 404, "v1/accounts": 404, "//v1/accounts": 404, "/books/v1/accounts": 404,
		} {
			e.RawPath, e.RawQueryString = path, ""
			if out, err := handler(t.Context(), e); err != nil || out.StatusCode != status {
				t.Errorf("%s: %q answered %d %s, %v", name, path, out.StatusCode, out.Body, err)
			}
		}
		// A body that the gateway encoded, since its type isn't text, and names of headers in any case.
		e.RawPath, e.RequestContext.HTTP.Method = "/v1/transfers", "POST"
		e.Body, e.IsBase64Encoded = base64.StdEncoding.EncodeToString([]byte(goodTransfer)), true
		e.Headers = map[string]string{"CONTENT-TYPE": "application/json; charset=UTF-8", "idempotency-KEY": "k-" + name}
		if out, err := handler(t.Context(), e); err != nil || out.StatusCode != http.StatusCreated {
			t.Errorf("%s: a body in base64 answered %+v, %v", name, out, err)
		}
	}
}

func TestGatewayResponse(t *testing.T) {
	send := func(method string, h http.HandlerFunc) lambdaevents.APIGatewayV2HTTPResponse {
		t.Helper()
		out, err := Gateway(h)(t.Context(), gatewayEvent(t, func(e *lambdaevents.APIGatewayV2HTTPRequest) { e.RequestContext.HTTP.Method = method }))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	out := send("GET", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "2")
		w.Header().Add("X-Two", "a")
		w.Header().Add("X-Two", "b")
		w.Header().Add("Set-Cookie", "c=d")
		w.WriteHeader(201)
		w.WriteHeader(500)
		_, _ = io.WriteString(w, "é")
	})
	if out.StatusCode != 201 || out.Body != "é" || out.IsBase64Encoded || out.Headers["X-Two"] != "a, b" || len(out.Cookies) != 1 || out.Headers["Content-Length"] != "" {
		t.Errorf("answered %+v", out)
	}
	if out := send("GET", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte{0, 255}) }); out.StatusCode != 200 || out.Body != "AP8=" || !out.IsBase64Encoded {
		t.Errorf("bytes came as %+v", out)
	}
	if out := send("GET", func(http.ResponseWriter, *http.Request) {}); out.StatusCode != 200 || out.Body != "" {
		t.Errorf("nothing came as %+v", out)
	}
	if out := send("HEAD", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "body") }); out.Body != "" {
		t.Errorf("HEAD came with %+v", out)
	}
	// What API Gateway is told is in its format: no multi-value headers, and text as text.
	text, err := json.Marshal(out)
	if err != nil || !strings.Contains(string(text), `"body":"é"`) || !strings.Contains(string(text), `"cookies":["c=d"]`) {
		t.Errorf("answered %s, %v", text, err)
	}
}

// The API behind the gateway: a whole request, and Lambda's deadline.
func TestGatewayServesTheAPI(t *testing.T) {
	f := newFixture(t)
	c := f.config
	c.Actor = GatewayActor(false)
	handler := Gateway(New(c))
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(time.Minute))
	defer cancel()
	event := gatewayEvent(t, func(e *lambdaevents.APIGatewayV2HTTPRequest) {
		e.RawPath, e.RawQueryString, e.Body = "/v1/transfers", "", goodTransfer
		e.Headers = map[string]string{"content-type": "application/json", "idempotency-key": "k-1", "x-request-id": "r-1"}
		e.RequestContext.Authorizer = &lambdaevents.APIGatewayV2HTTPRequestContextAuthorizerDescription{IAM: &lambdaevents.APIGatewayV2HTTPRequestContextAuthorizerIAMDescription{UserARN: "arn:aws:iam::1:user/jane"}}
	})
	out, err := handler(ctx, event)
	if err != nil || out.StatusCode != 201 || out.Headers["X-Request-Id"] != "r-1" || out.Headers["Content-Type"] != jsonType {
		t.Fatalf("answered %+v, %v", out, err)
	}
	if c, ok := f.commands.last.(ledger.PostTransfer); !ok || c.Actor != "arn:aws:iam::1:user/jane" || c.ID != "k-1" {
		t.Errorf("posted %+v", f.commands.last)
	}
	if until, _ := ctx.Deadline(); !f.commands.until.Before(until) || until.Sub(f.commands.until) > time.Second {
		t.Errorf("the command has until %v, Lambda's deadline is %v", f.commands.until, until)
	}
	event.Headers["idempotency-key"] = "k-1,k-1" // sent twice
	if out, err = handler(ctx, event); err != nil || out.StatusCode != 400 || !strings.Contains(out.Body, `"field":"Idempotency-Key"`) {
		t.Errorf("two keys answered %+v, %v", out, err)
	}
	event.RequestContext.Authorizer = nil
	if out, err = handler(ctx, event); err != nil || out.StatusCode != 401 {
		t.Errorf("nobody answered %+v, %v", out, err)
	}
	event = gatewayEvent(t, func(e *lambdaevents.APIGatewayV2HTTPRequest) {
		e.RawPath, e.RawQueryString, e.Body, e.RequestContext.HTTP.Method = "/v1/accounts/jane/balances", "limit=1", "", "HEAD"
		e.RequestContext.Authorizer.JWT.Claims["sub"] = "user-1"
	})
	if out, err = handler(ctx, event); err != nil || out.StatusCode != 200 || out.Body != "" {
		t.Errorf("HEAD answered %+v, %v", out, err)
	}
}

func TestGatewayActor(t *testing.T) {
	type authorizer = lambdaevents.APIGatewayV2HTTPRequestContextAuthorizerDescription
	type iam = lambdaevents.APIGatewayV2HTTPRequestContextAuthorizerIAMDescription
	type jwt = lambdaevents.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription
	for _, c := range []struct {
		authorizer *authorizer
		deployed   string
		local      string
	}{
		{nil, "", "local"},
		{&authorizer{}, "", "local"},
		{&authorizer{IAM: &iam{}}, "", "local"},
		{&authorizer{Lambda: map[string]any{"sub": "x"}}, "", "local"},
		{&authorizer{JWT: &jwt{Claims: map[string]string{"name": "x"}}}, "", "local"},
		{&authorizer{JWT: &jwt{Claims: map[string]string{"sub": "user-1"}}}, "user-1", "user-1"},
		{&authorizer{IAM: &iam{UserARN: "arn:aws:sts::1:assumed-role/r/s", CallerID: "AROA:s"}}, "arn:aws:sts::1:assumed-role/r/s", "arn:aws:sts::1:assumed-role/r/s"},
		{&authorizer{IAM: &iam{CallerID: "AROA:s"}}, "AROA:s", "AROA:s"},
	} {
		e := gatewayEvent(t, func(e *lambdaevents.APIGatewayV2HTTPRequest) { e.RequestContext.Authorizer = c.authorizer })
		r, err := gatewayRequest(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		if deployed, local := GatewayActor(false)(r), GatewayActor(true)(r); deployed != c.deployed || local != c.local {
			t.Errorf("%+v names %q, locally %q", c.authorizer, deployed, local)
		}
	}
	// A header is no identity.
	r, err := gatewayRequest(t.Context(), gatewayEvent(t, func(e *lambdaevents.APIGatewayV2HTTPRequest) {
		e.Headers = map[string]string{"authorization": "AWS4-HMAC-SHA256 nonsense", "x-amzn-requestcontext": `{"authorizer":{"iam":{"userArn":"x"}}}`}
		e.RequestContext.Authorizer = nil
	}))
	if err != nil || GatewayActor(false)(r) != "" {
		t.Errorf("a header names %q, %v", GatewayActor(false)(r), err)
	}
}
