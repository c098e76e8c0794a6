package main

import (
	"cmp"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"ledger.example/client"
)

// body describes the body of an operation. It may also have the fields of the answer that the ledger sets.
func (d *document) body(o client.Operation) *object {
	properties, required := &object{}, []string(nil)
	for _, f := range client.FieldsOf(o.In) {
		if f.JSON == "" || f.Path != "" || f.IsSame() {
			continue
		}
		properties.set(f.JSON, d.schemaOf(o.In, f))
		if f.IsRequired() {
			required = append(required, f.JSON)
		}
	}
	for _, f := range client.FieldsOf(o.Out) {
		if _, isSent := properties.get(f.JSON); !f.IsSame() || isSent {
			continue
		}
		schema := d.schemaOf(o.Out, f)
		schema.set("readOnly", true)
		if f.Path != "" {
			schema.set("description", "Must be equal to the id in the path.")
		} else {
			schema.set("description", strings.TrimSpace(d.comment(o.Out, f)+
				" Accepted only if it is equal to the stored value, so that an answer can be sent back."))
		}
		properties.set(f.JSON, schema)
	}
	schema := newObject("type", "object", "additionalProperties", false)
	if what := d.comments[typeName(o.In)]; o.In != o.Out && what != "" {
		schema.set("description", what)
	}
	if required != nil {
		schema.set("required", required)
	}
	schema.set("properties", properties)
	return schema
}

// answer adds the schema of an answer, or of an item of a list, and returns its name.
func (d *document) answer(t reflect.Type, isItem bool) string {
	fields := client.FieldsOf(t)
	isPart := isItem && slices.ContainsFunc(fields, func(f client.Field) bool { return !f.IsListed() })
	name, description := schemaName(t), d.comments[typeName(t)]
	if typeName(t) == "List" {
		description = ""
	}
	if isPart {
		name = "Listed" + name
	}
	if d.isMade(name) {
		return name
	}
	properties, required, omitted := &object{}, []string{}, []string(nil)
	for _, f := range fields {
		if isItem && !f.IsListed() {
			omitted = append(omitted, f.JSON)
			continue
		}
		properties.set(f.JSON, d.schemaOf(t, f))
		if f.IsAlways() {
			required = append(required, f.JSON)
		}
	}
	if isPart {
		description += " In lists, it has no " + strings.Join(omitted, " and no ") + "."
	}
	schema := newObject("type", "object", "required", required)
	if description != "" {
		schema.set("description", description)
	}
	schema.set("properties", properties)
	d.schemas.set(name, schema)
	return name
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

// schemaOf returns the schema of a field of a type.
func (d *document) schemaOf(of reflect.Type, f client.Field) *object {
	var schema *object
	name, t := f.Is(), f.Type
	switch {
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct: // a page
		item := d.answer(t.Elem(), true)
		schema = newObject("type", "array", "maxItems", client.PageLimit, "items", ref("schemas", item))
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String:
		most := json.RawMessage(f.Tag.Get("most"))
		schema = newObject("type", "array", "maxItems", most, "items", ref("schemas", name))
	case t.Kind() == reflect.Pointer && !f.Optional && name != "NextCursor": // that one may be null itself
		schema = newObject("anyOf", []any{ref("schemas", name), newObject("type", "null")})
	case name != "":
		schema = ref("schemas", name)
		if t.Kind() == reflect.Struct && len(client.FieldsOf(t)) > 0 && !d.isMade(name) {
			properties := &object{}
			for _, part := range client.FieldsOf(t) {
				if part.JSON != "" {
					properties.set(part.JSON, d.schemaOf(t, part))
				}
			}
			d.schemas.set(name,
				newObject("type", "object", "description", d.comments[typeName(t)], "properties", properties))
		}
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int64:
		schema = newObject("type", "integer")
		if t.Kind() == reflect.Int64 {
			schema.set("format", "int64")
		}
		bound(schema, f)
	case t.Kind() == reflect.Bool:
		schema = newObject("type", "boolean")
	case t.Kind() == reflect.String:
		schema = newObject("type", "string")
		if values := f.Tag.Get("enum"); values != "" {
			schema.set("enum", strings.Split(values, ","))
		}
	default:
		log.Fatalf("the field %s of %s has no schema: give it a tag `is`, or a case for %s in schemaOf", f.JSON, of, t)
	}
	if comment := d.comment(of, f); comment != "" {
		schema.set("description", comment)
	}
	return schema
}

// bound adds the limits of a number to its schema.
func bound(schema *object, f client.Field) {
	for _, bound := range [][2]string{{"least", "minimum"}, {"most", "maximum"}} {
		if n := f.Tag.Get(bound[0]); n != "" {
			schema.set(bound[1], json.RawMessage(n))
		}
	}
}

// ownerOf returns the type that has a field, which may be promoted to another type.
func ownerOf(of reflect.Type, f client.Field) reflect.Type {
	for _, i := range f.Index[:len(f.Index)-1] {
		of = of.Field(i).Type
	}
	return of
}

// comment returns the comment above a field of a type.
func (d *document) comment(of reflect.Type, f client.Field) string {
	return d.comments[typeName(ownerOf(of, f))+"."+f.Name]
}

// commentsOfClient returns the comments above the operations of package client, above its types and above their fields.
// Of the comment of a type, it is what the first sentence says that the type is.
func commentsOfClient() map[string]string {
	comments := make(map[string]string)
	files, err := filepath.Glob("../client/*.go")
	check(err)
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		check(err)
		ast.Inspect(file, func(n ast.Node) bool {
			g, ok := n.(*ast.GenDecl)
			if ok && g.Tok == token.VAR {
				for _, s := range g.Specs {
					v := s.(*ast.ValueSpec)
					comments[v.Names[0].Name] = cmp.Or(oneLine(v.Doc), oneLine(g.Doc))
				}
			}
			if !ok || g.Tok != token.TYPE {
				return true
			}
			declared := g.Specs[0].(*ast.TypeSpec)
			sentence, _, _ := strings.Cut(oneLine(g.Doc), ". ")
			if _, what, ok := strings.Cut(sentence, " is "); ok {
				comments[declared.Name.Name] = strings.ToUpper(what[:1]) + strings.TrimSuffix(what[1:], ".") + "."
			}
			if is, ok := declared.Type.(*ast.StructType); ok {
				for _, f := range is.Fields.List {
					for _, name := range f.Names {
						comments[declared.Name.Name+"."+name.Name] = oneLine(f.Doc)
					}
				}
			}
			return false
		})
	}
	return comments
}

func oneLine(comment *ast.CommentGroup) string {
	return strings.TrimSpace(strings.ReplaceAll(comment.Text(), "\n", " "))
}
