package main

import (
	"bytes"
	"encoding/json"
	"log"
	"maps"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"ledger.example/client"
	"ledger.example/functions/api"
)

// openapi.json of the API has what is derived from the operations of package client. The rest is by hand: parameters,
// responses and schemas that operations name, the pages for people, and what only some operations have, such as more
// examples. It is added to what is derived.
const handWritten = "generate/openapi.json"

// document is openapi.json while it is made.
type document struct {
	content     *object
	paths       *object // of content, like the next three
	schemas     *object
	parameters  *object
	responses   *object
	additions   *object  // of schemas: what is added by hand to those that are derived
	undescribed []string // fields without a description, as "type.field"
	problems    []problem
	exchanges   map[string][]exchange
	comments    map[string]string // of operations, of types and, as "type.field", of their fields
}

// newDocument returns a document without operations, from the hand-written one.
func newDocument(byHand, problems []byte) *document {
	d := &document{content: readObject(byHand), paths: &object{}, comments: map[string]string{}}
	readComments(d.comments, "../client", "")
	readComments(d.comments, "../events", "events.")
	components := d.content.object("components")
	d.schemas, d.parameters = components.object("schemas"), components.object("parameters")
	d.responses = components.object("responses")
	d.additions = &object{}
	for _, m := range slices.Clone(d.schemas.members) {
		if schema := d.schemas.object(m.name); !schema.isWhole() {
			d.additions.set(m.name, schema)
			d.schemas.delete(m.name)
		}
	}
	check(json.Unmarshal(problems, &d.problems))
	return d
}

// openAPI returns openapi.json.
func openAPI() string {
	text, err := os.ReadFile(handWritten)
	check(err)
	problems, err := os.ReadFile("../functions/api/problems.json")
	check(err)
	d := newDocument(text, problems)
	written := d.content.object("paths")
	operations := api.Operations()
	d.exchanges = exchanges(operations)
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
	for _, o := range []client.Operation{
		client.CaptureHold.Untyped(), client.ReleaseHold.Untyped(), client.ReverseTransaction.Untyped(),
	} {
		d.batched(o)
	}
	if d.undescribed != nil {
		slices.Sort(d.undescribed)
		log.Fatalf("fields without a comment above them that describes them: %v", slices.Compact(d.undescribed))
	}
	for _, m := range d.additions.members {
		log.Fatalf("%s has something about the schema %s, which is not derived", handWritten, m.name)
	}
	d.content.set("paths", d.paths)
	d.schemas.sort()
	var made bytes.Buffer
	check(json.Indent(&made, textOf(d.content), "", " "))
	made.WriteByte('\n')
	return made.String()
}

// operation describes an operation.
func (d *document) operation(o client.Operation, all []client.Operation) *object {
	var parameters []any
	for _, f := range client.FieldsOf(o.In) {
		if f.Path+f.Query+f.Header != "" {
			parameters = append(parameters, d.parameter(o.In, f))
		}
	}
	for _, f := range o.Common() {
		parameters = append(parameters, d.parameter(reflect.TypeFor[client.Common](), f))
	}
	is := newObject("operationId", o.ID, "tags", []string{tagOf(o.Path)}, "summary", o.Summary,
		"description", d.comments[o.Name()], "parameters", parameters)
	if o.HasBody() {
		schema := o.Name()
		if !d.isMade(schema) {
			d.body(o)
		}
		examples := d.examples(o, func(e exchange) bool { return e.status < 300 },
			func(e exchange) json.RawMessage { return e.body })
		is.set("requestBody", newObject("required", true, "content", newObject("application/json",
			newObject("schema", ref("schemas", schema), "examples", examples))))
	}

	is.set("responses", d.responsesOf(o, all))
	return is
}

// tagOf returns the tag of the operations at a path.
func tagOf(path string) string {
	parts := strings.Split(path, "/") // "", "v1", and then collections and ids in turn
	switch last := parts[len(parts)-1]; {
	case parts[2] == "groups", last == "groups":
		return "groups"
	case parts[2] == "users", parts[2] == "me", strings.Contains(path, "/members"):
		return "members"
	case parts[2] == "assets", parts[2] == "accounts":
		return parts[2]
	}
	return "transactions"
}

// responsesOf describes the answers of an operation.
func (d *document) responsesOf(o client.Operation, all []client.Operation) *object {
	isRead := o.Method == http.MethodGet
	responses := map[string]any{}
	if o.Created != "" {
		hasLocation := o.CreatesTransaction() || slices.ContainsFunc(all, func(other client.Operation) bool {
			return other.Path == o.Path && other.Method == http.MethodGet
		})
		responses["201"] = d.success(o, o.Created, "", map[string]bool{"Location": hasLocation, "ETag": o.Tagged})
	}
	schema, ok := "", o.OK
	replays := o.Dry && o.Out == reflect.TypeFor[client.Transaction]()
	if replays {
		schema = d.define("AnsweredTransaction", o.Out, asAnswered)
	}
	if ok == "" {
		ok = "What is asked for."
	}
	responses["200"] = d.success(o, ok, schema, map[string]bool{"Idempotent-Replayed": replays, "ETag": o.Tagged})
	if isRead && o.Tagged {
		responses["304"] = ref("responses", "NotModified")
	}
	refusals := d.refusals(o)
	for _, status := range slices.Sorted(maps.Keys(refusals)) {
		responses[strconv.Itoa(status)] = d.refusal(status, refusals[status])
	}
	responses["default"] = d.refusal(0, []string{"not_found", "method_not_allowed"})
	shown := &object{}
	for _, status := range slices.Sorted(maps.Keys(responses)) {
		shown.set(status, responses[status])
	}
	return shown
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
		schema = d.answer(o.Out, asShown)
	}
	is200 := schema == "AnsweredTransaction" || description != o.Created
	examples := d.examples(o, func(e exchange) bool { return e.status == 200 && is200 || e.status == 201 && !is200 },
		func(e exchange) json.RawMessage { return e.answer })
	if known := d.examplesOf(schema); len(examples.members) == 0 && known != nil {
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

// ref refers to a component.
func ref(kind, name string) *object { return newObject("$ref", "#/components/"+kind+"/"+name) }
