package tests

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
	"ledger.example/tests/caller"
)

// The operations of the store that commands use.
const (
	opPost   = "TransactWriteItems"
	opPut    = "PutItem"
	opLook   = "BatchGetItem"
	opHeader = "GetItem"
	opWhole  = "TransactGetItems"
	opQuery  = "Query"
)

// The reasons of a cancelled transfer: header, two postings, the payer's guard.
const (
	none     = "None"
	conflict = "TransactionConflict"
	spent95  = `ConditionalCheckFailed {"Spent":{"N":"95"},"Type":{"S":"Spend"}}`
)

// seconds is how long a command tries at the least before it says contention.
const seconds = 3 * time.Second

// bank is a table with what payments need: each payer of its own has 100 USD and no overdraft.
type bank struct {
	*system
}

func openBank(t *testing.T) bank {
	t.Helper()
	s := newSystem(t, withoutPump)
	s.Must(201, "PUT", "/v1/assets/USD", `{"name":"US dollar","scale":2}`)
	s.Must(201, "PUT", "/v1/accounts/source", `{"overdraft":"unlimited"}`)
	return bank{s}
}

// payment is 10 USD from a payer to a payee of its own, posted by a process of its own that meets faults.
type payment struct {
	*system
	faults *faults
	name   string // the ids of payer, payee and transaction end in it
	noID   bool   // the ledger makes the transaction's
}

func (b bank) payment(t testing.TB, name string) payment {
	t.Helper()
	f := newFaults()
	p := payment{system: serve(t, b.table, withClient(f.inject), withoutPump), faults: f, name: name}
	p.Must(201, "PUT", "/v1/accounts/"+p.payer(), `{}`)
	p.Must(201, "PUT", "/v1/accounts/"+p.payee(), `{}`)
	p.Must(201, "POST", "/v1/transfers", fmt.Sprintf(`{"id":%q,"from":"source","to":%q,"asset":"USD","quantity":"100"}`, "fund:"+name, p.payer()))
	// A refusal makes the process read the payer's credits, which it knows nothing of: its next attempt is not in vain.
	p.Must(422, "POST", "/v1/transfers", fmt.Sprintf(`{"id":%q,"from":%q,"to":%q,"asset":"USD","quantity":"101"}`, p.id(), p.payer(), p.payee()))
	return p
}

func (p payment) payer() string { return "payer:" + p.name }
func (p payment) payee() string { return "payee:" + p.name }
func (p payment) id() string    { return "pay:" + p.name }

// post sends the payment, under an id unless that is "".
func (p payment) post(id string) caller.Reply {
	p.t.Helper()
	if id != "" {
		id = fmt.Sprintf(`"id":%q,`, id)
	}
	return p.Send("POST", "/v1/transfers", fmt.Sprintf(`{%s"from":%q,"to":%q,"asset":"USD","quantity":"10"}`, id, p.payer(), p.payee()))
}

// held counts the payments that the table holds, and fails t if one is there in part.
func (p payment) held() int {
	p.t.Helper()
	transactions := make(map[string]int) // to the number of its postings
	var spent string
	for _, account := range []string{p.payer(), p.payee()} {
		for key, item := range p.partition(table.AccountKey(account).PK) {
			r := wire.Read(item)
			switch {
			case strings.HasPrefix(key.SK, table.PostingPrefix):
				e, err := wire.DecodeEvent(item)
				if err != nil {
					p.t.Fatal(err)
				}
				transactions[e.(events.PostingRecorded).Transaction]++
			case key == table.SpendKey(account, "USD"):
				spent = r.Amount(table.AttrSpent).String()
			}
		}
	}
	delete(transactions, "fund:"+p.name)
	for id, postings := range transactions {
		if headers := len(p.partition(table.TransactionKey(id).PK)); headers != 1 || postings != 2 {
			p.t.Errorf("%s is there with %d headers and %d postings", id, headers, postings)
		}
	}
	if headers := len(p.partition(table.TransactionKey(p.id()).PK)); headers > transactions[p.id()] {
		p.t.Errorf("%s is there without postings", p.id())
	}
	if want := map[int]string{0: "", 1: "10"}[len(transactions)]; spent != want {
		p.t.Errorf("%d transactions spent %q", len(transactions), spent)
	}
	return len(transactions)
}

