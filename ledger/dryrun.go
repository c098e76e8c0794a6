package ledger

import (
	"context"
	"slices"

	"ledger.example/events"
)

// A DryRun judges requests on what is stored, and writes nothing. Its methods return what those of the ledger would,
// without KSUIDs, and without an id that the ledger would make, and have their errors. They promise nothing: what is
// stored may change.
type DryRun struct{ ledger *Ledger }

// DryRun returns the dry run of l.
func (l *Ledger) DryRun() DryRun { return DryRun{l} }

// Post judges a posting request.
func (d DryRun) Post(ctx context.Context, r PostingRequest) (Posted, error) {
	p := &posting{draft: r.expand(), dry: true}
	return d.ledger.postAlone(ctx, p.draft.shape(), p)
}

// Reverse judges a reversal.
func (d DryRun) Reverse(ctx context.Context, r ReverseRequest) (Posted, error) {
	p := r.posting()
	p.dry = true
	return d.ledger.postAlone(ctx, r.Shape(), p)
}

// PostBatch judges a batch.
func (d DryRun) PostBatch(ctx context.Context, requests []PostingRequest, atomic bool) ([]BatchResult, error) {
	return d.ledger.postBatch(ctx, requests, atomic, true)
}

// Capture judges a capture.
func (d DryRun) Capture(ctx context.Context, r CaptureRequest) (Ended, error) {
	e := r.ending()
	e.dry = true
	return d.ledger.end(ctx, r.Shape(), e)
}

// Release judges a release.
func (d DryRun) Release(ctx context.Context, r ReleaseRequest) (Ended, error) {
	e := r.ending()
	e.dry = true
	return d.ledger.end(ctx, r.Shape(), e)
}

// judge answers a dry run of what was planned: the items that are open would be posted, unless the funds say otherwise.
func (w *whole) judge(ctx context.Context) error {
	short, err := w.wouldRefuse(ctx, w.ledger)
	switch {
	case err != nil:
		return err
	case len(short) > 0:
		return w.refusal(short)
	}
	for _, p := range w.open {
		p.answer = Posted{Transaction: p.header}
	}
	return nil
}

// withoutIDs returns legs without their KSUIDs.
func withoutIDs(legs []events.Leg) []events.Leg {
	legs = slices.Clone(legs)
	for i := range legs {
		legs[i].ID = ""
	}
	return legs
}

// wouldRefuse returns the pairs that are short, by the funds and the states of accounts as they are now. It reads what
// was spent before it reads the credits: no covered debit looks refused.
func (f *funding) wouldRefuse(ctx context.Context, l *Ledger) (short []shortfall, _ *Error) {
	if len(f.limits) == 0 {
		return nil, nil
	}
	var keys LookupKeys
	refused := make([]Refusal, len(f.limits))
	for i, limit := range f.limits {
		keys.Accounts = append(keys.Accounts, limit.pair.Account)
		keys.Credits = append(keys.Credits, limit.pair)
		refused[i].Pair = limit.pair
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
		if now, ok := found.Accounts[limit.pair.Account]; ok {
			limit.adopt(&now)
		}
		limit.raise(exact[i])
		if spent := found.Guards[limit.pair].Spent; spent.Cmp(limit.bound()) > 0 {
			short = append(short, shortfall{limit, spent})
		}
	}
	return short, nil
}
