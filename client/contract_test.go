package client_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/tests/caller"
	"ledger.example/tests/openapi"
	"ledger.example/tests/system"
)

func readDocument(t *testing.T) *openapi.Document {
	t.Helper()
	text, err := os.ReadFile("../functions/api/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	return openapi.Read(t, text)
}

// operations returns the operations for programs, by "METHOD /path": all under /v1, and /healthz.
func operations(d *openapi.Document) map[string]openapi.Operation {
	all := make(map[string]openapi.Operation)
	for path, methods := range d.Paths {
		for method, o := range methods {
			if strings.HasPrefix(path, "/v1/") || path == "/healthz" {
				all[strings.ToUpper(method)+" "+path] = o
			}
		}
	}
	return all
}

// parameters returns "in name" for each of an operation's parameters, except path parameters.
func parameters(t *testing.T, d *openapi.Document, o openapi.Operation) (all []string) {
	for _, p := range d.ParametersOf(t, o) {
		if p.In != "path" {
			all = append(all, p.In+" "+p.Name)
		}
	}
	return all
}

// notSent are the parameters that the client never sends.
var notSent = []string{
	"header Idempotency-Key", // the id is in the body
	"header If-None-Match",   // the client does not cache replies
	"header X-Request-Id",    // the API generates one; Error has it
}

// recorder passes requests to a ledger and records parameters and replies.
type recorder struct {
	http.Handler // the ledger
	t            *testing.T
	document     *openapi.Document

	mu      sync.Mutex
	sent    map[string]map[string]bool // parameters, by operation
	replies map[string][][]byte        // of 2xx, by operation
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	answer := httptest.NewRecorder()
	r.Handler.ServeHTTP(answer, q)
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Code)
	w.Write(answer.Body.Bytes())
	name := r.of(q)
	r.mu.Lock()
	defer r.mu.Unlock()
	if answer.Code/100 != 2 {
		r.t.Errorf("%s %s: %d %s", q.Method, q.URL, answer.Code, answer.Body)
		return
	}
	if r.sent[name] == nil {
		r.sent[name] = make(map[string]bool)
	}
	for parameter := range q.URL.Query() {
		if key, ok := strings.CutPrefix(parameter, "metadata."); ok && key != "" {
			parameter = "metadata.KEY"
		}
		r.sent[name]["query "+parameter] = true
	}
	for header := range q.Header {
		r.sent[name]["header "+header] = true
	}
	r.replies[name] = append(r.replies[name], answer.Body.Bytes())
}

// of returns the operation of a request.
func (r *recorder) of(q *http.Request) string {
	for name := range operations(r.document) {
		method, pattern, _ := strings.Cut(name, " ")
		if method == q.Method && openapi.Fits(pattern, q.URL.Path) {
			return name
		}
	}
	return ""
}

// replies are the types into which the client parses the answers of operations, one for each form of an answer.
var replies = map[string][]any{
	"getHealth": {new(struct{ Status, Version string })},
	"getMe":     {new(client.Me)},

	"registerAsset": {new(client.Asset)}, "getAsset": {new(client.Asset)}, "listAssets": {new(client.List[client.Asset])},
	// The document has one schema for current and past balances.
	"listAssetHolders": {new(client.List[client.Balance]), new(client.List[client.PastBalance])},

	"openAccount": {new(client.Account)}, "changeAccount": {new(client.Account)}, "getAccount": {new(client.Account)},
	"listAccounts": {new(client.List[client.Account])}, "listChanges": {new(client.List[client.Change])},
	"getAccountSummary": {new(client.AccountPage), new(struct {
		Balances client.List[client.PastBalance]
	})}, "listPostings": {new(client.List[client.Posting])},
	"listBalances": {new(client.List[client.Balance]), new(client.List[client.PastBalance])},
	"getBalance":   {new(client.Balance), new(client.PastBalance)}, "getStatement": {new(client.Statement)},
	"listHolds": {new(client.List[client.Transaction])}, "listOpenHolds": {new(client.List[client.Transaction])},

	"listMembers": {new(client.List[client.Member])}, "grantMember": {new(client.Member)}, "revokeMember": {new(client.Member)},
	"listMemberships": {new(client.List[client.AccountRole])}, "listGroupsOf": {new(client.List[client.Member])},
	"registerGroup": {new(client.Group)}, "getGroup": {new(client.Group)}, "listGroups": {new(client.List[client.Group])},
	"groupAccount": {new(client.AccountGroups)}, "ungroupAccount": {new(client.AccountGroups)},
	"listGroupAccounts": {new(client.List[client.GroupedAccount])},
	"listAccountGroups": {new(client.List[client.GroupedAccount])},
	"grantGroupMember":  {new(client.Member)}, "revokeGroupMember": {new(client.Member)},
	"listGroupMembers": {new(client.List[client.Member])}, "getGroupTotals": {new(client.GroupTotals)},

	"listTransactions": {new(client.List[client.Transaction])}, "postTransaction": {new(client.Transaction)},
	"postTransfer": {new(client.Transaction)}, "postTrade": {new(client.Transaction)}, "getTransaction": {new(client.Transaction)},
	"captureHold": {new(client.Transaction)}, "releaseHold": {new(client.Transaction)},
	"reverseTransaction": {new(client.Transaction)}, "listReversals": {new(client.List[client.Transaction])},
	"postBatch": {new(struct {
		DryRun  bool `json:"dry_run"`
		Results []struct {
			Status   int
			Replayed bool
			Body     client.Transaction
		}
	})},
	"listJournal": {new(client.JournalPage)},
}