// outcome is what becomes of a payment that meets faults.
type outcome struct {
	name   string
	faults func(*faults)
	status int
	code   string
	posted bool          // whether the table holds it when it was answered
	least  time.Duration // how long the answer takes at the least
}

// check posts the payment, and then sends it again, without faults: it is there once, whatever was answered.
func (o outcome) check(t testing.TB, p payment) {
	t.Helper()
	o.faults(p.faults)
	id := p.id()
	if p.noID {
		id = ""
	}
	start := time.Now()
	got := p.post(id)
	if took := time.Since(start); took < o.least || took > 15*time.Second {
		t.Errorf("answered after %v", took)
	}
	if got.Status != o.status || got.Code() != o.code {
		t.Errorf("%d %s instead of %d %s: %s", got.Status, got.Code(), o.status, o.code, got.Body)
	}
	if got.Status >= 400 {
		caller.CheckProblem(t, got, p.table, store.Endpoint)
	}
	if got.Status == 200 || got.Header.Get("Idempotent-Replayed") != "" {
		t.Errorf("the first answer calls itself a replay: %s", got.Body)
	}
	held := 0
	if o.posted {
		held = 1
	}
	if got := p.held(); got != held {
		t.Errorf("the table holds it %d times, not %d", got, held)
	}
	named, _ := got.Value("transaction_id").(string)
	if got.Status == 504 && (named == "" || id != "" && named != id) {
		t.Errorf("the transaction is called %q: %s", named, got.Body)
	}
	if id == "" {
		if id = named; id == "" {
			id, _ = got.Value("id").(string)
		}
	}
	p.faults.clear()
	again := p.post(id)
	switch {
	case o.posted && (again.Status != 200 || again.Header.Get("Idempotent-Replayed") != "true"), !o.posted && again.Status != 201:
		t.Errorf("again: %d %s", again.Status, again.Body)
	case got.Status == 201 && string(got.Body) != string(again.Body):
		t.Errorf("first %s, then %s", got.Body, again.Body)
	}
	if got := p.held(); got != 1 {
		t.Errorf("the table holds it %d times in the end", got)
	}
	if got := p.Must(200, "GET", "/v1/accounts/"+p.payer()+"/balances/USD?consistency=strong", "").Value("quantity"); got != "90" {
		t.Errorf("the payer has %v in the end", got)
	}
}

