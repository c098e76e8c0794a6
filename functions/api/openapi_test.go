package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ledger.example/events"
	"ledger.example/ledger"
	"ledger.example/tests/openapi"
)

// openapi.json has exactly the codes of the API. Each has its status and an example.
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
	shown := map[ledger.Code]bool{}
	for path, operations := range d.Paths {
		for method, o := range operations {
			for status, r := range o.Responses {
				for _, example := range d.Response(t, r).Content[problemType].Examples {
					var p problem
					if err := json.Unmarshal(example.Value, &p); err != nil {
						t.Fatal(err)
					}
					shown[p.Code] = true
					k := kindOf(p.Code)
					ofPath := p.Status == 404 && (p.Code == ledger.CodeAccountNotFound ||
						p.Code == ledger.CodeAssetNotFound || p.Code == ledger.CodeTransactionNotFound)
					if status != "default" && status != strconv.Itoa(p.Status) || p.Status != k.Status && !ofPath ||
						p.Title != k.Title || p.Type != "/problems/"+string(p.Code) {
						t.Errorf("%s %s: under %s is the example %s", method, path, status, example.Value)
					}
				}
			}
		}
	}
	for _, code := range known {
		if !shown[code] {
			t.Errorf("no example of %s", code)
		}
	}
}

// openapi.json has all types of events of the journal.
func TestOpenAPIHasAllTypesOfEvents(t *testing.T) {
	var entry struct {
		Properties map[string]struct{ Enum []string }
	}
	if err := json.Unmarshal(openapi.Read(t, openAPI).Components.Schemas["JournalEntry"], &entry); err != nil {
		t.Fatal(err)
	}
	if listed := entry.Properties["type"].Enum; !slices.Equal(listed, events.Types) {
		t.Errorf("listed are %v, known %v", listed, events.Types)
	}
}

// Every example is valid against its schema, and the API accepts every example of a body.
func TestOpenAPIExamples(t *testing.T) {
	d := openapi.Read(t, openAPI)
	ids := strings.NewReplacer("{asset}", "new", "{account}", "new", "{user}", "u-17", "{id}", "t-1", "{group}", "new", "{number}", "1")
	checked := 0
	for path, operations := range d.Paths {
		for method, o := range operations {
			if o.RequestBody != nil {
				m := o.RequestBody.Content[jsonType]
				if len(m.Examples) == 0 {
					t.Errorf("%s %s has no example of its body", method, path)
				}
				for name, example := range m.Examples {
					d.Check(t, m.Schema.Ref, example.Value)
					f := newFixture(t)
					if w := f.do(t, strings.ToUpper(method), ids.Replace(path), string(example.Value)); w.Code == 400 {
						t.Errorf("%s %s does not take %s: %s", method, path, name, w.Body)
					}
					checked++
				}
			}
			for status, r := range o.Responses {
				r = d.Response(t, r)
				if r.Description == "" || r.Headers["X-Request-Id"] == nil {
					t.Errorf("%s %s: response %s has no description or no X-Request-Id", method, path, status)
				}
				for mediaType, m := range r.Content {
					if len(m.Examples) == 0 && m.Schema.Ref != "" {
						t.Errorf("%s %s: response %s has no example", method, path, status)
					}
					if (status[0] == '4' || status[0] == '5' || status == "default") != (mediaType == problemType) {
						t.Errorf("%s %s: response %s is of %s", method, path, status, mediaType)
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

// Answers of the API are valid against their schemas. The API accepts the default values of its parameters, because
// some clients send them.
func TestAnswersMatchOpenAPI(t *testing.T) {
	d, f := openapi.Read(t, openAPI), newFixture(t)
	for _, known := range routes() {
		if known.public() && known.Path != "/healthz" { // pages for people, and the document
			continue
		}
		o := d.Paths[known.Path][strings.ToLower(known.Method)]
		bodies := []string{""}
		if known.HasBody() {
			for _, example := range o.RequestBody.Content[jsonType].Examples {
				bodies = append(bodies, string(example.Value))
			}
		}
		defaults := d.RequiredQuery(t, o)
		for _, p := range d.ParametersOf(t, o) {
			if p.In == "query" && p.Schema.Default != nil {
				defaults.Set(p.Name, fmt.Sprint(p.Schema.Default))
			}
		}
		for _, account := range []string{"jane", "market", "margin", "shop", "none", "*"} {
			path := strings.NewReplacer("{account}", account, "{asset}", "USD", "{user}", "u-17", "{id}", "t-1",
				"{group}", "desk", "{number}", "1").Replace(known.Path)
			for _, query := range []string{defaults.Encode(), "limit=1", "newest=0", "consistency=strong"} {
				for _, body := range bodies {
					w := f.do(t, known.Method, path+"?"+query, body)
					r, ok := o.Responses[strconv.Itoa(w.Code)]
					if !ok || account == "jane" && query == defaults.Encode() && !known.writes() && w.Code != 200 {
						t.Errorf("%s %s?%s answered %d: %s", known.Method, path, query, w.Code, w.Body)
						continue
					}
					d.Check(t, d.Response(t, r).Content[w.Header().Get("Content-Type")].Schema.Ref, w.Body.Bytes())
				}
			}
		}
	}
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
	ids := strings.NewReplacer("{asset}", "new", "{account}", "new", "{user}", "u-17", "{id}", "t-1", "{group}", "new", "{number}", "1")
	for _, known := range routes() {
		if !known.HasBody() || known.Path == "/v1/transactions" { // its number of postings is a rule of the domain
			continue
		}
		m := d.Paths[known.Path][strings.ToLower(known.Method)].RequestBody.Content[jsonType]
		for _, example := range m.Examples {
			for _, field := range fields {
				if field == "id" && known.Method != http.MethodPost { // the id in the path is used
					continue
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
					w := f.do(t, known.Method, ids.Replace(known.Path), string(text))
					if fits, taken := d.Validate(t, m.Schema.Ref, text) == nil, w.Code != 400; fits != taken {
						t.Errorf("%s: %s fits the schema: %t, but answered %s", known.Path, text, fits,
							fmt.Sprint(w.Code, w.Body))
					}
				}
			}
		}
	}
}

// A field that cannot be null in a request is not null in answers, so that a caller can send an answer back.
func TestOpenAPINulls(t *testing.T) {
	d := openapi.Read(t, openAPI)
	properties := func(schema string) map[string]json.RawMessage {
		var o struct{ Properties map[string]json.RawMessage }
		if err := json.Unmarshal(d.Components.Schemas[schema], &o); err != nil || len(o.Properties) == 0 {
			t.Fatal(schema, err)
		}
		return o.Properties
	}
	mayBeNull := func(schema, field string) bool {
		return d.Validate(t, "#/components/schemas/"+schema+"/properties/"+field, []byte("null")) == nil
	}
	for answer, request := range map[string]string{
		"Asset": "RegisterAsset", "ListedAsset": "RegisterAsset", "Account": "OpenAccount", "ListedAccount": "OpenAccount",
		"Membership": "GrantMember", "Transaction": "PostTransaction", "Leg": "LegRequest", "Posting": "LegRequest",
	} {
		for field := range properties(answer) {
			if properties(request)[field] != nil && mayBeNull(answer, field) && !mayBeNull(request, field) {
				t.Errorf("%s of %s may be null, which %s refuses", field, answer, request)
			}
		}
	}
}
