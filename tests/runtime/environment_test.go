package runtime

import (
	"encoding/json"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// refusesToStart launches a function that is to end before its first poll, and returns the one line that it wrote.
func refusesToStart(t *testing.T, folder string, environment map[string]string) string {
	t.Helper()
	f := launch(t, folder, environment)
	if status := f.ended(); status == 0 || status == -1 {
		t.Errorf("%s: ended with %d", folder, status)
	}
	select {
	case <-f.polls:
		t.Errorf("%s: asked for an invocation", folder)
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

// A function whose environment is wrong ends before it takes an invocation, and names all that is.
func TestWrongEnvironment(t *testing.T) {
	t.Parallel()
	wrong := with(deployed("http://127.0.0.1:1", "ledger"), "LEDGER_TABLE", "", "AWS_REGION", "Europe!",
		"AWS_ACCESS_KEY_ID", "", "LEDGER_LOCAL", "perhaps")
	for _, folder := range functions {
		said := refusesToStart(t, folder, wrong)
		for _, variable := range []string{"LEDGER_TABLE", "AWS_REGION", "AWS_ACCESS_KEY_ID", "LEDGER_LOCAL"} {
			if !strings.Contains(said, variable+" ") {
				t.Errorf("%s: said %q, and not that %s is at fault", folder, said, variable)
			}
		}
		if strings.Contains(said, "secret") {
			t.Errorf("%s shows a secret: %q", folder, said)
		}
	}
}

// On one machine nothing vouches for the table: it is looked at before the first invocation, and all that it lacks is
// said.
func TestAWrongTable(t *testing.T) {
	t.Parallel()
	bare := newTable(t, func(in *dynamodb.CreateTableInput) {
		in.StreamSpecification = nil
		in.GlobalSecondaryIndexes = in.GlobalSecondaryIndexes[:1]
		in.AttributeDefinitions = in.AttributeDefinitions[:3]
	})
	for _, folder := range functions {
		environment := with(deployed(dynamoDB(t), bare), "LEDGER_LOCAL", "true")
		said := refusesToStart(t, folder, environment)
		for _, lacks := range []string{bare, "index GSI2: it has none", "stream: it has none, wanted is NEW_IMAGE"} {
			if !strings.Contains(said, lacks) {
				t.Errorf("%s: said %q, not %q", folder, said, lacks)
			}
		}
		said = refusesToStart(t, folder, with(environment, "LEDGER_TABLE", "missing"))
		if !strings.Contains(said, "missing") || !strings.Contains(said, dynamoDB(t)) {
			t.Errorf("%s: said %q of a table that isn't there", folder, said)
		}
		f := launch(t, folder, with(environment, "LEDGER_TABLE", newTable(t, nil)))
		f.polled()
	}
}

// A wrong endpoint is named, and ends the process.
func TestAWrongEndpoint(t *testing.T) {
	t.Parallel()
	swallows, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { swallows.Close() })
	for name, endpoint := range map[string]string{
		"refuses": "http://127.0.0.1:1", "has no address": "http://ledger.invalid:8000", "swallows": "http://" +
			swallows.Addr().String(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := refusesToStart(t, query, with(deployed(endpoint, "ledger"), "LEDGER_LOCAL", "true"))
			if !strings.Contains(said, endpoint) {
				t.Errorf("said %q", said)
			}
		})
	}
}

// In AWS nothing is asked before the first invocation. The first request that needs the store fails. Callers
// learn that the fault is not theirs, and the log has its cause.
func TestAWrongStoreInAWS(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		endpoint, table string
		status          int
		named           string
	}{
		"no table":    {dynamoDB(t), "missing", http.StatusInternalServerError, `"table":"missing"`},
		"no endpoint": {"http://127.0.0.1:1", "ledger", http.StatusServiceUnavailable, "http://127.0.0.1:1"},
	} {
		for folder, event := range map[string][]byte{
			command: request("PUT", "/v1/assets/USD", `{"name":"US dollar","scale":2}`),
			query:   request("GET", "/v1/assets/USD", ""),
		} {
			f := launch(t, folder, deployed(c.endpoint, c.table))
			r := replyOf(t, f.invoke(event, usualTime))
			if r.Status != c.status || strings.Contains(r.Body, "missing") || strings.Contains(r.Body, "127.0.0.1") {
				t.Errorf("%s, %s: answered %d %s", name, folder, r.Status, r.Body)
			}
			if !f.output.has(c.named, `"error":`) {
				t.Errorf("%s, %s: the log does not name it: %s", name, folder, f.output)
			}
		}
		for folder, event := range map[string][]byte{projector: postings(1), lister: headers(1), sweeper: []byte(minute)} {
			f := launch(t, folder, deployed(c.endpoint, c.table))
			if a := f.invoke(event, 5*time.Second); !a.failed || !f.output.has(c.named) {
				t.Errorf("%s, %s: answered %s; the log: %s", name, folder, a.text, f.output)
			}
		}
	}
}

// Nothing is asked of the store before the first invocation, nor for what doesn't need it. Who sends a request is who
// the gateway's authorizer vouches for: without one, as in an emulated gateway, nobody is let in.
func TestNothingIsAskedBeforeTheFirstInvocation(t *testing.T) {
	for _, folder := range functions {
		s := newStore(t)
		f := launch(t, folder, deployed(s.url, newTable(t, nil)))
		f.polled()
		switch folder {
		case projector, lister:
			f.invoke([]byte(`{"Records":[]}`), usualTime)
		case sweeper: // it is there to ask
		default:
			f.must(http.StatusOK, "GET", "/healthz", "")
			event := requestBy(nil, "GET", "/v1/assets/USD", "")
			if r := replyOf(t, f.invoke(event, usualTime)); r.Status != http.StatusUnauthorized ||
				r.Code != "unauthenticated" {
				t.Errorf("%s: a stranger is answered with %d %s", folder, r.Status, r.Body)
			}
		}
		if connections, _ := s.seen(); connections != 0 {
			t.Errorf("%s: %d connections to the store", folder, connections)
		}
	}
}

// What a function links is paid for at every cold start: no single sign-on, no role assumption, no metadata of EC2, no
// YAML.
func TestFunctionsLinkNothingNeedless(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "-tags", "lambda.norpc", "./functions/command", "./functions/query",
		"./functions/projector", "./functions/lister", "./functions/sweeper")
	list.Dir = "../.."
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	dependencies := strings.Fields(string(out))
	for _, needless := range []string{
		"aws-sdk-go-v2/config", "service/sso", "service/ssooidc", "service/signin", "service/sts", "feature/ec2/imds",
		"html/template", "text/template", "net/http/httptest", "go.yaml.in/yaml/v3", "net/rpc", "testing",
		"spf13/cobra",
	} {
		for _, d := range dependencies {
			if d == needless || strings.HasSuffix(d, "/"+needless) {
				t.Errorf("the functions are linked with %s", d)
			}
		}
	}
	if len(dependencies) < 100 {
		t.Errorf("only %d dependencies are listed", len(dependencies))
	}
}