// Row 9 of the table of errors, and what lies beneath it: every way in which the store can fail a transaction.
func TestOutcomesOfTransactions(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	post := func(coming ...fault) func(*faults) { return func(f *faults) { f.next(opPost, coming...) } }
	always := func(operation string, f fault) func(*faults) { return func(all *faults) { all.all(operation, f) } }
	both := func(all ...func(*faults)) func(*faults) {
		return func(f *faults) {
			for _, one := range all {
				one(f)
			}
		}
	}
	throttled := refuses(400, "ProvisionedThroughputExceededException")
	failure := refuses(500, "InternalServerError")

	all := []outcome{
		// Nothing was sent, or the store says that it did nothing.
		{"throttled", always(opPost, throttled), 503, "throttled", false, 0},
		{"throttled by rate", always(opPost, refuses(400, "ThrottlingException")), 503, "throttled", false, 0},
		{"throttled by the account's limit", always(opPost, refuses(400, "RequestLimitExceeded")), 503, "throttled", false, 0},
		{"a posting throttled", always(opPost, cancels(none, none, "ProvisionedThroughputExceeded", none)), 503, "throttled", false, 0},
		{"the header throttled", always(opPost, cancels("ThrottlingError", none, none, none)), 503, "throttled", false, 0},
		{"throttled for a while", post(throttled, throttled, throttled), 201, "", true, 0},
		{"throttled before it is looked at", always(opLook, throttled), 503, "throttled", false, 0},
		{"the header in conflict", always(opPost, cancels(conflict, none, none, none)), 503, "contention", false, seconds},
		{"a posting in conflict", always(opPost, cancels(none, conflict, none, none)), 503, "contention", false, seconds},
		{"the guard in conflict", always(opPost, cancels(none, none, none, conflict)), 503, "contention", false, seconds},
		{"in conflict and throttled", always(opPost, cancels(none, none, "ThrottlingError", conflict)), 503, "contention", false, seconds},
		{"in conflict for a while", post(cancels(conflict, conflict, conflict, conflict), cancels(none, none, none, conflict), cancels(conflict, none, none, none)), 201, "", true, 0},
		{"unreachable", always(opPost, unreachable), 503, "unavailable", false, 0},
		{"unreachable for a while", post(unreachable, unreachable), 201, "", true, 0},
		{"unreachable before it is looked at", always(opLook, unreachable), 503, "unavailable", false, 0},
		{"failing before it is looked at", always(opLook, failure), 503, "unavailable", false, 0},
		{"failing for a while before it is looked at", func(f *faults) { f.next(opLook, failure, undone, throttled) }, 201, "", true, 0},

		// Nobody says whether it was done, and it can be found out.
		{"done, connection broken", post(done(undone)), 201, "", true, 0},
		{"done, failure", post(done(failure)), 201, "", true, 0},
		{"done, not available", post(done(refuses(503, "ServiceUnavailable"))), 201, "", true, 0},
		{"done, a proxy's page", post(done(answers(502, "text/html", "<h1>Bad gateway</h1>"))), 201, "", true, 0},
		{"done, a client's error of a proxy", post(done(answers(408, "text/html", "<h1>Request timeout</h1>"))), 201, "", true, 0},
		{"done, half a reply", post(done(answers(200, "application/x-amz-json-1.0", `{"Consumed`))), 201, "", true, 0},
		{"done, no reply", post(done(hangs)), 201, "", true, 2 * time.Second},
		{"not done, connection broken", post(undone), 201, "", true, 0},
		{"not done, failure", post(failure, failure), 201, "", true, 0},
		{"not done, no reply", post(hangs), 201, "", true, 2 * time.Second},
		{"in progress", post(refuses(400, "TransactionInProgressException")), 201, "", true, 0},
		{"in progress and done", post(done(refuses(400, "TransactionInProgressException"))), 201, "", true, 0},
		{"another request's token", post(done(refuses(400, "IdempotentParameterMismatchException"))), 201, "", true, 0},
		{"done, and found by the next attempt", both(post(done(undone)), always(opHeader, unreachable)), 201, "", true, 0},
		{"done, and whole only after a while", both(post(done(undone)), func(f *faults) {
			f.next(opWhole, cancels(none, conflict, none), cancels(none, conflict, none))
		}), 201, "", true, 0},
		{"everything fails for a while", func(f *faults) {
			f.next(opPost, throttled, cancels(conflict, none, none, none), unreachable, failure, undone, cancels(none, none, none, conflict), done(failure))
		}, 201, "", true, 0},

		// Nobody says whether it was done, and it cannot be found out in time: never a 503, whatever comes after.
		{"done, then throttled", both(post(done(undone)), always(opHeader, throttled), always(opPost, throttled)), 504, "outcome_unknown", true, 0},
		{"done, then unreachable", both(post(done(failure)), always(anyOperation, unreachable)), 504, "outcome_unknown", true, 0},
		{"done, then broken", both(always(opPost, done(undone)), always(opHeader, undone)), 504, "outcome_unknown", true, 0},
		{"done, and never whole", both(post(done(undone)), always(opWhole, cancels(none, conflict, none))), 504, "outcome_unknown", true, 0},
		{"not done, then throttled", both(post(undone), always(opPost, throttled)), 504, "outcome_unknown", false, 0},
		{"not done, then unreachable", both(post(undone), always(opPost, unreachable)), 504, "outcome_unknown", false, 0},
		{"not done, then everything unreachable", both(post(undone), always(anyOperation, unreachable)), 504, "outcome_unknown", false, 0},
		{"not done, then in conflict", both(post(undone), always(opPost, cancels(conflict, none, none, none))), 504, "outcome_unknown", false, 0},
		{"always failing", always(opPost, failure), 504, "outcome_unknown", false, 0},
		{"always in progress", always(opPost, refuses(400, "TransactionInProgressException")), 504, "outcome_unknown", false, 0},
		{"never a reply", always(opPost, hangs), 504, "outcome_unknown", false, 0},
		{"not done, then a refusal that cannot be proved", both(post(undone, cancels(none, none, none, spent95)), always(opPost, throttled), always(opQuery, unreachable)), 504, "outcome_unknown", false, 0},

		// What a cancellation proves, and what it doesn't.
		{"refused beside a conflict", post(cancels(none, none, conflict, spent95)), 422, "insufficient_funds", false, 0},
		{"refused after an unknown outcome", post(undone, cancels(none, none, none, spent95)), 422, "insufficient_funds", false, 0},
		{"the header in conflict beside a refusal", post(cancels(conflict, none, none, spent95)), 201, "", true, 0},
		{"the header throttled beside a refusal", post(cancels("ThrottlingError", none, none, spent95)), 201, "", true, 0},
		{"the header always in conflict beside a refusal", always(opPost, cancels(conflict, none, none, spent95)), 503, "contention", false, seconds},
		{"refused, and credits cannot be read", both(post(cancels(none, none, none, spent95)), always(opQuery, unreachable)), 503, "unavailable", false, 0},

		// What no repetition would cure.
		{"no access", always(opPost, refuses(400, "AccessDeniedException")), 500, "internal", false, 0},
		{"no table", always(opPost, refuses(400, "ResourceNotFoundException")), 500, "internal", false, 0},
		{"a request that is no good", always(opPost, refuses(400, "ValidationException")), 500, "internal", false, 0},
		{"an item that is no good", always(opPost, cancels(none, "ValidationError", none, none)), 500, "internal", false, 0},
		{"no access to what is looked at", always(opLook, refuses(400, "AccessDeniedException")), 500, "internal", false, 0},
	}
	names := make([]string, len(all))
	for i, o := range all {
		names[i] = o.name
	}
	together(t, names, func(t testing.TB, i, try int) *faults {
		p := b.payment(t, fmt.Sprint(i, "-", try))
		if strings.Contains(names[i], "looked at") {
			// A process that knows nothing yet.
			p.system = serve(t, b.table, withClient(p.faults.inject), withoutPump)
		}
		all[i].check(t, p)
		return p.faults
	})
}

