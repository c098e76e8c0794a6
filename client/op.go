package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"ledger.example/events"
)

// An Operation declares an operation of the API, once. The server, this client, the command line and openapi.json
// derive from it what they do.
//
// In is a struct with what the operation takes, and Out is the answer. The tag of a field of In is its place: path,
// query, header, or json for the body. A field may be in the path and in the body. If Out is a page, the operation
// also takes a limit and a cursor. More tags of a field:
//
//	is       its syntax: a schema of openapi.json, such as ID
//	names    of a text of an answer that may be an id: what it is the id of; see Field.Names
//	in       of a request's body: required; or same: the ledger sets it, and takes it only if it is equal
//	default  the text of a parameter that is not given
//	time     of a parameter: past (not in the future), or at (not rounded)
//	with, without, before         the other parameter that it needs, excludes, or must not be later than; with and
//	         without also of fields of the body: a required one is not required with one that it excludes
//	one      another field of the body that must be no list if this one is given
//	filter   "-" if cursors of a list are valid whatever the parameter is
//	batch    its name in the body of a batch, of a field of the path
//	absent   of a field that answers have although it may be omitted: where it is absent nevertheless
//	of       reads or writes: only their answers have it
//	list     "-" if items of lists do not have it; every other answer does, unless it is "-,optional"
//	enum     its values, separated by commas; the first is the true of a parameter that is a bool
//	least, most, example          the same in openapi.json, as JSON; of a list or a text, its length
//	flag     the text of its flag of the command line; without it, there is no flag
//	label    its name in lists of the command line; by default the name in JSON, and "-" for none
//	none     its text in tables of the command line if it is not set
//
// The comments above an operation and a field are their descriptions in openapi.json. That of a type is what follows
// " is " in the first sentence of its comment.
type Operation struct {
	ID      string // the operationId
	Method  string // "" for GET
	Path    string // the ids are in braces
	Summary string // one line for people
	May     Permission
	Dry     bool         // it can be a dry run
	Tagged  bool         // the answer has an ETag
	In, Out reflect.Type // of an Op they are set by its type

	// For openapi.json:
	OK, Created string // what the answers 200 and 201 mean; "" if there is no 201
	Refusals    string // the codes of problems that not every operation has, with spaces between
}

// Common has the parameters that operations of a kind have, besides those of their In.
type Common struct {
	// The most items of a page.
	Limit int `query:"limit" least:"1" most:"100" default:"20"`
	// `next_cursor` of the previous page. It is opaque, never expires, and is bound to the path and the filters.
	Cursor string `query:"cursor" is:"Cursor"`
	// If `true`, nothing is written, and the answer is what the request would get, also if it is a refusal. The answer
	// has `dry_run`, and no KSUIDs, no times, and no id that the ledger would generate. The real request may get
	// another answer if the ledger changes before.
	DryRun bool `query:"dry_run" enum:"true,false" default:"false"`
	// The transaction's id, if it is not in the body. If it is, both must be equal.
	IdempotencyKey string `header:"Idempotency-Key" is:"ID"`
	// The ETags of the caller's cached copies.
	IfNoneMatch string `header:"If-None-Match"`
	// With `*`, the request succeeds only if there is nothing yet under its path; a user whose role was revoked counts
	// as nothing. Otherwise it gets 412, and writes nothing.
	IfAbsent string `header:"If-None-Match" enum:"*"`
	// A user for whom a service or an administrator acts. The request may do only what this user's roles allow. Users
	// cannot send this header.
	LedgerUser string `header:"Ledger-User" is:"ID"`
	// An id for this request, repeated in the reply and in the log. The ledger replaces one that is not 1 to 64 of
	// `A-Z a-z 0-9 . _ : @ -`.
	RequestID string `header:"X-Request-Id"`
}

// Common returns the fields of Common that requests of the operation may have.
func (o Operation) Common() (fields []Field) {
	has := map[string]bool{
		"Limit": o.IsPage(), "Cursor": o.IsPage(), "DryRun": o.Dry, "IdempotencyKey": o.CreatesTransaction(),
		"IfNoneMatch": o.Method == http.MethodGet && o.Tagged, "IfAbsent": o.Method == http.MethodPut,
		"LedgerUser": o.ID != "", "RequestID": o.ID != "",
	}
	for _, f := range FieldsOf(reflect.TypeFor[Common]()) {
		if has[f.Name] {
			fields = append(fields, f)
		}
	}
	return fields
}

// CreatesTransaction reports whether the operation creates a transaction with an id of the caller.
func (o Operation) CreatesTransaction() bool {
	return o.Method == http.MethodPost &&
		slices.ContainsFunc(FieldsOf(o.In), func(f Field) bool { return f.JSON == "id" })
}

// Name returns the name of the operation in Go.
func (o Operation) Name() string { return strings.ToUpper(o.ID[:1]) + o.ID[1:] }

