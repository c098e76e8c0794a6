package runtime

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/tests/gateway"
)

// startError launches a function that must exit before its first poll, and returns the error that it logged.
func startError(t *testing.T, folder string, environment map[string]string) string {
	t.Helper()
	f := launch(t, folder, environment)
	if status := f.waitForExit(); status == 0 || status == -1 {
		t.Errorf("%s: ended with %d", folder, status)
	}
	select {
	case <-f.polls:
		t.Errorf("%s: polled for an invocation", folder)
	default:
	}
	var line struct {
		Timestamp time.Time `json:"timestamp"`
		Level     string    `json:"level"`
		Message   string    `json:"message"`
		Error     string    `json:"error"`
	}
	if err := json.Unmarshal([]byte(f.output.String()), &line); err != nil || line.Level != "ERROR" ||
		line.Message == "" || line.Timestamp.IsZero() {
		t.Fatalf("%s wrote %q: %v", folder, f.output, err)
	}
	return line.Error
}

// A function with a wrong environment exits before its first invocation, and names every wrong variable.
func TestWrongEnvironment(t *testing.T) {
	t.Parallel()
	wrong := with(deployedEnvironment(nobody, "ledger"), "LEDGER_TABLE", "", "AWS_REGION", "Europe!",
		"AWS_ACCESS_KEY_ID", "", "LEDGER_LOCAL", "perhaps", "LEDGER_EVENT_BUS", "")
	for _, folder := range functions {
		said := startError(t, folder, wrong)
		for _, variable := range []string{"LEDGER_TABLE", "AWS_REGION", "AWS_ACCESS_KEY_ID", "LEDGER_LOCAL"} {
			if !strings.Contains(said, variable+" ") {
				t.Errorf("%s: the error %q does not name %s", folder, said, variable)
			}
		}
		if strings.Contains(said, "LEDGER_EVENT_BUS ") != (folder == forwarder) {
			t.Errorf("%s: the error %q on a missing bus", folder, said)
		}
		if strings.Contains(said, "secret") {
			t.Errorf("%s shows a secret: %q", folder, said)
		}
	}
}

// With LEDGER_LOCAL, a function checks the table before its first invocation, and names everything that it lacks.
func TestWrongTable(t *testing.T) {
	t.Parallel()
	bare := newTable(t, func(in *dynamodb.CreateTableInput) {
		in.StreamSpecification = nil
		in.GlobalSecondaryIndexes = in.GlobalSecondaryIndexes[:1]
		in.AttributeDefinitions = in.AttributeDefinitions[:3]
	})
	for _, folder := range functions {
		environment := with(deployedEnvironment(dynamoDB(t), bare), "LEDGER_LOCAL", "true")
		said := startError(t, folder, environment)
		for _, lacks := range []string{bare, "index GSI2: it has none", "stream: it has none, wanted is NEW_IMAGE"} {
			if !strings.Contains(said, lacks) {
				t.Errorf("%s: the error %q lacks %q", folder, said, lacks)
			}
		}
		said = startError(t, folder, with(environment, "LEDGER_TABLE", "missing"))
		if !strings.Contains(said, "missing") || !strings.Contains(said, dynamoDB(t)) {
			t.Errorf("%s: the error for a missing table is %q", folder, said)
		}
		f := launch(t, folder, with(environment, "LEDGER_TABLE", newTable(t, nil)))
		f.waitForPoll()
	}
	if said := startError(t, query, with(deployedEnvironment(nobody, "ledger"), "LEDGER_LOCAL", "true")); !strings.Contains(said, nobody) {
		t.Errorf("the error for a wrong endpoint is %q", said)
	}
}

// nobody is an endpoint that refuses connections.
const nobody = "http://127.0.0.1:1"

// With LEDGER_LOCAL callers are not authenticated. A web page that reaches sam local by DNS rebinding is refused, because
// the browser sends the page's own host name. sam local passes the header on, and always calls the domain localhost.
func TestForeignHost(t *testing.T) {
	t.Parallel()
	environment := with(deployedEnvironment(dynamoDB(t), newTable(t, nil)), "LEDGER_LOCAL", "true")
	for folder, r := range map[string]*http.Request{
		command: httptest.NewRequest("PUT", "/v1/assets/USD", nil),
		query:   httptest.NewRequest("GET", "/v1/assets", nil),
	} {
		f := launch(t, folder, environment)
		for host, want := range map[string]string{"127.0.0.1:3000": "", "localhost:3000": "",
			"evil.example:3000": "foreign_host", "evil.example": "foreign_host"} {
			event, err := gateway.Event(r, []byte(`{"name":"US dollar","scale":2}`), nil)
			if err != nil {
				t.Fatal(err)
			}
			delete(event.Headers, "host")
			event.Headers["Host"], event.Headers["content-type"] = host, "application/json"
			event.RequestContext.DomainName = "localhost"
			text, err := json.Marshal(event)
			if err != nil {
				t.Fatal(err)
			}
			got := replyOf(t, f.invoke(text, defaultTime))
			if got.Code != want || (got.Status == http.StatusForbidden) != (want != "") {
				t.Errorf("%s, for %s: answered %d %s", folder, host, got.Status, got.Body)
			}
		}
	}
}

