package projections_test

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"ledger.example/events"
	"ledger.example/projections"
)

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
			p := projections.Posting{ID: ksuid(i + 1), Figures: events.Figures{Quantity: amount(t, q), Cost: amount(t, c)}}
			if f, err = f.Add(p); err != nil {
				t.Fatal(err)
			}
		}
		wanted := projections.Fold{
			Credits:     amount(t, credits.String()),
			Debits:      amount(t, debits.String()),
			Expenditure: amount(t, cost.String()),
			Count:       int64(n),
		}
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
		{"credits of 39 digits", projections.Posting{ID: ksuid(6), Figures: events.Figures{Quantity: one}}, events.ErrOverflow},
		{"debits of 39 digits", projections.Posting{ID: ksuid(6), Figures: events.Figures{Quantity: one.Neg()}}, events.ErrOverflow},
		{"an expenditure of 39 digits", projections.Posting{ID: ksuid(6), Figures: events.Figures{Cost: one}}, events.ErrOverflow},
	} {
		if f, err := full.Add(c.p); !errors.Is(err, c.wanted) || f != (projections.Fold{}) {
			t.Errorf("%s: %+v, %v, wanted %v", c.name, f, err, c.wanted)
		}
	}
	if f, err := full.Add(projections.Posting{ID: ksuid(6), Figures: events.Figures{Cost: one.Neg()}}); err != nil || f.Count != 4 {
		t.Errorf("a posting that fits: %+v, %v", f, err)
	}
	// A number of postings at the end of its range never wraps around.
	full.Count = math.MaxInt64
	_, added := full.Add(projections.Posting{ID: ksuid(6), Figures: events.Figures{Cost: one.Neg()}})
	_, plus := full.Plus(projections.Fold{Count: 1})
	_, minus := projections.Fold{Count: -2}.Minus(full)
	for _, err := range []error{added, plus, minus} {
		if !errors.Is(err, events.ErrOverflow) {
			t.Errorf("a count out of range: %v", err)
		}
	}
}
