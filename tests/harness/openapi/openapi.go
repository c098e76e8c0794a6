// Package openapi checks answers of the API against its own openapi.json.
package openapi

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Document has the parts of openapi.json that tests use. Its methods are safe for concurrent use.
type Document struct {
	Paths      map[string]map[string]Operation `json:"paths"`
	Components struct {
		Schemas    map[string]json.RawMessage `json:"schemas"`
		Parameters map[string]Parameter       `json:"parameters"`
		Responses  map[string]Response        `json:"responses"`
	} `json:"components"`

	mu       sync.Mutex
	compiler *jsonschema.Compiler
}

// Reference is a reference to a part of the document: "#/components/…".
type Reference struct {
	Ref string `json:"$ref"`
}

// Operation describes a method of a path.
type Operation struct {
	OperationID string      `json:"operationId"`
	Summary     string      `json:"summary"`
	Parameters  []Reference `json:"parameters"`
	RequestBody *struct {
		Required bool             `json:"required"`
		Content  map[string]Media `json:"content"`
	} `json:"requestBody"`
	Responses map[string]Response `json:"responses"`
}

// Parameter describes a parameter in a query, a path or a header.
type Parameter struct {
	Name     string `json:"name"`
	In       string `json:"in"`
	Required bool   `json:"required"`
	Example  string `json:"example"`
	Schema   struct{ Default any }
}

// Response describes the answer with one status.
type Response struct {
	Reference
	Description string           `json:"description"`
	Headers     map[string]any   `json:"headers"`
	Content     map[string]Media `json:"content"`
}

// Media describes a body of one media type.
type Media struct {
	Schema   Reference `json:"schema"`
	Examples map[string]struct {
		Value json.RawMessage `json:"value"`
	} `json:"examples"`
}

// Read parses the document.
func Read(t testing.TB, text []byte) *Document {
	t.Helper()
	d := &Document{compiler: jsonschema.NewCompiler()}
	content, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		err = json.Unmarshal(text, d)
	}
	if err != nil {
		t.Fatal(err)
	}
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource("openapi.json", content); err != nil {
		t.Fatal(err)
	}
	return d
}

// Response resolves a reference to a response.
func (d *Document) Response(t testing.TB, r Response) Response {
	t.Helper()
	if r.Ref == "" {
		return r
	}
	resolved, ok := d.Components.Responses[strings.TrimPrefix(r.Ref, "#/components/responses/")]
	if !ok {
		t.Fatalf("no response %s", r.Ref)
	}
	return resolved
}

// ParametersOf resolves the references of an operation to its parameters.
func (d *Document) ParametersOf(t testing.TB, o Operation) []Parameter {
	t.Helper()
	all := make([]Parameter, len(o.Parameters))
	for i, r := range o.Parameters {
		parameter, ok := d.Components.Parameters[strings.TrimPrefix(r.Ref, "#/components/parameters/")]
		if !ok {
			t.Fatalf("no parameter %s", r.Ref)
		}
		all[i] = parameter
	}
	return all
}

// RequiredQuery returns the required query parameters of an operation, with the examples of the document as values.
func (d *Document) RequiredQuery(t testing.TB, o Operation) url.Values {
	query := url.Values{}
	for _, p := range d.ParametersOf(t, o) {
		if p.In == "query" && p.Required {
			query.Set(p.Name, p.Example)
		}
	}
	return query
}

// Fits reports whether a path matches a pattern such as /v1/assets/{asset}.
func Fits(pattern, path string) bool {
	for {
		wanted, restOfPattern, moreWanted := strings.Cut(pattern, "/")
		given, restOfPath, moreGiven := strings.Cut(path, "/")
		if moreWanted != moreGiven || wanted != given && (given == "" || !strings.HasPrefix(wanted, "{")) {
			return false
		}
		if !moreWanted {
			return true
		}
		pattern, path = restOfPattern, restOfPath
	}
}

// CheckAnswer fails t unless the document describes the answer to a request: its status, media type and schema. It
// ignores paths and methods that the document does not have.
func (d *Document) CheckAnswer(t testing.TB, method, path string, status int, mediaType string, body []byte) {
	t.Helper()
	for pattern, operations := range d.Paths {
		operation, known := operations[strings.ToLower(method)]
		if !known || !Fits(pattern, path) {
			continue
		}
		response, ok := operation.Responses[strconv.Itoa(status)]
		if !ok {
			response, ok = operation.Responses["default"]
		}
		bare, _, _ := strings.Cut(mediaType, ";") // without its charset
		media, described := d.Response(t, response).Content[bare]
		if !ok || len(body) > 0 && !described {
			t.Errorf("%s %s: undocumented answer %d with Content-Type %q", method, pattern, status, mediaType)
		} else if media.Schema.Ref != "" {
			d.Check(t, media.Schema.Ref, body)
		}
	}
}

// Check fails t unless text is valid against the schema at ref.
func (d *Document) Check(t testing.TB, ref string, text []byte) {
	t.Helper()
	if err := d.Validate(t, ref, text); err != nil {
		t.Errorf("%s is not valid against %s: %v", text, ref, err)
	}
}

// Validate validates text against the schema at ref.
func (d *Document) Validate(t testing.TB, ref string, text []byte) error {
	t.Helper()
	d.mu.Lock()
	schema, err := d.compiler.Compile("openapi.json" + ref)
	d.mu.Unlock()
	if err != nil {
		t.Fatalf("%s: %v", ref, err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return schema.Validate(value)
}
