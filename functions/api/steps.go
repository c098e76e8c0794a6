package api

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/functions/access"
	"ledger.example/ledger"
)

// A request is served in four steps. It is read: the path, the query and the body, all faults at once. The caller is
// permitted or refused: see permit.go. The ledger or a projection does it. What they say is shown as a type of package
// client. The functions of this file and of lists.go make routes of these steps; the table of routes says which.

// request is one HTTP request and what was read of it.
type request struct {
	http      *http.Request
	config    *Config
	id        string
	route     *route // nil if no route matches
	caller    access.Caller
	actor     string            // the caller's name in events
	ids       map[string]string // of the path, by the name in braces
	query     map[string]string // the valid query parameters, by name
	text      []byte            // the body, nil if the route has none; read uses it up
	body      *body             // what was found in text, nil before it is read
	faults    []fieldError      // of path, query and headers, then those of the body
	badCursor bool              // one of faults is a cursor that does not belong to the list
	dry       bool              // a dry run: nothing is written
	ifAbsent  bool              // a PUT that must not find anything
	isBatched bool              // it is a request of a batch
	posts     string            // the id of the transaction that it asks for, for the log; "" for none

	rule        rule         // who may
	isPermitted bool         // a user's roles were checked, and are enough
	right       access.Right // that checkRole found
	seen        rights       // of the transactions and accounts in the answer to a user
	seenGroups  rights       // of the groups in it
	lists       []listed     // of which the answer may have a page
}

func (r *request) ctx() context.Context { return r.http.Context() }

// checkPath checks the ids of the path, in their order.
func (r *request) checkPath() {
	for part := range strings.SplitSeq(r.route.Path, "/") {
		if name, isID := strings.CutPrefix(part, "{"); isID {
			if name = strings.TrimSuffix(name, "}"); !events.ValidID(r.ids[name]) {
				r.fail(name, ruleID)
			}
		}
	}
}

// path returns the path of the request, with its ids as they are.
func (r *request) path() string {
	path := r.route.Path
	for name, id := range r.ids {
		path = strings.Replace(path, "{"+name+"}", id, 1)
	}
	return path
}

// lastID returns the last id of the path, "" if it has none.
func (r *request) lastID() string {
	name, _, _ := strings.Cut(r.route.Path[strings.LastIndex(r.route.Path, "{")+1:], "}")
	return r.ids[name]
}

// fail records a fault of a field, a parameter or a header.
func (r *request) fail(field, rule string) {
	r.faults = append(r.faults, fieldError{Field: field, Rule: rule})
}

// check returns the problem of all recorded faults, nil if there are none.
func (r *request) check() error {
	switch {
	case len(r.faults) == 0:
		return nil
	case len(r.faults) == 1 && r.badCursor:
		return newProblem(codeInvalidCursor, "The cursor "+r.faults[0].Rule+"; begin again without it.", r.faults...)
	}
	return newProblem(ledger.CodeInvalidRequest, "One or more fields are invalid; see errors.", r.faults...)
}

// routeOf returns the route of an operation. handle gets the parameters of the path and of the query.
func routeOf[In, Out any](o client.Op[In, Out], handle func(*api, *request, *In) (reply, error)) route {
	r := route{Operation: o.Untyped(), may: ruleOf(o.May)}
	r.handle = func(a *api, r *request) (reply, error) {
		in := new(In)
		r.readParameters(reflect.ValueOf(in).Elem())
		return handle(a, r, in)
	}
	for _, f := range slices.Concat(client.FieldsOf(r.In), r.Common()) {
		if f.Query != "" {
			r.query = append(r.query, f.Query)
		}
	}
	return r
}

// read returns the route of a read, which do answers.
func read[In, Out any](o client.Op[In, Out], do func(*api, *request, *In) (reply, error)) route {
	return routeOf(o, func(a *api, r *request, in *In) (reply, error) {
		if err := r.check(); err != nil {
			return reply{}, err
		}
		return r.permitRead(func() (reply, error) { return do(a, r, in) })
	})
}

// get returns the route that shows what the last id of the path names, as it is now.
func get[In, Out, S, T any](
	o client.Op[In, Out], stored func(Resources, context.Context, string) (S, error), show func(S) T,
) route {
	return read(o, func(a *api, r *request, _ *In) (reply, error) {
		is, err := stored(a.config.Resources, r.ctx(), r.lastID())
		if err != nil {
			return reply{}, err
		}
		return ok(show(is))
	})
}

// A command is a request to the ledger.
type command interface {
	// Shape returns all fields with invalid values. It does not compare fields with each other.
	Shape() []ledger.FieldError
}

// write returns the route of a write. commandOf makes a command of what was read, and do executes it.
func write[In, Out any, C command](
	o client.Op[In, Out], commandOf func(*request, *In) C, do func(*api, *request, C) (reply, error),
) route {
	return routeOf(o, func(a *api, r *request, in *In) (reply, error) {
		r.readBody(in)
		c := commandOf(r, in)
		if err := r.checkBody(c); err != nil {
			return reply{}, err
		}
		if err := a.permit(r, c); err != nil {
			return reply{}, err
		}
		return do(a, r, c)
	})
}

// put returns the route that creates a resource. It answers 201, or 200 if the same was created before. stored reads
// the resource as it is stored, and show shows it.
func put[T, Out, S any, C command](
	o client.Op[T, Out], commandOf func(*request, *T) C,
	do func(Commands, context.Context, C) (is S, created bool, err error),
	stored func(Resources, context.Context, string) (S, error), show func(S) T,
) route {
	return write(o, commandOf, func(a *api, r *request, c C) (reply, error) {
		if err := checkSame(a, r, stored, show); err != nil {
			return reply{}, err
		}
		is, created, err := do(a.config.Commands, r.ctx(), c)
		return written(created, r.path(), show(is)), err
	})
}
