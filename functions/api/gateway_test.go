package api

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	lambdaevents "github.com/aws/aws-lambda-go/events"

	"ledger.example/events"
	"ledger.example/functions/access"
)

// gatewayEvent returns a request of a gateway with changes.
func gatewayEvent(change func(*gatewayRequestV2)) (e lambdaevents.APIGatewayV2HTTPRequest) {
	e.RawPath, e.RawQueryString, e.Body = "/my/path", "parameter1=value1&parameter1=value2", "Hello from Lambda"
	e.Headers = map[string]string{"header1": "value1"}
	e.RequestContext.HTTP.Method, e.RequestContext.Stage, e.RequestContext.RequestID = "POST", "$default", "id"
	e.RequestContext.Authorizer = &authorizer{JWT: &jwt{Claims: map[string]string{"claim1": "value1"}}}
	if change != nil {
		change(&e)
	}
	return e
}

type (
	gatewayRequestV2 = lambdaevents.APIGatewayV2HTTPRequest
	authorizer       = lambdaevents.APIGatewayV2HTTPRequestContextAuthorizerDescription
	iam              = lambdaevents.APIGatewayV2HTTPRequestContextAuthorizerIAMDescription
	jwt              = lambdaevents.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription
)

func TestGatewayRequest(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*gatewayRequestV2)
		check  func(r *http.Request, body string) bool
	}{
		"base64": {func(e *gatewayRequestV2) { e.Body, e.IsBase64Encoded = "AP8=", true },
			func(r *http.Request, body string) bool {
				return body == "\x00\xff" && r.ContentLength == 2
			}},
		"a path that was decoded": {func(e *gatewayRequestV2) { e.RawPath = "/v1/accounts/a b%2F:@" },
			func(r *http.Request, _ string) bool {
				segments, ok := split(r.URL.EscapedPath())
				return ok && len(segments) == 3 && segments[2] == "a b%2F:@"
			}},
		"a stage": {func(e *gatewayRequestV2) {
			e.RequestContext.Stage, e.RawPath = "prod", "/prod/v1/assets"
		}, func(r *http.Request, _ string) bool { return r.URL.Path == "/v1/assets" }},
		"a stage alone": {func(e *gatewayRequestV2) {
			e.RequestContext.Stage, e.RawPath = "prod", "/prod"
		},
			func(r *http.Request, _ string) bool { return r.URL.Path == "/" }},
		"a stage that is not in the path": {func(e *gatewayRequestV2) {
			e.RequestContext.Stage, e.RawPath = "prod", "/production/v1"
		}, func(r *http.Request, _ string) bool { return r.URL.Path == "/production/v1" }},
		"the sender's length": {func(e *gatewayRequestV2) { e.Headers["content-length"] = "9999" },
			func(r *http.Request, _ string) bool {
				return r.ContentLength == 17 && r.Header.Get("Content-Length") == ""
			}},
	} {
		seen := false
		_, err := Gateway(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if seen = true; err != nil || !c.check(r, string(body)) {
				t.Errorf("%s: %+v with the body %q, %v", name, r, body, err)
			}
		}))(t.Context(), gatewayEvent(c.change))
		if err != nil || !seen {
			t.Errorf("%s: %v", name, err)
		}
	}
	called := false
	_, err := Gateway(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called = true }))(t.Context(),
		gatewayEvent(func(e *gatewayRequestV2) { e.IsBase64Encoded = true }))
	if err == nil || called {
		t.Error("a body that isn't base64 is passed on")
	}
}

// published returns a sample event of AWS from the test data of the Lambda library.
func published(t *testing.T, name string) (e lambdaevents.APIGatewayV2HTTPRequest) {
	t.Helper()
	folder, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/aws/aws-lambda-go").Output()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(folder)), "events", "testdata", name))
	if err != nil || json.Unmarshal(text, &e) != nil {
		t.Fatal(name, err)
	}
	return e
}

