package projections

import (
	"context"
	"fmt"

	"ledger.example/events"
)

// Summary is the projection of one account: the sum of its balances' contributions. A write that changes a balance's
// contribution changes the summary in the same transaction. A balance contributes once its head counts a posting. A
// balance that EnsureVisible created, to raise its version, does not contribute yet.
type Summary struct {
	Account  string
	Version  int64        // 0: never written
	Assets   int64        // number of balances with a posting in their head
	Holdings int64        // number of balances whose quantity is not zero
	First    events.KSUID // the earliest posting of these balances
}

// share is the contribution of one balance to its account's summary.
type share struct {
	assets, holdings int64
	first            events.KSUID
}

func (b Balance) share() share {
	if b.Head.Count == 0 {
		return share{}
	}
	s := share{assets: 1, first: b.First}
	if !b.Head.Quantity().IsZero() {
		s.holdings = 1
	}
	return s
}

// summarize returns the account's new summary after a balance changed from was to is, nil if it need not be written.
func summarize(ctx context.Context, views *Views, was, is Balance) (*Summary, error) {
	before, after := was.share(), is.share()
	if before == after {
		return nil, nil
	}
	stored, err := views.Summary(ctx, is.Account)
	if err != nil {
		return nil, fmt.Errorf("read summary: %w", err)
	}
	s := stored.with(before, after)
	// If a count moves, the summary is written even if the result equals the stored one. Transactions become visible
	// item by item, so the summary that was read may be older than the balance. Then this write must fail.
	if s == stored && before.assets == after.assets && before.holdings == after.holdings {
		return nil, nil
	}
	return &s, nil
}

// With returns s after one balance of the account changed from was to is.
func (s Summary) With(was, is Balance) Summary { return s.with(was.share(), is.share()) }

// with returns s with one balance's contribution changed from before to after. If the stored summary was lost, s counts
// too little. Counts stay at zero or above: a negative count would make the item malformed.
func (s Summary) with(before, after share) Summary {
	s.Assets = max(0, s.Assets+after.assets-before.assets)
	s.Holdings = max(0, s.Holdings+after.holdings-before.holdings)
	s.First = Earlier(s.First, after.first)
	return s
}
