package faults

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ledger.example/internal/table"
	"ledger.example/tests/caller"
	"ledger.example/tests/fault"
	"ledger.example/tests/system"
)

// cases are faults by what they are.
type cases map[string]func(*fault.Set)

// Row 9 of the table of errors, and what lies beneath it: every way in which the store can fail a transaction.
func TestOutcomesOfTransactions(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	post := func(coming ...fault.Fault) func(*fault.Set) { return func(f *fault.Set) { f.Next(opPost, coming...) } }
	always := func(operation string, f fault.Fault) func(*fault.Set) {
		return func(all *fault.Set) { all.All(operation, f) }
	}
	both := func(all ...func(*fault.Set)) func(*fault.Set) {
		return func(f *fault.Set) {
			for _, one := range all {
				one(f)
			}
		}
	}
	refuses, cancels, applied, replies := fault.Refuses, fault.Cancels, fault.Applied, fault.Replies
	throttled := refuses(400, "ProvisionedThroughputExceededException")
	failure := refuses(500, "InternalServerError")

	for _, expected := range []struct {
		outcome
		cases cases
	}{
		// Nothing was sent, or the store says that it did nothing.
		{outcome{status: 503, code: "throttled"}, cases{
			"throttled": always(opPost, throttled),
			"a posting throttled": always(opPost,
				cancels(none, none, "ProvisionedThroughputExceeded", none)),
			"the header throttled":             always(opPost, cancels("ThrottlingError", none, none, none)),
			"throttled before it is looked at": always(opLookup, throttled),
		}},
		{outcome{status: 201, posted: true}, cases{
			"throttled for a while": post(throttled, throttled, throttled),
			"in conflict for a while": post(cancels(conflict, conflict, conflict, conflict),
				cancels(none, none, none, conflict), cancels(conflict, none, none, none)),
			"unreachable for a while": post(fault.Unreachable, fault.Unreachable),
			"failing for a while before it is looked at": func(f *fault.Set) {
				f.Next(opLookup, failure, fault.Lost, throttled)
			},
		}},
		{outcome{status: 503, code: "contention", least: seconds}, cases{
			"the header in conflict":    always(opPost, cancels(conflict, none, none, none)),
			"a posting in conflict":     always(opPost, cancels(none, conflict, none, none)),
			"the guard in conflict":     always(opPost, cancels(none, none, none, conflict)),
			"in conflict and throttled": always(opPost, cancels(none, none, "ThrottlingError", conflict)),
		}},
		{outcome{status: 503, code: "unavailable"}, cases{
			"unreachable":                        always(opPost, fault.Unreachable),
			"unreachable before it is looked at": always(opLookup, fault.Unreachable),
		}},
		// Nobody says whether it was done, and it can be found out.
		{outcome{status: 201, posted: true}, cases{
			"done, connection broken": post(applied(fault.Lost)),
			"done, failure":           post(applied(failure)),
			"done, a proxy's page":    post(applied(replies(502, "text/html", "<h1>Bad gateway</h1>"))),
			"done, half a reply": post(applied(replies(200, "application/x-amz-json-1.0",
				`{"Consumed`))),
			"not done, connection broken":         post(fault.Lost),
			"in progress":                         post(refuses(400, "TransactionInProgressException")),
			"in progress and done":                post(applied(refuses(400, "TransactionInProgressException"))),
			"done, and found by the next attempt": both(post(applied(fault.Lost)), always(opHeader, fault.Unreachable)),
			"done, and whole only after a while": both(post(applied(fault.Lost)),
				func(f *fault.Set) {
					f.Next(opComplete, cancels(none, conflict, none), cancels(none, conflict, none))
				}),
			"everything fails for a while": func(f *fault.Set) {
				f.Next(opPost, throttled, cancels(conflict, none, none, none), fault.Unreachable, failure, fault.Lost,
					cancels(none, none, none, conflict), applied(failure))
			},
		}},
		{outcome{status: 201, posted: true, least: 2 * time.Second}, cases{
			"done, no reply":     post(applied(fault.Hangs)),
			"not done, no reply": post(fault.Hangs),
		}},
		// Nobody says whether it was done, and it cannot be found out in time: never a 503, whatever comes after.
		{outcome{status: 504, code: "outcome_unknown", posted: true}, cases{
			"done, then throttled": both(post(applied(fault.Lost)), always(opHeader, throttled),
				always(opPost, throttled)),
			"done, then broken": both(always(opPost, applied(fault.Lost)), always(opHeader, fault.Lost)),
			"done, and never whole": both(post(applied(fault.Lost)),
				always(opComplete, cancels(none, conflict, none))),
		}},
		{outcome{status: 504, code: "outcome_unknown"}, cases{
			"not done, then throttled":   both(post(fault.Lost), always(opPost, throttled)),
			"not done, then unreachable": both(post(fault.Lost), always(opPost, fault.Unreachable)),
			"not done, then in conflict": both(post(fault.Lost),
				always(opPost, cancels(conflict, none, none, none))),
			"always failing": always(opPost, failure),
			"always in progress": always(opPost,
				refuses(400, "TransactionInProgressException")),
			"never a reply": always(opPost, fault.Hangs),
			"not done, then a refusal that cannot be proved": both(post(fault.Lost, cancels(none, none, none, spent95)),
				always(opPost, throttled), always(opQuery, fault.Unreachable)),
		}},
		// What a cancellation proves, and what it doesn't.
		{outcome{status: 422, code: "insufficient_funds"}, cases{
			"refused beside a conflict":        post(cancels(none, none, conflict, spent95)),
			"refused after an unknown outcome": post(fault.Lost, cancels(none, none, none, spent95)),
		}},
		{outcome{status: 201, posted: true}, cases{
			"the header in conflict beside a refusal":     post(cancels(conflict, none, none, spent95)),
			"the header throttled beside a refusal":       post(cancels("ThrottlingError", none, none, spent95)),
			"cancelled without a reason":                  post(cancels(), cancels(none, none)),
			"cancelled for an unknown reason for a while": post(cancels(none, none, "SomethingNew", spent95)),
			"done, and cancelled for no reason":           post(applied(cancels())),
		}},
		{outcome{status: 503, code: "contention", least: seconds}, cases{
			"the header always in conflict beside a refusal": always(opPost, cancels(conflict, none, none, spent95)),
		}},
		{outcome{status: 504, code: "outcome_unknown"}, cases{
			"cancelled for an unknown reason": always(opPost, cancels("SomethingNew", none, none, none)),
		}},
		{outcome{status: 503, code: "unavailable"}, cases{
			"refused, and the header cannot be read": both(post(cancels(none, none, none, spent95)),
				always(opHeader, fault.Unreachable)),
			"refused, and credits cannot be read": both(post(cancels(none, none, none, spent95)),
				always(opQuery, fault.Unreachable)),
		}},
		// What no repetition would cure.
		{outcome{status: 500, code: "internal"}, cases{
			"no access":                      always(opPost, refuses(400, "AccessDeniedException")),
			"no table":                       always(opPost, refuses(400, "ResourceNotFoundException")),
			"a request that is no good":      always(opPost, refuses(400, "ValidationException")),
			"no access to what is looked at": always(opLookup, refuses(400, "AccessDeniedException")),
		}},
	} {
		for name, faults := range expected.cases {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p := b.payment(t, strings.NewReplacer(" ", "-", ",", "", "'", "").Replace(name))
				if strings.Contains(name, "looked at") { // a process with a cold cache
					p.System = p.Store.Serve(t, p.Table, system.WithFaults(p.faults))
				}
				o := expected.outcome
				o.faults = faults
				o.check(t, p)
			})
		}
	}
}

