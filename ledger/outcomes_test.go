package ledger_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/ledger"
)

// spending is a kind of command for TestOutcomes. The spender spends 100 USD by it.
type spending struct {
	prepare func(r *rig)
	send    func(r *rig) (legs []events.Leg, replayed bool, err error)
	spender string
}

var spendings = map[string]spending{
	"transfer": {(*rig).funded, sends(transfer("t-2", "jane", "shop", "100")), "jane"},
	"batch": {(*rig).funded, func(r *rig) ([]events.Leg, bool, error) {
		results, err := r.batch(true, transfer("t-2", "jane", "shop", "60"), transfer("t-3", "jane", "bob", "40"))
		if err != nil {
			return nil, false, err
		}
		one, other := results[0].Posted, results[1].Posted
		return append(one.Transaction.Legs, other.Transaction.Legs...), one.Replayed || other.Replayed, nil
	}, "jane"},
	"reversal": {(*rig).paid, sends(reversal("r-1", "t-1", ledger.Part{})), "shop"},
	// An end changes no guard: the hold spent it.
	"capture": {func(r *rig) { r.placed(time.Hour) }, sends(capture("h-1", some("60"))), "jane"},
}

// sends returns the send of a single request.
func sends(request ledger.Request) func(r *rig) ([]events.Leg, bool, error) {
	return func(r *rig) ([]events.Leg, bool, error) {
		r.t.Helper()
		posted, err := r.post(request)
		if posted.End != nil {
			return posted.End.Legs, posted.Replayed, err
		}
		return posted.Transaction.Legs, posted.Replayed, err
	}
}

func (r *rig) funded() {
	r.t.Helper()
	r.fund("jane", "USD", "100")
}

// G4: for every sequence of outcomes of the attempts, a stored transaction is answered, an unproved outcome is reported
// as unknown, and the command has one effect.
func TestOutcomes(t *testing.T) {
	type steps = []appended
	exists, conflict := cancelled(head(0, store.CauseCondition)), cancelled(head(0, store.CauseConflict))
	throttled := cancelled(head(0, store.CauseThrottled))
	number := cancelled(head(1, store.CauseConflict)) // that of a reversal
	for name, c := range map[string]struct {
		steps   steps
		forever appended
		code    ledger.Code // "": done by this command
		only    string      // this kind of command; "": every one
	}{
		"applied, answer lost":               {steps: steps{applied(errUnknown)}},
		"lost":                               {steps: steps{answers(errUnknown)}},
		"late, after another attempt":        {steps: steps{late(20 * time.Second)}},
		"late, before another attempt":       {steps: steps{late(time.Millisecond), conflict}},
		"conflict":                           {steps: steps{conflict, conflict}},
		"throttled":                          {steps: steps{throttled, answers(errThrottled), answers(errUnavailable)}},
		"applied, and its item is not shown": {steps: steps{applied(errUnknown), exists}},
		"always in conflict":                 {forever: conflict, code: ledger.CodeContention},
		"always throttled":                   {forever: throttled, code: ledger.CodeThrottled},
		"always unavailable":                 {forever: answers(errUnavailable), code: ledger.CodeUnavailable},
		"lost, then throttled":               {steps: steps{answers(errUnknown)}, forever: throttled, code: ledger.CodeOutcomeUnknown},
		"never answered":                     {forever: hangs, code: ledger.CodeOutcomeUnknown},
		"refused for no known reason":        {forever: answers(errors.New("odd")), code: ledger.CodeInternal},
		"number in conflict":                 {steps: steps{number, number}, only: "reversal"},
		"number always in conflict":          {forever: number, code: ledger.CodeContention, only: "reversal"},
		"lost, then number in conflict": {steps: steps{answers(errUnknown)}, forever: number,
			code: ledger.CodeOutcomeUnknown, only: "reversal"},
	} {
		for kind, k := range spendings {
			if c.only != "" && c.only != kind {
				continue
			}
			t.Run(kind+", "+name, func(t *testing.T) {
				inBubble(t, func(t *testing.T, r *rig) {
					k.prepare(r)
					r.journal.steps, r.journal.forever = c.steps, c.forever
					begun := time.Now()
					legs, replayed, err := k.send(r)
					if took := time.Since(begun); took > 8*time.Second {
						t.Errorf("it took %v", took)
					}
					if c.code != "" {
						r.refused(err, c.code)
					} else if err != nil || replayed {
						t.Errorf("%v, replayed %v, %v", legs, replayed, err)
					}
					r.journal.steps, r.journal.forever = nil, nil
					time.Sleep(time.Minute)
					again, replayed, err := k.send(r)
					if err != nil || c.code == "" && !(replayed && reflect.DeepEqual(again, legs)) {
						t.Errorf("again: %v, replayed %v, %v; first %v", again, replayed, err, legs)
					}
					if spent, _ := r.journal.Spent(pair(k.spender, "USD")); spent != amount("100") {
						t.Errorf("%s spent %v", k.spender, spent)
					}
				})
			})
		}
	}
}

// dry returns the dry run of a request.
func dry[R ledger.Request](request R) R {
	v := reflect.New(reflect.TypeOf(request)).Elem()
	v.Set(reflect.ValueOf(request))
	v.FieldByName("DryRun").SetBool(true)
	return v.Interface().(R)
}

func dryAll(requests []ledger.Request) (all []ledger.Request) {
	for _, request := range requests {
		all = append(all, dry(request))
	}
	return all
}

