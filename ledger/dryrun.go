package ledger

import (
	"context"
	"slices"

	"ledger.example/events"
)

// answerDryRun answers the pending requests of a dry run: they would be carried out if the funds suffice. The answers
// have no KSUIDs and no generated ids. The end of a hold depends on the time of its KSUIDs.
func (a *attempts) answerDryRun(ctx context.Context) error {
	short, refused := a.shortfalls(ctx, a.ledger)
	switch {
	case refused != nil:
		return refused
	case len(short) > 0:
		return a.shortfallError(short)
	}
	for _, r := range a.pending {
		if !r.endsHold() {
			r.head = r.header
			continue
		}
		ids, _, err := a.ledger.mint(ctx, r.ksuidsNeeded(), r.firstAccount(), r.after)
		if err != nil {
			return a.failRequest(ctx, r, err)
		}
		end, err := r.buildEnd(a.ledger, ids)
		if err != nil {
			return a.failRequest(ctx, r, err)
		}
		if refused := r.sameEnd(end); refused != nil {
			return a.failRequest(ctx, r, refused)
		}
		r.head = withoutKSUIDs(end)
	}
	return nil
}

// withoutKSUIDs returns a copy of a head without KSUIDs in its legs.
func withoutKSUIDs(head events.Event) events.Event {
	switch head := head.(type) {
	case events.TransactionPosted:
		head.Legs = withoutIDs(head.Legs)
		return head
	case events.HoldEnded:
		head.Legs = withoutIDs(head.Legs)
		return head
	}
	return head
}

// withoutIDs returns a copy of legs without KSUIDs.
func withoutIDs(legs []events.Leg) []events.Leg {
	legs = slices.Clone(legs)
	for i := range legs {
		legs[i].ID = ""
	}
	return legs
}

// shortfalls reads the current funds and account states, and returns the pairs that are short. It reads the amounts
// spent before the credits, so that a covered debit is never found short.
func (f *funding) shortfalls(ctx context.Context, l *Ledger) (short []shortfall, _ *Error) {
	if len(f.limits) == 0 {
		return nil, nil
	}
	var keys lookupKeys
	refused := make([]refusal, len(f.limits))
	for i, limit := range f.limits {
		keys.accounts = append(keys.accounts, limit.pair.Account)
		keys.credits = append(keys.credits, limit.pair)
		refused[i].pair = limit.pair
	}
	found, err := l.lookup(ctx, keys)
	if err != nil {
		return nil, asError(err)
	}
	exact, err := l.exactFunds(ctx, refused)
	if err != nil {
		return nil, storeError(err)
	}
	for i := range f.limits {
		limit := &f.limits[i]
		if now, ok := found.accounts[limit.pair.Account]; ok {
			limit.setAccount(&now)
		}
		limit.raise(exact[i])
		if spent := found.guards[limit.pair].spent; spent.Cmp(limit.bound()) > 0 {
			short = append(short, shortfall{limit, spent})
		}
	}
	return short, nil
}
