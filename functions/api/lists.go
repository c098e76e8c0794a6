package api

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/projections"
)

// The numbers of items in pages of lists.
const (
	limitMax     = 100
	limitDefault = 20
)

// A reading reads a page of a list.
type reading[In, S any] func(a *api, r *request, in *In, s projections.Slice) (projections.Page[S], error)

// list returns the route of a list. Its positions are at; read reads its pages, and show converts its items. For a
// user, it is without the items that name an account or a group on which the user has no role now.
func list[In, Out, S, T any](o client.Op[In, Out], at positions, read reading[In, S], show func(S) T) route {
	how := hidingOf(o.Untyped(), reflect.TypeFor[T]())
	return paged(o, at, paramCursor, func(a *api, r *request, in *In, l listed, s projections.Slice) (reply, error) {
		readPage := func(s projections.Slice) (client.List[T], string, error) {
			page, err := read(a, r, in, s)
			return pageOf(l, page, show), page.Next, err
		}
		if r.caller.Admin {
			page, _, err := readPage(s)
			return okIf(page, err)
		}
		s.Limit = min(s.Limit, how.most)
		if how.may {
			return okIf(visiblePage(r, l, how, s, readPage))
		}
		page, next, err := readPage(s)
		if err == nil {
			err = r.mayEndAt(l, next)
		}
		return okIf(page, err)
	})
}

// paged returns the route of a read of one page. The parameter cursor has its cursor, whose positions are at.
func paged[In, Out any](
	o client.Op[In, Out], at positions, cursor string,
	do func(*api, *request, *In, listed, projections.Slice) (reply, error),
) route {
	r := routeOf(o, func(a *api, r *request, in *In) (reply, error) {
		l := r.listOf(in, at)
		s := r.slice(cursor, l)
		if err := r.check(); err != nil {
			return reply{}, err
		}
		return r.permitRead(func() (reply, error) { return do(a, r, in, l, s) })
	})
	r.at = at
	return r
}

// pageOf returns a page of l, with items converted by show. They have no fields that items of lists do not have.
func pageOf[S, T any](l listed, page projections.Page[S], show func(S) T) client.List[T] {
	p := client.List[T]{Data: make([]T, len(page.Items))}
	var omitted []client.Field
	if t := reflect.TypeFor[T](); t.Kind() == reflect.Struct {
		omitted = slices.DeleteFunc(slices.Clone(client.FieldsOf(t)), client.Field.IsListed)
	}
	for i, item := range page.Items {
		p.Data[i] = show(item)
		for _, f := range omitted {
			reflect.ValueOf(&p.Data[i]).Elem().FieldByIndex(f.Index).SetZero()
		}
	}
	if page.Next != "" {
		p.NextCursor = new(l.cursor(page.Next))
	}
	return p
}

// those reads a list of projections: that of the account, asset, group or user of the path or, if there is none, of the
// resources whose ids begin with a prefix. If the page is empty, it checks whether the owner of the list exists; users
// need not exist.
func those[In, S any](
	from func(*projections.Lists, context.Context, string, projections.Slice) (projections.Page[S], error),
) reading[In, S] {
	return func(a *api, r *request, _ *In, s projections.Slice) (projections.Page[S], error) {
		page, err := from(a.config.Lists, r.ctx(), cmp.Or(r.lastID(), r.query[paramPrefix]), s)
		if err == nil && len(page.Items) == 0 {
			err = a.exist(r.ctx(), r.ids)
		}
		return page, err
	}
}

// exist returns the error of the account, the group or the asset with one of the given ids, by their names, that does
// not exist. Other names are not checked.
func (a *api) exist(ctx context.Context, ids map[string]string) (err error) {
	for _, name := range slices.Sorted(maps.Keys(ids)) {
		switch name {
		case "account":
			_, err = a.config.Resources.KnownAccount(ctx, ids[name])
		case "asset":
			_, err = a.config.Resources.Asset(ctx, ids[name])
		case "group":
			_, err = a.config.Resources.Group(ctx, ids[name])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// list returns a list that the answer may have a page of. Without that, the answer may not have its cursors.
func (r *request) list(name string, at positions) listed {
	l := listed{name, at}
	r.lists = append(r.lists, l)
	return l
}

// listOf returns the list that a request asks for: its path and its filters.
func (r *request) listOf(in any, at positions) listed {
	name, v := r.path(), reflect.ValueOf(in).Elem()
	for _, f := range client.FieldsOf(v.Type()) {
		value := v.FieldByIndex(f.Index)
		if f.Query == "" || f.Tag.Get("filter") == "-" || value.IsZero() {
			continue
		}
		name += "&" + f.Query + "="
		switch is := value.Interface().(type) {
		case time.Time:
			name += events.FormatTime(is)
		default:
			name += fmt.Sprint(is) // of a map, too
		}
	}
	return r.list(name, at)
}

// slice returns the part of l that the parameters limit and cursor select. name is the parameter of the cursor.
func (r *request) slice(name string, l listed) projections.Slice {
	s := projections.Slice{Limit: limitDefault}
	if text, given := r.query[paramLimit]; given {
		var rule string
		s.Limit, rule = number(text, "1", strconv.Itoa(limitMax))
		r.failOnce(paramLimit, rule)
	}
	cursor, given := r.query[name]
	if !given {
		return s
	}
	position, err := l.position(cursor)
	// If a filter is invalid, the cursor may belong to the list with the correct filter.
	if err != nil && (err != errCursorForeign || len(r.faults) == 0) {
		r.failCursor(name, err)
	}
	s.After = position
	return s
}