// A transaction without an id gets one, and whoever isn't told the outcome is told the id.
func TestUnknownOutcomeNamesTheTransaction(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	names := []string{"done", "not done", "done in the end"}
	together(t, names, func(t testing.TB, i, try int) *faults {
		p := b.payment(t, fmt.Sprint(i, "-", try))
		p.noID = true
		outcome{faults: func(f *faults) {
			f.next(opPost, []fault{done(undone), undone, done(refuses(500, "InternalServerError"))}[i])
			if i < 2 {
				f.all(opPost, unreachable)
				f.all(opHeader, unreachable)
			}
		}, status: []int{504, 504, 201}[i], code: []string{"outcome_unknown", "outcome_unknown", ""}[i], posted: i != 1}.check(t, p)
		return p.faults
	})
}

// A request that was given up may still arrive, also after the answer.
func TestRequestsThatArriveLate(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	tests := map[string]func(testing.TB, payment, held){
		"after the next attempt": func(t testing.TB, p payment, late held) {
			p.faults.next(opPost, late.fault)
			first := p.post(p.id())
			if first.Status != 201 {
				t.Fatalf("%d %s", first.Status, first.Body)
			}
			if late.land(t) {
				t.Error("it was done twice")
			}
			if again := p.post(p.id()); again.Status != 200 || string(again.Body) != string(first.Body) {
				t.Errorf("first %s, then %d %s", first.Body, again.Status, again.Body)
			}
		},
		"after nobody knew": func(t testing.TB, p payment, late held) {
			p.faults.next(opPost, late.fault)
			p.faults.all(opPost, unreachable)
			if got := p.post(p.id()); got.Status != 504 {
				t.Fatalf("%d %s", got.Status, got.Body)
			}
			p.faults.clear()
			if got := p.Send("GET", "/v1/transactions/"+p.id(), ""); got.Status != 404 {
				t.Errorf("before it arrives: %d", got.Status)
			}
			if !late.land(t) {
				t.Fatal("it was not done")
			}
			if got := p.Send("GET", "/v1/transactions/"+p.id(), ""); got.Status != 200 {
				t.Errorf("after it arrived: %d", got.Status)
			}
			if again := p.post(p.id()); again.Status != 200 || again.Header.Get("Idempotent-Replayed") != "true" {
				t.Errorf("again: %d %s", again.Status, again.Body)
			}
			other := p.Send("POST", "/v1/transfers", fmt.Sprintf(`{"id":%q,"from":%q,"to":%q,"asset":"USD","quantity":"11"}`, p.id(), p.payer(), p.payee()))
			if other.Status != 409 || other.Code() != "transaction_id_reused" {
				t.Errorf("another body under its id: %d %s", other.Status, other.Body)
			}
		},
		"after another process did it": func(t testing.TB, p payment, late held) {
			p.faults.next(opPost, late.fault)
			p.faults.all(opPost, unreachable)
			if got := p.post(p.id()); got.Status != 504 {
				t.Fatalf("%d %s", got.Status, got.Body)
			}
			elsewhere := payment{system: serve(t, p.table, withoutPump), name: p.name}
			if got := elsewhere.post(p.id()); got.Status != 201 {
				t.Errorf("elsewhere: %d %s", got.Status, got.Body)
			}
			if late.land(t) {
				t.Error("it was done twice")
			}
		},
		"after a refusal": func(t testing.TB, p payment, late held) {
			// While the first attempt is on its way, all but 5 are spent: the second is refused, for ever.
			p.faults.next(opPost, late.fault, func(ctx context.Context, send sender) exchange {
				elsewhere := payment{system: serve(t, p.table, withoutPump), name: p.name}
				elsewhere.Must(201, "POST", "/v1/transfers", fmt.Sprintf(`{"id":%q,"from":%q,"to":"source","asset":"USD","quantity":"95"}`, "drain:"+p.name, p.payer()))
				return send(ctx)
			})
			got := p.post(p.id())
			if got.Status != 422 || got.Code() != "insufficient_funds" || got.Value("available") != "5" {
				t.Fatalf("%d %s", got.Status, got.Body)
			}
			if late.land(t) {
				t.Error("what was refused was done")
			}
			if got := p.Must(200, "GET", "/v1/accounts/"+p.payer()+"/balances/USD?consistency=strong", "").Value("quantity"); got != "5" {
				t.Errorf("the payer has %v", got)
			}
			p.Must(404, "GET", "/v1/transactions/"+p.id(), "")
		},
	}
	var names []string
	for name := range tests {
		names = append(names, name)
	}
	together(t, names, func(t testing.TB, i, try int) *faults {
		p := b.payment(t, fmt.Sprint(i, "-", try))
		tests[names[i]](t, p, newHeld())
		if names[i] == "after a refusal" {
			return p.faults
		}
		if held := p.held(); held != 1 {
			t.Errorf("the table holds it %d times", held)
		}
		return p.faults
	})
}