// A transaction without an id gets one, and an answer of an unknown outcome names it.
func TestUnknownOutcomeNamesTheTransaction(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	for name, first := range map[string]fault.Fault{"done": fault.Applied(fault.Lost), "not-done": fault.Lost} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := b.payment(t, name)
			p.noID = true
			outcome{faults: func(f *fault.Set) {
				f.Next(opPost, first)
				f.All(opPost, fault.Unreachable)
				f.All(opHeader, fault.Unreachable)
			}, status: 504, code: "outcome_unknown", posted: name == "done"}.check(t, p)
		})
	}
}

// The same for definitions and grants, which are put one by one.
func TestOutcomesOfPuts(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	throttled := fault.Refuses(400, "ProvisionedThroughputExceededException")
	conflicting := fault.Refuses(400, "TransactionConflictException")
	failing, denied := fault.Refuses(500, "InternalServerError"), fault.Refuses(400, "AccessDeniedException")
	applied := fault.Applied(fault.Lost)
	// first are the faults of the first puts, always that of all that follow; nil is none.
	put := func(always fault.Fault, first ...fault.Fault) func(*fault.Set) {
		return func(f *fault.Set) {
			f.Next(opPut, first...)
			if always != nil {
				f.All(opPut, always)
			}
		}
	}
	kinds := []struct{ method, path, body string }{
		{"PUT", "/v1/assets/%s", `{"name":"x","scale":2}`},
		{"PUT", "/v1/accounts/%s", `{"name":"x"}`},
		{"PUT", "/v1/accounts/source/members/%s", `{"role":"viewer"}`},
		{"DELETE", "/v1/accounts/source/members/%s", ""},
	}
	outcomes := []struct {
		name   string
		faults func(*fault.Set)
		status int // 201 stands for whatever is answered when all is well
		code   string
		done   bool
	}{
		{"throttled", put(throttled), 503, "throttled", false},
		{"throttled for a while", put(nil, throttled, throttled), 201, "", true},
		{"in conflict", put(conflicting), 503, "contention", false},
		{"in conflict for a while", put(nil, conflicting), 201, "", true},
		{"unreachable", put(fault.Unreachable), 503, "unavailable", false},
		{"done, connection broken", put(nil, applied), 201, "", true},
		{"done, no reply", put(nil, fault.Applied(fault.Hangs)), 201, "", true},
		{"not done, failure", put(nil, failing), 201, "", true},
		{"done, then throttled", func(f *fault.Set) {
			put(throttled, applied)(f)
			f.Next(opQuery, fault.Pass)
			f.All(opQuery, throttled)
		}, 504, "outcome_unknown", true},
		{"not done, then throttled", put(throttled, fault.Lost), 504, "outcome_unknown", false},
		{"always failing", put(failing), 504, "outcome_unknown", false},
		{"no access", put(denied), 500, "internal", false},
	}
	inParallel(t, len(kinds)*len(outcomes), func(t *testing.T, i int) {
		k, o := kinds[i/len(outcomes)], outcomes[i%len(outcomes)]
		f := fault.NewSet()
		s := b.Store.Serve(t, b.Table, system.WithFaults(f))
		id := fmt.Sprint("x-", i)
		path := fmt.Sprintf(k.path, id)
		if k.method == "DELETE" {
			s.Must(201, "PUT", path, `{"role":"owner"}`)
		}
		count := func() (n int) {
			for _, pk := range []string{table.AssetKey(id).PK, table.AccountKey(id).PK, table.AccountKey("source").PK} {
				for key := range s.Partition(pk) {
					if strings.Contains(key.SK+"#", "#"+id+"#") {
						n++
					}
				}
			}
			return n
		}
		before := count()
		o.faults(f)
		start := time.Now()
		got := s.Send(k.method, path, k.body)
		well := 201
		if k.method == "DELETE" {
			well = 200
		}
		// Of an attempt that is under way when the time ends nobody knows what became.
		cut := o.code == "contention" && got.Code() == "outcome_unknown"
		if want := map[bool]int{true: well, false: o.status}[o.status == 201]; !cut && (got.Status != want ||
			!says(got, o.code, start)) {
			t.Errorf("%s, %s: %d %s instead of %d %s: %s", k.path, o.name, got.Status, got.Code(), want, o.code, got.Body)
		}
		if got.Status >= 400 {
			caller.CheckProblem(t, got, s.Table)
		}
		if written := count() - before; written != map[bool]int{true: 1}[o.done] {
			t.Errorf("%d items written", written)
		}
		f.Clear()
		again := s.Send(k.method, path, k.body)
		if want := map[bool]int{true: 200, false: well}[o.done]; again.Status != want {
			t.Errorf("again: %d instead of %d: %s", again.Status, want, again.Body)
		}
		if written := count() - before; written != 1 {
			t.Errorf("%d items written in the end", written)
		}
	})
}

