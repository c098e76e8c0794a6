package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
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

// A found is told of each account and group that an answer names, and of each cursor.
type found = func(named client.Named, id string)

// namesPosition is what a cursor names: a position in a list, which may name more.
const namesPosition client.Named = "position"

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
	case f.Is() == client.NextCursor:
		eachText(v.FieldByIndex(f.Index), func(cursor string) { found(namesPosition, cursor) })
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

// mayAnswer returns an error if an answer to a user names an account or a group on which the user has no role, also in
// the position of a cursor. Those of the path are named by the user, and checked before.
func (r *request) mayAnswer(out reply) error {
	body := out.body
	if content, isRaw := body.(raw); isRaw {
		if body = content.shows; content.write == nil { // it is sent as it is
			body = nil
		}
	}
	if body == nil {
		return errUndeclared
	}
	isOwned := r.route != nil && ownsAmounts(r.route.Path)
	var unknown error
	check := func(named client.Named, id string) {
		if !r.mayKnow(named, id) && unknown == nil {
			unknown = fmt.Errorf("an answer names the %s %q, on which the user has no role", named, id)
		}
	}
	err := names(reflect.ValueOf(body), isOwned, func(named client.Named, id string) {
		if check(named, id); named == namesPosition {
			unknown = cmp.Or(unknown, r.tellCursor(id, check))
		}
	})
	if out.next != nil {
		unknown = cmp.Or(unknown, r.tellCursor(*out.next, check))
	}
	return errors.Join(err, unknown)
}

// tellCursor tells found what a cursor of an answer names. Error: it is of no list that the answer may have a page of.
func (r *request) tellCursor(cursor string, found found) error {
	for _, l := range r.lists {
		if position, err := l.position(cursor); err == nil {
			l.tell(position, found)
			return nil
		}
	}
	return fmt.Errorf("an answer has the cursor %q of another list: %w", cursor, errUndeclared)
}
