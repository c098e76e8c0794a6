package ledger

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ledger.example/events"
)

// known is a small world: USD, AAPL counted in USD; jane, bob and margin with limits, market without.
func known() *definitions {
	n := events.NewAmount
	return &definitions{
		accounts: []*events.AccountOpened{
			{ID: "jane"},
			{ID: "bob"},
			{ID: "margin", Overdraft: events.Overdraft{Limits: map[string]events.Amount{"USD": n(500)}}},
			{ID: "market", Overdraft: events.Overdraft{Unlimited: true}},
		},
		assets: []*events.AssetRegistered{{ID: "USD"}, {ID: "AAPL", Currency: "USD"}},
	}
}

func TestCheck(t *testing.T) {
	n := events.NewAmount
	leg := func(account, asset string, cost int64) LegRequest {
		return LegRequest{Account: account, Asset: asset, Quantity: n(1), Cost: n(cost)}
	}
	for name, test := range map[string]struct {
		r    PostingRequest
		code Code
		want []string
	}{
		"transfer":                      {PostTransfer{From: "jane", To: "bob", Asset: "USD"}, "", nil},
		"transfer, accounts":            {PostTransfer{From: "x", To: "y", Asset: "z"}, CodeAccountNotFound, []string{"from", "to"}},
		"transfer, asset":               {PostTransfer{From: "jane", To: "bob", Asset: "z"}, CodeAssetNotFound, []string{"asset"}},
		"trade":                         {PostTrade{Asset: "AAPL", Buyer: "jane", Seller: "market", Cost: n(5), Settle: true}, "", nil},
		"trade, account before asset":   {PostTrade{Asset: "z", Buyer: "jane", Seller: "y", Settle: true}, CodeAccountNotFound, []string{"seller"}},
		"trade, asset before currency":  {PostTrade{Asset: "z", Buyer: "jane", Seller: "bob", Cost: n(5), Settle: true}, CodeAssetNotFound, []string{"asset"}},
		"trade, no currency":            {PostTrade{Asset: "USD", Buyer: "jane", Seller: "bob", Cost: n(5), Settle: true}, CodeInvalidTransaction, []string{"cost", "settle"}},
		"trade, settle without cost":    {PostTrade{Asset: "USD", Buyer: "jane", Seller: "bob", Settle: true}, CodeInvalidTransaction, []string{"settle"}},
		"trade, cost without settle":    {PostTrade{Asset: "USD", Buyer: "jane", Seller: "bob", Cost: n(5)}, CodeInvalidTransaction, []string{"cost"}},
		"trade, neither":                {PostTrade{Asset: "USD", Buyer: "jane", Seller: "bob"}, "", nil},
		"transaction, all accounts":     {PostTransaction{Postings: []LegRequest{leg("x", "USD", 0), leg("jane", "z", 0), leg("x", "USD", 0), leg("y", "z", 0)}}, CodeAccountNotFound, []string{"postings[0].account", "postings[2].account", "postings[3].account"}},
		"transaction, all assets":       {PostTransaction{Postings: []LegRequest{leg("jane", "z", 0), leg("bob", "USD", 1), leg("jane", "z", 0)}}, CodeAssetNotFound, []string{"postings[0].asset", "postings[2].asset"}},
		"transaction, without currency": {PostTransaction{Postings: []LegRequest{leg("jane", "USD", 0), leg("bob", "USD", 1), leg("jane", "AAPL", 1), leg("jane", "USD", -1)}}, CodeInvalidTransaction, []string{"postings[1].cost", "postings[3].cost"}},
		"transaction":                   {PostTransaction{Postings: []LegRequest{leg("jane", "USD", 0), leg("bob", "AAPL", -5)}}, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			accounts, assets := test.r.names()
			err := known().check(test.r, accounts, assets)
			if test.code == "" {
				if err != nil {
					t.Errorf("refused: %v %v", err, err.Fields)
				}
				return
			}
			if err == nil || err.Code != test.code {
				t.Fatalf("got %v, want %s", err, test.code)
			}
			var fields []string
			for _, f := range err.Fields {
				fields = append(fields, f.Field)
			}
			if !slices.Equal(fields, test.want) || err.OfPath {
				t.Errorf("fields %v, of the path: %v; want %v of the body", fields, err.OfPath, test.want)
			}
		})
	}
}

