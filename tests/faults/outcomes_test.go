package faults

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ledger.example/tests/harness/caller"
	"ledger.example/tests/harness/inject"
)

// cases has faults by name.
type cases map[string]func(*inject.Set)

// Each way in which a transaction can end when the store fails has the status and code of the error table in the API
// documentation. Package table tests how each error of the store is understood, and package ledger more sequences.
func TestOutcomesOfTransactions(t *testing.T) {
	post := func(coming ...inject.Fault) func(*inject.Set) {
		return func(f *inject.Set) { f.Next(opPost, coming...) }
	}
	always := func(operation string, f inject.Fault, first ...inject.Fault) func(*inject.Set) {
		return func(all *inject.Set) {
			all.Next(opPost, first...)
			all.All(operation, f)
		}
	}
	refuses, cancels, applied := inject.Refuses, inject.Cancels, inject.Applied
	throttled := refuses(400, "ProvisionedThroughputExceededException")
	failure, denied := refuses(500, "InternalServerError"), refuses(400, "AccessDeniedException")
	uncovered := cancels(none, none, none, spent95)

	for _, expected := range []struct {
		outcome
		cases cases
	}{
		// Nothing was sent, or the store answers that it wrote nothing.
		{outcome{status: 503, code: "throttled"}, cases{
			"a posting throttled": always(opPost, cancels(none, none, "ProvisionedThroughputExceeded", none)),
			"lookup throttled":    always(opLookup, throttled),
		}},
		{outcome{status: 503, code: "contention", minTime: contentionTime}, cases{
			"in conflict and throttled":                  always(opPost, cancels(none, none, "ThrottlingError", conflict)),
			"refused, and the header always in conflict": always(opPost, cancels(conflict, none, none, spent95)),
		}},
		{outcome{status: 503, code: "unavailable"}, cases{
			"unreachable":                            always(opPost, inject.Unreachable),
			"unreachable for lookup":                 always(opLookup, inject.Unreachable),
			"refused, and the header cannot be read": always(opHeader, inject.Unreachable, uncovered),
			"refused, and credits cannot be read":    always(opQuery, inject.Unreachable, uncovered),
		}},
		// The store does not answer whether it applied the write, but the ledger can find out.
		{outcome{status: 201, posted: true}, cases{
			"done, connection broken":             post(applied(inject.Lost)),
			"done, and cancelled for no reason":   post(applied(cancels())),
			"done, and found by the next attempt": always(opHeader, inject.Unreachable, applied(inject.Lost)),
			"done, and completely visible after a while": func(f *inject.Set) {
				f.Next(opPost, applied(inject.Lost))
				f.Next(opComplete, cancels(none, conflict, none), cancels(none, conflict, none))
			},
			"lookup failing for a while": func(f *inject.Set) { f.Next(opLookup, failure, inject.Lost, throttled) },
			"everything fails for a while": post(throttled, cancels(conflict, none, none, none), inject.Unreachable, failure,
				inject.Lost, cancels(conflict, none, none, spent95), cancels(none, none, "SomethingNew", spent95), applied(failure)),
		}},
		{outcome{status: 201, posted: true, minTime: 2 * time.Second}, cases{"not done, no reply": post(inject.Hangs)}},
		// The ledger cannot find out in time whether the write was applied. Later faults never turn that into a 503.
		{outcome{status: 504, code: "outcome_unknown", posted: true}, cases{
			"done, then broken": func(f *inject.Set) {
				f.All(opPost, applied(inject.Lost))
				f.All(opHeader, inject.Lost)
			},
			"done, and never completely visible": always(opComplete, cancels(none, conflict, none), applied(inject.Lost)),
		}},
		{outcome{status: 504, code: "outcome_unknown"}, cases{
			"not done, then throttled":   always(opPost, throttled, inject.Lost),
			"not done, then unreachable": always(opPost, inject.Unreachable, inject.Lost),
			"always failing":             always(opPost, failure),
			"never a reply":              always(opPost, inject.Hangs),
			"not done, then a refusal that cannot be proved": func(f *inject.Set) {
				f.Next(opPost, inject.Lost, uncovered)
				f.All(opPost, throttled)
				f.All(opQuery, inject.Unreachable)
			},
		}},
		// A cancellation proves a refusal only if it shows that the header is not stored. The postings have not spent as
		// much as the guard says, so it must say so each time.
		{outcome{status: 422, code: "insufficient_funds"}, cases{
			"refused and in conflict":          always(opPost, cancels(none, none, conflict, spent95)),
			"refused after an unknown outcome": always(opPost, uncovered, inject.Lost),
		}},
		// A retry cannot help.
		{outcome{status: 500, code: "internal"}, cases{
			"access denied": always(opPost, denied), "access denied for lookup": always(opLookup, denied),
		}},
	} {
		for name, faults := range expected.cases {
			t.Run(name, func(t *testing.T) {
				inBubble(t, func(t *testing.T) {
					p := newPayment(t)
					if strings.Contains(name, "lookup") { // needs a process with a cold cache
						p = p.process()
					}
					o := expected.outcome
					o.faults = faults
					o.check(t, p)
				})
			})
		}
	}
}

