package console

import (
	"bufio"
	"bytes"
	"context"
	"html"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"ledger.example/functions/api"
	"ledger.example/internal/desk/console"
	"ledger.example/tests/gateway"
	"ledger.example/tests/harness/full"
	"ledger.example/tests/harness/process"
	"ledger.example/tests/harness/system"
)

func TestMain(m *testing.M) { os.Exit(process.Main(m)) }

// Credentials of the callers. The keys are examples from AWS's documentation.
const (
	accessKey    = "AKIDEXAMPLE"
	secretKey    = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
	sessionToken = "FwoGZXIvYXdzEXAMPLE//+token=="
	adminToken   = "eyJhbGciOi.YWRtaW4.c2ln-_~+/=="
	userToken    = "eyJhbGciOi.dS0xNw.c2ln"
	expiredToken = "eyJhbGciOi.b2xk.c2ln"
	region       = "eu-central-1"
)

var clerk = gateway.IAM{Region: region, Credentials: aws.Credentials{
	AccessKeyID: accessKey, SecretAccessKey: secretKey, SessionToken: sessionToken,
}}

var tokens = gateway.Tokens{
	adminToken:   {"iss": "https://issuer.example", "sub": "ops", "scope": "ledger/admin"},
	userToken:    {"iss": "https://issuer.example", "sub": "u-17"},
	expiredToken: {"expired": "yes"},
}

// awsEnvironment returns the environment variables with the clerk's credentials.
func awsEnvironment() map[string]string {
	return map[string]string{
		"AWS_ACCESS_KEY_ID": accessKey, "AWS_SECRET_ACCESS_KEY": secretKey, "AWS_SESSION_TOKEN": sessionToken, "AWS_REGION": region,
	}
}

// deployed starts a ledger behind a gateway that authenticates. Tests can also call the ledger directly.
func deployed(t *testing.T, a gateway.Authorizer) (*system.System, *gateway.Gateway) {
	t.Helper()
	s := system.New(t, system.Pumped, system.Calls(api.GatewayCaller(api.Callers{Local: true, AdminScope: "ledger/admin"})))
	return s, gateway.New(t, a, api.Gateway(s.Service.API()))
}

// setEnvironment sets environment variables, and unsets all others of AWS and the ledger.
func setEnvironment(t *testing.T, variables map[string]string) {
	t.Helper()
	for _, setting := range os.Environ() {
		name, value, _ := strings.Cut(setting, "=")
		if strings.HasPrefix(name, "AWS_") || slices.Contains([]string{"LEDGER_URL", "LEDGER_SIGN", "LEDGER_TOKEN"}, name) {
			t.Setenv(name, value) // restores it after the test
			os.Unsetenv(name)
		}
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "config"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "credentials"))
	for name, value := range variables {
		t.Setenv(name, value)
	}
}

// consoleProcess is a `ledger console` process and an HTTP client for its pages.
type consoleProcess struct {
	*site
	*process.Process
}

// start starts the console of the ledger at a URL. The test fails if a page or the log contains a secret.
func start(t *testing.T, ledger *system.System, url string, arguments ...string) *consoleProcess {
	t.Helper()
	p := process.Start(t, append([]string{"console", "--port", "0", "--url", url}, arguments...)...)
	s := &consoleProcess{&site{TB: t, ledger: ledger, url: p.URL}, p}
	s.browser.Transport = secretChecker{t}
	t.Cleanup(func() { checkNoSecret(t, "its log", p.Stderr()) })
	return s
}

// secretChecker fails the test if an answer contains a secret.
type secretChecker struct{ t *testing.T }

func (d secretChecker) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || answer.Header.Get("Content-Type") == "text/event-stream" {
		return answer, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	answer.Body = io.NopCloser(bytes.NewReader(body))
	checkNoSecret(d.t, r.URL.String(), string(body))
	for name, values := range answer.Header {
		checkNoSecret(d.t, name, strings.Join(values, " "))
	}
	return answer, err
}

func checkNoSecret(t *testing.T, where, text string) {
	t.Helper()
	text = strings.ReplaceAll(html.UnescapeString(text), "Bearer %s", "") // the shell expands it
	for _, secret := range []string{accessKey, secretKey, sessionToken, adminToken, userToken, expiredToken, "AWS4-HMAC", "Bearer "} {
		if strings.Contains(text, secret) {
			t.Errorf("%s shows %q:\n%s", where, secret, text)
		}
	}
}

