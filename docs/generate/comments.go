package main

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"

	"ledger.example/client"
	"ledger.example/events"
)

// The comments in packages client and events are descriptions in openapi.json.

// ownerOf returns the type that has a field, which may be promoted to another type.
func ownerOf(of reflect.Type, f client.Field) reflect.Type {
	for _, i := range f.Index[:len(f.Index)-1] {
		of = of.Field(i).Type
	}
	return of
}

// comment returns the comment above a field of a type.
func (d *document) comment(of reflect.Type, f client.Field) string {
	return d.comments[commentKey(ownerOf(of, f))+"."+f.Name]
}

// commentKey returns the key of a type's comment.
func commentKey(t reflect.Type) string {
	if t.PkgPath() == reflect.TypeFor[events.Annotation]().PkgPath() {
		return "events." + typeName(t)
	}
	return typeName(t)
}

// readComments adds the comments above the variables of a package, which are operations in package client, above its
// types and above their fields. Of the comment of a type, it is what the first sentence says that the type is. Keys
// begin with prefix.
func readComments(comments map[string]string, folder, prefix string) {
	files, err := filepath.Glob(folder + "/*.go")
	check(err)
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		check(err)
		ast.Inspect(file, func(n ast.Node) bool {
			g, ok := n.(*ast.GenDecl)
			if ok && g.Tok == token.VAR {
				for _, s := range g.Specs {
					v := s.(*ast.ValueSpec)
					comments[prefix+v.Names[0].Name] = cmp.Or(oneLine(v.Doc), oneLine(g.Doc))
				}
			}
			if !ok || g.Tok != token.TYPE {
				return true
			}
			declared := g.Specs[0].(*ast.TypeSpec)
			sentence, _, _ := strings.Cut(oneLine(g.Doc), ". ")
			if _, what, ok := strings.Cut(sentence, " is "); ok {
				what = strings.TrimSuffix(what, ".") + "."
				comments[prefix+declared.Name.Name] = strings.ToUpper(what[:1]) + what[1:]
			}
			if is, ok := declared.Type.(*ast.StructType); ok {
				for _, f := range is.Fields.List {
					for _, name := range f.Names {
						comments[prefix+declared.Name.Name+"."+name.Name] = oneLine(f.Doc)
					}
				}
			}
			return false
		})
	}
}

func oneLine(comment *ast.CommentGroup) string {
	return strings.TrimSpace(strings.ReplaceAll(comment.Text(), "\n", " "))
}
