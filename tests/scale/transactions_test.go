package scale

import (
	"fmt"
	"testing"

	"ledger.example/events"
	"ledger.example/ledger"
)

// A shape is how many legs a transaction has, and how many limited accounts it debits.
type shape struct{ legs, debited int }

func (s shape) String() string { return fmt.Sprintf("%d legs, %d guarded", s.legs, s.debited) }

// TestTransactions measures transactions by their legs: from the everyday transfer to the largest there is.
func TestTransactions(t *testing.T) {
	shapes := []shape{{2, 0}, {2, 1}, {4, 1}, {events.PostingsMax, 1}, {events.PostingsMax, events.PostingsMax - 1}}
	f := figures{heading: "By legs of a transaction", of: "transaction"}
	var names []string
	for _, s := range shapes {
		names = append(names, s.String())
	}
	for _, filled := range []struct {
		name string
		filling
	}{{"everyday", everyday()}, {"longest", longest()}} {
		var cells []string
		for _, s := range shapes {
			c := ofShape(t, s, filled.filling)
			// The header, the legs and the guards, and nothing besides.
			if items := int64(1 + s.legs + s.debited); c.Total() != 1 || c.ItemsWritten != items || c.ItemsRead != 0 {
				t.Errorf("%s, %s: %s", s, filled.name, c)
			}
			cells = append(cells, c.String())
		}
		f.add(filled.name, true, names, cells)
	}
	f.check(t)
}

// ofShape measures the second of two such transactions. The longest amounts are two digits short of what may be posted, so that
// the sum of all legs may.
func ofShape(t *testing.T, s shape, f filling) cost {
	b := newBank(t)
	then := b.then()
	quantity := f.posted.Abs()
	if f.limits > 0 {
		quantity = parsed(quantity.String()[2:], events.PostedDigits)
	}
	asset := f.id("asset")
	if _, _, err := then.RegisterAsset(t.Context(), ledger.RegisterAsset{ID: asset, Name: "Asset", Currency: "USD", Actor: "tester"}); err != nil {
		t.Fatal(err)
	}
	limit := events.Overdraft{Limits: map[string]events.Amount{asset: parsed("9999999999999999999999999999", events.PostedDigits)}}
	var legs []ledger.LegRequest
	for n := range s.legs {
		account := ledger.OpenAccount{ID: f.id(fmt.Sprintf("parties:%010d", n)), Overdraft: events.Overdraft{Unlimited: true}, Actor: "tester"}
		leg := ledger.LegRequest{Account: account.ID, Asset: asset, Quantity: quantity, Cost: quantity}
		if n < max(1, s.debited) {
			if n < s.debited {
				account.Overdraft = limit
			}
			leg.Quantity, leg.Cost = quantity.Neg(), quantity.Neg()
		}
		if _, _, err := then.OpenAccount(t.Context(), account); err != nil {
			t.Fatal(err)
		}
		legs = append(legs, leg)
	}
	// One leg makes up for all others: the payer's, or that of the one who is paid by all.
	one := &legs[0]
	if s.debited > 1 {
		one = &legs[len(legs)-1]
	}
	one.Quantity, one.Cost = events.Amount{}, events.Amount{}
	sum := events.Amount{}
	for _, leg := range legs {
		var err error
		if sum, err = sum.Add(leg.Quantity); err != nil {
			t.Fatal(err)
		}
	}
	one.Quantity, one.Cost = sum.Neg(), sum.Neg()
	post := func(id string) {
		if _, err := then.Post(t.Context(), ledger.PostTransaction{
			Annotation: ledger.Annotation{ID: f.id(id), Description: f.text("Card order", events.DescriptionChars), Metadata: f.metadata, Actor: f.actor},
			Postings:   legs,
		}); err != nil {
			t.Fatal(err)
		}
	}
	post("orders:1001")
	return b.cost(func() { post("orders:1002") })
}