// listen opens the event stream of the home page and returns its lines. The channel is closed when the stream ends.
func (s *consoleProcess) listen() <-chan string {
	s.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.site.url+"live", nil)
	if err != nil {
		s.Fatal(err)
	}
	answer, err := s.browser.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	lines := make(chan string, 100)
	go func() {
		defer close(lines)
		defer answer.Body.Close()
		for text := bufio.NewScanner(answer.Body); text.Scan(); {
			lines <- text.Text()
		}
	}()
	return lines
}

// waitForEvent waits for an event.
func (s *consoleProcess) waitForEvent(events <-chan string) {
	s.Helper()
	for {
		select {
		case line, open := <-events:
			if !open {
				s.Fatal("the events ended")
			}
			if line == "data: newer" {
				return
			}
		case <-time.After(timeout):
			s.Fatal("no event came")
		}
	}
}

// stop sends an interrupt. The console must shut down cleanly, whatever streams are open.
func (s *consoleProcess) stop() {
	s.Helper()
	if status := s.Stop(s.TB, os.Interrupt); status != 0 || strings.Contains(s.Stderr(), "cut off") {
		s.Errorf("exit status %d: %s", status, s.Stderr())
	}
}

// `ledger console` works with a deployed ledger, by signature and by token.
func TestDeployedLedger(t *testing.T) {
	lasting := clerk
	lasting.SessionToken = ""
	for name, c := range map[string]struct {
		authorizer  gateway.Authorizer
		environment map[string]string
		flags       []string
		actor       string
	}{
		"signed with keys that last": {lasting, without(awsEnvironment(), "AWS_SESSION_TOKEN"), []string{"--sign"}, ""},
		"signed":                     {clerk, awsEnvironment(), []string{"--sign"}, "arn:aws:iam::111122223333:user/clerk"},
		"token":                      {tokens, map[string]string{"LEDGER_TOKEN": adminToken}, nil, "https://issuer.example#ops"},
		"token by flag":              {tokens, nil, []string{"--token", adminToken}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			setEnvironment(t, c.environment)
			ledger, g := deployed(t, c.authorizer)
			s := start(t, ledger, g.URL, c.flags...)
			if c.actor == "" { // only the credentials are of a new kind
				s.has(s.get("", http.StatusOK), "No transactions yet")
				s.stop()
				return
			}
			s.fill() // with dry runs first
			events := s.listen()
			s.waitForEvent(events) // for the existing transactions
			s.do("transfer", values("from", "jane", "to", "shop", "asset", "USD", "quantity", "0.50", "description", "Æ a/b & c"))
			s.waitForEvent(events)
			s.has(s.eventually("", "Æ a/b &amp; c"), "Newest transactions", "jane", "Jane Doe")
			s.has(s.eventually("accounts/jane?asset=USD", "<strong>99.50</strong>"), c.actor)
			s.has(s.get("accounts/jane/statement.csv?asset=USD", http.StatusOK), ",,,,jane,USD,,,,,,,99.50")
			s.has(s.get("search?q=jan", http.StatusOK), "jane")

			t.Setenv("LEDGER_TOKEN", adminToken) // as in the shell into which people paste the command
			id := transactionLink.FindStringSubmatch(s.get("", http.StatusOK))[1]
			s.checkReplays(id, 1)

			ledger.Must(http.StatusCreated, "PUT", "/v1/accounts/jane/members/u-17", `{"role":"viewer"}`)
			s.eventually("accounts/jane", "u-17")
			s.has(s.viewAs("u-17"), "Viewing as", "Accounts of u-17", "jane")
			s.get("accounts/bank", http.StatusNotFound)
			if refused := g.Refused(); len(refused) > 0 {
				t.Errorf("the gateway refused %s", refused)
			}
			s.stop()
		})
	}
}