// The adapter accepts the events that AWS publishes: headers, repeated parameters, cookies, bodies and decoded paths.
func TestGatewayAcceptsPublishedEvents(t *testing.T) {
	f := newFixture(t)
	c := f.config
	c.Caller = GatewayCaller(Callers{Local: true})
	handler := Gateway(New(c))
	for _, name := range []string{
		"apigw-v2-request-iam.json", "apigw-v2-request-jwt-authorizer.json",
		"apigw-v2-request-lambda-authorizer.json", "apigw-v2-request-no-authorizer.json",
	} {
		e := published(t, name)
		r, err := gatewayRequest(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil || string(body) != e.Body || r.ContentLength != int64(len(e.Body)) {
			t.Errorf("%s: body %q of %d bytes, %v", name, body, r.ContentLength, err)
		}
		if r.Method != e.RequestContext.HTTP.Method || r.URL.Path != e.RawPath ||
			r.Host != e.RequestContext.DomainName ||
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

		// The gateway has decoded the path once.
		for path, status := range map[string]int{
			"/v1/accounts/jane": 200, "/v1/accounts/users:jane@example.com": 404, "/v1/accounts/j%61ne": 400,
			"/v1/accounts/ja ne":   400,
			"/v1/accounts/ja?ne#x": 400, "/v1/accounts/j\u00e4ne": 400, "/v1/accounts/ja/ne": 404,
			"/v1/accounts/%zz": 400, "/v1//accounts": 404, "": 404,
			"/v1/accounts/../assets": 404, "v1/accounts": 404, "//v1/accounts": 404, "/books/v1/accounts": 404,
		} {
			e.RawPath, e.RawQueryString, e.RequestContext.HTTP.Method = path, "", "GET"
			if out, err := handler(t.Context(), e); err != nil || out.StatusCode != status {
				t.Errorf("%s: %q answered %d %s, %v", name, path, out.StatusCode, out.Body, err)
			}
		}
	}
}

func TestGatewayResponse(t *testing.T) {
	send := func(method string, h http.HandlerFunc) lambdaevents.APIGatewayV2HTTPResponse {
		t.Helper()
		out, err := Gateway(h)(t.Context(),
			gatewayEvent(func(e *gatewayRequestV2) { e.RequestContext.HTTP.Method = method }))
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
	if out.StatusCode != 201 || out.Body != "é" || out.IsBase64Encoded || out.Headers["X-Two"] != "a, b" ||
		len(out.Cookies) != 1 || out.Headers["Content-Length"] != "" {
		t.Errorf("answered %+v", out)
	}
	if out := send("GET", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte{0, 255})
	}); out.StatusCode != 200 || out.Body != "AP8=" || !out.IsBase64Encoded {
		t.Errorf("bytes came as %+v", out)
	}
	if out := send("GET", func(http.ResponseWriter, *http.Request) {}); out.StatusCode != 200 || out.Body != "" {
		t.Errorf("nothing came as %+v", out)
	}
	if out := send("HEAD", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "body")
	}); out.Body != "" {
		t.Errorf("HEAD came with %+v", out)
	}
	// The response has no multi-value headers, and a text is not encoded.
	text, err := json.Marshal(out)
	if err != nil || !strings.Contains(string(text), `"body":"é"`) || !strings.Contains(string(text),
		`"cookies":["c=d"]`) {
		t.Errorf("answered %s, %v", text, err)
	}
}

