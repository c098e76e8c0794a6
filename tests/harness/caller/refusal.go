package caller

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"ledger.example/internal/table"
)

// A Refusal is a request that the ledger refuses, and the expected answer. The default method is POST.
type Refusal struct {
	Name    string // of the subtest; default: method, path and body
	Method  string
	Path    string
	Body    string
	Headers []string  // pairs of name and value; a repeated name is sent twice
	Reader  io.Reader // if not nil, sent instead of Body, chunked and without a Content-Length

	Status int
	Code   string
	Fields []string // all fields that the answer names, in any order
}

// Absent, as the value of Content-Type, sends no such header.
const Absent = "\x00"

// nameChars is the maximum length of a subtest's name.
const nameChars = 80

// Request returns the request of r. The default Content-Type of a body is application/json.
func (r Refusal) Request(c *Caller) (*http.Request, error) {
	method, body := r.Method, r.Reader
	if method == "" {
		method = http.MethodPost
	}
	if body == nil {
		body = strings.NewReader(c.out(r.Body))
	}
	request, err := http.NewRequestWithContext(c.T.Context(), method, c.URL+c.out(r.Path), body)
	if err != nil {
		return nil, err
	}
	if r.Body != "" || r.Reader != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(r.Headers); i += 2 {
		if name := r.Headers[i]; name == "Content-Type" {
			request.Header.Del(name)
		}
		if r.Headers[i+1] != Absent {
			request.Header.Add(r.Headers[i], c.out(r.Headers[i+1]))
		}
	}
	return request, nil
}

// String returns the name of the subtest.
func (r Refusal) String() string {
	if r.Name != "" {
		return r.Name
	}
	return Brief(r.Method + " " + r.Path + " " + r.Body)
}

// Brief shortens a text for the name of a subtest.
func Brief(text string) string { return text[:min(len(text), nameChars)] }

// Refuse sends r and checks the answer, also with CheckProblem.
func (c *Caller) Refuse(t testing.TB, r Refusal, internals ...string) Reply {
	t.Helper()
	request, err := r.Request(c)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if got.Status != r.Status || got.Code() != r.Code {
		t.Errorf("got %d %s, want %d %s: %s", got.Status, got.Code(), r.Status, r.Code, got.Body)
	}
	if want := slices.Sorted(slices.Values(r.Fields)); !slices.Equal(got.Fields(), want) {
		t.Errorf("invalid fields are %q, want %q: %s", got.Fields(), want, got.Body)
	}
	CheckProblem(t, got, internals...)
	return got
}

// Fields returns the fields that an error names, sorted.
func (r Reply) Fields() []string {
	list, _ := r.Value("errors").([]any)
	names := []string{}
	for _, one := range list {
		object, _ := one.(map[string]any)
		name, _ := object["field"].(string)
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// CheckProblem checks an error against RFC 9457 and the rules of the API for errors. One rule is that it shows nothing
// internal, such as the given texts.
func CheckProblem(t testing.TB, r Reply, internals ...string) {
	t.Helper()
	if got := r.Header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("error with Content-Type %q", got)
	}
	var problem map[string]any
	if err := json.Unmarshal(r.Body, &problem); err != nil {
		t.Fatalf("error is not JSON: %v: %q", err, r.Body)
	}
	for _, name := range []string{"type", "title", "detail", "code", "request_id"} {
		if text, _ := problem[name].(string); text == "" {
			t.Errorf("error without %s: %s", name, r.Body)
		}
	}
	code := r.Code()
	if problem["type"] != "/problems/"+code {
		t.Errorf("type is %v, code is %q", problem["type"], code)
	}
	if problem["status"] != float64(r.Status) {
		t.Errorf("body has status %v, answer has %d", problem["status"], r.Status)
	}
	if id := r.Header.Get("X-Request-Id"); id != problem["request_id"] {
		t.Errorf("X-Request-Id is %q, request_id is %v", id, problem["request_id"])
	}
	if list, given := problem["errors"]; given {
		faults, _ := list.([]any)
		for _, fault := range faults {
			members, _ := fault.(map[string]any)
			_, named := members["field"].(string) // "" if the invalid key is empty
			rule, _ := members["rule"].(string)
			if !named || rule == "" || len(members) != 2 {
				t.Errorf("invalid item of errors: %v", fault)
			}
		}
		if len(faults) == 0 {
			t.Errorf("empty errors: %s", r.Body)
		}
	}
	for name, with := range map[string]bool{
		"Allow":       r.Status == http.StatusMethodNotAllowed,
		"Retry-After": r.Status == http.StatusServiceUnavailable,
		"ETag":        false,
		"Location":    false,
	} {
		if given := r.Header.Get(name) != ""; given != with {
			t.Errorf("status %d: header %s is %q", r.Status, name, r.Header.Get(name))
		}
	}
	figures := map[string][]string{
		"insufficient_funds": {"account", "asset", "available", "requested"},
		"rate_exceeded":      {"account", "asset", "per", "zone", "limit", "used", "available", "requested"},
	}[code]
	known := append([]string{"type", "title", "status", "detail", "code", "request_id", "errors"}, figures...)
	for _, name := range figures {
		if text, _ := problem[name].(string); text == "" {
			t.Errorf("%s without %s: %s", code, name, r.Body)
		}
	}
	switch code {
	case "rate_exceeded":
		known = append(known, "opens_at")
		if _, ok := problem["opens_at"]; !ok {
			t.Errorf("rate_exceeded without opens_at: %s", r.Body)
		}
	case "hold_ended":
		known = append(known, "hold_status")
	case "version_mismatch":
		known = append(known, "version")
	case "exceeds_reversible":
		known = append(known, "left")
	}
	if r.Status == http.StatusGatewayTimeout {
		known = append(known, "transaction_id")
	}
	for name := range problem {
		if !slices.Contains(known, name) {
			t.Errorf("error %q has an unknown member %q: %s", code, name, r.Body)
		}
	}
	for _, internal := range append(internals, "dynamo", "Dynamo", "amazon", "goroutine", ".go:", "operation error",
		table.Account.PK(""), table.Transaction.PK("")) {
		if strings.Contains(string(r.Body), internal) {
			t.Errorf("error shows the internal text %q: %s", internal, r.Body)
		}
	}
}

// ByRequestAlone reports whether a code depends only on the request, so that the API answers it without reading the
// table.
func ByRequestAlone(code string) bool {
	return slices.Contains([]string{
		"not_found", "method_not_allowed", "unsupported_media_type", "body_too_large", "malformed_body",
		"invalid_request", "invalid_cursor", "unbalanced",
	}, code)
}