// HasBody reports whether requests have a body.
func (o Operation) HasBody() bool {
	return o.Method != http.MethodGet && o.Method != http.MethodDelete &&
		slices.ContainsFunc(FieldsOf(o.In), func(f Field) bool { return f.JSON != "" && f.Path == "" })
}

// IsPage reports whether the answer is a page, so that the operation takes a limit and a cursor.
func (o Operation) IsPage() bool {
	return slices.ContainsFunc(FieldsOf(o.Out), func(f Field) bool { return f.Is() == NextCursor })
}

// Op is an Operation with the types of its In and Out.
type Op[In, Out any] Operation

// Untyped returns the operation with its types as values.
func (o Op[In, Out]) Untyped() Operation {
	untyped := Operation(o)
	untyped.In, untyped.Out = reflect.TypeFor[In](), reflect.TypeFor[Out]()
	untyped.Method = cmp.Or(o.Method, http.MethodGet)
	return untyped
}

// Call calls an operation. Errors: those of Send for a write, those of a read for a GET.
func (o Op[In, Out]) Call(ctx context.Context, c *Client, in In) (Reply[Out], error) {
	return send[Out](ctx, c, o.request(in))
}

// request returns the call of an operation. It cannot be sent if an id of the path is invalid.
func (o Op[In, Out]) request(in In) call {
	v := reflect.ValueOf(in)
	var ids []string
	for _, f := range FieldsOf(v.Type()) {
		if f.Path != "" { // these fields are in the order of the path
			ids = append(ids, v.FieldByIndex(f.Index).String())
		}
	}
	k := o.Untyped().call(ids...)
	for _, f := range FieldsOf(v.Type()) {
		value := v.FieldByIndex(f.Index)
		switch {
		case f.Query != "" && f.Type.Kind() == reflect.Map:
			for key, text := range value.Interface().(map[string]string) {
				k.query.Set(strings.Replace(f.Query, "KEY", key, 1), text)
			}
		case f.Query != "" && !value.IsZero():
			k.query.Set(f.Query, textOf(f, value))
		case f.Header != "" && !value.IsZero(): // If-Match
			k.tag = fmt.Sprintf("%q", fmt.Sprint(value))
		}
	}
	if k.err == nil && o.Untyped().HasBody() {
		k.body, k.err = bodyOf(v, false)
	}
	return k
}

// call returns a call with ids in its path. It cannot be sent if one of them is invalid.
func (o Operation) call(ids ...string) call {
	k := call{method: o.Method, path: o.Path, query: url.Values{}, ids: make(map[string]string)}
	k.endsHold = o.Dry && o.Created == ""
	for _, id := range ids {
		before, rest, _ := strings.Cut(k.path, "{")
		name, after, _ := strings.Cut(rest, "}")
		if !events.ValidID(id) {
			k.err = fmt.Errorf("%q is not an id: %w", id, ErrID)
			return k
		}
		k.path, k.ids[name], k.id = before+escapeID(id)+after, id, id
	}
	switch {
	case o.Method == http.MethodGet:
		k.resources = []string{k.path}
	case len(ids) > 0:
		k.resources = []string{k.path}
		parts := strings.Split(k.path, "/") // "", "v1", and then collections and ids in turn
		for i := 2; i+1 < len(parts); i += 2 {
			k.resources = append(k.resources, "/v1/"+parts[i]+"/"+parts[i+1])
		}
	}
	return k
}

// Line is a request as a line of an import: its JSON is its body, with the id of its path, and without the fields that
// the ledger sets. So the request may be an answer.
type Line[In any] struct{ Request In }

// MarshalJSON implements json.Marshaler.
func (l Line[In]) MarshalJSON() ([]byte, error) { return bodyOf(reflect.ValueOf(l.Request), true) }

// textOf returns the text of a parameter of the query.
func textOf(f Field, value reflect.Value) string {
	switch v := reflect.Indirect(value).Interface().(type) {
	case bool:
		return f.Choices()[0]
	case time.Time:
		return v.Format(time.RFC3339Nano)
	default:
		return fmt.Sprint(v)
	}
}

// bodyOf returns the JSON of the body of a request. Fields with zero values are omitted unless they are required.
func bodyOf(in reflect.Value, withID bool) ([]byte, error) {
	var members [][]byte
	for _, f := range FieldsOf(in.Type()) {
		value := in.FieldByIndex(f.Index)
		isSent := !withID && f.Path == "" || withID && (f.Path != "" || f.IsSettable())
		if f.JSON == "" || !isSent || value.IsZero() && !f.IsAlwaysRequired() {
			continue
		}
		text, err := json.Marshal(value.Interface())
		if err != nil {
			return nil, err
		}
		members = append(members, append([]byte(`"`+f.JSON+`":`), text...))
	}
	return slices.Concat([]byte("{"), bytes.Join(members, []byte(",")), []byte("}")), nil
}