func TestGatewayCaller(t *testing.T) {
	const arn = "arn:aws:sts::1:assumed-role/r/s"
	service := func(name string) access.Caller { return access.Caller{Service: name, Admin: true} }
	user := func(user, service string) access.Caller { return access.Caller{User: user, Service: service} }
	const issuer = "https://id.example.com/"
	of := func(pairs ...string) *authorizer {
		claims := map[string]string{"iss": issuer}
		for i := 0; i < len(pairs); i += 2 {
			claims[pairs[i]] = pairs[i+1]
		}
		return &authorizer{JWT: &jwt{Claims: claims}}
	}
	var nobody access.Caller
	for _, c := range []struct {
		authorizer *authorizer
		want       access.Caller
	}{
		{nil, nobody},
		{&authorizer{}, nobody},
		{&authorizer{IAM: &iam{}}, nobody},
		{&authorizer{Lambda: map[string]any{"sub": "x"}}, nobody},
		{&authorizer{IAM: &iam{UserARN: arn, UserID: "AROA:s", CallerID: "AROA:c"}}, service(arn + "#AROA:s")},
		{&authorizer{IAM: &iam{UserARN: arn}}, service(arn)},
		{&authorizer{IAM: &iam{UserID: "AROA:s", CallerID: "AROA:c"}}, service("AROA:s")},
		{&authorizer{IAM: &iam{CallerID: "AROA:c"}}, service("AROA:c")},

		{of(), nobody},
		{of("sub", "user-1"), nobody},             // another claim is configured
		{of("sub", "user-1", "name", ""), nobody}, // empty
		{of("sub", "s", "name", "user-1"), user("user-1", issuer)},
		{&authorizer{JWT: &jwt{Claims: map[string]string{"name": "user-1"}}}, user("user-1", "a token")},
		// A value that is not an id is hashed. So is a value that looks like a hash.
		{of("name", "auth0|123"), user("jwt:QENEXq3u6ypdiFrzwTP2DvV1I6H_h7og7cxbbeOS62w", issuer)},
		{of("name", "jwt:QENEXq3u6ypdiFrzwTP2DvV1I6H_h7og7cxbbeOS62w"),
			user("jwt:Bk6vL3ma2EasuTyfnIqPHf86rBmkOfFCOaZrjWQl2II", issuer)},
		// The scope is a word in scope or in scp. The gateway formats a list as "[one two]", in both claims.
		{of("sub", "s", "name", "n", "scope", "openid ledger/admin"), service(issuer + "#s")},
		{of("sub", "s", "name", "n", "scp", "[openid ledger/admin]"), service(issuer + "#s")},
		{of("sub", "s", "name", "n", "scope", "[ledger/read ledger/admin]"), service(issuer + "#s")},
		{of("sub", "s", "name", "n", "scope", "[ledger/admin ledger/read]"), service(issuer + "#s")},
		{of("sub", "s", "name", "n", "scope", "[ledger/admin]"), service(issuer + "#s")},
		{of("sub", "s", "name", "n", "scp", "ledger/admin"), service(issuer + "#s")},
		{of("sub", "s", "name", "n", "scope", "ledger/administer xledger/admin"), user("n", issuer)},
		{of("sub", "s", "name", "n", "scope", "[ledger/administer xledger/admin]", "scp", "[]"), user("n", issuer)},
		{of("name", "n", "scope", "ledger/admin"), nobody}, // an administrator without a name
	} {
		e := gatewayEvent(func(e *gatewayRequestV2) { e.RequestContext.Authorizer = c.authorizer })
		r, err := gatewayRequest(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		local, callers := c.want, Callers{UserClaim: "name", AdminScope: "ledger/admin"}
		if local == nobody {
			local = LocalCaller(r)
		}
		if got := GatewayCaller(callers)(r); got != c.want {
			t.Errorf("%+v is %+v, want %+v", c.authorizer, got, c.want)
		}
		callers.Local = true
		if got := GatewayCaller(callers)(r); got != local {
			t.Errorf("%+v is locally %+v, want %+v", c.authorizer, got, local)
		}
		// By default, the user is the subject, and no scope makes an administrator.
		if c.authorizer != nil && c.authorizer.JWT != nil && c.authorizer.JWT.Claims["sub"] != "" {
			want := user(c.authorizer.JWT.Claims["sub"], issuer)
			if got := GatewayCaller(Callers{})(r); got != want {
				t.Errorf("%+v is by default %+v, want %+v", c.authorizer, got, want)
			}
		}
	}
	// A caller whose name is too long for an event is refused before anything is read or written.
	for actor, status := range map[string]int{
		strings.Repeat("é", events.ActorChars): 200, strings.Repeat("a", events.ActorChars+1): 401, "a\x00": 401,
		"\xff": 401, "": 401, "jane via x": 401,
	} {
		f := newFixture(t)
		f.config.Caller = func(*http.Request) access.Caller { return access.Caller{Service: actor, Admin: true} }
		f.Handler = New(f.config)
		w := f.do(t, "GET", "/v1/assets/USD", "")
		if n := f.asked.Load(); w.Code != status || (n == 0) != (status == 401) || strings.Contains(f.log.String(), "aaa") {
			t.Errorf("an actor of %d bytes answered %s; the store was asked %d times", len(actor), w.Body, n)
		}
	}
	// A header does not authenticate a caller.
	r, err := gatewayRequest(t.Context(), gatewayEvent(func(e *gatewayRequestV2) {
		e.Headers = map[string]string{"authorization": "AWS4-HMAC-SHA256 nonsense",
			"x-amzn-requestcontext": `{"authorizer":{"iam":{"userArn":"x"}}}`}
		e.RequestContext.Authorizer = nil
	}))
	if err != nil || GatewayCaller(Callers{})(r) != nobody {
		t.Errorf("a header names %+v, %v", GatewayCaller(Callers{})(r), err)
	}
}

func TestIsOwnHost(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "localhost:8080": true, "LOCALHOST.": true, "app.localhost:80": true,
		"host.docker.internal:8000": true, "127.0.0.1:8080": true, "[::1]:8080": true, "::1": true, "172.17.0.1:8000": true,
		"[fe80::1%25eth0]:80": true, "[::1": true,

		"": false, "evil.example": false, "localhost.evil.example": false, "notlocalhost": false,
		"127.0.0.1.nip.io:8080": false, "docker.internal": false, "x.host.docker.internal": false,
		"localhost:8080@evil.example": false, ".": false,

		"ledger:8080": true, "Ledger": true, "ledger.": true, "ledger.example": false, "x.ledger": false, "led": false,
	} {
		if isOwnHost(host, []string{"ledger"}) != want {
			t.Errorf("%q: %t", host, !want)
		}
		if strings.HasPrefix(strings.ToLower(host), "ledger") && isOwnHost(host, nil) {
			t.Errorf("%q is accepted without being named", host)
		}
	}
}
