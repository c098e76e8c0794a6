package console

import (
	"slices"

	"ledger.example/client"
	"ledger.example/events"
)

// A move is what one account gives to another in a transaction, as far as its legs tell.
type move struct {
	From, To, Asset string
	Quantity        events.Amount
}

// moves pairs those who give with those who get, asset by asset, in the order of the legs. Of more than two legs of an
// asset the pairs are one way to read them: the ledger knows only what each account gave or got.
func moves(legs []client.Posting) []move {
	var all []move
	var assets []string
	for _, l := range legs {
		if !slices.Contains(assets, l.Asset) {
			assets = append(assets, l.Asset)
		}
	}
	for _, asset := range assets {
		var givers, getters []client.Posting
		for _, l := range legs {
			switch {
			case l.Asset != asset || l.Quantity.Sign() == 0:
			case l.Quantity.Sign() < 0:
				givers = append(givers, l)
			default:
				getters = append(getters, l)
			}
		}
		all = append(all, pair(asset, givers, getters)...)
	}
	return all
}

// pair has each giver give to the getters in turn what is still to be given.
func pair(asset string, givers, getters []client.Posting) (all []move) {
	for len(givers) > 0 && len(getters) > 0 {
		from, to := &givers[0], &getters[0]
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
			getters = getters[1:]
		}
	}
	return all
}
