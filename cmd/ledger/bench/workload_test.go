package bench

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func newRun(people int, seed uint64) *run {
	c := newCast("b1", people)
	return &run{Config: Config{Seed: seed, Clients: 2}, cast: c, book: newBook(len(c.names)), spenders: make([]account, 2)}
}

// What a request says is what the books are told of it, and each balances.
func TestRequestsAndTheirLegs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRun(rapid.IntRange(2, 20).Draw(t, "people"), rapid.Uint64().Draw(t, "seed"))
		s := slot{rapid.SampledFrom([]string{Uniform, HotReceiver, Market, Import}).Draw(t, "workload"), rapid.IntRange(0, 9).Draw(t, "round")}
		n := rapid.IntRange(0, 1_000_000).Draw(t, "n")
		var d draft
		r.write(s, n, &d)
		var body struct {
			ID, From, To, Buyer, Seller, Asset string
			Quantity, Cost                     int64 `json:",string"`
			Settle                             bool
		}
		if err := json.Unmarshal(d.body, &body); err != nil || body.ID != d.id || number(d.id) != n {
			t.Fatalf("%v: %s", err, d.body)
		}
		find := func(name string) int { return slices.Index(r.cast.names, name) }
		asset := slices.Index(r.cast.assets[:], body.Asset)
		var want []leg
		if d.path == "/v1/transfers" {
			want = []leg{{find(body.From), asset, -body.Quantity, 0}, {find(body.To), asset, body.Quantity, 0}}
		} else {
			want = []leg{{find(body.Buyer), asset, body.Quantity, body.Cost}, {find(body.Seller), asset, -body.Quantity, -body.Cost}}
			if body.Settle {
				want = append(want, leg{find(body.Buyer), cash, -body.Cost, 0}, leg{find(body.Seller), cash, body.Cost, 0})
			}
		}
		if !slices.Equal(d.legs, want) || want[0].account == want[1].account || body.Quantity < 1 || body.Quantity > quantityMost {
			t.Fatalf("%s %s stands for %v", d.path, d.body, d.legs)
		}
		if s.workload == HotReceiver && !slices.ContainsFunc(d.legs, func(l leg) bool { return l.account == r.cast.receiver() && l.quantity > 0 }) {
			t.Fatalf("%s is not to the receiver", d.body)
		}
		again := newRun(r.cast.people, r.Seed)
		var e draft
		again.write(s, n, &e)
		if string(e.body) != string(d.body) {
			t.Fatalf("the same seed made %s and %s", d.body, e.body)
		}
	})
}

func TestSeedsAndRoundsDiffer(t *testing.T) {
	body := func(seed uint64, s slot, n int) string {
		var d draft
		newRun(100, seed).write(s, n, &d)
		return string(d.body[strings.IndexByte(string(d.body), ','):]) // without the id
	}
	first := body(1, slot{Uniform, 1}, 0)
	for what, other := range map[string]string{
		"seed": body(2, slot{Uniform, 1}, 0), "round": body(1, slot{Uniform, 2}, 0), "number": body(1, slot{Uniform, 1}, 2),
	} {
		if other == first {
			t.Errorf("another %s makes the same request: %s", what, first)
		}
	}
}

// Whatever becomes of its requests, a client never draws more than what was acknowledged to be paid in, less what it may have
// drawn already.
func TestEveryDebitHasCover(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRun(3, rapid.Uint64().Draw(t, "seed"))
		paidIn, drawn, debits := int64(0), int64(0), 0
		for range rapid.IntRange(1, 200).Draw(t, "requests") {
			var d draft
			r.spend(slot{HotSpender, 1}, 1, &r.spenders[1], &d)
			l := d.legs[slices.IndexFunc(d.legs, func(l leg) bool { return l.account == r.cast.spender() })]
			if l.quantity < 0 {
				debits++
				if drawn -= l.quantity; drawn > paidIn {
					t.Fatalf("%d drawn of %d", drawn, paidIn)
				}
			}
			if rapid.IntRange(0, 9).Draw(t, "fate") > 0 { // acknowledged
				paidIn += max(l.quantity, 0)
				r.spenders[1].paid(r.cast, d.legs)
			}
		}
		if r.spenders[1].turn > 20 && debits == 0 {
			t.Fatal("nothing was drawn")
		}
	})
}
