package app

import (
	"bytes"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/functions/api"
	"ledger.example/functions/metrics/metricstest"
)

// The error names every variable that is missing or invalid.
func TestEnvironment(t *testing.T) {
	good := map[string]string{VariableTable: "ledger", "AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "id",
		"AWS_SECRET_ACCESS_KEY": "secret"}
	for _, c := range []struct {
		change map[string]string
		named  string // separated by spaces
	}{
		{nil, ""},
		{map[string]string{VariableTable: ""}, VariableTable},
		{map[string]string{VariableTable: "", "AWS_REGION": "", VariableLocal: "perhaps"}, VariableTable +
			" AWS_REGION " + VariableLocal},
		{map[string]string{"AWS_REGION": "", "AWS_DEFAULT_REGION": "eu-central-1"}, ""},
		{map[string]string{"AWS_REGION": "http://example.com/"}, "AWS_REGION"},
		{map[string]string{VariableTable: "no"}, VariableTable},
		{map[string]string{VariableTable: "a table"}, VariableTable},
		{map[string]string{"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""},
			"AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY"},
		{map[string]string{"AWS_SESSION_TOKEN": "token", "AWS_MAX_ATTEMPTS": "many", "AWS_PROFILE": "none"}, ""},
		{map[string]string{VariableLocal: "false"}, ""},
		{map[string]string{VariableLocal: "1 "}, VariableLocal},
		{map[string]string{"AWS_ENDPOINT_URL_DYNAMODB": "http://127.0.0.1:8000", "AWS_ENDPOINT_URL": "nonsense"}, ""},
		{map[string]string{"AWS_ENDPOINT_URL": "https://dynamodb.example"}, ""},
		{map[string]string{"AWS_ENDPOINT_URL_DYNAMODB": "127.0.0.1:8000"}, "AWS_ENDPOINT_URL_DYNAMODB"},
		{map[string]string{"AWS_ENDPOINT_URL_DYNAMODB": "localhost:8000"}, "AWS_ENDPOINT_URL_DYNAMODB"},
		{map[string]string{"AWS_ENDPOINT_URL_DYNAMODB": "http://"}, "AWS_ENDPOINT_URL_DYNAMODB"},
		{map[string]string{"AWS_ENDPOINT_URL_DYNAMODB": "ftp://127.0.0.1"}, "AWS_ENDPOINT_URL_DYNAMODB"},
		{map[string]string{"AWS_ENDPOINT_URL": "//127.0.0.1:8000"}, "AWS_ENDPOINT_URL"},
		{map[string]string{VariableMetrics: "Ledger/books-2"}, ""},
		{map[string]string{VariableIndexed: "order,customer.id,a,b,c"}, ""},
		{map[string]string{VariableIndexed: "a,b,c,d,e,f"}, VariableIndexed},
		{map[string]string{VariableIndexed: "order,order"}, VariableIndexed},
		{map[string]string{VariableIndexed: "order, customer"}, VariableIndexed},
		{map[string]string{VariableIndexed: "order,"}, VariableIndexed},
		{map[string]string{VariableIndexed: "a#b"}, VariableIndexed},
		{map[string]string{VariableIndexed: strings.Repeat("x", 41)}, VariableIndexed},
		{map[string]string{VariableMetrics: "AWS/books", VariableLocal: "perhaps"}, VariableMetrics + " " +
			VariableLocal},
	} {
		environment := maps.Clone(good)
		maps.Copy(environment, c.change)
		_, err := Open(t.Context(), func(name string) string { return environment[name] }, nil)
		if (err == nil) != (c.named == "") {
			t.Errorf("%v: %v", c.change, err)
			continue
		}
		for name := range strings.FieldsSeq(c.named) {
			if !strings.Contains(err.Error(), name) {
				t.Errorf("%v: %q does not name %s", c.change, err, name)
			}
		}
	}
}

// Commands serves only routes that write, and Queries only routes that read. Both know every route.
func TestHandlers(t *testing.T) {
	s, err := New(Config{Client: dynamodb.New(dynamodb.Options{}), Table: "ledger", Caller: api.LocalCaller,
		Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	// No request reaches the store. The status is 400 if the route is served, and 500 if it is not.
	const read, write = "/v1/assets/a*", "/v1/accounts/a*/members/u"
	for name, c := range map[string]struct {
		handler     http.Handler
		read, write int
	}{"all": {s.API(), 400, 400}, "commands": {s.Commands(), 500, 400}, "queries": {s.Queries(), 400, 500}} {
		for _, r := range []struct {
			method, path string
			want         int
		}{{"GET", read, c.read}, {"DELETE", write, c.write}, {"GET", "/healthz", 200}, {"GET", "/v1/loans", 404},
			{"PATCH", "/v1/assets/USD", 405}} {
			w := httptest.NewRecorder()
			c.handler.ServeHTTP(w, httptest.NewRequest(r.method, r.path, nil))
			if w.Code != r.want {
				t.Errorf("%s: %s %s answered %d, want %d", name, r.method, r.path, w.Code, r.want)
			}
		}
	}
	if s.Stream() == nil || s.Projector() == nil || s.List() == nil || s.Lister() == nil {
		t.Error("no projector, or no lister")
	}
}

// LEDGER_METRICS decides whether log lines have metrics.
func TestMetricsByEnvironment(t *testing.T) {
	for _, namespace := range []string{"", "Ledger/books"} {
		var log bytes.Buffer
		s, err := Open(t.Context(), func(name string) string {
			return map[string]string{
				VariableTable: "ledger", VariableMetrics: namespace,
				"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret",
			}[name]
		}, slog.New(slog.NewJSONHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		// The request does not reach the store, because the caller is not authenticated.
		s.Commands().ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/v1/transfers",
			strings.NewReader("{")))
		if namespace == "" {
			if strings.Contains(log.String(), "_aws") {
				t.Errorf("measured without a namespace: %s", log.String())
			}
			continue
		}
		refusal := metricstest.Series{Namespace: namespace, Name: "Refusals", Dimensions: "Code=unauthenticated"}
		if taken := metricstest.Read(t, log.String()); len(taken[refusal]) != 1 {
			t.Errorf("measured %v: %s", taken, log.String())
		}
	}
}
