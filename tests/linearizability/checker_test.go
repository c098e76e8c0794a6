package linearizability

import (
	"slices"
	"testing"

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
		return request{id: id, text: "out", call: call, answer: answer, outcome: refused, refusedPair: jane, available: available, requested: requested}
	}
	const end = 1000
	there := func(id, text string) fate { return fate{text, "of " + id, end} }
	gone := fate{answer: end}

	for name, c := range map[string]struct {
		bodies   map[string][]body
		requests []request
		reads    []read
		fates    map[string]fate
		wrong    bool
	}{
		"a post and a read at once: the read shows it": {
			map[string][]body{"a": {in(5)}}, []request{is("a", "in", 10, 20, posted)}, []read{sees(12, 14, 5, 5, 1)}, map[string]fate{"a": there("a", "in")}, false},
		"a post and a read at once: the read doesn't": {
			map[string][]body{"a": {in(5)}}, []request{is("a", "in", 10, 20, posted)}, []read{sees(12, 14, 0, 0, 0)}, map[string]fate{"a": there("a", "in")}, false},
		"a read after the answer doesn't show it": {
			map[string][]body{"a": {in(5)}}, []request{is("a", "in", 10, 20, posted)}, []read{sees(22, 24, 0, 0, 0)}, map[string]fate{"a": there("a", "in")}, true},
		"a read goes back": {
			map[string][]body{"a": {in(5)}}, []request{is("a", "in", 10, 90, posted)}, []read{sees(20, 30, 5, 5, 1), sees(40, 50, 0, 0, 0)}, map[string]fate{"a": there("a", "in")}, true},
		"a read shows what was not asked for yet": {
			map[string][]body{"a": {in(5)}}, []request{is("a", "in", 10, 20, posted)}, []read{sees(2, 4, 5, 5, 1)}, map[string]fate{"a": there("a", "in")}, true},
		"a read shows it twice": {
			map[string][]body{"a": {in(5)}}, []request{is("a", "in", 10, 20, posted)}, []read{sees(22, 24, 10, 10, 2)}, map[string]fate{"a": there("a", "in")}, true},
		"an acknowledged one is gone in the end": {
			map[string][]body{"a": {in(5)}}, []request{is("a", "in", 10, 20, posted)}, nil, map[string]fate{"a": gone}, true},
		"one of unknown outcome is done late": {
			map[string][]body{"a": {in(5)}}, []request{is("a", "in", 10, 20, unknown)}, []read{sees(30, 40, 0, 0, 0), sees(50, 60, 5, 5, 1)}, map[string]fate{"a": there("a", "in")}, false},
		"one of unknown outcome is never done": {
			map[string][]body{"a": {in(5)}}, []request{is("a", "in", 10, 20, unknown)}, []read{sees(30, 40, 0, 0, 0)}, map[string]fate{"a": gone}, false},
		"one that is never done was seen": {
			map[string][]body{"a": {in(5)}}, []request{is("a", "in", 10, 20, unknown)}, []read{sees(30, 40, 5, 5, 1)}, map[string]fate{"a": gone}, true},
		"a replay says that it is done, and a later read doesn't show it": {
			map[string][]body{"a": {in(5)}}, []request{is("a", "in", 10, 20, unknown), is("a", "in", 30, 40, replayed)}, []read{sees(50, 60, 0, 0, 0)}, map[string]fate{"a": there("a", "in")}, true},
		"two requests of one id posted it": {
			map[string][]body{"a": {in(5)}}, []request{is("a", "in", 10, 20, posted), is("a", "in", 15, 40, posted)}, nil, map[string]fate{"a": there("a", "in")}, true},
		"nothing was written, and it is there": {
			map[string][]body{"a": {in(5)}}, []request{is("a", "in", 10, 20, undone)}, nil, map[string]fate{"a": there("a", "in")}, true},
		"both bodies of an id are acknowledged": {
			map[string][]body{"a": {in(5), out(5)}}, []request{is("a", "in", 10, 20, posted), is("a", "out", 30, 40, replayed)}, nil, map[string]fate{"a": there("a", "in")}, true},
		"the body that is there was said to be another": {
			map[string][]body{"a": {in(5), out(5)}}, []request{is("a", "in", 10, 20, unknown), is("a", "in", 30, 40, reused)}, nil, map[string]fate{"a": there("a", "in")}, true},
		"it is absent after it was posted": {
			map[string][]body{"a": {in(5)}}, []request{is("a", "in", 10, 20, posted), is("a", "", 30, 40, absent)}, nil, map[string]fate{"a": there("a", "in")}, true},
		"a debit that nothing covers": {
			map[string][]body{"a": {in(5)}, "b": {out(6)}}, []request{is("a", "in", 10, 20, posted), is("b", "out", 30, 40, posted)}, nil, map[string]fate{"a": there("a", "in"), "b": there("b", "out")}, true},
		"a debit before the credit that covers it": {
			map[string][]body{"a": {in(5)}, "b": {out(5)}}, []request{is("b", "out", 10, 20, posted), is("a", "in", 30, 40, posted)}, nil, map[string]fate{"a": there("a", "in"), "b": there("b", "out")}, true},
		"a read shows an account below its limit": {
			map[string][]body{"a": {in(5)}, "b": {out(5)}}, []request{is("b", "out", 10, 40, posted), is("a", "in", 10, 40, posted)}, []read{sees(20, 30, -5, 0, 1)}, map[string]fate{"a": there("a", "in"), "b": there("b", "out")}, true},
		"a refusal while the credit is under way": {
			map[string][]body{"a": {in(5)}, "b": {out(5)}}, []request{is("a", "in", 10, 40, posted), refusal("b", 20, 30, 0, 5)}, nil, map[string]fate{"a": there("a", "in"), "b": gone}, false},
		"a refusal says what came in since": {
			map[string][]body{"a": {in(4)}, "b": {out(5)}}, []request{is("a", "in", 10, 20, posted), refusal("b", 5, 30, 4, 5)}, nil, map[string]fate{"a": there("a", "in"), "b": gone}, false},
		"a refusal of what was covered": {
			map[string][]body{"a": {in(5)}, "b": {out(5)}}, []request{is("a", "in", 10, 20, posted), refusal("b", 30, 40, 0, 5)}, nil, map[string]fate{"a": there("a", "in"), "b": gone}, true},
		"what was refused was done before": {
			map[string][]body{"a": {in(5)}, "b": {out(5)}}, []request{is("a", "in", 10, 20, posted), is("b", "out", 22, 24, posted), refusal("b", 30, 40, 0, 5)}, nil, map[string]fate{"a": there("a", "in"), "b": there("b", "out")}, true},
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