// Reads of a store that fails say which way, and nothing of how.
func TestReadsOfAFailingStore(t *testing.T) {
	t.Parallel()
	p := openBank(t).payment(t, "read")
	p.Must(201, "POST", "/v1/transfers", fmt.Sprintf(`{"id":%q,"from":%q,"to":%q,"asset":"USD","quantity":"10"}`,
		p.id(), p.payer(), p.payee()))
	failures := []struct {
		name   string
		fault  fault.Fault
		status int
		code   string
	}{
		{"throttled", fault.Refuses(400, "ProvisionedThroughputExceededException"), 503, "throttled"},
		{"unreachable", fault.Unreachable, 503, "unavailable"},
		{"failing", fault.Refuses(500, "InternalServerError"), 503, "unavailable"},
		{"no access", fault.Refuses(400, "AccessDeniedException"), 500, "internal"},
		{"broken", fault.Lost, 503, "unavailable"},
	}
	paths := []string{
		"/v1/assets", "/v1/assets/USD", "/v1/assets/USD/holders", "/v1/accounts", "/v1/accounts/" +
			p.payer(), "/v1/accounts/" + p.payer() + "/summary",
		"/v1/accounts/" + p.payer() + "/balances", "/v1/accounts/" + p.payer() + "/balances?consistency=strong",
		"/v1/accounts/" + p.payer() + "/balances/USD", "/v1/accounts/" + p.payer() + "/balances/USD?consistency=strong",
		"/v1/accounts/" + p.payer() + "/postings", "/v1/accounts/" + p.payer() +
			"/postings?asset=USD&consistency=strong",
		"/v1/accounts/" + p.payer() + "/members", "/v1/users/u-1/accounts", "/v1/transactions/" + p.id(),
	}
	inParallel(t, len(paths)*len(failures), func(t *testing.T, i int) {
		path, failure := paths[i/len(failures)], failures[i%len(failures)]
		f := fault.NewSet()
		s := p.Store.Serve(t, p.Table, system.WithFaults(f))
		f.All(fault.AnyOperation, failure.fault)
		got := s.Send("GET", path, "", "X-Request-Id", "r-1")
		if got.Status != failure.status || got.Code() != failure.code {
			t.Errorf("%s: %d %s instead of %d %s: %s", path, got.Status, got.Code(), failure.status, failure.code, got.Body)
		}
		caller.CheckProblem(t, got, s.Table)
		if failure.status != 500 {
			return
		}
		// What shows nothing is found in the log by the request's id.
		caller.Eventually(t, system.LogTimeout, "the error is logged", func() bool {
			for line := range strings.Lines(s.Log.String()) {
				if strings.Contains(line, `"level":"ERROR"`) && strings.Contains(line, "AccessDenied") &&
					strings.Contains(line, `"request_id":"r-1"`) {
					return true
				}
			}
			return false
		})
		f.Clear()
		s.Must(200, "GET", path, "")
	})
}
