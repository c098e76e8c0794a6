package console

import (
	"slices"

	"ledger.example/client"
	"ledger.example/events"
)

// A move is an amount that one account gives to another in a transaction, derived from its postings.
type move struct {
	From, To, Asset string
	Quantity        events.Amount
}

// moves pairs givers with receivers, per asset, in the order of the postings. If an asset has more than two postings,
// other pairings are possible: the ledger stores only the total that each account gave or received.
func moves(legs []client.Posting) []move {
	var all []move
	var assets []string
	for _, l := range legs {
		if !slices.Contains(assets, l.Asset) {
			assets = append(assets, l.Asset)
		}
	}
	for _, asset := range assets {
		var givers, receivers []client.Posting
		for _, l := range legs {
			switch {
			case l.Asset != asset || l.Quantity.Sign() == 0:
			case l.Quantity.Sign() < 0:
				givers = append(givers, l)
			default:
				receivers = append(receivers, l)
			}
		}
		all = append(all, pair(asset, givers, receivers)...)
	}
	return all
}

// pair lets each giver in turn fill the receivers in order.
func pair(asset string, givers, receivers []client.Posting) (all []move) {
	for len(givers) > 0 && len(receivers) > 0 {
		from, to := &givers[0], &receivers[0]
		given := from.Quantity.Abs()
		if to.Quantity.Cmp(given) < 0 {
			given = to.Quantity
		}
		all = append(all, move{From: from.Account, To: to.Account, Asset: asset, Quantity: given})
		var err error
		if from.Quantity, err = from.Quantity.Add(given); err != nil {
			return all
		}
		if to.Quantity, err = to.Quantity.Sub(given); err != nil {
			return all
		}
		if from.Quantity.IsZero() {
			givers = givers[1:]
		}
		if to.Quantity.IsZero() {
			receivers = receivers[1:]
		}
	}
	return all
}
