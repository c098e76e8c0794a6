package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"reflect"
	"sync"
	"testing"
	"time"

	"ledger.example/client"
	"ledger.example/events"
	"ledger.example/functions/api"
	"ledger.example/tests/harness/caller"
	"ledger.example/tests/harness/openapi"
	"ledger.example/tests/harness/system"
)

// recorder passes requests to a ledger and records which operations they are of. The client must know every field of
// an answer.
type recorder struct {
	http.Handler // the ledger
	t            *testing.T

	mu    sync.Mutex
	asked map[string]bool // ids of operations
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	answer := httptest.NewRecorder()
	r.Handler.ServeHTTP(answer, q)
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Code)
	w.Write(answer.Body.Bytes())
	if answer.Code/100 != 2 {
		r.t.Errorf("%s %s: %d %s", q.Method, q.URL, answer.Code, answer.Body)
	}
	for _, o := range api.Operations() {
		if o.ID == "" || o.Method != q.Method || !openapi.Fits(o.Path, q.URL.Path) {
			continue
		}
		r.mu.Lock()
		r.asked[o.ID] = true
		r.mu.Unlock()
		forms := []any{reflect.New(o.Out).Interface()}
		if q.URL.Query().Has("at") {
			forms = []any{new(client.PastBalance), new(client.List[client.PastBalance])}
		}
		if o.ID != "postBatch" && !fits(answer.Body.Bytes(), forms) {
			r.t.Errorf("%s has no place in %T for all of %s", o.ID, forms, answer.Body)
		}
	}
}

// The client has a method for every operation, and a field for every field of an answer. The test calls all methods on
// a running ledger.
func TestClientIsComplete(t *testing.T) {
	ledger := system.New(t, system.Pumped, system.Indexed("order"))
	r := &recorder{Handler: ledger.Service.API(), t: t, asked: make(map[string]bool)}
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
	for _, o := range api.Operations() {
		if o.ID != "" && !r.asked[o.ID] {
			t.Errorf("no method calls %s", o.ID)
		}
	}
}

// fits reports whether one of the types has all fields of a reply.
func fits(reply []byte, types []any) bool {
	for _, a := range types {
		d := json.NewDecoder(bytes.NewReader(reply))
		d.DisallowUnknownFields()
		if d.Decode(a) == nil {
			return true
		}
	}
	return false
}

// callAll calls all methods, each with all of its arguments at least once.
func callAll(ctx context.Context, t *testing.T, c *client.Client) {
	// done fails the test if the last of the values of a call is an error.
	done := func(values ...any) {
		t.Helper()
		if err := values[len(values)-1]; err != nil {
			t.Fatal(err)
		}
	}
	amount := events.NewAmount
	done(c.Ping(ctx))
	done(c.Me(ctx))

	for _, a := range []client.Asset{
		{ID: "USD", Name: "US dollar", Scale: 2}, {ID: "AAPL", Name: "Apple Inc.", Description: "Stock", Currency: "USD"},
	} {
		done(c.RegisterAsset(ctx, a))
	}
	for _, a := range []client.Account{
		{ID: "bank", Overdraft: client.Overdraft{Unlimited: true}},
		{ID: "jane", Name: "Jane", Profile: json.RawMessage(`{"addresses":[{"city":"Springfield"}],"email":"j@example.com"}`),
			Overdraft: client.Overdraft{Limits: map[string]events.Amount{"USD": amount(10_000)}},
			Rates:     []client.Rate{{Asset: "USD", Per: "day", Zone: "Europe/Berlin", Quantity: amount(1_000_000)}}},
	} {
		done(c.OpenAccount(ctx, a))
	}
	opened, err := c.Account(ctx, "jane")
	done(err)
	closed, _, err := c.ClosePeriod(ctx, 1, time.Now().Add(-24*time.Hour), "audited")
	done(err)
	for p, err := range c.Periods().All(ctx) {
		if err != nil || p != closed {
			t.Errorf("%+v, %v", p, err)
		}
	}
	name := "Jane Doe"
	done(c.PatchAccount(ctx, "jane", client.AccountPatch{Name: &name, IfMatch: opened.Value.Version}))

	done(c.RegisterGroup(ctx, client.Group{ID: "people", Name: "People"}))
	done(c.PutInGroup(ctx, "people", "jane"))
	for _, m := range []client.Member{
		{Account: "jane", User: "ann", Role: client.RoleOwner}, {Group: "people", User: "ann", Role: client.RoleViewer},
		{Account: "jane", User: "bob", Role: client.RoleOwner}, {Group: "people", User: "bob", Role: client.RoleViewer},
	} {
		done(c.Grant(ctx, m))
		if m.User == "bob" {
			done(c.Revoke(ctx, m))
		}
	}

	soon := time.Now().Add(time.Hour)
	posts := []client.Request{
		client.Transfer{ID: "in", From: "bank", To: "jane", Asset: "USD", Quantity: amount(100_000),
			Annotation: client.Annotation{Metadata: map[string]string{"order": "7"}, Description: "d"}, EffectiveAt: time.Now().Add(-time.Hour)},
		client.TransactionRequest{ID: "legs", EffectiveAt: time.Now().Add(-time.Hour), Postings: []client.Leg{
			{Account: "jane", Asset: "USD", Quantity: amount(-5)}, {Account: "bank", Asset: "USD", Quantity: amount(5)}}},
		client.Trade{ID: "trade", Asset: "AAPL", Buyer: "jane", Seller: "bank", Quantity: amount(1), Cost: amount(50), Settle: true},
		client.Transfer{ID: "fit", From: "bank", To: "jane", Asset: "USD", UpTo: "500", AtLeast: new(amount(1))},
		client.Split{ID: "pay", From: client.From{Sources: []client.Source{{Account: "bank"}}},
			Asset: "USD", UpTo: "500", AtLeast: new(amount(500)), To: []client.Portion{{Account: "jane", Rest: 1}}},
		client.Split{ID: "split", From: client.From{Account: "bank"}, Asset: "USD", Quantity: amount(100), EffectiveAt: time.Now().Add(-time.Hour), To: []client.Portion{
			{Account: "jane", Share: "2.9%", Quantity: new(amount(5))}, {Account: "jane", Rest: 2}}},
		client.Transfer{ID: "captured", From: "bank", To: "jane", Asset: "USD", Quantity: amount(9), Hold: &client.Hold{}},
		client.Transfer{ID: "released", From: "bank", To: "jane", Asset: "USD", Quantity: amount(9), Hold: &client.Hold{ExpiresAt: soon}},
		client.Transfer{ID: "open", From: "bank", To: "jane", Asset: "USD", Quantity: amount(9), Hold: &client.Hold{}},
		client.Capture{Transaction: "captured", Part: client.Part{Quantity: new(amount(4))}},
		client.Release{Transaction: "released", Description: "not needed"},
		client.Reversal{Transaction: "legs", ID: "back"},
	}
	for _, p := range posts {
		done(c.DryRun(ctx, p))
		done(c.Post(ctx, p))
	}
	for i, b := range []client.Batch{{}, {Atomic: true}, {DryRun: true}} {
		id := "batch-" + string(rune('0'+i))
		b.Requests = []client.Request{client.Transfer{ID: id, From: "bank", To: "jane", Asset: "USD", Quantity: amount(1)}}
		outcomes, err := c.Batch(ctx, b)
		done(err)
		_, err = outcomes[0].Transaction()
		done(err)
	}

	reads(ctx, t, c, done)
}