// A caller who hangs up doesn't leave behind what could have been found out: the transaction is there once, or not at all.
func TestCallersWhoHangUp(t *testing.T) {
	t.Parallel()
	p := openBank(t).payment(t, "gone")
	ctx, hangUp := context.WithCancel(t.Context())
	p.faults.next(opPost, func(context.Context, sender) exchange {
		hangUp()
		return broken()
	})
	request, err := http.NewRequestWithContext(ctx, "POST", p.URL+"/v1/transfers", strings.NewReader(fmt.Sprintf(`{"id":%q,"from":%q,"to":%q,"asset":"USD","quantity":"10"}`, p.id(), p.payer(), p.payee())))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if got, err := p.Do(request); err == nil {
		t.Fatalf("the caller was answered: %d %s", got.Status, got.Body)
	}
	caller.Eventually(t, 10*time.Second, "the transaction is there", func() bool { return p.Send("GET", "/v1/transactions/"+p.id(), "").Status == 200 })
	if held := p.held(); held != 1 {
		t.Errorf("the table holds it %d times", held)
	}
	if again := p.post(p.id()); again.Status != 200 {
		t.Errorf("again: %d %s", again.Status, again.Body)
	}
}

// The same for definitions and grants, which are put one by one.
func TestOutcomesOfPuts(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	throttled, failure := refuses(400, "ProvisionedThroughputExceededException"), refuses(500, "InternalServerError")
	kinds := []struct{ method, path, body string }{
		{"PUT", "/v1/assets/%s", `{"name":"x","scale":2}`},
		{"PUT", "/v1/accounts/%s", `{"name":"x"}`},
		{"PUT", "/v1/accounts/source/members/%s", `{"role":"viewer"}`},
		{"DELETE", "/v1/accounts/source/members/%s", ""},
	}
	outcomes := []struct {
		name   string
		faults func(*faults)
		status int // 201 stands for whatever is answered when all is well
		code   string
		done   bool
	}{
		{"throttled", func(f *faults) { f.all(opPut, throttled) }, 503, "throttled", false},
		{"throttled for a while", func(f *faults) { f.next(opPut, throttled, throttled) }, 201, "", true},
		{"in conflict", func(f *faults) { f.all(opPut, refuses(400, "TransactionConflictException")) }, 503, "contention", false},
		{"in conflict for a while", func(f *faults) { f.next(opPut, refuses(400, "TransactionConflictException")) }, 201, "", true},
		{"unreachable", func(f *faults) { f.all(opPut, unreachable) }, 503, "unavailable", false},
		{"done, connection broken", func(f *faults) { f.next(opPut, done(undone)) }, 201, "", true},
		{"done, no reply", func(f *faults) { f.next(opPut, done(hangs)) }, 201, "", true},
		{"not done, failure", func(f *faults) { f.next(opPut, failure) }, 201, "", true},
		{"done, then throttled", func(f *faults) {
			f.next(opPut, done(undone))
			f.all(opPut, throttled)
			f.next(opQuery, pass)
			f.all(opQuery, throttled)
		}, 504, "outcome_unknown", true},
		{"not done, then throttled", func(f *faults) { f.next(opPut, undone); f.all(opPut, throttled) }, 504, "outcome_unknown", false},
		{"always failing", func(f *faults) { f.all(opPut, failure) }, 504, "outcome_unknown", false},
		{"no access", func(f *faults) { f.all(opPut, refuses(400, "AccessDeniedException")) }, 500, "internal", false},
	}
	var names []string
	for _, k := range kinds {
		for _, o := range outcomes {
			names = append(names, strings.TrimSuffix(k.method+" "+k.path, "/%s")+" "+o.name)
		}
	}
	together(t, names, func(t testing.TB, i, try int) *faults {
		k, o := kinds[i/len(outcomes)], outcomes[i%len(outcomes)]
		f := newFaults()
		s := serve(t, b.table, withClient(f.inject), withoutPump)
		id := fmt.Sprint("x-", i, "-", try)
		path := fmt.Sprintf(k.path, id)
		if k.method == "DELETE" {
			s.Must(201, "PUT", path, `{"role":"owner"}`)
		}
		count := func() (n int) {
			for _, pk := range []string{table.AssetKey(id).PK, table.AccountKey(id).PK, table.AccountKey("source").PK} {
				for key := range s.partition(pk) {
					if strings.Contains(key.SK+"#", "#"+id+"#") {
						n++
					}
				}
			}
			return n
		}
		before := count()
		o.faults(f)
		got := s.Send(k.method, path, k.body)
		well := 201
		if k.method == "DELETE" {
			well = 200
		}
		if want := map[bool]int{true: well, false: o.status}[o.status == 201]; got.Status != want || got.Code() != o.code {
			t.Errorf("%d %s instead of %d %s: %s", got.Status, got.Code(), want, o.code, got.Body)
		}
		if got.Status >= 400 {
			caller.CheckProblem(t, got, s.table, store.Endpoint)
		}
		if written := count() - before; written != map[bool]int{true: 1}[o.done] {
			t.Errorf("%d items written", written)
		}
		f.clear()
		again := s.Send(k.method, path, k.body)
		if want := map[bool]int{true: 200, false: well}[o.done]; again.Status != want {
			t.Errorf("again: %d instead of %d: %s", again.Status, want, again.Body)
		}
		if written := count() - before; written != 1 {
			t.Errorf("%d items written in the end", written)
		}
		return f
	})
}

