package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"log"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"

	"ledger.example/client"
	"ledger.example/functions/api"
)

// openapi.json of the API has what is derived from the operations of package client. The rest is by hand: parameters,
// responses and schemas that operations name, the pages for people, and what only some operations have, such as more
// examples. It is added to what is derived.
const (
	handWritten = "generate/openapi.json"
	openAPI     = "../functions/api/openapi.json"
)

// document is openapi.json while it is made.
type document struct {
	content    *object
	paths      *object // of content, like the next three
	schemas    *object
	parameters *object
	responses  *object
	comments   map[string]string // in package client: of operations, of types and, as "type.field", of their fields
}

// newDocument returns a document without operations, from the hand-written one.
func newDocument(byHand []byte) *document {
	d := &document{content: readObject(byHand), paths: &object{}, comments: commentsOfClient()}
	components := d.content.object("components")
	d.schemas, d.parameters = components.object("schemas"), components.object("parameters")
	d.responses = components.object("responses")
	return d
}

// writeOpenAPI writes openapi.json.
func writeOpenAPI() {
	text, err := os.ReadFile(handWritten)
	check(err)
	d := newDocument(text)
	written := d.content.object("paths")
	operations := api.Operations()
	for _, o := range operations {
		method := strings.ToLower(o.Method)
		is := &object{}
		if o.ID != "" {
			is = d.operation(o, operations)
		}
		if _, isByHand := written.object(o.Path).get(method); isByHand {
			is.add(written.object(o.Path).object(method), o.Method+" "+o.Path)
		}
		d.paths.object(o.Path).set(method, is)
	}
	for _, m := range written.members {
		if _, isServed := d.paths.get(m.name); !isServed {
			log.Fatalf("%s describes %s, which the API does not serve", handWritten, m.name)
		}
	}
	d.content.set("paths", d.paths)
	var made bytes.Buffer
	check(json.Indent(&made, textOf(d.content), "", " "))
	made.WriteByte('\n')
	if before, err := os.ReadFile(openAPI); err != nil || !bytes.Equal(before, made.Bytes()) {
		check(os.WriteFile(openAPI, made.Bytes(), 0o644))
		log.Printf("%s has changed", openAPI)
	}
}

// operation describes an operation.
func (d *document) operation(o client.Operation, all []client.Operation) *object {
	var parameters []any
	for _, name := range d.parametersOf(o) {
		parameters = append(parameters, ref("parameters", name))
	}
	is := newObject("operationId", o.ID, "tags", []string{o.Tag}, "summary", o.Summary,
		"description", d.comments[o.Name()], "parameters", parameters)
	if o.HasBody() {
		schema := o.Name()
		if !d.isMade(schema) {
			d.schemas.set(schema, d.body(o, d.bodies(o)))
		}
		examples := &object{}
		for i, body := range d.examplesOf(schema) {
			examples.set("example"+strconv.Itoa(i+1), newObject("value", body))
		}
		is.set("requestBody", newObject("required", true, "content", newObject("application/json",
			newObject("schema", ref("schemas", schema), "examples", examples))))
	}

	is.set("responses", d.responsesOf(o, all))
	return is
}

// responsesOf describes the answers of an operation.
func (d *document) responsesOf(o client.Operation, all []client.Operation) *object {
	isRead := o.Method == http.MethodGet
	responses := map[string]any{}
	if o.Created != "" {
		hasLocation := createsTransaction(o) || slices.ContainsFunc(all, func(other client.Operation) bool {
			return other.Path == o.Path && other.Method == http.MethodGet
		})
		responses["201"] = d.success(o, o.Created, "", map[string]bool{"Location": hasLocation, "ETag": o.Tagged})
	}
	responses["200"] = d.success(o, o.OK, o.Again, map[string]bool{
		"Idempotent-Replayed": !isRead && o.Again != "", "ETag": o.Tagged,
	})
	names := append([]string{"Unauthenticated", "Forbidden", "Internal", "Unavailable"}, o.Refusals...)
	switch {
	case o.HasBody():
		names = append(names, "BadBody", "TooLarge", "NotJSON")
	case slices.Contains(d.parametersOf(o), "Limit"):
		names = append(names, "BadList")
	default:
		names = append(names, "BadRequest")
	}
	if isRead && o.Tagged {
		responses["304"] = ref("responses", "NotModified")
	}
	if !isRead {
		names = append(names, "OutcomeUnknown")
	}
	for _, name := range names {
		responses[d.statusOf(name)] = ref("responses", name)
	}
	responses["default"] = ref("responses", "Other")
	shown := &object{}
	for _, status := range slices.Sorted(maps.Keys(responses)) {
		shown.set(status, responses[status])
	}
	return shown
}