func reads(ctx context.Context, t *testing.T, c *client.Client, done func(...any)) {
	begin, end := time.Now().Add(-48*time.Hour), time.Now().Add(-time.Second)
	done(c.Asset(ctx, "AAPL"))
	done(c.Group(ctx, "people"))
	done(c.AccountPage(ctx, "jane", 10))
	done(c.Transaction(ctx, "captured"))
	done(c.Transaction(ctx, "legs"))
	done(c.Balance(ctx, "jane", "AAPL", true))
	done(c.BalanceAt(ctx, "jane", "USD", end, false))
	done(c.BalanceAt(ctx, "jane", "USD", end, true))
	statement := client.StatementQuery{Account: "jane", Asset: "USD", From: begin, To: end}
	projected(t, func() bool {
		first, err := c.Statement(ctx, statement, "", 1)
		done(err)
		if first.Value.NextCursor == nil {
			return false
		}
		done(c.Statement(ctx, statement, *first.Value.NextCursor, 1))
		return true
	})
	for _, err := range c.StatementPages(ctx, statement) {
		done(err)
	}
	projected(t, func() bool {
		totals, err := c.GroupTotals(ctx, "people", "", 1)
		done(err)
		if totals.Value.NextCursor == nil {
			return false
		}
		done(c.GroupTotals(ctx, "people", *totals.Value.NextCursor, 1))
		return true
	})
	for _, err := range c.GroupTotalsPages(ctx, "people") {
		done(err)
	}
	happened, err := c.JournalPage(ctx, client.JournalQuery{From: begin}, 1)
	done(err)
	done(c.JournalPage(ctx, client.JournalQuery{After: happened.Value.NextCursor, Type: events.TypePosted}, 1))
	list(ctx, t, c.Assets("A"))
	list(ctx, t, c.Holders("USD"))
	list(ctx, t, c.Accounts("j"))
	list(ctx, t, c.Changes("jane"))
	list(ctx, t, c.Rates("jane"))
	list(ctx, t, c.Balances("jane", true))
	list(ctx, t, c.BalancesAt("jane", end, true))
	list(ctx, t, c.History("jane", client.HistoryQuery{Asset: "USD", From: begin, To: end, Strong: true}))
	list(ctx, t, c.Holds("jane", client.StatusReleased))
	list(ctx, t, c.OpenHolds())
	list(ctx, t, c.Reversals("legs"))
	list(ctx, t, c.Transactions(client.TransactionsQuery{
		Metadata: map[string]string{"order": "7"}, From: begin, To: time.Now(), OldestFirst: true,
	}))
	list(ctx, t, c.Groups("p"))
	list(ctx, t, c.GroupAccounts("people"))
	list(ctx, t, c.AccountGroups("jane"))
	list(ctx, t, c.GroupMembers("people"))
	list(ctx, t, c.Members("jane"))
	list(ctx, t, c.UserGroups("ann"))
	list(ctx, t, c.UserAccounts("ann"))
	done(c.TakeOutOfGroup(ctx, "people", "jane"))
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

// An iterator yields an error once and then stops. It reads no page after the loop breaks.
func TestIteratorsStopAfterErrorOrBreak(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		w.Header().Set("Content-Type", "application/json")
		switch q := r.URL.Query(); q.Get("cursor") + q.Get("after") {
		case "":
			io.WriteString(w, `{"data":[{},{}],"next_cursor":"c"}`)
			return
		case "c": // an empty page before the end
			io.WriteString(w, `{"data":[],"next_cursor":"d"}`)
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
		"journal":   count(c.Journal(ctx, client.JournalQuery{})),
	} {
		asked = 0
		items, errs := i(100)
		refused, _ := errors.AsType[*client.Error](errors.Join(errs...))
		if items == 0 || len(errs) != 1 || refused == nil || refused.Code != client.CodeForbidden || asked != 3 {
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
