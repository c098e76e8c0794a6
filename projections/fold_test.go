package projections_test

import (
	"errors"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ledger.example/events"
	"ledger.example/projections"
)

// ksuid returns the least KSUID of the n-th millisecond of the morning.
func ksuid(n int) events.KSUID {
	return events.FirstKSUID(morning.Add(time.Duration(n) * time.Millisecond))
}

var morning = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

func amount(t interface{ Fatal(...any) }, text string) events.Amount {
	a, err := events.ParseAmount(text, events.FoldedDigits)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestFoldIsTheSumOfItsPostings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`0|-?[1-9][0-9]{0,27}`)
		credits, debits, cost := new(big.Int), new(big.Int), new(big.Int)
		var f projections.Fold
		n := rapid.IntRange(0, 30).Draw(t, "postings")
		for i := range n {
			q, c := text.Draw(t, "quantity"), text.Draw(t, "cost")
			big1, _ := new(big.Int).SetString(q, 10)
			big2, _ := new(big.Int).SetString(c, 10)
			if big1.Sign() > 0 {
				credits.Add(credits, big1)
			} else {
				debits.Sub(debits, big1)
			}
			cost.Add(cost, big2)
			var err error
			if f, err = f.Add(projections.Posting{ID: ksuid(i + 1), Quantity: amount(t, q), Cost: amount(t, c)}); err != nil {
				t.Fatal(err)
			}
		}
		wanted := projections.Fold{Credits: amount(t, credits.String()), Debits: amount(t, debits.String()), Expenditure: amount(t, cost.String()), Count: int64(n)}
		if n > 0 {
			wanted.Through = ksuid(n)
		}
		if f != wanted {
			t.Fatalf("fold %+v, wanted %+v", f, wanted)
		}
		if quantity := new(big.Int).Sub(credits, debits); f.Quantity().String() != quantity.String() {
			t.Fatalf("quantity %v, wanted %v", f.Quantity(), quantity)
		}
	})
}

func TestFoldRefuses(t *testing.T) {
	most := events.MaxFolded()
	one := events.NewAmount(1)
	full := projections.Fold{Through: ksuid(5), Credits: most, Debits: most, Expenditure: most, Count: 3}
	for _, c := range []struct {
		name   string
		p      projections.Posting
		wanted error
	}{
		{"a posting counted already", projections.Posting{ID: ksuid(5)}, projections.ErrOrder},
		{"a posting from below", projections.Posting{ID: ksuid(4)}, projections.ErrOrder},
		{"credits of 39 digits", projections.Posting{ID: ksuid(6), Quantity: one}, events.ErrOverflow},
		{"debits of 39 digits", projections.Posting{ID: ksuid(6), Quantity: one.Neg()}, events.ErrOverflow},
		{"an expenditure of 39 digits", projections.Posting{ID: ksuid(6), Cost: one}, events.ErrOverflow},
	} {
		if f, err := full.Add(c.p); !errors.Is(err, c.wanted) || f != (projections.Fold{}) {
			t.Errorf("%s: %+v, %v, wanted %v", c.name, f, err, c.wanted)
		}
	}
	if f, err := full.Add(projections.Posting{ID: ksuid(6), Cost: one.Neg()}); err != nil || f.Count != 4 {
		t.Errorf("a posting that fits: %+v, %v", f, err)
	}
}

func TestFoldAllocatesNothing(t *testing.T) {
	p := projections.Posting{ID: ksuid(2), Quantity: events.NewAmount(-3), Cost: events.NewAmount(7)}
	f := projections.Fold{Through: ksuid(1)}
	if n := testing.AllocsPerRun(100, func() { _, _ = f.Add(p) }); n != 0 {
		t.Errorf("%v allocations for a posting", n)
	}
}

func BenchmarkFoldAdd(b *testing.B) {
	postings := make([]projections.Posting, 1000)
	for i := range postings {
		postings[i] = projections.Posting{ID: ksuid(i + 1), Quantity: events.NewAmount(int64(i%7 - 3)), Cost: events.NewAmount(int64(i))}
	}
	b.ReportAllocs()
	for b.Loop() {
		var f projections.Fold
		for _, p := range postings {
			var err error
			if f, err = f.Add(p); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.N)*float64(len(postings))/b.Elapsed().Seconds(), "postings/s")
}
