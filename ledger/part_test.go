package ledger

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ledger.example/events"
)

// drawPosted draws a transaction of any kind with small amounts.
func drawPosted(t *rapid.T) events.TransactionPosted {
	small := rapid.Map(rapid.Int64Range(1, 9), events.NewAmount)
	switch rapid.IntRange(0, 2).Draw(t, "kind") {
	case 0:
		return drafted(PostTransfer{From: "a", To: "b", Asset: "USD", Quantity: small.Draw(t, "quantity")})
	case 1:
		return drafted(PostTrade{
			Asset: "AAPL", Buyer: "a", Seller: "b", Quantity: small.Draw(t, "quantity"), Settle: rapid.Bool().Draw(t, "settle"),
			Cost: rapid.Map(rapid.Int64Range(0, 9), events.NewAmount).Draw(t, "cost"),
		})
	}
	return drafted(PostTransaction{Postings: drawBalanced(t, func(*rapid.T, int) (least, most figures) {
		return figures{-9, -9}, figures{9, 9}
	}, rapid.IntRange(2, 6).Draw(t, "legs"))})
}

// figures are the amounts of a leg as integers.
type figures struct{ quantity, cost int64 }

// drawBalanced returns legs of one asset that balance, each within its bounds, which include zero. The last legs take
// what the others leave, as far as their bounds let them; what is left then is taken off the others.
func drawBalanced(t *rapid.T, bounds func(*rapid.T, int) (least, most figures), n int) []LegRequest {
	within := func(name string, of func(figures) int64) []int64 {
		all, sum := make([]int64, n), int64(0)
		for i := range all {
			least, most := bounds(t, i)
			all[i] = rapid.Int64Range(min(of(least), of(most)), max(of(least), of(most))).Draw(t, name)
			sum += all[i]
		}
		for i := range all { // towards zero first, then away from it
			off := min(max(-sum, -max(all[i], 0)), -min(all[i], 0))
			all[i], sum = all[i]+off, sum+off
		}
		return all
	}
	quantities := within("quantity", func(x figures) int64 { return x.quantity })
	costs := within("cost", func(x figures) int64 { return x.cost })
	legs := make([]LegRequest, n)
	for i := range legs {
		legs[i] = LegRequest{
			Account: string(rune('a' + i)), Asset: "AAPL", Quantity: events.NewAmount(quantities[i]), Cost: events.NewAmount(costs[i]),
		}
	}
	return legs
}

// drafted returns the header of a request, with a currency for each asset.
func drafted(r Request) events.TransactionPosted {
	d := r.expand()
	t := events.TransactionPosted{ID: "t-1", Kind: d.kind}
	for _, leg := range d.withCash("USD") {
		t.Legs = append(t.Legs, events.Leg{Account: leg.Account, Asset: leg.Asset, Quantity: leg.Quantity, Cost: leg.Cost})
	}
	return t
}

// drawPart draws a part in the form for the transaction's kind. It often exceeds the transaction.
func drawPart(t *rapid.T, of events.TransactionPosted) Part {
	if rapid.IntRange(0, 5).Draw(t, "named") == 0 {
		return Part{}
	}
	if of.Kind == events.KindTransaction {
		p := Part{Postings: []events.Taken{}}
		for _, leg := range drawBalanced(t, func(t *rapid.T, i int) (least, most figures) {
			beyond := rapid.SampledFrom([]int64{0, 0, 0, 0, 0, 2}).Draw(t, "beyond")
			sign := func(a events.Amount) int64 { return int64(a.Sign()) }
			leg := of.Legs[i]
			return figures{}, figures{
				number(leg.Quantity) + beyond*sign(leg.Quantity), number(leg.Cost) + beyond*sign(leg.Cost),
			}
		}, len(of.Legs)) {
			p.Postings = append(p.Postings, events.Taken{Quantity: leg.Quantity, Cost: leg.Cost})
		}
		return p
	}
	quantity := events.NewAmount(rapid.Int64Range(0, 10).Draw(t, "quantity"))
	p := Part{Quantity: &quantity}
	if of.Kind == events.KindTrade {
		p.Cost = events.NewAmount(rapid.Int64Range(0, 10).Draw(t, "cost"))
	}
	return p
}

// number is a small amount.
func number(a events.Amount) (n int64) {
	for n = -100; n < 100 && events.NewAmount(n) != a; n++ {
	}
	return n
}