// Reads of a store that fails say which way, and nothing of how.
func TestReadsOfAFailingStore(t *testing.T) {
	t.Parallel()
	p := openBank(t).payment(t, "read")
	p.Must(201, "POST", "/v1/transfers", fmt.Sprintf(`{"id":%q,"from":%q,"to":%q,"asset":"USD","quantity":"10"}`, p.id(), p.payer(), p.payee()))
	failures := []struct {
		name   string
		fault  fault
		status int
		code   string
	}{
		{"throttled", refuses(400, "ProvisionedThroughputExceededException"), 503, "throttled"},
		{"unreachable", unreachable, 503, "unavailable"},
		{"failing", refuses(500, "InternalServerError"), 503, "unavailable"},
		{"no access", refuses(400, "AccessDeniedException"), 500, "internal"},
		{"broken", undone, 503, "unavailable"},
	}
	paths := []string{
		"/v1/assets", "/v1/assets/USD", "/v1/assets/USD/holders", "/v1/accounts", "/v1/accounts/" + p.payer(), "/v1/accounts/" + p.payer() + "/summary",
		"/v1/accounts/" + p.payer() + "/balances", "/v1/accounts/" + p.payer() + "/balances?consistency=strong",
		"/v1/accounts/" + p.payer() + "/balances/USD", "/v1/accounts/" + p.payer() + "/balances/USD?consistency=strong",
		"/v1/accounts/" + p.payer() + "/postings", "/v1/accounts/" + p.payer() + "/postings?asset=USD&consistency=strong",
		"/v1/accounts/" + p.payer() + "/members", "/v1/users/u-1/accounts", "/v1/transactions/" + p.id(),
	}
	var names []string
	for _, path := range paths {
		for _, f := range failures {
			names = append(names, f.name+" "+path)
		}
	}
	together(t, names, func(t testing.TB, i, _ int) *faults {
		path, failure := paths[i/len(failures)], failures[i%len(failures)]
		f := newFaults()
		s := serve(t, p.table, withClient(f.inject), withoutPump)
		f.all(anyOperation, failure.fault)
		got := s.Send("GET", path, "", "X-Request-Id", "r-1")
		if got.Status != failure.status || got.Code() != failure.code {
			t.Errorf("%d %s instead of %d %s: %s", got.Status, got.Code(), failure.status, failure.code, got.Body)
		}
		caller.CheckProblem(t, got, s.table, store.Endpoint)
		logged := func() []string {
			var lines []string
			for line := range strings.Lines(s.log.String()) {
				if strings.Contains(line, `"level":"ERROR"`) {
					lines = append(lines, line)
				}
			}
			return lines
		}
		if failure.status != 500 {
			return f
		}
		// What shows nothing is found in the log, once, by the request's id.
		caller.Eventually(t, timeToLog, "the error is logged", func() bool { return len(logged()) > 0 })
		if lines := logged(); len(lines) != 1 || !strings.Contains(lines[0], "AccessDenied") || !strings.Contains(lines[0], `"request_id":"r-1"`) {
			t.Errorf("logged: %q", lines)
		}
		f.clear()
		s.Must(200, "GET", path, "")
		return f
	})
}

