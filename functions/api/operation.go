package api

import (
	"reflect"

	"ledger.example/client"
	"ledger.example/internal/access"
)

// serve returns the route of an operation. Its parameters of the path and of the query are read into in; the handler
// reads the body.
func serve[In, Out any](o client.Op[In, Out], handle func(*api, *request, *In) (reply, error)) route {
	fields := client.FieldsOf(reflect.TypeFor[In]())
	return routeOf(o, func(a *api, r *request) (reply, error) {
		in := new(In)
		r.readParameters(fields, reflect.ValueOf(in).Elem())
		return handle(a, r, in)
	})
}

// routeOf returns the route of an operation whose handler reads the parameters.
func routeOf[In, Out any](o client.Op[In, Out], handle func(*api, *request) (reply, error)) route {
	declared := o.Untyped()
	in := client.FieldsOf(declared.In)
	r := route{
		method: o.Method, pattern: o.Path, may: ruleOf(o.May), summary: o.Summary, handle: handle, declared: declared,
		takesBody: declared.HasBody(),
	}
	for _, f := range in {
		if f.Query != "" {
			r.query = append(r.query, f.Query)
		}
	}
	if declared.IsPage() {
		r.query = append(r.query, paramLimit, paramCursor)
	}
	if o.Dry {
		r.query = append(r.query, paramDryRun)
	}
	return r
}

// Operations returns the operations of the API, in the order of the page for people. Public ones are not declared in
// package client, and have only a method and a path.
func Operations() []client.Operation {
	var all []client.Operation
	for _, r := range routes() {
		r.declared.Method, r.declared.Path = r.method, r.pattern
		all = append(all, r.declared)
	}
	return all
}

// ruleOf returns the rule of a permission.
func ruleOf(p client.Permission) rule {
	role := access.None
	for role.String() != p.Role {
		role++
	}
	return rule{p.On, role, p.Note}
}

// readParameters reads parameters of the path and of the query into the fields of v.
func (r *request) readParameters(fields []client.Field, v reflect.Value) {
	for _, f := range fields {
		into := v.FieldByIndex(f.Index)
		switch {
		case f.Path != "":
			into.SetString(r.ids[f.Path])
		case f.Query != "":
			into.SetString(r.filter(f.Query, rulesOfParameters[f.Is()]))
		}
	}
}

// rulesOfParameters are the rules of query parameters by their syntax, for callers.
var rulesOfParameters = map[string]string{"Prefix": rulePrefix}