// In AWS, a function sends no request before its first invocation. With a wrong store, requests fail with a 5xx status,
// and the log has the cause.
func TestWrongStoreInAWS(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		endpoint, table string
		status          int
		named           string
	}{
		"no table":    {dynamoDB(t), "missing", http.StatusInternalServerError, `"table":"missing"`},
		"no endpoint": {nobody, "ledger", http.StatusServiceUnavailable, nobody},
	} {
		for folder, event := range map[string][]byte{
			command: request("PUT", "/v1/assets/USD", `{"name":"US dollar","scale":2}`),
			query:   request("GET", "/v1/assets/USD", ""),
		} {
			f := launch(t, folder, deployedEnvironment(c.endpoint, c.table))
			r := replyOf(t, f.invoke(event, defaultTime))
			if r.Status != c.status || strings.Contains(r.Body, "missing") || strings.Contains(r.Body, "127.0.0.1") {
				t.Errorf("%s, %s: answered %d %s", name, folder, r.Status, r.Body)
			}
			if !f.output.waitFor(c.named, `"error":`) {
				t.Errorf("%s, %s: the log does not name %s: %s", name, folder, c.named, f.output)
			}
		}
		for folder, event := range map[string][]byte{projector: postings(1), lister: headers(1),
			sweeper: []byte(scheduleEvent), forwarder: []byte(scheduleEvent)} {
			f := launch(t, folder, deployedEnvironment(c.endpoint, c.table))
			if a := f.invoke(event, 5*time.Second); !a.failed || !f.output.waitFor(c.named) {
				t.Errorf("%s, %s: answered %s; the log: %s", name, folder, a.text, f.output)
			}
		}
	}
}

// A function does not connect to the store before the first invocation that needs it. A request that no authorizer of
// the gateway has authenticated, as behind an emulated gateway, is rejected.
func TestNoConnectionBeforeItIsNeeded(t *testing.T) {
	for _, folder := range functions {
		s := newStore(t)
		f := launch(t, folder, deployedEnvironment(s.url, newTable(t, nil)))
		f.waitForPoll()
		switch folder {
		case projector, lister:
			f.invoke([]byte(`{"Records":[]}`), defaultTime)
		case sweeper, forwarder: // each of their invocations needs the store
		default:
			f.must(http.StatusOK, "GET", "/healthz", "")
			event := requestBy(nil, "GET", "/v1/assets/USD", "")
			if r := replyOf(t, f.invoke(event, defaultTime)); r.Status != http.StatusUnauthorized ||
				r.Code != "unauthenticated" {
				t.Errorf("%s: an unauthenticated request is answered with %d %s", folder, r.Status, r.Body)
			}
		}
		if connections, _ := s.observed(); connections != 0 {
			t.Errorf("%s: %d connections to the store", folder, connections)
		}
	}
}

// Each linked package makes cold starts slower. The functions must not link single sign-on, role assumption, EC2
// metadata, YAML and the like.
func TestFunctionsLinkOnlyWhatTheyNeed(t *testing.T) {
	linked := func(folders ...string) []string {
		arguments := []string{"list", "-deps", "-tags", "lambda.norpc"}
		for _, folder := range folders {
			arguments = append(arguments, "./"+folder)
		}
		list := exec.Command("go", arguments...)
		list.Dir = "../.."
		out, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(string(out))
	}
	for _, d := range linked(functions[:len(functions)-1]...) {
		if strings.HasSuffix(d, "/service/eventbridge") {
			t.Errorf("a function other than the forwarder links %s", d)
		}
	}
	dependencies := linked(functions...)
	for _, needless := range []string{
		"aws-sdk-go-v2/config", "service/sso", "service/ssooidc", "service/signin", "service/sts", "feature/ec2/imds",
		"html/template", "text/template", "net/http/httptest", "go.yaml.in/yaml/v3", "net/rpc", "testing",
		"spf13/cobra",
	} {
		for _, d := range dependencies {
			if d == needless || strings.HasSuffix(d, "/"+needless) {
				t.Errorf("the functions link %s", d)
			}
		}
	}
	if len(dependencies) < 100 {
		t.Errorf("only %d dependencies are listed", len(dependencies))
	}
}
