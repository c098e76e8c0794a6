package main

import (
	"encoding/json"
	"log"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"ledger.example/client"
)

// problem is what the API says about all problems with a code.
type problem struct {
	Code, Title, Meaning string
	Status               int
}

func (d *document) problem(code string) problem {
	i := slices.IndexFunc(d.problems, func(p problem) bool { return p.Code == code })
	if i < 0 {
		log.Fatalf("the API has no code %q", code)
	}
	return d.problems[i]
}

// notFound are the codes for what does not exist, by the name of the parameter that names it.
var notFound = map[string]string{
	"account": "account_not_found", "asset": "asset_not_found", "group": "group_not_found",
	"id": "transaction_not_found",
}

// refusals returns the codes with which an operation can be refused, by status.
func (d *document) refusals(o client.Operation) map[int][]string {
	all := map[int][]string{}
	add := func(codes string) {
		for code := range strings.FieldsSeq(codes) {
			all[d.problem(code).Status] = append(all[d.problem(code).Status], code)
		}
	}
	if o.HasBody() {
		add("malformed_body invalid_request body_too_large unsupported_media_type")
	} else {
		add("invalid_request")
	}
	if slices.ContainsFunc(o.Common(), func(f client.Field) bool { return f.Query == "cursor" }) {
		add("invalid_cursor")
	}
	add("unauthenticated forbidden throttled unavailable internal " + o.Refusals)
	if o.Method != http.MethodGet {
		add("contention outcome_unknown")
	}
	if o.Method == http.MethodPut {
		add("precondition_failed")
	}
	for _, f := range client.FieldsOf(o.In) {
		isNew := f.IsSame() && o.Method == http.MethodPut // the path names what is created
		if code := notFound[f.Path+f.Query]; code != "" && !isNew {
			all[http.StatusNotFound] = append(all[http.StatusNotFound], code)
		}
	}
	return all
}

// refusal describes the problems with a status, 0 for several, and returns a reference to the description.
func (d *document) refusal(status int, codes []string) *object {
	name := "Other"
	if status > 0 {
		name = strings.ReplaceAll(http.StatusText(status), " ", "")
	}
	headers := newObject("X-Request-Id", ref("headers", "RequestID"))
	for of, header := range map[int][2]string{
		0: {"Allow", "Allow"}, http.StatusUnauthorized: {"WWW-Authenticate", "Authenticate"},
		http.StatusServiceUnavailable: {"Retry-After", "RetryAfter"},
	} {
		if of == status {
			headers.set(header[0], ref("headers", header[1]))
		}
	}
	var meanings []string
	examples := &object{}
	for _, code := range codes {
		is := d.problem(code)
		if status > 0 {
			is.Status = status
		}
		meanings = append(meanings, is.Title+".")
		if len(codes) == 1 {
			meanings = []string{is.Meaning}
		}
		examples.set(code, newObject("value", d.exampleOf(is)))
	}
	response := newObject("description", strings.Join(meanings, " "), "headers", headers, "content",
		newObject("application/problem+json", newObject("schema", ref("schemas", "Problem"), "examples", examples)))
	for n := 1; ; n++ {
		key := name
		if n > 1 {
			key += strconv.Itoa(n)
		}
		known, isUsed := d.responses.get(key)
		if !isUsed {
			d.responses.set(key, response)
		} else if !slices.Equal(textOf(known), textOf(response)) {
			continue
		}
		return ref("responses", key)
	}
}

// exampleOf returns a problem that the ledger answered in the scenario or, if there is none, one that it can answer.
func (d *document) exampleOf(is problem) any {
	for _, id := range slices.Sorted(maps.Keys(d.exchanges)) {
		for _, e := range d.exchanges[id] {
			if e.status == is.Status && strings.Contains(string(e.answer), `"code":"`+is.Code+`"`) {
				return e.answer
			}
		}
	}
	return newObject("type", "/problems/"+is.Code, "title", is.Title, "status", is.Status, "detail", is.Meaning,
		"code", is.Code, "request_id", "request-1")
}

// parameter describes a parameter of the path, the query or a header, a field of a type, and returns a reference to the
// description.
func (d *document) parameter(of reflect.Type, f client.Field) *object {
	owner := ownerOf(of, f)
	where, name, key := "query", f.Query, owner.Name()+f.Name
	if owner == reflect.TypeFor[client.Common]() {
		key = f.Name
	}
	description := d.comments[owner.Name()+"."+f.Name]
	switch {
	case f.Path != "":
		what := f.Path
		if what == "id" {
			what = "transaction"
		}
		where, name, key = "path", f.Path, strings.ToUpper(what[:1])+what[1:]+"ID"
		if f.Is() == "" || f.Is() == "ID" { // else it has a comment
			description = "The " + what + "'s id."
		}
	case f.Header != "":
		where, name = "header", f.Header
	}
	if _, isMade := d.parameters.get(key); !isMade {
		is := newObject("name", name, "in", where, "required", f.Path != "" || f.IsRequired(),
			"description", description, "schema", d.schemaOfParameter(f))
		if example, ok := f.Tag.Lookup("example"); ok && f.Path == "" {
			is.set("example", example)
		}
		d.parameters.set(key, is)
	}
	return ref("parameters", key)
}

// schemaOfParameter returns the schema of a parameter.
func (d *document) schemaOfParameter(f client.Field) *object {
	schema, kind := newObject("type", "string"), f.Type.Kind()
	isBool := kind == reflect.Bool && f.Choices()[0] == "true"
	switch choices := f.Choices(); {
	case f.Path != "" && f.Is() == "":
		return ref("schemas", "ID")
	case d.isMade(f.Is()):
		return ref("schemas", f.Is())
	case isBool:
		schema = newObject("type", "boolean")
	case choices != nil:
		schema.set("enum", choices)
	case kind == reflect.Int, kind == reflect.Pointer:
		schema = newObject("type", "integer")
		limited(schema, f, "minimum", "maximum")
	case f.Tag.Get("time") != "" || kind == reflect.Struct:
		schema.set("format", "date-time")
	}
	if text, ok := f.Tag.Lookup("default"); ok {
		if schema.must("type") == "string" {
			schema.set("default", text)
		} else {
			schema.set("default", json.RawMessage(text))
		}
	}
	return schema
}
