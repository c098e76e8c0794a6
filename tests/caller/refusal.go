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

// A Refusal is a request that is wrong, and what is answered. Without a method it is a POST of the body.
type Refusal struct {
	Name    string // "" for the request itself
	Method  string
	Path    string
	Body    string
	Headers []string  // name, value, …; a second value of the same name is sent as a second header
	Reader  io.Reader // sent instead of body when it is set, in chunks and without a length

	Status int
	Code   string
	Fields []string // every field that the answer must name, in any order
}

// Absent is the value of a header that is not sent.
const Absent = "\x00"

// nameChars is the longest name of a test.
const nameChars = 80

// Request makes the request of r. A body is JSON unless a header says otherwise.
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

// String names r as a test.
func (r Refusal) String() string {
	if r.Name != "" {
		return r.Name
	}
	return Brief(r.Method + " " + r.Path + " " + r.Body)
}

// Brief is the beginning of a text, for the name of a test.
func Brief(text string) string { return text[:min(len(text), nameChars)] }

// Refuse sends r, and holds the answer to what is wanted and to what the API promises of an error.
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
		t.Errorf("%d %s instead of %d %s: %s", got.Status, got.Code(), r.Status, r.Code, got.Body)
	}
	if want := slices.Sorted(slices.Values(r.Fields)); !slices.Equal(got.Fields(), want) {
		t.Errorf("fields at fault are %q instead of %q: %s", got.Fields(), want, got.Body)
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

// CheckProblem holds an answer to RFC 9457 and to what the API promises of every error: that it shows nothing internal,
// for one, nor any of the internals given.
func CheckProblem(t testing.TB, r Reply, internals ...string) {
	t.Helper()
	if got := r.Header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("an error of type %q", got)
	}
	var problem map[string]any
	if err := json.Unmarshal(r.Body, &problem); err != nil {
		t.Fatalf("an error that is not JSON: %v: %q", err, r.Body)
	}
	for _, name := range []string{"type", "title", "detail", "code", "request_id"} {
		if text, _ := problem[name].(string); text == "" {
			t.Errorf("an error without %s: %s", name, r.Body)
		}
	}
	code := r.Code()
	if problem["type"] != "/problems/"+code {
		t.Errorf("type %v of code %q", problem["type"], code)
	}
	if problem["status"] != float64(r.Status) {
		t.Errorf("status %v in the body of a %d", problem["status"], r.Status)
	}
	if id := r.Header.Get("X-Request-Id"); id != problem["request_id"] {
		t.Errorf("request %q is called %v in the body", id, problem["request_id"])
	}
	if list, given := problem["errors"]; given {
		faults, _ := list.([]any)
		for _, fault := range faults {
			members, _ := fault.(map[string]any)
			_, named := members["field"].(string) // of a key without characters: ""
			rule, _ := members["rule"].(string)
			if !named || rule == "" || len(members) != 2 {
				t.Errorf("a fault that does not say what is wrong: %v", fault)
			}
		}
		if len(faults) == 0 {
			t.Errorf("an empty list of errors: %s", r.Body)
		}
	}
	for name, with := range map[string]bool{
		"Allow":       r.Status == http.StatusMethodNotAllowed,
		"Retry-After": r.Status == http.StatusServiceUnavailable,
		"ETag":        false,
		"Location":    false,
	} {
		if given := r.Header.Get(name) != ""; given != with {
			t.Errorf("%d with the header %s: %q", r.Status, name, r.Header.Get(name))
		}
	}
	known := []string{"type", "title", "status", "detail", "code", "request_id", "errors"}
	if code == "insufficient_funds" {
		funds := []string{"account", "asset", "available", "requested"}
		for _, name := range funds {
			if text, _ := problem[name].(string); text == "" {
				t.Errorf("a refusal for funds without %s: %s", name, r.Body)
			}
		}
		known = append(known, funds...)
	}
	switch code {
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
			t.Errorf("an error of code %q with a member %q: %s", code, name, r.Body)
		}
	}
	for _, internal := range append(internals, "dynamo", "Dynamo", "amazon", "goroutine", ".go:", "operation error",
		table.AccountKey("").PK, table.TransactionKey("").PK) {
		if strings.Contains(string(r.Body), internal) {
			t.Errorf("an error that shows %q: %s", internal, r.Body)
		}
	}
}

// ByRequestAlone reports whether a code follows from the request alone, so that it is answered without a read of the
// table.
func ByRequestAlone(code string) bool {
	return slices.Contains([]string{
		"not_found", "method_not_allowed", "unsupported_media_type", "body_too_large", "malformed_body",
		"invalid_request",
		"invalid_cursor", "unbalanced",
	}, code)
}
