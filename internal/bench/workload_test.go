package bench

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func newRun(people int, seed uint64) *Run {
	c := newFixture("b1", people)
	return &Run{Config: Config{Seed: seed, Clients: 2}, fixture: c, book: newBook(len(c.names)),
		spenders: make([]spending, 2)}
}

// The legs of a draft are those of its request, and they balance.
func TestRequestsAndTheirLegs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRun(rapid.IntRange(2, 20).Draw(t, "people"), rapid.Uint64().Draw(t, "seed"))
		s := slot{rapid.SampledFrom([]string{Uniform, HotReceiver, Market, Import}).Draw(t, "workload"),
			rapid.IntRange(0, 9).Draw(t, "round")}
		n := rapid.IntRange(0, 1_000_000).Draw(t, "n")
		var d draft
		r.write(s, n, &d)
		var body struct {
			ID, From, To, Buyer, Seller, Asset string
			Quantity, Cost                     int64 `json:",string"`
			Settle                             bool
		}
		if err := json.Unmarshal(d.body, &body); err != nil || body.ID != d.names || d.names != r.fixture.id(s.series(), n) {
			t.Fatalf("%v: %s", err, d.body)
		}
		find := func(name string) int { return slices.Index(r.fixture.names, name) }
		asset := slices.Index(r.fixture.assets[:], body.Asset)
		var want []leg
		if d.path == "/v1/transfers" {
			want = []leg{{find(body.From), asset, -body.Quantity, 0}, {find(body.To), asset, body.Quantity, 0}}
		} else {
			want = []leg{{find(body.Buyer), asset, body.Quantity, body.Cost},
				{find(body.Seller), asset, -body.Quantity, -body.Cost}}
			if body.Settle {
				want = append(want, leg{find(body.Buyer), cash, -body.Cost, 0},
					leg{find(body.Seller), cash, body.Cost, 0})
			}
		}
		if !slices.Equal(d.legs, want) || want[0].account == want[1].account || body.Quantity < 1 ||
			body.Quantity > quantityMax {
			t.Fatalf("%s %s stands for %v", d.path, d.body, d.legs)
		}
		if s.workload == HotReceiver && !slices.ContainsFunc(d.legs,
			func(l leg) bool { return l.account == r.fixture.receiver() && l.quantity > 0 }) {
			t.Fatalf("%s is not to the receiver", d.body)
		}
		again := newRun(r.fixture.people, r.Seed)
		var e draft
		again.write(s, n, &e)
		if string(e.body) != string(d.body) {
			t.Fatalf("the same seed made %s and %s", d.body, e.body)
		}
	})
}

// A client of hot-spender never debits more than its acknowledged credits minus all debits that it has sent, whatever
// their outcomes.
func TestEveryDebitIsCovered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRun(3, rapid.Uint64().Draw(t, "seed"))
		paidIn, drawn, debits := int64(0), int64(0), 0
		for range rapid.IntRange(1, 200).Draw(t, "requests") {
			var d draft
			r.spend(slot{HotSpender, 1}, 1, &r.spenders[1], &d)
			l := d.legs[slices.IndexFunc(d.legs, func(l leg) bool { return l.account == r.fixture.spender() })]
			if l.quantity < 0 {
				debits++
				if drawn -= l.quantity; drawn > paidIn {
					t.Fatalf("%d drawn of %d", drawn, paidIn)
				}
			}
			if rapid.IntRange(0, 9).Draw(t, "fate") > 0 { // acknowledged
				paidIn += max(l.quantity, 0)
				r.spenders[1].acknowledged(r.fixture, d.legs)
			}
		}
		if r.spenders[1].turn > 20 && debits == 0 {
			t.Fatal("nothing was drawn")
		}
	})
}

// read alternates between five reads, whose answers must contain the account.
func TestReads(t *testing.T) {
	r := newRun(20, 1)
	kinds := make(map[string]int)
	for n := range 500 {
		var d draft
		r.read(slot{Read, 1}, n, &d)
		path, isOfAccount := strings.CutPrefix(d.path, "/v1/accounts/"+d.names)
		if !isOfAccount || slices.Index(r.fixture.names[:r.fixture.people], d.names) < 0 || len(d.legs) > 0 || d.body != nil {
			t.Fatalf("%+v", d)
		}
		kind, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		parameter, _, _ := strings.Cut(d.query, "=")
		kinds[kind+" "+parameter]++
	}
	want := map[string]int{"summary ": 100, "postings ": 100, "postings asset": 100, "balances ": 100,
		"balances consistency": 100}
	if !maps.Equal(kinds, want) {
		t.Error(kinds)
	}
}