// checkDryRuns checks the dry run of each request, and then sends the request.
func (r *rig) checkDryRuns(requests ...ledger.Request) {
	r.t.Helper()
	for _, request := range requests {
		send := func(request ledger.Request, isDry bool) (string, error) {
			p, err := r.post(request)
			legs := p.Transaction.Legs
			if p.End != nil {
				legs = append(slices.Clone(legs), p.End.Legs...)
			}
			for _, leg := range legs {
				if (leg.ID == "") != isDry {
					r.t.Errorf("%+v has leg %+v", request, leg)
				}
			}
			return fmt.Sprint(p.Replayed, p.Status(), p.Transaction.Fingerprint, legsText(legs)), err
		}
		r.checkDryRun(request, func() (string, error) { return send(dry(request), true) },
			func() (string, error) { return send(request, false) })
	}
}

// checkDryBatch does that for a batch.
func (r *rig) checkDryBatch(atomic bool, requests ...ledger.Request) {
	r.t.Helper()
	send := func(requests []ledger.Request) func() (string, error) {
		return func() (string, error) {
			results, err := r.batch(atomic, requests...)
			return fmt.Sprint(outcomes(results)), err
		}
	}
	r.checkDryRun(requests, send(dryAll(requests)), send(requests))
}

// checkDryRun makes a dry run, and then the real request. The dry run must have the answer of the real request, and
// write nothing.
func (r *rig) checkDryRun(request any, planned, real func() (string, error)) {
	r.t.Helper()
	before := r.journal.memory.Since(0)
	plannedAnswer, plannedErr := planned()
	if after := r.journal.memory.Since(0); len(after) != len(before) {
		r.t.Fatalf("%+v wrote %+v", request, after[len(before):])
	}
	realAnswer, realErr := real()
	var want, got *ledger.Error
	errors.As(realErr, &want)
	errors.As(plannedErr, &got)
	switch {
	case (want == nil) != (got == nil),
		want != nil && (want.Code != got.Code || want.Request != got.Request || !reflect.DeepEqual(want.Funds, got.Funds)):
		r.t.Errorf("%+v: dry %v, real %v", request, plannedErr, realErr)
	case plannedAnswer != realAnswer:
		r.t.Errorf("%+v: dry %s, real %s", request, plannedAnswer, realAnswer)
	}
}

func TestDryRun(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		r.mustPost(transfer("t-1", "jane", "shop", "30"))
		r.state("bob", isFrozen)
		r.restart()
		r.checkDryRuns(
			transfer("t-1", "jane", "shop", "30"), // again
			transfer("t-1", "jane", "shop", "31"),
			transfer("t-2", "jane", "nobody", "1"),
			transfer("t-2", "jane", "jane", "1"),
			transfer("t-2", "bob", "jane", "1"),
			transfer("t-2", "shop", "jane", "31"),
			transfer("t-2", "fees", "jane", "1"),
			transfer("*", "jane", "shop", "1"),
			held("t-2", "jane", "shop", "71", time.Hour),
			held("t-2", "jane", "shop", "70", -time.Hour),
			transfer("t-2", "bank", "bob", "1"),
			held("t-3", "jane", "shop", "20", time.Hour),
			transfer("", "jane", "shop", "49"),
			transfer("t-4", "jane", "shop", "2"),
			transfer("t-4", "jane", "shop", "1"),
		)
		if posted, err := r.Post(t.Context(), dry(transfer("", "bank", "jane", "1"))); err != nil || posted.Transaction.ID != "" {
			t.Errorf("%+v, %v", posted, err)
		}
	})
}

func TestDryRunsOfHoldsAndReversals(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		for i := range 4 {
			r.mustPost(held(fmt.Sprint("h-", i), "jane", "shop", "10", time.Hour))
		}
		if _, err := r.Post(t.Context(), release("h-1")); err != nil {
			t.Fatal(err)
		}
		r.mustPost(transfer("t-1", "jane", "shop", "5"))
		all := ledger.Part{}
		first, second := transfer("b-1", "bank", "jane", "5"), transfer("b-2", "jane", "shop", "85")
		r.checkDryRuns(
			capture("h-0", some("11")),
			capture("h-0", some("7")),
			capture("h-0", some("7")), // again
			capture("h-0", some("8")),
			capture("h-1", all),
			release("h-1"),
			release("h-2"),
			release("t-1"),
			release("none"),
			reversal("r-1", "t-1", some("6")),
			reversal("r-1", "t-1", some("2")),
			reversal("r-1", "t-1", some("2")), // again
			reversal("r-1", "t-1", all),       // another body
			reversal("", "t-1", all),
			reversal("", "t-1", all), // nothing is left
			reversal("", "h-3", all),
			reversal("", "none", all),
		)
		r.checkDryBatch(true, second)
		r.checkDryBatch(true, first, second)
		r.checkDryBatch(true, first, second) // again
		r.checkDryBatch(false, first, second, transfer("b-3", "jane", "shop", "999"))
		r.checkDryBatch(false, first, second, first)
	})
}

// G8: a dry run reads the amount spent before the credits, so that a debit is not refused whose credit is posted
// between the two reads.
func TestDryRunReadsSpentBeforeCredits(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "100")
		r.journal.Project(pair("jane", "USD"), events.Amount{})
		if _, err := r.Post(t.Context(), dry(transfer("", "jane", "shop", "100"))); err != nil {
			t.Error(err)
		}
	})
}