// parametersOf returns the names of the components for the parameters of an operation.
func (d *document) parametersOf(o client.Operation) (names []string) {
	for _, f := range client.FieldsOf(o.In) {
		where, name := "path", f.Path
		switch {
		case f.Query != "":
			where, name = "query", f.Query
		case f.Header != "":
			where, name = "header", f.Header
		}
		if name == "" {
			continue
		}
		i := slices.IndexFunc(d.parameters.members, func(m member) bool {
			var p struct{ In, Name string }
			check(json.Unmarshal(textOf(m.value), &p))
			return p.In == where && p.Name == name && cmp.Or(f.Tag.Get("parameter"), m.name) == m.name
		})
		if i < 0 {
			log.Fatalf("%s describes no parameter %q", handWritten, name)
		}
		names = append(names, d.parameters.members[i].name)
	}
	for _, m := range []struct {
		isThere bool
		names   []string
	}{
		{o.IsPage(), []string{"Limit", "Cursor"}},
		{o.Method == http.MethodGet && o.Tagged, []string{"IfNoneMatch"}},
		{o.Dry, []string{"DryRun"}},
		{createsTransaction(o), []string{"IdempotencyKey"}},
		{true, []string{"LedgerUser", "RequestID"}},
	} {
		if m.isThere {
			names = append(names, m.names...)
		}
	}
	return names
}

// statusOf returns the status of a response, which its examples have.
func (d *document) statusOf(response string) string {
	var r struct {
		Content map[string]struct {
			Examples map[string]struct{ Value struct{ Status int } }
		}
	}
	check(json.Unmarshal(textOf(d.responses.must(response)), &r))
	for _, e := range r.Content["application/problem+json"].Examples {
		return strconv.Itoa(e.Value.Status)
	}
	log.Fatalf("the response %s has no example", response)
	return ""
}

// createsTransaction reports whether an operation creates a transaction with an id of the caller.
func createsTransaction(o client.Operation) bool {
	return o.Method == http.MethodPost && slices.ContainsFunc(client.FieldsOf(o.In), func(f client.Field) bool {
		return f.JSON == "id"
	})
}

// success describes an answer. schema is "" for that of the operation's Out.
func (d *document) success(o client.Operation, description, schema string, headers map[string]bool) *object {
	has := newObject("X-Request-Id", ref("headers", "RequestID"))
	for _, header := range []string{"Location", "Idempotent-Replayed", "ETag"} {
		if headers[header] {
			has.set(header, ref("headers", strings.ReplaceAll(header, "-", "")))
		}
	}
	if schema == "" {
		schema = d.answer(o.Out, false, json.RawMessage(o.Answer))
	}
	examples := newObject()
	if o.Answer != "" {
		examples.set("answer", newObject("value", json.RawMessage(o.Answer)))
	} else if known := d.examplesOf(schema); known != nil {
		examples.set("answer", newObject("value", known[0]))
	}
	return newObject("description", description, "headers", has, "content", newObject("application/json",
		newObject("schema", ref("schemas", schema), "examples", examples)))
}

// examplesOf returns the examples of a schema.
func (d *document) examplesOf(schema string) []json.RawMessage {
	var is struct{ Examples []json.RawMessage }
	check(json.Unmarshal(textOf(d.schemas.must(schema)), &is))
	return is.Examples
}

func ref(kind, name string) *object { return newObject("$ref", "#/components/"+kind+"/"+name) }
