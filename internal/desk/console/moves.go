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

// moves lets each giver in turn fill the receivers of its asset, in the order of the postings. If an asset has more
// than two postings, other pairings are possible: the ledger stores only the total that each account gave or received.
func moves(legs []client.Posting) (all []move) {
	left, order := slices.Clone(legs), make(map[string]int) // order of the assets
	for i := range left {
		if _, ok := order[left[i].Asset]; !ok {
			order[left[i].Asset] = i
		}
		for j := range left {
			from, to := &left[i], &left[j]
			if from.Asset != to.Asset || from.Quantity.Sign() >= 0 || to.Quantity.Sign() <= 0 {
				continue
			}
			given := from.Quantity.Abs()
			if to.Quantity.Cmp(given) < 0 {
				given = to.Quantity
			}
			all = append(all, move{From: from.Account, To: to.Account, Asset: from.Asset, Quantity: given})
			from.Quantity, _ = from.Quantity.Add(given) // both come closer to zero
			to.Quantity, _ = to.Quantity.Sub(given)
		}
	}
	slices.SortStableFunc(all, func(a, b move) int { return order[a.Asset] - order[b.Asset] })
	return all
}