// With a user's token, the console shows only what the user's roles allow.
func TestUserToken(t *testing.T) {
	setEnvironment(t, map[string]string{"LEDGER_TOKEN": userToken})
	ledger, g := deployed(t, tokens)
	ledger.OpenRegister()
	ledger.Must(http.StatusCreated, "PUT", "/v1/accounts/jane/members/u-17", `{"role":"operator"}`)
	s := start(t, ledger, g.URL)
	s.has(s.eventually("", ">operator<"), "Accounts of u-17", "jane")
	s.has(s.get("accounts/jane", http.StatusOK), "Jane")
	s.get("accounts/market", http.StatusNotFound)
	s.has(s.get("search?q=jane", http.StatusOK), "Jane")
	s.has(s.send("transfer", s.get("do/transfer", http.StatusOK), values("from", "jane", "to", "bank", "asset", "USD", "quantity", "1"),
		http.StatusUnprocessableEntity), "not enough available")
	s.has(s.send("transfer", s.get("do/transfer", http.StatusOK), values("from", "bank", "to", "jane", "asset", "USD", "quantity", "1"),
		http.StatusUnprocessableEntity), "no such account")
}

// mismatch is an answer of API Gateway to a wrong signature. It quotes the canonical request, which has a secret.
var mismatch = gateway.Message(http.StatusForbidden, "The request signature we calculated does not match.\n\nThe Canonical String "+
	"for this request should have been\n'GET\nx-amz-security-token:"+sessionToken+"'")

// Error pages say what is wrong and what to do.
func TestGatewayErrors(t *testing.T) {
	denied := gateway.Answer{Status: http.StatusForbidden,
		Body: `{"Message":"User: arn:aws:iam::111122223333:user/clerk is not authorized to perform: execute-api:Invoke"}`}
	expired := gateway.Message(http.StatusForbidden, "The security token included in the request is expired")
	noRoute := gateway.Message(http.StatusNotFound, "Not Found")
	other := clerk
	other.SecretAccessKey = "another"
	old := clerk
	old.CanExpire, old.Expires = true, time.Now().Add(-time.Minute)
	for name, c := range map[string]struct {
		authorizer  gateway.Authorizer
		environment map[string]string
		flags       string
		fault       *gateway.Answer
		says        []string
	}{
		"no credentials":    {clerk, map[string]string{"AWS_REGION": region}, "--sign", nil, []string{"there are no AWS credentials", "AWS_ACCESS_KEY_ID", "aws sso login"}},
		"no region":         {clerk, without(awsEnvironment(), "AWS_REGION"), "--sign", nil, []string{"the API&#39;s region is not known", "AWS_REGION"}},
		"not signed":        {clerk, nil, "", nil, []string{"403 Forbidden", "no credentials", "signature"}},
		"another secret":    {other, awsEnvironment(), "--sign", nil, []string{"403 Forbidden", "execute-api:Invoke"}},
		"expired":           {old, awsEnvironment(), "--sign", nil, []string{"403 Forbidden", "expired, and must be renewed"}},
		"expired, and said": {clerk, awsEnvironment(), "--sign", &expired, []string{"is expired", "must be renewed"}},
		"denied by IAM":     {clerk, awsEnvironment(), "--sign", &denied, []string{"user/clerk is not authorized", "need the permission execute-api:Invoke"}},
		"mismatch":          {clerk, awsEnvironment(), "--sign", &mismatch, []string{"does not match", "execute-api:Invoke"}},
		"expired token":     {tokens, nil, "--token=" + expiredToken, nil, []string{"the token has expired", "get a new one"}},
		"unknown token":     {tokens, nil, "--token=nobodys", nil, []string{"the token is unknown", "get a new one"}},
		"no token":          {tokens, nil, "", nil, []string{"401 Unauthorized", "no credentials", "bearer token"}},
		"no such route":     {clerk, awsEnvironment(), "--sign", &noRoute, []string{"404 Not Found", "check the address"}},
	} {
		t.Run(name, func(t *testing.T) {
			setEnvironment(t, c.environment)
			ledger, g := deployed(t, c.authorizer)
			g.Fail(c.fault)
			s := start(t, ledger, g.URL, strings.Fields(c.flags)...)
			for _, path := range []string{"", "accounts/jane", "accounts/jane/chart.svg?asset=USD", "search?q=jane"} {
				s.has(s.get(path, http.StatusBadGateway), append([]string{`class="fault"`}, c.says...)...)
			}
			s.get("do/transfer", http.StatusOK)
			page := s.send("transfer", s.get("do/transfer", http.StatusOK),
				values("from", "jane", "to", "shop", "asset", "USD", "quantity", "1"), http.StatusUnprocessableEntity)
			s.has(page, append([]string{`role="alert"`}, c.says...)...)
			s.stop()
		})
	}
}

