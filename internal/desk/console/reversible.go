package console

import (
	"net/http"
	"net/url"
	"slices"

	"ledger.example/client"
	"ledger.example/events"
)

// reversible is what was posted, reversed and left of the legs of a transaction.
type reversible struct {
	Legs     []reversibleLeg
	HasCosts bool
}

// reversibleLeg has what was posted, reversed and left of a leg.
type reversibleLeg struct {
	Account, Asset                     string
	Posted, Reversed, Left             events.Amount
	PostedCost, ReversedCost, LeftCost events.Amount
}

// reversibleOf returns what was posted, reversed and left of a transaction. It has no legs if nothing can be reversed.
func reversibleOf(t client.Transaction) (all reversible) {
	if !isPosted(t) {
		return all
	}
	left := leftOf(t)
	for i, p := range t.AsPosted() {
		leg := reversibleLeg{Account: p.Account, Asset: p.Asset, Posted: p.Quantity, Left: left[i].Quantity,
			PostedCost: p.Cost, LeftCost: left[i].Cost}
		if i < len(t.Reversed) {
			leg.Reversed, leg.ReversedCost = t.Reversed[i].Quantity, t.Reversed[i].Cost
		}
		all.HasCosts = all.HasCosts || !p.Cost.IsZero()
		all.Legs = append(all.Legs, leg)
	}
	return all
}

// IsLeft reports whether something is left to reverse.
func (r reversible) IsLeft() bool {
	return slices.ContainsFunc(r.Legs, func(l reversibleLeg) bool { return !l.Left.IsZero() || !l.LeftCost.IsZero() })
}

// isPosted reports whether a transaction has posted something.
func isPosted(t client.Transaction) bool {
	return t.Status == client.StatusCaptured || t.Status == client.StatusPosted
}

// leftOf returns what is left to capture or to reverse of each leg of a transaction.
func leftOf(t client.Transaction) []client.Posting {
	legs := slices.Clone(t.AsPosted())
	for i, back := range t.Reversed {
		if i < len(legs) && t.Status != client.StatusHeld { // a part of what was posted: no overflow
			legs[i].Quantity, _ = legs[i].Quantity.Sub(back.Quantity)
			legs[i].Cost, _ = legs[i].Cost.Sub(back.Cost)
		}
	}
	return legs
}

// fillPart fills in what is left of a transfer or a trade, unless the form says otherwise. So the request names what
// the reader has seen: it is refused if less is left by then.
func (v *visit) fillPart(f *form, given url.Values) {
	left := leftOf(f.target)
	if len(left) == 0 || !hasParts(f.target) || v.r.Method != http.MethodGet || v.query.Has(previewParam) {
		return
	}
	first, posted := left[0], f.target.AsPosted()[0]
	for i := range f.Fields {
		field := &f.Fields[i]
		switch {
		case given.Has(field.Name):
		case field.Name == partField.Name && first.Quantity.Sign() != 0:
			field.Value = v.units.Quantity(first.Asset, first.Quantity.Abs())
		case field.Name == partCostField.Name && !posted.Cost.IsZero():
			field.Value, _ = v.units.Cost(first.Asset, first.Cost.Abs())
		}
	}
}

// isAllOf reports whether all is taken that is left of each leg. No taken legs are all of them.
func isAllOf(left []client.Posting, taken []client.Taken) bool {
	for i, t := range taken {
		if t.Quantity != left[i].Quantity {
			return false
		}
	}
	return true
}