// Whose clock is off the store's mints nothing: its postings would land in the wrong place of their accounts' histories.
func TestClockOffTheStores(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	for name, c := range map[string]struct {
		off    time.Duration
		status int
		code   string
	}{
		"an hour behind": {time.Hour, 503, "unavailable"},
		"an hour ahead":  {-time.Hour, 503, "unavailable"},
		"8 s behind":     {8 * time.Second, 503, "unavailable"},
		"8 s ahead":      {-8 * time.Second, 503, "unavailable"},
		"2 s behind":     {2 * time.Second, 201, ""},
		"2 s ahead":      {-2 * time.Second, 201, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := b.payment(t, strings.ReplaceAll(name, " ", "-"))
			for _, process := range []*system{p.system, serve(t, b.table, withClient(p.faults.inject), withoutPump)} { // a warm one, and a cold one
				p.system = process
				p.faults.all(anyOperation, clockOff(c.off))
				// The clock is told by replies: a process that knows all it needs hears nothing until it sends something.
				p.Must(200, "GET", "/v1/accounts/source", "")
				p.Send("GET", "/v1/transactions/none", "")
				got := p.post(p.id())
				if got.Status != c.status && !(c.status == 201 && got.Status == 200) || got.Code() != c.code {
					t.Errorf("%d %s: %s", got.Status, got.Code(), got.Body)
				}
				if c.status == 201 {
					continue
				}
				caller.CheckProblem(t, got, p.table, store.Endpoint)
				if held := p.held(); held != 0 {
					t.Errorf("the table holds it %d times", held)
				}
				log := p.log.String()
				if !strings.Contains(log, `"level":"ERROR"`) || !strings.Contains(log, "clock") {
					t.Errorf("the log doesn't say why: %s", log)
				}
			}
			if c.status != 201 {
				p.faults.clear()
				if got := p.post(p.id()); got.Status != 201 {
					t.Errorf("with the clock set right: %d %s", got.Status, got.Body)
				}
			}
			if held := p.held(); held != 1 {
				t.Errorf("the table holds it %d times in the end", held)
			}
		})
	}
}

