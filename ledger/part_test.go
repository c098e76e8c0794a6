package ledger

import (
	"testing"

	"ledger.example/events"
)

// drafted returns the header of a request.
func drafted(r Request) events.TransactionPosted {
	d := r.expand()
	t := events.TransactionPosted{ID: "t-1", Kind: d.kind}
	for _, leg := range d.legs {
		t.Legs = append(t.Legs, events.Leg{Account: leg.Account, Asset: leg.Asset, Quantity: leg.Quantity, Cost: leg.Cost})
	}
	return t
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
