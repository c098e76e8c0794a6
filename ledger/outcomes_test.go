package ledger_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
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
		return append(one.Header.Legs, other.Header.Legs...), one.Replayed || other.Replayed, nil
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
		if posted.Ended != nil {
			return posted.Ended.Legs, posted.Replayed, err
		}
		return posted.Header.Legs, posted.Replayed, err
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
	exists, conflict := cancelled(head(0, table.CauseCondition)), cancelled(head(0, table.CauseConflict))
	throttled := cancelled(head(0, table.CauseThrottled))
	number := cancelled(head(1, table.CauseConflict)) // that of a reversal
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

// G8: a dry run reads the amount spent before the exact credits, so that a debit is not refused because of a debit and
// its credit that are posted between the two reads.
func TestDryRunReadsSpentBeforeCredits(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.fund("jane", "USD", "101")
		r.mustPost(transfer("", "jane", "shop", "1")) // caches what a dry run needs besides
		r.journal.forget()
		r.journal.fail = func(string) error {
			if len(r.journal.calls) == 3 { // the header was read, and one of the two
				r.journal.fail = nil
				_, credit := r.another().Post(t.Context(), transfer("", "bank", "jane", "100"))
				_, debit := r.another().Post(t.Context(), transfer("", "jane", "shop", "100"))
				return errors.Join(credit, debit)
			}
			return nil
		}
		if _, err := r.post(dry(transfer("t-1", "jane", "shop", "100"))); err != nil || r.journal.fail != nil {
			t.Errorf("%v, asked for %v", err, r.journal.calls)
		}
	})
}