func TestDecide(t *testing.T) {
	n := events.NewAmount
	limitOn := func(account, asset string, gross, own, overdraft int64) limit {
		return limit{Pair: Pair{account, asset}, gross: n(gross), own: n(own), overdraft: n(overdraft)}
	}
	leg := func(account, asset string, quantity, cost int64) LegRequest {
		return LegRequest{Account: account, Asset: asset, Quantity: n(quantity), Cost: n(cost)}
	}
	trade := PostTrade{Asset: "AAPL", Buyer: "jane", Seller: "bob", Quantity: n(10), Cost: n(1500)}
	settled, fromMarket, free := trade, trade, trade
	settled.Settle, fromMarket.Settle, free.Settle = true, true, true
	fromMarket.Seller = "market"
	free.Cost = n(0)
	for name, test := range map[string]struct {
		r      PostingRequest
		legs   []LegRequest
		limits []limit
	}{
		"transfer": {PostTransfer{From: "jane", To: "bob", Asset: "USD", Quantity: n(5)},
			[]LegRequest{leg("jane", "USD", -5, 0), leg("bob", "USD", 5, 0)}, []limit{limitOn("jane", "USD", 5, 0, 0)}},
		"from the unlimited": {PostTransfer{From: "market", To: "bob", Asset: "USD", Quantity: n(5)},
			[]LegRequest{leg("market", "USD", -5, 0), leg("bob", "USD", 5, 0)}, nil},
		"overdraft of its asset": {PostTransfer{From: "margin", To: "bob", Asset: "USD", Quantity: n(5)},
			[]LegRequest{leg("margin", "USD", -5, 0), leg("bob", "USD", 5, 0)}, []limit{limitOn("margin", "USD", 5, 0, 500)}},
		"overdraft of another": {PostTransfer{From: "margin", To: "bob", Asset: "AAPL", Quantity: n(5)},
			[]LegRequest{leg("margin", "AAPL", -5, 0), leg("bob", "AAPL", 5, 0)}, []limit{limitOn("margin", "AAPL", 5, 0, 0)}},
		"trade": {trade, []LegRequest{leg("jane", "AAPL", 10, 1500), leg("bob", "AAPL", -10, -1500)}, []limit{limitOn("bob", "AAPL", 10, 0, 0)}},
		"settled": {settled,
			[]LegRequest{leg("jane", "AAPL", 10, 1500), leg("bob", "AAPL", -10, -1500), leg("jane", "USD", -1500, 0), leg("bob", "USD", 1500, 0)},
			[]limit{limitOn("bob", "AAPL", 10, 0, 0), limitOn("jane", "USD", 1500, 0, 0)}},
		"settled with the unlimited": {fromMarket,
			[]LegRequest{leg("jane", "AAPL", 10, 1500), leg("market", "AAPL", -10, -1500), leg("jane", "USD", -1500, 0), leg("market", "USD", 1500, 0)},
			[]limit{limitOn("jane", "USD", 1500, 0, 0)}},
		"settled for nothing": {free, []LegRequest{leg("jane", "AAPL", 10, 0), leg("bob", "AAPL", -10, 0)}, []limit{limitOn("bob", "AAPL", 10, 0, 0)}},
		"debited and credited": {PostTransaction{Postings: []LegRequest{
			leg("jane", "USD", 4, 0), leg("bob", "USD", -9, 0), leg("jane", "USD", -6, 0), leg("jane", "USD", 2, 0), leg("jane", "USD", -1, 0), leg("market", "USD", 10, 0)}},
			[]LegRequest{leg("jane", "USD", 4, 0), leg("bob", "USD", -9, 0), leg("jane", "USD", -6, 0), leg("jane", "USD", 2, 0), leg("jane", "USD", -1, 0), leg("market", "USD", 10, 0)},
			[]limit{limitOn("bob", "USD", 9, 0, 0), limitOn("jane", "USD", 7, 6, 0)}},
		"costs alone": {PostTransaction{Postings: []LegRequest{leg("jane", "AAPL", 0, -4), leg("bob", "AAPL", 0, 4)}},
			[]LegRequest{leg("jane", "AAPL", 0, -4), leg("bob", "AAPL", 0, 4)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			tx, limits := known().decide(test.r)
			var legs []LegRequest
			for _, l := range tx.Legs {
				if l.ID != "" {
					t.Errorf("leg %v has a KSUID before it is minted", l)
				}
				legs = append(legs, LegRequest{Account: l.Account, Asset: l.Asset, Quantity: l.Quantity, Cost: l.Cost})
			}
			if !reflect.DeepEqual(legs, test.legs) {
				t.Errorf("legs %v, want %v", legs, test.legs)
			}
			if !reflect.DeepEqual(limits, test.limits) {
				t.Errorf("limits %v, want %v", limits, test.limits)
			}
			if tx.Kind != test.r.kind() || tx.Fingerprint != fingerprint(test.r) || tx.Metadata == nil {
				t.Errorf("header %+v", tx)
			}
		})
	}
}

func TestDecideKeepsWhatTheRequestSays(t *testing.T) {
	a := Annotation{ID: "t-1", Description: "d", Metadata: map[string]string{"k": "v"}, Actor: "me"}
	tx, _ := known().decide(PostTransfer{Annotation: a, From: "jane", To: "bob", Asset: "USD", Quantity: events.NewAmount(1)})
	if tx.ID != "t-1" || tx.Description != "d" || tx.Actor != "me" || !reflect.DeepEqual(tx.Metadata, a.Metadata) {
		t.Errorf("header %+v", tx)
	}
	a.Metadata["k"] = "changed by the caller"
	if tx.Metadata["k"] != "v" {
		t.Error("the header shares the caller's metadata")
	}
}

