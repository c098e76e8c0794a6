package linearizability

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// The checker must accept and reject small histories. Jane has no funds at first, and no overdraft.
func TestCheckerFinds(t *testing.T) {
	jane, bank := pair{"jane", "EUR"}, pair{"bank", "EUR"}
	in := func(amount int64) body {
		return body{text: "in", legs: []leg{{bank, -amount, 0}, {jane, amount, 0}}}
	}
	out := func(amount int64) body {
		return body{text: "out", legs: []leg{{jane, -amount, 0}, {bank, amount, 0}}}
	}
	shows := func(call, answer, quantity, credits, postings int64) read {
		return read{jane, call, answer, figures{quantity, 0, credits, credits - quantity, postings}}
	}
	answered := func(id, text string, call, answer int64, outcome answer) request {
		r := request{id: id, text: text, call: call, answer: answer, outcome: outcome}
		if outcome == posted || outcome == replayed || outcome == found {
			r.postings = "of " + id
		}
		return r
	}
	refusal := func(id string, call, answer, available, requested int64) request {
		return request{id: id, text: "out", call: call, answer: answer, outcome: refused, refusedPair: jane,
			available: available, requested: requested}
	}
	const end = 1000
	stored := func(id, text string) endState { return endState{text, "of " + id, end} }
	missing := endState{answer: end}

	// In most cases, transaction a credits jane with 5, and b debits her 5.
	a := map[string][]body{"a": {in(5)}}
	both, other := map[string][]body{"a": {in(5)}, "b": {out(5)}}, map[string][]body{"a": {in(5), out(5)}}
	once, lost := []request{answered("a", "in", 10, 20, posted)}, []request{answered("a", "in", 10, 20, unknown)}
	aStored, aMissing := map[string]endState{"a": stored("a", "in")}, map[string]endState{"a": missing}
	bothStored := map[string]endState{"a": stored("a", "in"), "b": stored("b", "out")}
	bMissing := map[string]endState{"a": stored("a", "in"), "b": missing}

	for name, c := range map[string]struct {
		bodies   map[string][]body
		requests []request
		reads    []read
		fates    map[string]endState
		wrong    bool
	}{
		"a concurrent read shows the post":               {a, once, []read{shows(12, 14, 5, 5, 1)}, aStored, false},
		"a concurrent read does not show the post":       {a, once, []read{shows(12, 14, 0, 0, 0)}, aStored, false},
		"a read after the answer does not show the post": {a, once, []read{shows(22, 24, 0, 0, 0)}, aStored, true},
		"a read goes back": {
			a, []request{answered("a", "in", 10, 90, posted)},
			[]read{shows(20, 30, 5, 5, 1), shows(40, 50, 0, 0, 0)}, aStored, true},
		"a read shows a post before its request":     {a, once, []read{shows(2, 4, 5, 5, 1)}, aStored, true},
		"a read counts a post twice":                 {a, once, []read{shows(22, 24, 10, 10, 2)}, aStored, true},
		"an acknowledged post is missing in the end": {a, once, nil, aMissing, true},
		"a post with an unknown outcome takes effect late": {
			a, lost, []read{shows(30, 40, 0, 0, 0), shows(50, 60, 5, 5, 1)}, aStored, false},
		"a post with an unknown outcome never takes effect": {a, lost, []read{shows(30, 40, 0, 0, 0)}, aMissing, false},
		"a read shows a post that never takes effect":       {a, lost, []read{shows(30, 40, 5, 5, 1)}, aMissing, true},
		"a read after a replay does not show the post": {
			a, []request{answered("a", "in", 10, 20, unknown), answered("a", "in", 30, 40, replayed)},
			[]read{shows(50, 60, 0, 0, 0)}, aStored, true},
		"two requests with one id are both answered with 201": {
			a, []request{answered("a", "in", 10, 20, posted), answered("a", "in", 15, 40, posted)}, nil, aStored, true},
		"a post is stored after the answer that nothing was written": {
			a, []request{answered("a", "in", 10, 20, undone)}, nil, aStored, true},
		"both bodies of an id are acknowledged": {
			other, []request{answered("a", "in", 10, 20, posted), answered("a", "out", 30, 40, replayed)},
			nil, aStored, true},
		"the stored body was refused because the id has another body": {
			other, []request{answered("a", "in", 10, 20, unknown), answered("a", "in", 30, 40, reused)},
			nil, aStored, true},
		"a post is not found after it was acknowledged": {
			a, []request{answered("a", "in", 10, 20, posted), answered("a", "", 30, 40, absent)}, nil, aStored, true},
		"a debit is not covered": {
			map[string][]body{"a": {in(5)}, "b": {out(6)}},
			[]request{answered("a", "in", 10, 20, posted), answered("b", "out", 30, 40, posted)}, nil, bothStored,
			true},
		"a debit precedes the credit that covers it": {
			both, []request{answered("b", "out", 10, 20, posted), answered("a", "in", 30, 40, posted)},
			nil, bothStored, true},
		"a read shows an account below its limit": {
			both, []request{answered("b", "out", 10, 40, posted), answered("a", "in", 10, 40, posted)},
			[]read{shows(20, 30, -5, 0, 1)}, bothStored, true},
		"a refusal while the credit is in flight": {
			both, []request{answered("a", "in", 10, 40, posted), refusal("b", 20, 30, 0, 5)}, nil, bMissing, false},
		"a refusal shows funds that were credited after it": {
			map[string][]body{"a": {in(4)}, "b": {out(5)}},
			[]request{answered("a", "in", 10, 20, posted), refusal("b", 5, 30, 4, 5)}, nil, bMissing, false},
		"a refusal of a covered debit": {
			both, []request{answered("a", "in", 10, 20, posted), refusal("b", 30, 40, 0, 5)}, nil, bMissing, true},
		"a post is refused after it was acknowledged": {
			both, []request{answered("a", "in", 10, 20, posted), answered("b", "out", 22, 24, posted),
				refusal("b", 30, 40, 0, 5)},
			nil, bothStored, true},
	} {
		h := history{bodies: c.bodies, requests: c.requests, reads: c.reads}
		all, wrong := h.operations(c.fates, floors{jane: 0})
		ok := wrong == nil
		for _, operations := range all {
			ok = porcupine.CheckOperations(model, operations) && ok
		}
		if ok == c.wrong {
			t.Errorf("%s: accepted: %t %q", name, ok, slices.Sorted(slices.Values(wrong)))
		}
	}
}

