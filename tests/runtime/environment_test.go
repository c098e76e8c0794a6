package runtime

import (
	"encoding/json"
	"net"
	"net/http"
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
	if err := json.Unmarshal([]byte(f.output.String()), &line); err != nil || line.Level != "ERROR" || line.Message == "" || line.Timestamp.IsZero() {
		t.Fatalf("%s wrote %q: %v", folder, f.output, err)
	}
	return line.Error
}

// A function whose environment is wrong ends before it takes an invocation, and names all that is.
func TestWrongEnvironment(t *testing.T) {
	t.Parallel()
	good := deployed("http://127.0.0.1:1", "ledger")
	for _, folder := range functions {
		for name, c := range map[string]struct {
			changes []string
			named   []string
		}{
			"all missing": {
				[]string{"LEDGER_TABLE", "", "AWS_REGION", "", "AWS_ACCESS_KEY_ID", "", "AWS_SECRET_ACCESS_KEY", ""},
				[]string{"LEDGER_TABLE", "AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"},
			},
			"all wrong": {
				[]string{"LEDGER_TABLE", "a/b", "AWS_REGION", "Europe!", "LEDGER_LOCAL", "perhaps", "LEDGER_METRICS", "AWS/" + strings.Repeat("é", 200), "AWS_ENDPOINT_URL_DYNAMODB", "127.0.0.1:8000"},
				[]string{"LEDGER_TABLE", "AWS_REGION", "LEDGER_LOCAL", "LEDGER_METRICS", "AWS_ENDPOINT_URL_DYNAMODB"},
			},
			"one wrong": {[]string{"LEDGER_LOCAL", "yes"}, []string{"LEDGER_LOCAL"}},
		} {
			said := refusesToStart(t, folder, with(good, c.changes...))
			for _, variable := range []string{"LEDGER_TABLE", "LEDGER_LOCAL", "LEDGER_METRICS", "AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL_DYNAMODB"} {
				wanted := false
				for _, n := range c.named {
					wanted = wanted || n == variable
				}
				if strings.Contains(said, variable+" ") != wanted {
					t.Errorf("%s, %s: said %q; %s is at fault: %v", folder, name, said, variable, wanted)
				}
			}
			if strings.Contains(said, "secret") {
				t.Errorf("%s, %s: tells a secret: %q", folder, name, said)
			}
		}
	}
}

// On one machine nothing vouches for the table: it is looked at before the first invocation, and all that it lacks is said.
func TestAWrongTable(t *testing.T) {
	t.Parallel()
	bare := newTable(t, func(in *dynamodb.CreateTableInput) {
		in.StreamSpecification = nil
		in.GlobalSecondaryIndexes = in.GlobalSecondaryIndexes[:1]
		in.AttributeDefinitions = in.AttributeDefinitions[:3]
	})
	for _, folder := range functions {
		environment := with(deployed(dynamoDB.Endpoint, bare), "LEDGER_LOCAL", "true")
		said := refusesToStart(t, folder, environment)
		for _, lacks := range []string{bare, "index GSI2 is missing", "stream: it has none, wanted is NEW_IMAGE"} {
			if !strings.Contains(said, lacks) {
				t.Errorf("%s: said %q, not %q", folder, said, lacks)
			}
		}
		said = refusesToStart(t, folder, with(environment, "LEDGER_TABLE", "missing"))
		if !strings.Contains(said, "missing") || !strings.Contains(said, dynamoDB.Endpoint) {
			t.Errorf("%s: said %q of a table that isn't there", folder, said)
		}
		f := launch(t, folder, with(environment, "LEDGER_TABLE", newTable(t, nil)))
		f.polled()
	}
}

// A wrong endpoint is named within five seconds.
func TestAWrongEndpoint(t *testing.T) {
	t.Parallel()
	const most = 8 * time.Second // five are promised; a loaded machine takes its time
	swallows, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { swallows.Close() })
	for name, endpoint := range map[string]string{
		"refuses": "http://127.0.0.1:1", "has no address": "http://ledger.invalid:8000", "swallows": "http://" + swallows.Addr().String(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			said := refusesToStart(t, query, with(deployed(endpoint, "ledger"), "LEDGER_LOCAL", "true"))
			if took := time.Since(began); !strings.Contains(said, endpoint) || took > most {
				t.Errorf("after %v: said %q", took, said)
			}
		})
	}
}

// In AWS nothing is asked before the first invocation. What is amiss is told by the first request that needs it: callers
// learn that it is not theirs, the log what it is.
func TestAWrongStoreInAWS(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		endpoint, table string
		status          int
		named           string
	}{
		"no table":    {dynamoDB.Endpoint, "missing", http.StatusInternalServerError, `"table":"missing"`},
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
		f := launch(t, projector, deployed(c.endpoint, c.table))
		if a := f.invoke(postings(1), 2*time.Second); !a.failed || !f.output.has(c.named) {
			t.Errorf("%s, projector: answered %s; the log: %s", name, a.text, f.output)
		}
	}
}
