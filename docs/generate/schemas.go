package main

import (
	"encoding/json"
	"log"
	"reflect"
	"slices"
	"strings"
	"time"

	"ledger.example/client"
	"ledger.example/events"
)

// A use is where the schema of a type is used.
type use int

const (
	asSent     use = iota // in the body of a request: other fields are refused
	asShown               // in an answer
	asListed              // in an item of a list
	asAnswered            // in the answer to a request that may be a dry run
)

// schemaTypes are the types of schemas whose names a field has in its tag is. Of the others, it is that of the field.
var schemaTypes = map[string]reflect.Type{"Leg": reflect.TypeFor[client.PostedLeg]()}

// body describes the body of an operation. It may also have the fields of the answer that the ledger sets.
func (d *document) body(o client.Operation) {
	fields := slices.DeleteFunc(slices.Clone(client.FieldsOf(o.In)), func(f client.Field) bool {
		return f.Path != "" || f.IsSame()
	})
	schema := d.object(o.In, fields, asSent)
	if o.In == o.Out { // its description is that of the answer
		schema.delete("description")
	}
	properties := schema.object("properties")
	for _, f := range client.FieldsOf(o.Out) {
		if _, isSent := properties.get(f.JSON); !f.IsSame() || isSent {
			continue
		}
		field := d.schemaOf(o.Out, f, asShown)
		field.set("readOnly", true)
		if f.Path != "" {
			field.set("description", "Must be equal to the id in the path.")
		} else {
			field.set("description", strings.TrimSpace(d.comment(o.Out, f)+
				" Accepted only if it is equal to the stored value, so that an answer can be sent back."))
		}
		properties.set(f.JSON, field)
	}
	d.set(o.Name(), schema)
}

// batched adds the schema of an operation's requests in a batch, where what is in their path is in their body.
func (d *document) batched(o client.Operation) {
	var fields []client.Field
	for _, f := range client.FieldsOf(o.In) {
		if name := f.Tag.Get("batch"); name != "" {
			f.JSON, f.Path = name, ""
		}
		if f.JSON == "id" { // the header for it is not for a batch
			f.In = "required"
		}
		fields = append(fields, f)
	}
	d.set("Batch"+o.In.Name(), d.object(o.In, fields, asSent))
}

// answer adds the schema of an answer, or of an item of a list, and returns its name.
func (d *document) answer(t reflect.Type, as use) string {
	fields, name := client.FieldsOf(t), schemaName(t)
	if as == asListed && slices.ContainsFunc(fields, func(f client.Field) bool { return !f.IsListed() }) {
		return d.define("Listed"+name, t, as)
	}
	return d.define(name, t, as)
}

// define adds the schema of a type under a name, unless it is there, and returns the name.
func (d *document) define(name string, t reflect.Type, as use) string {
	if !d.isMade(name) {
		d.schemas.set(name, nil) // its place
		d.set(name, d.object(t, client.FieldsOf(t), as))
	}
	return name
}

// object describes an object with fields of a type.
func (d *document) object(t reflect.Type, fields []client.Field, as use) *object {
	var properties, needs object
	var required, omitted []string
	var instead, other string // fields of which a body has one
	for _, f := range fields {
		switch {
		case f.JSON == "", isOfOthers(f, as):
		case as == asListed && !f.IsListed():
			omitted = append(omitted, f.JSON)
		default:
			properties.set(f.JSON, d.schemaOf(t, f, as))
			if f.With != "" {
				needs.set(f.JSON, []string{f.With})
			}
			if as == asSent && f.IsRequired() && !f.IsAlwaysRequired() {
				instead, other = f.JSON, f.Without
			}
			if isRequired(f, as) {
				required = append(required, f.JSON)
			}
		}
	}
	description := d.comments[commentKey(t)]
	if omitted != nil {
		description += " In lists, it has no " + strings.Join(omitted, " and no ") + "."
	}
	schema := newObject("type", "object")
	if as == asSent {
		schema.set("additionalProperties", false)
	}
	if description != "" && typeName(t) != "List" {
		schema.set("description", description)
	}
	if required != nil {
		schema.set("required", required)
	}
	schema.set("properties", &properties)
	if needs.members != nil {
		schema.set("dependentRequired", &needs)
	}
	if other != "" { // generators of clients leave these keywords out
		has := func(name string) *object { return newObject("required", []string{name}) }
		schema.set("if", has(other))
		schema.set("then", newObject("not", has(instead)))
		schema.set("else", has(instead))
	}
	return schema
}

// inDryRun begins the tag absent of a field that a dry run may lack.
const inDryRun = "in a dry run"

// isOfOthers reports whether only other answers have a field.
func isOfOthers(f client.Field, as use) bool {
	of := f.Tag.Get("of")
	return of == "reads" && as == asAnswered || of == "writes" && as != asAnswered
}

// isRequired reports whether a field is always there.
func isRequired(f client.Field, as use) bool {
	switch as {
	case asSent:
		return f.IsAlwaysRequired()
	case asAnswered:
		return f.IsAlways() && !strings.HasPrefix(f.Tag.Get("absent"), inDryRun)
	}
	return f.IsAlways()
}

// typeName returns the name of a type as it is declared, without the arguments of its parameters.
func typeName(t reflect.Type) string {
	name, _, _ := strings.Cut(t.Name(), "[")
	return name
}