// G2: whatever passes Shape and Rules expands to legs that sum to zero for each asset, quantities and costs.
func TestExpansionBalances(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, c := drawAmount(t, "quantity"), drawAmount(t, "cost")
		requests := []PostingRequest{
			PostTransfer{From: drawID(t, "from"), To: drawID(t, "to"), Asset: drawID(t, "asset"), Quantity: q},
			PostTrade{Asset: drawID(t, "asset"), Buyer: drawID(t, "buyer"), Seller: drawID(t, "seller"), Quantity: q, Cost: c, Settle: rapid.Bool().Draw(t, "settle")},
			PostTransaction{Postings: drawLegs(t)},
		}
		for _, r := range requests {
			if r.Shape() != nil || r.Rules() != nil {
				continue
			}
			for _, currency := range []string{"USD", drawID(t, "currency"), ""} {
				legs := r.legs(currency)
				if err := unbalanced(legs); err != nil {
					t.Fatalf("%#v: %v", r, err.Fields)
				}
				for i, leg := range legs {
					if leg.Quantity.IsZero() && leg.Cost.IsZero() || leg.Asset == "" {
						t.Fatalf("%#v: leg %d is %v", r, i, leg)
					}
				}
			}
		}
	})
}

// A known figure too low, stale or none at all only ever refuses: whatever passes its guard is covered (G5).
func TestBoundNeverLetsMoreBeSpentThanThereIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pair := Pair{"jane", "USD"}
		small := rapid.Int64Range(0, 30)
		overdraft := events.NewAmount(small.Draw(t, "overdraft"))
		account := events.Overdraft{Limits: map[string]events.Amount{"USD": overdraft}}
		var spent, credits events.Amount // the truth
		history := []events.Amount{{}}   // what the credits ever were
		present := false                 // the guard
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			out, in := events.NewAmount(small.Draw(t, "debit")), events.NewAmount(small.Draw(t, "credit"))
			limits := limitsOf([]LegRequest{
				{Account: "jane", Asset: "USD", Quantity: in}, {Account: "jane", Asset: "USD", Quantity: out.Neg()},
			}, func(string) events.Overdraft { return account })
			if !out.IsZero() {
				l := limits[0]
				l.known = rapid.SampledFrom(history).Draw(t, "known") // some process knows some earlier figure
				d := l.debit()
				if passes := spent.Cmp(d.Bound) <= 0 && (present || d.Bound.Sign() >= 0); !passes {
					exact := l
					exact.known = credits
					covered := exact.requested().Cmp(exact.available(spent)) <= 0
					if covered != (spent.Cmp(exact.bound()) <= 0) {
						t.Fatalf("figures of a refusal disagree with the bound: %+v at %v", exact, spent)
					}
					continue
				}
				spent, present = sum(spent, d.Gross), true
			}
			credits = sum(credits, in)
			history = append(history, credits)
			if spent.Cmp(sum(credits, overdraft)) > 0 {
				t.Fatalf("%v: spent %v of credits %v and overdraft %v", pair, spent, credits, overdraft)
			}
		}
	})
}

// However large the figures, what was spent stays within 38 digits, and a bound is never wrapped around.
func TestBoundOfLargeAmounts(t *testing.T) {
	most, posted := events.MaxFolded(), mostPosted
	for name, l := range map[string]limit{
		"credits at the end": {known: most, gross: events.NewAmount(1)},
		"own credits beyond": {known: most, own: posted, gross: posted},
		"overdraft beyond":   {known: most, overdraft: posted, gross: posted},
		"all":                {known: most, own: posted, overdraft: posted, gross: events.NewAmount(7)},
		"nothing":            {gross: sum(posted, posted)},
	} {
		spent, err := l.bound().Add(l.gross)
		if err != nil || spent.Cmp(most) > 0 {
			t.Errorf("%s: bound %v lets %v be spent", name, l.bound(), spent)
		}
		if want := sum(sum(l.known, l.own), l.overdraft); spent != want {
			t.Errorf("%s: up to %v may be spent, want %v", name, spent, want)
		}
	}
	if got := sum(most.Neg(), posted.Neg()); got != most.Neg() {
		t.Errorf("below the least: %v", got)
	}
	if got := mostPosted.String(); got != strings.Repeat("9", 28) {
		t.Errorf("the largest posted amount is %s", got)
	}
}

func TestLimitsAreOnePerPair(t *testing.T) {
	var legs []LegRequest
	for i := range events.PostingsMax {
		legs = append(legs, LegRequest{Account: fmt.Sprint("a", i%5), Asset: "USD", Quantity: events.NewAmount(-1)})
	}
	limits := limitsOf(legs, func(string) events.Overdraft { return events.Overdraft{} })
	total := events.Amount{}
	for i, l := range limits {
		if l.Account != fmt.Sprint("a", i) {
			t.Errorf("limit %d is on %s", i, l.Account)
		}
		total = sum(total, l.gross)
	}
	if len(limits) != 5 || total != events.NewAmount(events.PostingsMax) {
		t.Errorf("%d limits on %v in all", len(limits), total)
	}
}