// The ledger chooses an id for a transaction without one. An answer with an unknown outcome must name it.
func TestUnknownOutcomeNamesTheTransaction(t *testing.T) {
	for posted, first := range map[bool]inject.Fault{true: inject.Applied(inject.Lost), false: inject.Lost} {
		inBubble(t, func(t *testing.T) {
			outcome{faults: func(f *inject.Set) {
				f.Next(opPost, first)
				f.All(opPost, inject.Unreachable)
				f.All(opHeader, inject.Unreachable)
			}, noID: true, status: 504, code: "outcome_unknown", posted: posted}.check(t, newPayment(t))
		})
	}
}

// Definitions and grants are single puts. They have the same statuses and codes under faults as transactions.
func TestOutcomesOfPuts(t *testing.T) {
	throttled := inject.Refuses(400, "ProvisionedThroughputExceededException")
	conflicting := inject.Refuses(400, "TransactionConflictException")
	failing, denied := inject.Refuses(500, "InternalServerError"), inject.Refuses(400, "AccessDeniedException")
	applied := inject.Applied(inject.Lost)
	// first has the faults of the first puts. always is the fault of all later puts; nil: none.
	put := func(always inject.Fault, first ...inject.Fault) func(*inject.Set) {
		return func(f *inject.Set) {
			f.Next(opPut, first...)
			if always != nil {
				f.All(opPut, always)
			}
		}
	}
	kinds := []struct{ method, path, body string }{
		{"PUT", "/v1/assets/x", `{"name":"x","scale":2}`},
		{"PUT", "/v1/accounts/x", `{"name":"x"}`},
		{"PUT", "/v1/accounts/source/members/x", `{"role":"viewer"}`},
		{"DELETE", "/v1/accounts/source/members/x", ""},
	}
	// The status 201 stands for the status of success, which depends on the method.
	outcomes := map[string]outcome{
		"throttled":               {faults: put(throttled), status: 503, code: "throttled"},
		"in conflict":             {faults: put(conflicting), status: 503, code: "contention"},
		"both for a while":        {faults: put(nil, throttled, conflicting), status: 201, posted: true},
		"unreachable":             {faults: put(inject.Unreachable), status: 503, code: "unavailable"},
		"done, connection broken": {faults: put(nil, applied), status: 201, posted: true},
		"done, no reply":          {faults: put(nil, inject.Applied(inject.Hangs)), status: 201, posted: true},
		"not done, failure":       {faults: put(nil, failing), status: 201, posted: true},
		"done, then throttled": {faults: func(f *inject.Set) {
			put(throttled, applied)(f)
			f.Next(opQuery, inject.Pass)
			f.All(opQuery, throttled)
		}, status: 504, code: "outcome_unknown", posted: true},
		"not done, then throttled": {faults: put(throttled, inject.Lost), status: 504, code: "outcome_unknown"},
		"always failing":           {faults: put(failing), status: 504, code: "outcome_unknown"},
		"no access":                {faults: put(denied), status: 500, code: "internal"},
	}
	check := func(t *testing.T, method, path, body string, o outcome) {
		p := newPayment(t)
		s := p.process()
		if method == "DELETE" {
			s.Must(201, "PUT", path, `{"role":"owner"}`)
		}
		before := len(s.Contents())
		o.faults(s.faults)
		got := s.Send(method, path, body)
		success := 201
		if method == "DELETE" {
			success = 200
		}
		want := o.status
		if want == 201 {
			want = success
		}
		if got.Status != want || got.Code() != o.code {
			t.Errorf("%d %s instead of %d %s: %s", got.Status, got.Code(), want, o.code, got.Body)
		}
		if got.Status >= 400 {
			caller.CheckProblem(t, got, s.Table)
		}
		if written := len(s.Contents()) - before; written != map[bool]int{true: 1}[o.posted] {
			t.Errorf("%d items written", written)
		}
		s.faults.Clear()
		again := s.Send(method, path, body)
		if want := map[bool]int{true: 200, false: success}[o.posted]; again.Status != want {
			t.Errorf("the retry got %d instead of %d: %s", again.Status, want, again.Body)
		}
		if written := len(s.Contents()) - before; written != 1 {
			t.Errorf("%d items written in the end", written)
		}
	}
	for _, k := range kinds {
		for name, o := range outcomes {
			t.Run(strings.Join([]string{k.method, k.path, name}, " "), func(t *testing.T) {
				inBubble(t, func(t *testing.T) { check(t, k.method, k.path, k.body, o) })
			})
		}
	}
}

