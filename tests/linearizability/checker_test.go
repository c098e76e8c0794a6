package linearizability

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// What the checker must find, in the smallest histories that have it: jane has nothing at first, and a limit of zero.
func TestCheckerFinds(t *testing.T) {
	jane, bank := pair{"jane", "EUR"}, pair{"bank", "EUR"}
	in := func(amount int64) body {
		return body{text: "in", legs: []leg{{bank, -amount, 0}, {jane, amount, 0}}}
	}
	out := func(amount int64) body {
		return body{text: "out", legs: []leg{{jane, -amount, 0}, {bank, amount, 0}}}
	}
	sees := func(call, answer, quantity, credits, postings int64) read {
		return read{jane, call, answer, figures{quantity, 0, credits, credits - quantity, postings}}
	}
	is := func(id, text string, call, answer int64, outcome answer) request {
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
	there := func(id, text string) fate { return fate{text, "of " + id, end} }
	gone := fate{answer: end}

	// What most cases are of: a moves 5 in, and b moves 5 out; who asks for it, and what is there in the end.
	a := map[string][]body{"a": {in(5)}}
	both, other := map[string][]body{"a": {in(5)}, "b": {out(5)}}, map[string][]body{"a": {in(5), out(5)}}
	once, lost := []request{is("a", "in", 10, 20, posted)}, []request{is("a", "in", 10, 20, unknown)}
	aThere, aGone := map[string]fate{"a": there("a", "in")}, map[string]fate{"a": gone}
	bothThere := map[string]fate{"a": there("a", "in"), "b": there("b", "out")}
	bGone := map[string]fate{"a": there("a", "in"), "b": gone}

	for name, c := range map[string]struct {
		bodies   map[string][]body
		requests []request
		reads    []read
		fates    map[string]fate
		wrong    bool
	}{
		"a post and a read at once: the read shows it": {a, once, []read{sees(12, 14, 5, 5, 1)}, aThere, false},
		"a post and a read at once: the read doesn't":  {a, once, []read{sees(12, 14, 0, 0, 0)}, aThere, false},
		"a read after the answer doesn't show it":      {a, once, []read{sees(22, 24, 0, 0, 0)}, aThere, true},
		"a read goes back": {
			a, []request{is("a", "in", 10, 90, posted)},
			[]read{sees(20, 30, 5, 5, 1), sees(40, 50, 0, 0, 0)}, aThere, true},
		"a read shows what was not asked for yet": {a, once, []read{sees(2, 4, 5, 5, 1)}, aThere, true},
		"a read shows it twice":                   {a, once, []read{sees(22, 24, 10, 10, 2)}, aThere, true},
		"an acknowledged one is gone in the end":  {a, once, nil, aGone, true},
		"one of unknown outcome is done late": {
			a, lost, []read{sees(30, 40, 0, 0, 0), sees(50, 60, 5, 5, 1)}, aThere, false},
		"one of unknown outcome is never done": {a, lost, []read{sees(30, 40, 0, 0, 0)}, aGone, false},
		"one that is never done was seen":      {a, lost, []read{sees(30, 40, 5, 5, 1)}, aGone, true},
		"a replay says that it is done, and a later read doesn't show it": {
			a, []request{is("a", "in", 10, 20, unknown), is("a", "in", 30, 40, replayed)},
			[]read{sees(50, 60, 0, 0, 0)}, aThere, true},
		"two requests of one id posted it": {
			a, []request{is("a", "in", 10, 20, posted), is("a", "in", 15, 40, posted)}, nil, aThere, true},
		"nothing was written, and it is there": {a, []request{is("a", "in", 10, 20, undone)}, nil, aThere, true},
		"both bodies of an id are acknowledged": {
			other, []request{is("a", "in", 10, 20, posted), is("a", "out", 30, 40, replayed)}, nil, aThere, true},
		"the body that is there was said to be another": {
			other, []request{is("a", "in", 10, 20, unknown), is("a", "in", 30, 40, reused)}, nil, aThere, true},
		"it is absent after it was posted": {
			a, []request{is("a", "in", 10, 20, posted), is("a", "", 30, 40, absent)}, nil, aThere, true},
		"a debit that nothing covers": {
			map[string][]body{"a": {in(5)}, "b": {out(6)}},
			[]request{is("a", "in", 10, 20, posted), is("b", "out", 30, 40, posted)}, nil, bothThere, true},
		"a debit before the credit that covers it": {
			both, []request{is("b", "out", 10, 20, posted), is("a", "in", 30, 40, posted)}, nil, bothThere, true},
		"a read shows an account below its limit": {
			both, []request{is("b", "out", 10, 40, posted), is("a", "in", 10, 40, posted)},
			[]read{sees(20, 30, -5, 0, 1)}, bothThere, true},
		"a refusal while the credit is under way": {
			both, []request{is("a", "in", 10, 40, posted), refusal("b", 20, 30, 0, 5)}, nil, bGone, false},
		"a refusal says what came in since": {
			map[string][]body{"a": {in(4)}, "b": {out(5)}},
			[]request{is("a", "in", 10, 20, posted), refusal("b", 5, 30, 4, 5)}, nil, bGone, false},
		"a refusal of what was covered": {
			both, []request{is("a", "in", 10, 20, posted), refusal("b", 30, 40, 0, 5)}, nil, bGone, true},
		"what was refused was done before": {
			both, []request{is("a", "in", 10, 20, posted), is("b", "out", 22, 24, posted), refusal("b", 30, 40, 0, 5)},
			nil, bothThere, true},
	} {
		h := history{bodies: c.bodies, requests: c.requests, reads: c.reads}
		all, wrong := h.operations(c.fates, limits{jane: 0})
		ok := wrong == nil
		for _, operations := range all {
			ok = porcupine.CheckOperations(model, operations) && ok
		}
		if ok == c.wrong {
			t.Errorf("%s: found right: %t %q", name, ok, slices.Sorted(slices.Values(wrong)))
		}
	}
}

// Only what was acknowledged right before a power cut, or while it lasted, may be missing.
func TestOnlyAPowerCutExcuses(t *testing.T) {
	const begins, ends = int64(time.Hour), int64(time.Hour + 3*time.Second)
	for answered, excused := range map[int64]bool{
		0: false, begins - int64(forgets) - 1: false, begins - int64(forgets): true, begins: true, ends - 1: true,
		ends: false,
	} {
		h := history{requests: []request{{id: "a", answer: answered, outcome: posted}},
			reads: []read{{answer: answered}}}
		h.excuse([]cut{{begins, ends}})
		if (h.requests[0].outcome == unknown) != excused || (len(h.reads) == 0) != excused {
			t.Errorf("what was acknowledged at %v is excused otherwise: %+v, %+v", time.Duration(answered), h.requests,
				h.reads)
		}
	}
}

// pair is what a history is about: one account's holding of one asset.
type pair struct{ account, asset string }

// figures are what a strong read shows of a pair, and the state of the model; also what one transaction adds to it.
type figures struct {
	quantity, expenditure, credits, debits, postings int64
}

func (f figures) plus(g figures) figures {
	return figures{f.quantity + g.quantity, f.expenditure + g.expenditure, f.credits + g.credits, f.debits + g.debits,
		f.postings + g.postings}
}

// act is what an operation does to its pair.
type act int

const (
	post    act = iota // adds what a transaction moves; the account stays within its limit
	refuse             // adds nothing: at one instant of the request, the pair had not enough
	observe            // shows the figures
)

// operation is the input of an operation of the model. Its outcome is in it, as what came of it was known before it was
// checked.
type operation struct {
	act     act
	what    string  // for people
	figures figures // what post adds, or observe showed
	// floor is the least quantity that the account's limit allows; it has one unless it is unlimited.
	floor     int64
	unlimited bool
	// available and requested are what a refusal said.
	available, requested int64
}

// model is one pair, sequentially.
var model = porcupine.Model{
	Init: func() any { return figures{} },
	Step: func(state, input, _ any) (bool, any) {
		have, o := state.(figures), input.(operation)
		switch o.act {
		case post:
			have = have.plus(o.figures)
			return o.unlimited || have.quantity >= o.floor, have
		case refuse:
			// What is said to be available may have come in since: it is read after the refusal.
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
		switch o.act {
		case post:
			return fmt.Sprintf("%s %+d", o.what, o.figures.quantity)
		case refuse:
			return fmt.Sprintf("%s refused: %d of %d", o.what, o.available, o.requested)
		}
		return fmt.Sprintf("%s shows %d after %d", o.what, o.figures.quantity, o.figures.postings)
	},
	DescribeState: func(state any) string { return fmt.Sprintf("%+v", state) },
}