// schemaName returns the name of the schema of an answer.
func schemaName(t reflect.Type) string {
	name := typeName(t)
	if name == "List" {
		return schemaName(client.FieldsOf(t)[0].Type.Elem()) + "List"
	}
	return strings.TrimSuffix(name, "Of") // its parameter is the type of its amounts
}

// isMade reports whether a schema is there.
func (d *document) isMade(name string) bool {
	_, ok := d.schemas.get(name)
	return ok
}

// set adds a schema, with what is written by hand about it.
func (d *document) set(name string, schema *object) {
	if byHand, ok := d.additions.get(name); ok {
		schema.override(byHand.(*object), name)
		d.additions.delete(name)
	}
	d.schemas.set(name, schema)
}

// idText describes the id of a new transaction.
const idText = "The transaction's id. A request with the same id and body has one effect, however often it is sent. " +
	"The id can be in the header Idempotency-Key instead. If both are given, they must be equal. If none is given, " +
	"the ledger generates one."

// schemaOf returns the schema of a field of a type.
func (d *document) schemaOf(of reflect.Type, f client.Field, as use) *object {
	schema, text := d.typeOf(of, f, as), d.comment(of, f)
	switch absent := f.Tag.Get("absent"); {
	case as == asSent && f.JSON == "id" && text == "":
		text = idText
	case as == asAnswered && strings.HasPrefix(absent, inDryRun):
		text = strings.TrimSpace(text + " Absent " + absent + ".")
	}
	if text != "" {
		schema.set("description", text)
	} else if !slices.Contains(plain, f.JSON) {
		d.undescribed = append(d.undescribed, commentKey(ownerOf(of, f))+"."+f.Name)
	}
	return schema
}

// plain are the fields that need no description: their names say it in every schema.
var plain = strings.Fields(`account actor as asset at balances buyer closing cost credits data debits description
	effective_at first_posting_at from group hold id kind last_posting_at metadata name net_expenditure next_cursor
	opening overdraft pending_credits pending_debits posted_at profile quantity reason role settled state status
	summary to transaction type user`)

// typeOf returns the schema of a field without its description.
func (d *document) typeOf(of reflect.Type, f client.Field, as use) *object {
	name, t := f.Is(), f.Type
	if name == "" && f.Names() != "" && f.Names() != client.NamesOwn {
		name = "ID"
	}
	isNull := t.Kind() == reflect.Pointer && !f.Optional && name != client.NextCursor // that one may be null itself
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case isNull:
		return newObject("anyOf", []any{ref("schemas", name), newObject("type", "null")})
	case t.Kind() == reflect.Slice && t != reflect.TypeFor[json.RawMessage]():
		if t = t.Elem(); t.Kind() == reflect.Struct {
			name = d.itemOf(f, t, as)
		}
		return limited(newObject("type", "array", "items", ref("schemas", name)), f, "minItems", "maxItems")
	case t.Kind() == reflect.Struct && len(client.FieldsOf(t)) > 0 && name == "":
		return ref("schemas", d.answer(t, asShown))
	case t.Kind() == reflect.Struct && len(client.FieldsOf(t)) > 0:
		return ref("schemas", d.define(name, t, as))
	case name == client.EventType:
		return newObject("type", "string", "enum", f.Choices())
	case name != "":
		return ref("schemas", name)
	}
	return d.basic(of, f, t)
}

// itemOf adds the schema of the items of a field, which is a list of a type, and returns its name. Those of a page have
// the name of their type.
func (d *document) itemOf(f client.Field, t reflect.Type, as use) string {
	name := f.Is()
	if name == "" {
		return d.answer(t, asListed)
	}
	if named := schemaTypes[name]; named != nil {
		t = named
	}
	switch {
	case as == asAnswered:
		name = "Answered" + name
	case as == asSent && t == reflect.TypeFor[client.Rate](): // answers have all its fields
		name = "Given" + name
	}
	return d.define(name, t, as)
}

// basic returns the schema of a value that has no name.
func (d *document) basic(of reflect.Type, f client.Field, t reflect.Type) *object {
	switch t {
	case reflect.TypeFor[events.Amount]():
		return ref("schemas", "PostedAmount")
	case reflect.TypeFor[time.Time]():
		return newObject("type", "string", "format", "date-time")
	case reflect.TypeFor[json.RawMessage]():
		return newObject("type", "object", "additionalProperties", true)
	}
	switch t.Kind() {
	case reflect.Int:
		return limited(newObject("type", "integer"), f, "minimum", "maximum")
	case reflect.Int64:
		return limited(newObject("type", "integer", "format", "int64"), f, "minimum", "maximum")
	case reflect.Bool:
		return newObject("type", "boolean")
	case reflect.String:
		schema := newObject("type", "string")
		if choices := f.Choices(); choices != nil {
			schema.set("enum", choices)
		}
		return limited(schema, f, "minLength", "maxLength")
	}
	log.Fatalf("the field %s of %s has no schema: give it a tag `is`, or a case for %s in basic", f.JSON, of, t)
	return nil
}

// limited adds the limits of a field to its schema. Without one, the items of a page are meant.
func limited(schema *object, f client.Field, least, most string) *object {
	if n := f.Tag.Get("least"); n != "" {
		schema.set(least, json.RawMessage(n))
	}
	if n := f.Tag.Get("most"); n != "" {
		schema.set(most, json.RawMessage(n))
	} else if most == "maxItems" {
		schema.set(most, client.PageLimit)
	}
	return schema
}