// A command that answers late, by the store's clock, first makes sure of its postings: the balances are there, empty, so
// that no refold can pass the postings by. Then they are projected as ever.
func TestLateAnswersMakeSure(t *testing.T) {
	t.Parallel()
	p := openBank(t).payment(t, "slow")
	const late = 5 * time.Second // more than half the settle window, and as much as the clocks may differ
	p.faults.all(anyOperation, clockOff(late))
	balances := func() (n int) {
		for _, account := range []string{p.payer(), p.payee()} {
			if _, there := p.partition(table.AccountKey(account).PK)[table.BalanceKey(account, "USD")]; there {
				n++
			}
		}
		return n
	}
	if n := balances(); n != 0 {
		t.Fatalf("%d balances before anything is late", n)
	}
	if got := p.post(p.id()); got.Status != 201 {
		t.Fatalf("%d %s", got.Status, got.Body)
	}
	if n := balances(); n != 2 {
		t.Errorf("%d balances instead of 2", n)
	}
	// An empty balance shows nothing yet.
	if got := p.Must(200, "GET", "/v1/accounts/"+p.payee()+"/balances/USD", ""); got.Value("quantity") != "0" || got.Value("as_of") != nil {
		t.Errorf("not projected: %s", got.Body)
	}
	if got := p.post(p.id()); got.Status != 200 {
		t.Errorf("again: %d %s", got.Status, got.Body)
	}
	if held := p.held(); held != 1 {
		t.Errorf("the table holds it %d times", held)
	}
	// Where it can't be made sure, nobody says that it was done.
	p.faults.all(opPut, refuses(400, "ProvisionedThroughputExceededException"))
	if got := p.post(p.id()); got.Status != 504 || got.Value("transaction_id") != p.id() {
		t.Errorf("not made sure: %d %s", got.Status, got.Body)
	}
	p.faults.clear()

	p.startPump()
	p.project()
	for account, want := range map[string]string{p.payer(): "90", p.payee(): "10"} {
		page := p.Must(200, "GET", "/v1/accounts/"+account+"/summary", "")
		if page.Value("balances", "data", 0, "quantity") != want || page.Value("summary", "assets") != 1.0 || page.Value("summary", "holdings") != 1.0 {
			t.Errorf("%s: %s", account, page.Body)
		}
	}
}