// A read during a fault of the store has the right code, and shows no detail of the fault. The log has it.
func TestReadsOfAFailingStore(t *testing.T) {
	failures := map[string]struct {
		fault  inject.Fault
		status int
		code   string
	}{
		"throttled":   {inject.Refuses(400, "ProvisionedThroughputExceededException"), 503, "throttled"},
		"unreachable": {inject.Unreachable, 503, "unavailable"},
		"failing":     {inject.Refuses(500, "InternalServerError"), 503, "unavailable"},
		"no access":   {inject.Refuses(400, "AccessDeniedException"), 500, "internal"},
		"broken":      {inject.Lost, 503, "unavailable"},
	}
	paths := []string{
		"/v1/assets", "/v1/assets/USD", "/v1/assets/USD/holders", "/v1/accounts", "/v1/accounts?metadata.order=1",
		"/v1/accounts/payer",
		"/v1/accounts/payer/summary", "/v1/accounts/payer/balances", "/v1/accounts/payer/balances?consistency=strong",
		"/v1/accounts/payer/balances/USD", "/v1/accounts/payer/balances/USD?consistency=strong",
		"/v1/accounts/payer/postings", "/v1/accounts/payer/postings?asset=USD&consistency=strong",
		"/v1/accounts/payer/members", "/v1/users/u-1/accounts", "/v1/transactions/" + id,
	}
	inBubble(t, func(t *testing.T) {
		p := newPayment(t)
		p.Must(201, "POST", "/v1/transfers", body(id))
		for _, path := range paths {
			for name, failure := range failures {
				s := p.process()
				s.faults.All(inject.AnyOperation, failure.fault)
				got := s.Send("GET", path, "", "X-Request-Id", "r-1")
				if got.Status != failure.status || got.Code() != failure.code {
					t.Errorf("%s, %s: %d %s instead of %d %s: %s", name, path, got.Status, got.Code(), failure.status,
						failure.code, got.Body)
				}
				caller.CheckProblem(t, got, s.Table)
				s.faults.Clear()
				if failure.status != 500 {
					continue
				}
				// The request's id finds the cause in the log.
				errors := logged(s.System, "request_id")
				if !slices.ContainsFunc(errors, func(line map[string]any) bool {
					return line["level"] == "ERROR" && line["request_id"] == "r-1" &&
						strings.Contains(fmt.Sprint(line), "AccessDenied")
				}) {
					t.Errorf("%s is not in the log: %v", path, errors)
				}
				s.Must(200, "GET", path, "")
			}
		}
	})
}