// Only answers right before a power cut and during it are excused.
func TestOnlyAPowerCutExcuses(t *testing.T) {
	const begins, ends = int64(time.Hour), int64(time.Hour + 3*time.Second)
	for answered, excused := range map[int64]bool{
		0: false, begins - int64(maxForgotten) - 1: false, begins - int64(maxForgotten): true, begins: true,
		ends - 1: true, ends: false,
	} {
		h := history{requests: []request{{id: "a", answer: answered, outcome: posted}},
			reads: []read{{answer: answered}}}
		h.excuse([]powerCut{{begins, ends}})
		if (h.requests[0].outcome == unknown) != excused || (len(h.reads) == 0) != excused {
			t.Errorf("answers at %v: want excused %t, got %+v, %+v", time.Duration(answered), excused, h.requests,
				h.reads)
		}
	}
}

// pair is an account and an asset.
type pair struct{ account, asset string }

// figures are the figures of a pair's balance: as a strong read shows them, as the state of the model, or as the
// difference that a transaction makes.
type figures struct {
	quantity, expenditure, credits, debits, postings int64
}

func (f figures) plus(g figures) figures {
	return figures{f.quantity + g.quantity, f.expenditure + g.expenditure, f.credits + g.credits, f.debits + g.debits,
		f.postings + g.postings}
}

// action is the kind of an operation of the model.
type action int

const (
	post    action = iota // adds figures; the account stays within its limit
	refuse                // changes nothing; the pair does not have enough at that instant
	observe               // a strong read of the figures
)

// operation is the input of an operation of the model. It includes the outcome, which is known before the check.
type operation struct {
	action  action
	what    string  // for the picture
	figures figures // added by post, shown by observe
	// floor is the least quantity that the account's limit allows, unless it is unlimited.
	floor     int64
	unlimited bool
	// available and requested are from the answer of a refusal.
	available, requested int64
}

// model is the sequential specification of one pair.
var model = porcupine.Model{
	Init: func() any { return figures{} },
	Step: func(state, input, _ any) (bool, any) {
		have, o := state.(figures), input.(operation)
		switch o.action {
		case post:
			have = have.plus(o.figures)
			return o.unlimited || have.quantity >= o.floor, have
		case refuse:
			// The ledger reads what is available after the refusal, so that may include later credits.
			return have.quantity-o.floor <= o.available && o.available < o.requested, have
		}
		return have == o.figures, have
	},
	Hash: func(state any) uint64 {
		have := state.(figures)
		return uint64(have.quantity*31+have.credits)*31 + uint64(have.postings)
	},
	DescribeOperation: func(input, _ any) string {
		o := input.(operation)
		switch o.action {
		case post:
			return fmt.Sprintf("%s %+d", o.what, o.figures.quantity)
		case refuse:
			return fmt.Sprintf("%s refused: %d of %d", o.what, o.available, o.requested)
		}
		return fmt.Sprintf("%s shows %d after %d", o.what, o.figures.quantity, o.figures.postings)
	},
	DescribeState: func(state any) string { return fmt.Sprintf("%+v", state) },
}