// send sends the call of an operation and parses the answer.
func send[T any](ctx context.Context, c *Client, k call) (Reply[T], error) {
	value, r, err := ask(ctx, c, k, func(T) error { return nil })
	return Reply[T]{Value: value, Raw: r.body, New: isNew(k, r)}, err
}

// isAbout returns an error unless the answer to a write has its id or, without a field id, the ids of a path that has
// some. Some other program may have sent it.
func (c call) isAbout(text []byte) error {
	var answer map[string]json.RawMessage
	if err := json.Unmarshal(text, &answer); err != nil {
		return err
	}
	wanted := c.ids
	if answer["id"] != nil || len(wanted) == 0 {
		wanted = map[string]string{"id": c.id}
	}
	for name, id := range wanted {
		if strings.Trim(string(answer[name]), `"`) != id {
			return fmt.Errorf("it does not have the %s %q", name, id)
		}
	}
	return nil
}

// Field is a field of a type of an operation.
type Field struct {
	Path, Query, Header, JSON string // its names in these places, "" if it is not there

	With, Without string // the field that a request must have beside this one, and must not have
	One           string // the field that must not be a list beside this one
	In            string // how requests have it in their body: "required", "same", or "" if they may leave it out

	Name     string // in Go
	Optional bool   // its JSON is omitted if it is not set
	Index    []int
	Type     reflect.Type
	Tag      reflect.StructTag
}

// Is returns the syntax of the field.
func (f Field) Is() string { return f.Tag.Get("is") }

// Names returns what a text of an answer is the id of, "" if it has a syntax that is no id. A user gets no answer that
// names an account or a group on which they have no role, unless it is in the path. Other ids are known to anybody who
// sees the answer: assets are public, and the rest belongs to what is named beside it.
func (f Field) Names() Named { return Named(f.Tag.Get("names")) }

// Named is what an id in an answer names.
type Named string

// NeedsRole reports whether users need a role on what is named.
func (n Named) NeedsRole() bool { return n == NamesAccount || n == NamesGroup }

// What the ids in answers name.
const (
	NamesAccount     Named = "account"
	NamesGroup       Named = "group"
	NamesAsset       Named = "asset"
	NamesTransaction Named = "transaction"
	NamesUser        Named = "user"
	NamesOwn         Named = "own" // what belongs to the user who asks
)

// Choices returns the values that the field may have, nil for any.
func (f Field) Choices() []string {
	if f.Is() == EventType {
		return events.Types
	}
	if values := f.Tag.Get("enum"); values != "" {
		return strings.Split(values, ",")
	}
	return nil
}

// IsRequired reports whether a request must have the field in its body.
func (f *Field) IsRequired() bool { return f.In == "required" }

// IsAlwaysRequired is IsRequired, whatever other fields the body has.
func (f *Field) IsAlwaysRequired() bool { return f.IsRequired() && f.Without == "" }

// IsSame reports whether the ledger sets the field, so that a request may have it only with an equal value.
func (f *Field) IsSame() bool { return f.In == "same" }

// IsSettable reports whether requests set the field in their body.
func (f Field) IsSettable() bool { return f.JSON != "" && f.Path == "" && !f.IsSame() }

// Label returns the name of the field for people.
func (f Field) Label() string {
	return cmp.Or(f.Tag.Get("label"), strings.ToUpper(f.JSON[:1])+strings.ReplaceAll(f.JSON[1:], "_", " "))
}

// IsListed reports whether items of lists have the field.
func (f Field) IsListed() bool { return !strings.HasPrefix(f.Tag.Get("list"), "-") }

// IsAlways reports whether every answer that is no item of a list has the field, unless it has the tag absent.
func (f Field) IsAlways() bool {
	return !f.Optional || f.Tag.Get("list") == "-" || f.Tag.Get("absent") != ""
}

// fieldsOf has the fields of the types that FieldsOf was called with.
var fieldsOf sync.Map

// FieldsOf returns the fields of a struct that have a place, in their order. They must not be changed.
func FieldsOf(t reflect.Type) []Field {
	if known, ok := fieldsOf.Load(t); ok {
		return known.([]Field)
	}
	var fields []Field
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		name = strings.TrimPrefix(name, "-")
		field := Field{
			Path: f.Tag.Get("path"), Query: f.Tag.Get("query"), Header: f.Tag.Get("header"), JSON: name,
			With: f.Tag.Get("with"), Without: f.Tag.Get("without"), One: f.Tag.Get("one"), In: f.Tag.Get("in"),
			Name: f.Name, Optional: strings.HasPrefix(options, "omit"), Index: f.Index, Type: f.Type, Tag: f.Tag,
		}
		if field.Path+field.Query+field.Header+field.JSON != "" {
			fields = append(fields, field)
		}
	}
	fieldsOf.Store(t, fields)
	return fields
}
