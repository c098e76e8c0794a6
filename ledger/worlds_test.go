package ledger

import "ledger.example/events"

// A pairing has requests, and worlds in each of which each of them is decided.
type pairing struct {
	asks   []ask
	worlds []world
}

func everyPairing() []pairing {
	var parts []ask
	for _, p := range everyPart() {
		parts = append(parts, ask{kind: "reversal", part: p}, ask{kind: "capture", part: p})
	}
	dated := []ask{{kind: "release"}}
	for _, p := range []part{{}, {form: "quantity", quantity: 1, costs: true}} {
		for _, date := range []string{"before the other", "old", "15 seconds ago", "recent"} {
			dated = append(dated, ask{kind: "reversal", part: p, date: date})
		}
	}
	some := []ask{{kind: "reversal"}, {kind: "reversal", part: part{form: "quantity", quantity: 1, costs: true}}}
	others := everyOther()
	return []pairing{
		{some, everyState(world{other: "transfer"})},
		{some, everyState(world{other: "trade", hold: "captured", reversed: []int64{1}})},
		{everyTransaction(), everyState(world{})},
		{parts, others},
		{dated, others},
	}
}

// everyTransaction returns small transactions, those that are refused by themselves included.
func everyTransaction() (all []ask) {
	transfer := []move{{"a", "X", -1, 0}, {"b", "X", 1, 0}}
	for _, hold := range []string{"", "week", "now", "soon", "31 days", "later"} {
		all = append(all, ask{kind: "transfer", moves: transfer, hold: hold})
	}
	for _, date := range []string{"old", "15 seconds ago", "recent"} {
		all = append(all, ask{kind: "transfer", moves: transfer, date: date})
	}
	all = append(all, ask{kind: "transfer", moves: []move{{"a", "X", -1, 0}, {"a", "X", 1, 0}}})
	for cost := range int64(2) {
		trade := []move{{"a", "X", 1, cost}, {"b", "X", -1, -cost}}
		all = append(all, ask{kind: "trade", moves: trade}, ask{kind: "trade", moves: trade, settle: true})
	}
	for _, moves := range [][]move{
		{{"b", "X", -2, 0}, {"a", "X", 2, 0}},
		{{"a", "X", 0, -1}, {"b", "X", 0, 1}},                    // a cost alone
		{{"a", "X", -1, 0}, {"b", "X", 1, -1}, {"a", "X", 0, 1}}, // another one
		{{"a", "X", 1, -1}, {"b", "X", -1, 0}, {"b", "X", 0, 1}}, // a credit with a cost
		{{"a", "X", -1, 0}, {"b", "X", 2, 0}},
		{{"a", "X", -1, 1}, {"b", "X", 1, 1}},
		{{"a", "X", 0, 0}, {"b", "X", 0, 0}},
		{{"a", "X", 1, 0}},
	} {
		all = append(all, ask{kind: "postings", moves: moves}, ask{kind: "postings", moves: moves, hold: "week"})
	}
	return all
}

// everyPart returns parts of 3 X for 2 USD: too little, too much, and in the wrong form.
func everyPart() []part {
	all := []part{{}}
	for quantity := range int64(5) {
		all = append(all, part{form: "quantity", quantity: quantity})
		for cost := range int64(4) {
			all = append(all, part{form: "quantity", quantity: quantity, costs: true, cost: cost})
		}
	}
	for a := int64(-4); a <= 1; a++ {
		for b := int64(-1); b <= 3; b++ {
			for c := int64(-1); c <= 2; c++ {
				all = append(all, part{form: "postings", postings: []int64{a, b, c}})
			}
		}
	}
	return append(all, part{form: "postings", postings: []int64{-1, 1}})
}

var (
	both   = []bool{false, true}
	states = []events.AccountState{events.StateOpen, events.StateFrozen, events.StateClosed}
)

// everyOther returns worlds with open accounts, and all of the other transaction.
func everyOther() (all []world) {
	w := world{cached: [2]events.AccountState{states[0], states[0]}}
	w.stored = w.cached
	for _, w.other = range []string{"", "transfer", "trade", "postings"} {
		for _, w.hold = range []string{"", "open", "captured", "released", "expired"} {
			for _, w.reversed = range [][]int64{nil, {1}, {2}, {1, 1}, {1, 2}, {3}} {
				for _, w.listed = range both {
					if !w.isOverdone() {
						all = append(all, w)
					}
				}
			}
		}
	}
	return all
}

// isOverdone reports whether more was reversed of a leg than was posted, which cannot be.
func (w world) isOverdone() bool {
	for i, m := range w.posted() {
		left := m.quantity
		for _, n := range w.reversed {
			left -= w.share(n, 0)[i].quantity
		}
		if left*m.quantity < 0 {
			return true
		}
	}
	return false
}

// everyState returns worlds with all states of two accounts, what of a cache is outdated, and what does not exist.
func everyState(w world) (all []world) {
	for _, w.cached[0] = range states {
		for _, w.cached[1] = range states {
			for _, w.stored[0] = range states {
				for _, w.stored[1] = range states {
					for _, w.unlimited[0] = range both {
						for _, w.unlimited[1] = range both {
							for _, w.lacks = range []string{"", "a", "b", "asset", "currency"} {
								for _, w.unknown = range both {
									all = append(all, w)
								}
							}
						}
					}
				}
			}
		}
	}
	return all
}