// requests are the types from which the client builds the bodies of operations.
var requests = map[string]any{
	"registerAsset": client.Asset{}, "openAccount": client.Account{}, "changeAccount": client.AccountPatch{},
	"registerGroup": client.Group{}, "grantMember": struct{ Role string }{}, "grantGroupMember": struct{ Role string }{},
	"postTransaction": client.TransactionRequest{}, "postTransfer": client.Transfer{}, "postTrade": client.Trade{},
	"captureHold": client.Capture{}, "releaseHold": client.Release{}, "reverseTransaction": client.Reversal{},
	"postBatch": struct {
		Atomic   bool
		Requests []struct {
			Transaction client.TransactionRequest
			Transfer    client.Transfer
			Trade       client.Trade
			Capture     struct {
				Transaction string
				client.Part
			}
			Release  struct{ Transaction, Description string }
			Reversal struct {
				Transaction string
				client.Reversal
			}
		}
	}{},
}

// The client covers openapi.json: it has a method for every operation, an argument for every parameter, and a field for
// every field of an answer. The test calls all methods on a running ledger.
func TestClientIsComplete(t *testing.T) {
	ledger := system.New(t, system.Pumped, system.Indexed("order"))
	r := &recorder{Handler: ledger.Service.API(), t: t, document: readDocument(t),
		sent: make(map[string]map[string]bool), replies: make(map[string][][]byte)}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	c, err := client.New(client.Config{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	callAll(t.Context(), t, c)
	asAnn, err := c.WithUser("ann")
	if err == nil {
		_, err = asAnn.Me(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	sent := map[string]bool{}
	for name, o := range operations(r.document) {
		if r.sent[name] == nil {
			t.Errorf("no method calls %s (%s)", name, o.OperationID)
		}
		allowed := parameters(t, r.document, o)
		for parameter := range r.sent[name] {
			sent[parameter] = true
			if strings.HasPrefix(parameter, "query ") && !slices.Contains(allowed, parameter) {
				t.Errorf("%s is called with the parameter %q", name, parameter)
			}
		}
		for _, parameter := range allowed {
			isQuery := strings.HasPrefix(parameter, "query ")
			if isQuery && parameter != "query cursor" && !r.sent[name][parameter] { // some lists have one page only
				t.Errorf("%s is never called with the parameter %q", name, parameter)
			}
		}
		for _, reply := range r.replies[name] {
			if !fits(reply, replies[o.OperationID]) {
				t.Errorf("%s has no place in %T for all of %s", name, replies[o.OperationID], reply)
			}
		}
	}
	for _, o := range operations(r.document) {
		for _, parameter := range parameters(t, r.document, o) {
			if !sent[parameter] && !slices.Contains(notSent, parameter) {
				t.Errorf("%s: %s is never sent", o.OperationID, parameter)
			}
		}
	}
}

// fits reports whether one of the types has all fields of a reply.
func fits(reply []byte, types []any) bool {
	return slices.ContainsFunc(types, func(a any) bool {
		d := json.NewDecoder(bytes.NewReader(reply))
		d.DisallowUnknownFields()
		return d.Decode(a) == nil
	})
}

// callAll calls all methods, each with all of its arguments at least once.
func callAll(ctx context.Context, t *testing.T, c *client.Client) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	amount := events.NewAmount
	must(c.Ping(ctx))
	_, err := c.Me(ctx)
	must(err)

	for _, a := range []client.Asset{
		{ID: "USD", Name: "US dollar", Scale: 2}, {ID: "AAPL", Name: "Apple Inc.", Description: "Stock", Currency: "USD"},
	} {
		_, _, err = c.RegisterAsset(ctx, a)
		must(err)
	}
	for _, a := range []client.Account{
		{ID: "bank", Overdraft: client.Overdraft{Unlimited: true}},
		{ID: "jane", Name: "Jane", Profile: json.RawMessage(`{"addresses":[{"city":"Springfield"}],"email":"j@example.com"}`),
			Overdraft: client.Overdraft{Limits: map[string]events.Amount{"USD": amount(10_000)}}},
	} {
		_, _, err = c.OpenAccount(ctx, a)
		must(err)
	}
	opened, err := c.Account(ctx, "jane")
	must(err)
	name := "Jane Doe"
	_, err = c.PatchAccount(ctx, "jane", client.AccountPatch{Name: &name, IfMatch: opened.Value.Version})
	must(err)

	_, _, err = c.RegisterGroup(ctx, client.Group{ID: "people", Name: "People"})
	must(err)
	_, _, err = c.PutInGroup(ctx, "people", "jane")
	must(err)
	for _, m := range []client.Member{
		{Account: "jane", User: "ann", Role: client.RoleOwner}, {Group: "people", User: "ann", Role: client.RoleViewer},
		{Account: "jane", User: "bob", Role: client.RoleOwner}, {Group: "people", User: "bob", Role: client.RoleViewer},
	} {
		_, _, err = c.Grant(ctx, m)
		must(err)
		if m.User == "bob" {
			_, _, err = c.Revoke(ctx, m)
			must(err)
		}
	}

	soon := time.Now().Add(time.Hour)
	posts := []client.Request{
		client.Transfer{ID: "in", From: "bank", To: "jane", Asset: "USD", Quantity: amount(100_000),
			Metadata: map[string]string{"order": "7"}, Description: "d", EffectiveAt: time.Now().Add(-time.Hour)},
		client.TransactionRequest{ID: "legs", EffectiveAt: time.Now().Add(-time.Hour), Postings: []client.Leg{
			{Account: "jane", Asset: "USD", Quantity: amount(-5)}, {Account: "bank", Asset: "USD", Quantity: amount(5)}}},
		client.Trade{ID: "trade", Asset: "AAPL", Buyer: "jane", Seller: "bank", Quantity: amount(1), Cost: amount(50), Settle: true},
		client.Transfer{ID: "captured", From: "bank", To: "jane", Asset: "USD", Quantity: amount(9), Hold: &client.Hold{}},
		client.Transfer{ID: "released", From: "bank", To: "jane", Asset: "USD", Quantity: amount(9), Hold: &client.Hold{ExpiresAt: soon}},
		client.Transfer{ID: "open", From: "bank", To: "jane", Asset: "USD", Quantity: amount(9), Hold: &client.Hold{}},
		client.Capture{Transaction: "captured", Part: client.Part{Quantity: new(amount(4))}},
		client.Release{Transaction: "released", Description: "not needed"},
		client.Reversal{Transaction: "legs", ID: "back"},
	}
	for _, p := range posts {
		_, err = c.DryRun(ctx, p)
		must(err)
		_, _, err = c.Post(ctx, p)
		must(err)
	}
	for i, b := range []client.Batch{{}, {Atomic: true}, {DryRun: true}} {
		id := "batch-" + string(rune('0'+i))
		b.Requests = []client.Request{client.Transfer{ID: id, From: "bank", To: "jane", Asset: "USD", Quantity: amount(1)}}
		outcomes, err := c.Batch(ctx, b)
		must(err)
		_, err = outcomes[0].Transaction()
		must(err)
	}

	reads(ctx, t, c, must)
}

func reads(ctx context.Context, t *testing.T, c *client.Client, must func(error)) {
	begin, end := time.Now().Add(-48*time.Hour), time.Now().Add(-time.Second)
	for _, read := range []func() error{
		func() error { _, err := c.Asset(ctx, "AAPL"); return err },
		func() error { _, err := c.Group(ctx, "people"); return err },
		func() error { _, err := c.AccountPage(ctx, "jane", 10); return err },
		func() error { _, err := c.Transaction(ctx, "captured"); return err },
		func() error { _, err := c.Transaction(ctx, "legs"); return err },
		func() error { _, err := c.Balance(ctx, "jane", "AAPL", true); return err },
		func() error { _, err := c.BalanceAt(ctx, "jane", "USD", end, false); return err },
		func() error { _, err := c.BalanceAt(ctx, "jane", "USD", end, true); return err },
	} {
		must(read())
	}
	statement := client.StatementQuery{Account: "jane", Asset: "USD", From: begin, To: end}
	projected(t, func() bool {
		first, err := c.Statement(ctx, statement, "", 1)
		must(err)
		if first.Value.NextCursor == nil {
			return false
		}
		_, err = c.Statement(ctx, statement, *first.Value.NextCursor, 1)
		must(err)
		return true
	})
	for _, err := range c.StatementPages(ctx, statement) {
		must(err)
	}
	projected(t, func() bool {
		totals, err := c.GroupTotals(ctx, "people", "", 1)
		must(err)
		if totals.Value.NextCursor == nil {
			return false
		}
		_, err = c.GroupTotals(ctx, "people", *totals.Value.NextCursor, 1)
		must(err)
		return true
	})
	for _, err := range c.GroupTotalsPages(ctx, "people") {
		must(err)
	}
	happened, err := c.JournalPage(ctx, client.JournalFrom{Time: begin}, 1)
	must(err)
	_, err = c.JournalPage(ctx, client.JournalFrom{After: happened.Value.NextCursor, Type: client.TypePosted}, 1)
	must(err)
	list(ctx, t, c.Assets("A"))
	list(ctx, t, c.Holders("USD"))
	list(ctx, t, c.Accounts("j"))
	list(ctx, t, c.Changes("jane"))
	list(ctx, t, c.Balances("jane", true))
	list(ctx, t, c.BalancesAt("jane", end, true))
	list(ctx, t, c.History("jane", client.HistoryQuery{Asset: "USD", From: begin, To: end, Strong: true}))
	list(ctx, t, c.Holds("jane", client.StatusReleased))
	list(ctx, t, c.OpenHolds())
	list(ctx, t, c.Reversals("legs"))
	list(ctx, t, c.Transactions(client.Search{Key: "order", Value: "7", From: begin, To: time.Now(), OldestFirst: true}))
	list(ctx, t, c.Groups("p"))
	list(ctx, t, c.GroupAccounts("people"))
	list(ctx, t, c.AccountGroups("jane"))
	list(ctx, t, c.GroupMembers("people"))
	list(ctx, t, c.Members("jane"))
	list(ctx, t, c.UserGroups("ann"))
	list(ctx, t, c.UserAccounts("ann"))
	_, _, err = c.TakeOutOfGroup(ctx, "people", "jane")
	must(err)
}

// projected waits until the projections are up to date.
func projected(t *testing.T, is func() bool) {
	t.Helper()
	caller.Eventually(t, time.Minute, "all is projected", is)
}

// list waits until a list has items, and reads it from its beginning, from a cursor, and with the iterator.
func list[T any](ctx context.Context, t *testing.T, l client.Listing[T]) {
	t.Helper()
	projected(t, func() bool {
		n := 0
		for _, err := range l.All(ctx) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		return n > 0
	})
	page, err := l.Page(ctx, "", 1)
	if err == nil && page.Value.NextCursor != nil {
		_, err = l.Page(ctx, *page.Value.NextCursor, 1)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Every field of a body in openapi.json is a field of a client type, and every field of these types is in openapi.json.
func TestTypesMatchOpenAPI(t *testing.T) {
	d := readDocument(t)
	w := walk{t, d, make(map[reflect.Type]map[string]bool)}
	for name, o := range operations(d) {
		for status, answer := range o.Responses {
			if content, ok := d.Response(t, answer).Content["application/json"]; ok && status[0] == '2' {
				if len(replies[o.OperationID]) == 0 {
					t.Errorf("%s: what its answer is read as is not known", name)
				}
				w.check(name, schema{Ref: content.Schema.Ref}, typesOf(replies[o.OperationID]...))
			}
		}
		if o.RequestBody != nil {
			body := schema{Ref: o.RequestBody.Content["application/json"].Schema.Ref}
			w.check(name, body, typesOf(requests[o.OperationID]))
		}
	}
	w.check("problem", schema{Ref: "#/components/schemas/Problem"}, typesOf(client.Error{}, struct{ Type, Title, Status string }{}))
	for of, seen := range w.seen {
		for field := range fieldsOf(of) {
			if !seen[field] {
				t.Errorf("the document does not know the field %q of %s", field, of)
			}
		}
	}
}

func typesOf(values ...any) (types []reflect.Type) {
	for _, v := range values {
		types = append(types, bare(reflect.TypeOf(v)))
	}
	return types
}

// bare removes pointers and slices from a type.
func bare(of reflect.Type) reflect.Type {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice && of.Elem().Kind() != reflect.Uint8 {
		of = of.Elem()
	}
	return of
}

// schema is the part of a schema in openapi.json that the test reads.
type schema struct {
	Ref                 string `json:"$ref"`
	Properties          map[string]schema
	Items               *schema
	AllOf, AnyOf, OneOf []schema
	ReadOnly            bool
}

// walk compares schemas with their types.
type walk struct {
	t        *testing.T
	document *openapi.Document
	seen     map[reflect.Type]map[string]bool // fields
}

// check looks for each property of a schema in one of the types.
func (w walk) check(at string, s schema, types []reflect.Type) {
	properties := w.properties(s)
	fields := make(map[string][]reflect.Type)
	structs := 0
	for _, of := range types {
		if of.Kind() != reflect.Struct || reflect.PointerTo(of).Implements(reflect.TypeFor[json.Unmarshaler]()) ||
			reflect.PointerTo(of).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
			continue // it has its own UnmarshalJSON
		}
		structs++
		if w.seen[of] == nil {
			w.seen[of] = make(map[string]bool)
		}
		for name, field := range fieldsOf(of) {
			if _, ok := properties[name]; ok {
				w.seen[of][name] = true
			}
			fields[name] = append(fields[name], bare(field))
		}
	}
	if structs == 0 {
		return
	}
	for name, property := range properties {
		// A request may have read-only fields, so that an answer can be sent back. The client does not send them.
		if len(fields[name]) == 0 && !property.ReadOnly {
			w.t.Errorf("%s: %v have no place for %q", at, types, name)
		}
		w.check(at+" "+name, property, fields[name])
	}
}

// properties returns the properties of a schema, of its items if it is a list, and of all its variants.
func (w walk) properties(s schema) map[string]schema {
	all := maps.Clone(s.Properties)
	if all == nil {
		all = make(map[string]schema)
	}
	parts := slices.Concat(s.AllOf, s.AnyOf, s.OneOf)
	if s.Ref != "" {
		var to schema
		if err := json.Unmarshal(w.document.Components.Schemas[path.Base(s.Ref)], &to); err != nil {
			w.t.Fatal(s.Ref, err)
		}
		parts = append(parts, to)
	}
	if s.Items != nil {
		parts = append(parts, *s.Items)
	}
	for _, part := range parts {
		maps.Copy(all, w.properties(part))
	}
	return all
}

// fieldsOf returns the fields of a struct by their JSON names, including those of embedded structs.
func fieldsOf(of reflect.Type) map[string]reflect.Type {
	all := make(map[string]reflect.Type)
	for f := range of.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			maps.Copy(all, fieldsOf(f.Type))
		case name != "-":
			all[cmp.Or(name, strings.ToLower(f.Name))] = f.Type
		}
	}
	return all
}

// An iterator yields an error once and then stops. It reads no page after the loop breaks.
func TestIteratorsStopAfterErrorOrBreak(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		w.Header().Set("Content-Type", "application/json")
		if q := r.URL.Query(); q.Get("cursor") == "" && q.Get("after") == "" {
			io.WriteString(w, `{"data":[{},{}],"next_cursor":"c"}`)
			return
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusForbidden)
		io.WriteString(w, `{"code":"forbidden"}`)
	}))
	t.Cleanup(server.Close)
	c, err := client.New(client.Config{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	now := time.Now()
	for name, i := range map[string]func(most int) (items int, errs []error){
		"list":      count(c.Accounts("").All(ctx)),
		"statement": count(c.StatementPages(ctx, client.StatementQuery{Account: "a", Asset: "b", From: now, To: now})),
		"totals":    count(c.GroupTotalsPages(ctx, "g")),
		"journal":   count(c.Journal(ctx, client.JournalFrom{})),
	} {
		asked = 0
		items, errs := i(100)
		refused, _ := errors.AsType[*client.Error](errors.Join(errs...))
		if items == 0 || len(errs) != 1 || refused == nil || refused.Code != client.CodeForbidden || asked != 2 {
			t.Errorf("%s: %d items, %v, %d requests", name, items, errs, asked)
		}
		asked = 0
		if items, errs = i(1); items != 1 || len(errs) != 0 || asked != 1 {
			t.Errorf("%s, left early: %d items, %v, %d requests", name, items, errs, asked)
		}
	}
}

// count returns a function that iterates over at most the given number of items.
func count[T any](all iter.Seq2[T, error]) func(most int) (int, []error) {
	return func(most int) (items int, errs []error) {
		for _, err := range all {
			if err != nil {
				errs = append(errs, err)
				continue
			}
			if items++; items == most {
				break
			}
		}
		return items, errs
	}
}
