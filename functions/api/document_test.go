package api

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// document is what the tests read of openapi.json.
type document struct {
	Paths      map[string]map[string]operation `json:"paths"`
	Components struct {
		Schemas    map[string]json.RawMessage `json:"schemas"`
		Parameters map[string]parameter       `json:"parameters"`
		Responses  map[string]response        `json:"responses"`
		Headers    map[string]any             `json:"headers"`
	} `json:"components"`
}

type reference struct {
	Ref string `json:"$ref"`
}

type operation struct {
	OperationID string      `json:"operationId"`
	Summary     string      `json:"summary"`
	Description string      `json:"description"`
	Tags        []string    `json:"tags"`
	Parameters  []reference `json:"parameters"`
	RequestBody *struct {
		Required bool             `json:"required"`
		Content  map[string]media `json:"content"`
	} `json:"requestBody"`
	Responses map[string]response `json:"responses"`
}

type parameter struct {
	Name     string `json:"name"`
	In       string `json:"in"`
	Required bool   `json:"required"`
	Example  string `json:"example"`
	Schema   struct{ Default any }
}

type response struct {
	reference
	Description string           `json:"description"`
	Headers     map[string]any   `json:"headers"`
	Content     map[string]media `json:"content"`
}

type media struct {
	Schema   reference `json:"schema"`
	Examples map[string]struct {
		Value json.RawMessage `json:"value"`
	} `json:"examples"`
}

func readDocument(t *testing.T) (d document) {
	t.Helper()
	if err := json.Unmarshal(openAPI, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d document) response(t *testing.T, r response) response {
	t.Helper()
	if r.Ref == "" {
		return r
	}
	found, ok := d.Components.Responses[strings.TrimPrefix(r.Ref, "#/components/responses/")]
	if !ok {
		t.Fatalf("no response %s", r.Ref)
	}
	return found
}

// needed returns the query of an operation that has its required parameters, with the document's examples.
func (d document) needed(o operation) url.Values {
	query := url.Values{}
	for _, ref := range o.Parameters {
		p := d.Components.Parameters[strings.TrimPrefix(ref.Ref, "#/components/parameters/")]
		if p.In == "query" && p.Required {
			query.Set(p.Name, p.Example)
		}
	}
	return query
}

// schemas compiles the document's schemas.
type schemas struct{ compiler *jsonschema.Compiler }

func newSchemas(t *testing.T) schemas {
	t.Helper()
	content, err := jsonschema.UnmarshalJSON(bytes.NewReader(openAPI))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	if err := c.AddResource("openapi.json", content); err != nil {
		t.Fatal(err)
	}
	return schemas{c}
}

// check fails unless text is valid against the schema at ref ("#/components/…").
func (s schemas) check(t *testing.T, ref string, text []byte) {
	t.Helper()
	if err := s.validate(t, ref, text); err != nil {
		t.Errorf("%s is not valid against %s: %v", text, ref, err)
	}
}

func (s schemas) validate(t *testing.T, ref string, text []byte) error {
	t.Helper()
	schema, err := s.compiler.Compile("openapi.json" + ref)
	if err != nil {
		t.Fatalf("%s: %v", ref, err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return schema.Validate(value)
}