func without(all map[string]string, name string) map[string]string {
	maps.DeleteFunc(all, func(n, _ string) bool { return n == name })
	return all
}

// The console says if no server, or another server, answers at the ledger's URL.
func TestWrongAddress(t *testing.T) {
	setEnvironment(t, awsEnvironment())
	website := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "<html>Welcome</html>")
	}))
	t.Cleanup(website.Close)
	const nobody = "http://127.0.0.1:1" // no server listens there
	for url, says := range map[string][]string{
		nobody:      {"no ledger answers at " + nobody, "connection refused"},
		website.URL: {"the answer is not a ledger&#39;s, check the address", website.URL},
	} {
		s := start(t, nil, url, "--sign")
		s.has(s.get("", http.StatusBadGateway), append([]string{`class="fault"`}, says...)...)
		s.stop()
	}
}

// If the gateway throttles or is down, pages say so after some seconds, event streams go on, and the console still
// shuts down.
func TestGatewayOutage(t *testing.T) {
	full.Only(t, "waits until the client gives up, several times")
	setEnvironment(t, awsEnvironment())
	ledger, g := deployed(t, clerk)
	ledger.OpenRegister()
	s := start(t, ledger, g.URL, "--sign")
	events := s.listen()
	s.get("", http.StatusOK)
	throttled := gateway.Message(http.StatusTooManyRequests, "Too Many Requests")
	unavailable := gateway.Message(http.StatusServiceUnavailable, "Service Unavailable")
	for _, c := range []struct {
		fault *gateway.Answer
		says  []string
	}{
		{&throttled, []string{"429 Too Many Requests", "wait a moment and try again"}},
		{&unavailable, []string{"503 Service Unavailable", "a gateway or another program sent it"}},
	} {
		g.Fail(c.fault)
		s.has(s.get("", http.StatusBadGateway), append([]string{`class="fault"`}, c.says...)...)
	}
	g.Fail(nil)
	s.do("transfer", values("from", "market", "to", "jane", "asset", "USD", "quantity", "1"))
	s.waitForEvent(events)
	g.Close()
	s.has(s.get("", http.StatusBadGateway), `class="fault"`, "no ledger answers at "+g.URL)
	events = s.listen()
	s.stop()
	for range events { // until the console closes it
	}
}

// The console listens on one port of 127.0.0.1 and refuses requests for other host names.
func TestListenAddress(t *testing.T) {
	setEnvironment(t, nil)
	ledger, _ := deployed(t, clerk)
	s := start(t, ledger, ledger.URL)
	if !strings.HasPrefix(s.site.url, "http://127.0.0.1:") {
		t.Errorf("it listens on %s", s.site.url)
	}
	for host, status := range map[string]int{"localhost": 200, "[::1]:80": 200, "127.0.0.1": 200, "ledger.example.com": 403, "localhost.example.com": 403} {
		if got := s.status("GET", "", "", "Host", host); got != status {
			t.Errorf("Host %s: %d, want %d", host, got, status)
		}
	}
	port := strings.TrimSuffix(s.site.url[strings.LastIndexByte(s.site.url, ':')+1:], console.Path)
	out, problems, status := process.Run(t, ledger.URL, "console", "--port", port)
	if status != 1 || out != "" || !strings.Contains(problems, "port "+port+" is in use") || !strings.Contains(problems, "--port") {
		t.Errorf("a second console on port %s: exit status %d, %q, %q", port, status, out, problems)
	}
	if status := s.Stop(t, syscall.SIGTERM); status != 0 {
		t.Errorf("exit status %d: %s", status, s.Stderr())
	}
	// A password in a URL is not printed.
	for password, says := range map[string]string{"AWS4-HMAC": "remove the part before @", secretKey: "not a URL"} {
		_, problems, status = process.Run(t, "", "console", "--url", "https://clerk:"+password+"@host.example")
		if status != 2 || !strings.Contains(problems, says) {
			t.Errorf("exit status %d: %s", status, problems)
		}
		checkNoSecret(t, "the message", problems)
	}
}
