package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"ledger.example/ledger"
	"ledger.example/tests/harness/openapi"
)

// openapi.json has exactly the codes of the API, and an example of each.
func TestOpenAPIHasAllCodes(t *testing.T) {
	d := openapi.Read(t, openAPI)
	var listed struct {
		Enum []ledger.Code `json:"enum"`
	}
	if err := json.Unmarshal(d.Components.Schemas["Code"], &listed); err != nil {
		t.Fatal(err)
	}
	var known []ledger.Code
	for _, k := range kinds() {
		if k.Code != codeForeignHost {
			known = append(known, k.Code)
		}
	}
	if !slices.Equal(listed.Enum, known) {
		t.Errorf("listed are %v, known %v", listed.Enum, known)
	}
	for _, code := range known {
		if !bytes.Contains(openAPI, []byte(`"code": "`+code+`"`)) {
			t.Errorf("no example of %s", code)
		}
	}
}

// Every example is valid against its schema, and the API accepts every example of a body.
func TestOpenAPIExamples(t *testing.T) {
	d := openapi.Read(t, openAPI)
	checked := 0
	for at, operations := range d.Paths {
		for method, o := range operations {
			if o.RequestBody != nil {
				m := o.RequestBody.Content[jsonType]
				if len(m.Examples) == 0 {
					t.Errorf("%s %s has no example of its body", method, at)
				}
				for name, example := range m.Examples {
					d.Check(t, m.Schema.Ref, example.Value)
					w := newFixture(t).do(t, strings.ToUpper(method), target(at, "new"), string(example.Value))
					if w.Code == 400 {
						t.Errorf("%s %s does not take %s: %s", method, at, name, w.Body)
					}
					checked++
				}
			}
			for status, r := range o.Responses {
				r = d.Response(t, r)
				if r.Description == "" || r.Headers["X-Request-Id"] == nil {
					t.Errorf("%s %s: response %s has no description or no X-Request-Id", method, at, status)
				}
				for mediaType, m := range r.Content {
					if len(m.Examples) == 0 && m.Schema.Ref != "" {
						t.Errorf("%s %s: response %s has no example", method, at, status)
					}
					if (status[0] == '4' || status[0] == '5' || status == "default") != (mediaType == problemType) {
						t.Errorf("%s %s: response %s is of %s", method, at, status, mediaType)
					}
					for _, example := range m.Examples {
						d.Check(t, m.Schema.Ref, example.Value)
						checked++
					}
				}
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d examples", checked)
	}
	for name, text := range d.Components.Schemas {
		var own struct {
			Examples []json.RawMessage `json:"examples"`
		}
		if err := json.Unmarshal(text, &own); err != nil {
			t.Fatal(err)
		}
		for _, example := range own.Examples {
			d.Check(t, "#/components/schemas/"+name, example)
		}
	}
}

// The API accepts the required parameters and the default values of the others, because some clients send them. Its
// answers are valid against their schemas.
func TestAnswersMatchOpenAPI(t *testing.T) {
	d, f := openapi.Read(t, openAPI), newFixture(t)
	for _, known := range routes() {
		if known.public() || known.writes() {
			continue
		}
		o := d.Paths[known.Path]["get"]
		query := d.RequiredQuery(t, o)
		for _, p := range d.ParametersOf(t, o) {
			if p.In == "query" && p.Schema.Default != nil {
				query.Set(p.Name, fmt.Sprint(p.Schema.Default))
			}
		}
		at := target(known.Path, "")
		w := f.must(t, 200, "GET", at+"?"+query.Encode(), "")
		d.CheckAnswer(t, "GET", at, 200, w.Header().Get("Content-Type"), w.Body.Bytes())
	}
}

// target returns a path of a pattern. The asset, the account and the group are new, or those of a fixture for "".
func target(pattern, id string) string {
	or := func(known string) string { return cmp.Or(id, known) }
	return strings.NewReplacer("{account}", or("jane"), "{asset}", or("USD"), "{user}", "u-17", "{id}", "t-1",
		"{group}", or("desk"), "{number}", "1", "{code}", "internal").Replace(pattern)
}

// For each field of a body, the API and the schema accept the same values.
func TestBodiesMatchOpenAPI(t *testing.T) {
	d, f := openapi.Read(t, openAPI), newFixture(t)
	values := []string{
		`null`, `true`, `0`, `-1`, `18`, `19`, `1.5`, `""`, `"x"`, `"-x"`, `"\u0000"`, `"unlimited"`, `"viewer"`,
		`"1"`, `"0"`, `"-1"`, `"01"`, `"` + strings.Repeat("9", 28) + `"`, `"` + strings.Repeat("9", 29) + `"`,
		`"` + strings.Repeat("a", 64) + `"`, `"` + strings.Repeat("a", 65) + `"`, `"` + strings.Repeat("é", 256) +
			`"`, `"` + strings.Repeat("é", 257) + `"`,
		`{}`, `{"a":"1"}`, `{"a":"-1"}`, `{"a":1}`, `{"":"x"}`, `{"\u0000":"x"}`, `{"a":"\u0000"}`,
		`{"addresses":[{}]}`, `{"addresses":[1]}`, `{"addresses":[{},{},{},{},{},{},{},{},{},{},{}]}`,
		`{"` + strings.Repeat("k", 40) + `":"x"}`, `{"` + strings.Repeat("k", 41) + `":"x"}`, `[]`, `[{}]`, `[1]`,
	}
	fields := []string{"id", "name", "description", "scale", "currency", "profile", "overdraft", "role", "metadata",
		"from", "asset", "quantity", "cost", "settle", "buyer", "hold", "unknown"}
	for _, known := range routes() {
		if !known.HasBody() || known.Path == "/v1/transactions" { // its number of postings is a rule of the domain
			continue
		}
		m := d.Paths[known.Path][strings.ToLower(known.Method)].RequestBody.Content[jsonType]
		var schema struct{ Properties map[string]any }
		if err := json.Unmarshal(d.Components.Schemas[strings.TrimPrefix(m.Schema.Ref, "#/components/schemas/")], &schema); err != nil {
			t.Fatal(err)
		}
		for _, example := range m.Examples {
			for _, field := range fields {
				if field != "unknown" && schema.Properties[field] == nil || field == "id" && known.Method != http.MethodPost {
					continue // another body's, or the id in the path
				}
				for _, value := range append(values, "") {
					var body map[string]json.RawMessage
					if err := json.Unmarshal(example.Value, &body); err != nil {
						t.Fatal(err)
					}
					if delete(body, field); value != "" {
						body[field] = json.RawMessage(value)
					}
					text, err := json.Marshal(body)
					if err != nil {
						t.Fatal(err)
					}
					w := f.do(t, known.Method, target(known.Path, "new"), string(text))
					if fits, taken := d.Validate(t, m.Schema.Ref, text) == nil, w.Code != 400; fits != taken {
						t.Errorf("%s: %s fits the schema: %t, but answered %s", known.Path, text, fits,
							fmt.Sprint(w.Code, w.Body))
					}
				}
			}
		}
	}
}
