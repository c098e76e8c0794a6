package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"ledger.example/client"
	"ledger.example/events"
)

// Answers to users are closed unless declared. Each text in the type of an answer says what it is: by the tag names if
// it may be an id, else by the tag is. Each amount is of an account or a group that is named beside it or in the path.
// An answer of another type is not served to users, and neither is one that names an account or a group on which the
// user has no role.

// errUndeclared is the error of an answer of which the type does not say what it names.
var errUndeclared = errors.New("an answer to users must say what it names: package client, type Operation")

// A found is told of each account and group that an answer names.
type found = func(named client.Named, id string)

// names tells found what v names, which is of the type of an answer. isOwned reports whether it is known whose the
// amounts in v are. Error: errUndeclared.
func names(v reflect.Value, isOwned bool, found found) error {
	switch v.Type() {
	case reflect.TypeFor[events.Amount](), reflect.TypeFor[client.Overdraft]():
		if !isOwned {
			return fmt.Errorf("an amount of nobody: %w", errUndeclared)
		}
		return nil
	}
	switch v.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int64, reflect.String: // of a text, its field says what it is
		return nil
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return names(v.Elem(), isOwned, found)
	case reflect.Slice:
		for i := range v.Len() {
			if err := names(v.Index(i), isOwned, found); err != nil {
				return err
			}
		}
		return nil
	case reflect.Struct:
		fields := client.FieldsOf(v.Type())
		isOwned = isOwned || slices.ContainsFunc(fields, func(f client.Field) bool { return f.Names().NeedsRole() })
		for _, f := range fields {
			if err := fieldNames(v, f, isOwned, found); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("%s: %w", v.Type(), errUndeclared)
}

// fieldNames is names of a field of v.
func fieldNames(v reflect.Value, f client.Field, isOwned bool, found found) error {
	t := f.Type
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice && t != reflect.TypeFor[json.RawMessage]() {
		t = t.Elem()
	}
	isText := t == reflect.TypeFor[string]()
	mayBeID := isText && (f.Is() == "" || f.Is() == "ID")
	switch isOpen := t.Kind() == reflect.Map || t == reflect.TypeFor[json.RawMessage](); {
	case f.JSON == "":
		return nil
	case f.Names().NeedsRole():
		eachText(v.FieldByIndex(f.Index), func(id string) { found(f.Names(), id) })
		return nil
	case (mayBeID || isOpen && f.Is() == "") && f.Names() == "":
		return fmt.Errorf("%s of %s: %w", f.JSON, v.Type(), errUndeclared)
	case isText, isOpen:
		return nil
	}
	return names(v.FieldByIndex(f.Index), isOwned, found)
}

// eachText calls do with a text, or with each of a list of texts.
func eachText(v reflect.Value, do func(string)) {
	switch {
	case v.Kind() == reflect.Slice:
		for i := range v.Len() {
			eachText(v.Index(i), do)
		}
	case v.Kind() != reflect.Pointer:
		do(v.String())
	case !v.IsNil():
		eachText(v.Elem(), do)
	}
}

// sample returns a value of a type, in which each list has an item. It names what any value of the type may name.
func sample(t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.Pointer:
		v.Set(sample(t.Elem()).Addr())
	case reflect.Slice:
		v.Set(reflect.Append(v, sample(t.Elem())))
	case reflect.Struct:
		for i := range t.NumField() {
			if t.Field(i).IsExported() {
				v.Field(i).Set(sample(t.Field(i).Type))
			}
		}
	}
	return v
}

// checkDeclared returns errUndeclared if users may not get answers of a type under a path.
func checkDeclared(path string, t reflect.Type) error {
	return names(sample(t), ownsAmounts(path), func(client.Named, string) {})
}

// ownsAmounts reports whether a path says whose the amounts in its answer are.
func ownsAmounts(path string) bool {
	return strings.Contains(path, "{account}") || strings.Contains(path, "{group}")
}

// mayKnow returns an error if an answer to a user names an account or a group on which the user has no role. Those of
// the path are named by the user, and checked before.
func (r *request) mayKnow(body any) error {
	if text, isRaw := body.(raw); isRaw {
		body = text.shows
	}
	if body == nil {
		return errUndeclared
	}
	isOwned := r.route != nil && ownsAmounts(r.route.Path)
	var unknown error
	err := names(reflect.ValueOf(body), isOwned, func(named client.Named, id string) {
		if id != r.ids[string(named)] && !r.isSeen(named, id) && unknown == nil {
			unknown = fmt.Errorf("an answer names the %s %q, on which the user has no role", named, id)
		}
	})
	return errors.Join(err, unknown)
}

// isSeen reports whether the user has a role on an account or in a group of the answer.
func (r *request) isSeen(named client.Named, id string) bool {
	if named == client.NamesGroup {
		return r.seenGroups.sees(id)
	}
	return r.seen.sees(id)
}

// accountsListed is the most accounts on a page for a user. Each takes two queries, and one for each of its groups.
const accountsListed = 20

// others returns what the items of a list name that its path does not name, and the most of them on a page for a user.
func others(o client.Operation, item reflect.Type) (of client.Named, most int) {
	if item.Kind() != reflect.Struct || o.May.On == client.OnLedger {
		return "", limitMax
	}
	for _, f := range client.FieldsOf(item) {
		switch isOther := f.Names().NeedsRole() && !strings.Contains(o.Path, "{"+string(f.Names())+"}"); {
		case isOther && f.Names() == client.NamesAccount:
			return client.NamesAccount, accountsListed
		case isOther:
			of = f.Names()
		}
	}
	return of, limitMax
}

// visibleItems returns the items of a list that name nothing on which the user has no role now.
func visibleItems[T any](r *request, of client.Named, items []T) ([]T, error) {
	ids := make(map[string]bool)
	namedBy := func(item T, do func(id string)) error {
		return names(reflect.ValueOf(item), true, func(named client.Named, id string) {
			if named == of {
				do(id)
			}
		})
	}
	for _, item := range items {
		if err := namedBy(item, func(id string) { ids[id] = true }); err != nil {
			return nil, err
		}
	}
	seen, read := &r.seen, r.viewerRights
	if of == client.NamesGroup {
		seen, read = &r.seenGroups, r.groupRights
	}
	held, err := read(r.ctx(), slices.Collect(maps.Keys(ids))...)
	if *seen == nil {
		*seen = make(rights, len(held))
	}
	maps.Copy(*seen, held) // there may be pages before
	return slices.DeleteFunc(items, func(item T) (isHidden bool) {
		_ = namedBy(item, func(id string) { isHidden = isHidden || !r.isSeen(of, id) })
		return isHidden
	}), err
}