// A part balances, and each leg has the sign of its transaction's leg. It exceeds the transaction if one of its amounts
// does.
func TestPartsBalance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		posted := drawPosted(t)
		part, whole := drawPart(t, posted), amountsOf(posted.Legs)
		if err := part.rules(); err != nil {
			t.Fatal(err)
		}
		taken, err := part.takenFrom(posted)
		if err != nil {
			t.Fatalf("%+v of %+v: %v", part, posted.Legs, err)
		}
		if (taken == nil) == part.isGiven() {
			t.Fatalf("%+v names %+v", part, taken)
		}
		within := true
		sums := map[string]figures{}
		for i, of := range taken {
			leg := posted.Legs[i]
			sum := sums[leg.Asset]
			sums[leg.Asset] = figures{sum.quantity + number(of.Quantity), sum.cost + number(of.Cost)}
			within = within && of.Quantity.Abs().Cmp(leg.Quantity.Abs()) <= 0 && of.Cost.Abs().Cmp(leg.Cost.Abs()) <= 0
			if of.Quantity.Sign()*leg.Quantity.Sign() < 0 || of.Cost.Sign()*leg.Cost.Sign() < 0 {
				t.Fatalf("leg %d of %+v has another sign in %+v", i, posted.Legs, taken)
			}
		}
		for asset, sum := range sums {
			if sum != (figures{}) {
				t.Fatalf("%s of %+v is off by %+v", asset, taken, sum)
			}
		}
		if faults := part.exceeding(taken, posted.Legs, whole); (faults == nil) != within {
			t.Fatalf("%+v of %+v: faults %v", taken, posted.Legs, faults)
		}
	})
}

// G12: all reversals together never take back more of a leg than was posted. The amounts reversed and the amounts left
// sum to the posted amounts. All that is left can be reversed at once.
func TestReversalsNeverExceedWhatWasPosted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lifecycle := Lifecycle{Header: drawPosted(t)}
		if rapid.Bool().Draw(t, "hold") { // captured in part
			lifecycle.Header.ExpiresAt = lifecycle.Header.ExpiresAt.AddDate(2026, 0, 0)
			taken, err := drawPart(t, lifecycle.Header).takenFrom(lifecycle.Header)
			if err != nil {
				t.Fatal(err)
			}
			legs := slices.Clone(lifecycle.Header.Legs)
			lifecycle.Ended = &events.HoldEnded{Outcome: events.OutcomeCaptured, Legs: legs}
			for i := range taken {
				if (Part{}).exceeding(taken, lifecycle.Header.Legs, amountsOf(lifecycle.Header.Legs)) == nil {
					lifecycle.Ended.Legs[i].Quantity, lifecycle.Ended.Legs[i].Cost = taken[i].Quantity, taken[i].Cost
				}
			}
		}
		for range rapid.IntRange(0, 5).Draw(t, "reversals") {
			part, left := drawPart(t, lifecycle.Header), lifecycle.Left()
			taken, err := part.takenFrom(lifecycle.Header)
			if err != nil {
				t.Fatal(err)
			}
			if taken == nil {
				taken = left
			}
			refused := part.reversible(lifecycle, taken, left)
			if fits := part.exceeding(taken, lifecycle.Header.Legs, left) == nil && !allZero(left); fits != (refused == nil) {
				t.Fatalf("%+v of %+v: %v", taken, left, refused)
			}
			if refused == nil {
				lifecycle.Reversals = append(lifecycle.Reversals, events.TransactionReversed{Taken: taken})
			}
			gone, left := lifecycle.Reversed(), lifecycle.Left()
			for i, leg := range lifecycle.Posted() {
				for _, a := range [][3]events.Amount{
					{leg.Quantity, gone[i].Quantity, left[i].Quantity}, {leg.Cost, gone[i].Cost, left[i].Cost},
				} {
					posted, gone, left := number(a[0]), number(a[1]), number(a[2])
					if gone+left != posted || gone*posted < 0 || left*posted < 0 {
						t.Fatalf("leg %d: %d is reversed and %d left of %d", i, gone, left, posted)
					}
				}
			}
		}
		if left := lifecycle.Left(); !allZero(left) {
			if err := (Part{}).reversible(lifecycle, left, left); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// The number of reversals of a transaction is limited.
func TestReversalsAreLimited(t *testing.T) {
	transfer := PostTransfer{From: "a", To: "b", Asset: "USD", Quantity: events.NewAmount(9000)}
	lifecycle := Lifecycle{Header: drafted(transfer)}
	one := []events.Taken{{Quantity: events.NewAmount(-1)}, {Quantity: events.NewAmount(1)}}
	for range events.ReversalsMax {
		if err := (Part{}).reversible(lifecycle, one, lifecycle.Left()); err != nil {
			t.Fatal(err)
		}
		lifecycle.Reversals = append(lifecycle.Reversals, events.TransactionReversed{Taken: one})
	}
	if err := (Part{}).reversible(lifecycle, one, lifecycle.Left()); err == nil || err.Code != CodeExceedsReversible {
		t.Error(err)
	}
}
