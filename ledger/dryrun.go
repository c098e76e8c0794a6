package ledger

import (
	"context"
	"slices"

	"ledger.example/events"
)

// A DryRun checks requests against the stored data and writes nothing. Its methods return the answers and errors of the
// ledger's own methods, without KSUIDs and without generated ids. They reserve nothing: the same request may be refused
// later.
type DryRun struct{ ledger *Ledger }

// DryRun returns a dry run on l.
func (l *Ledger) DryRun() DryRun { return DryRun{l} }

// Post checks a posting request.
func (d DryRun) Post(ctx context.Context, r PostingRequest) (Posted, error) {
	it := &item{draft: r.expand(), dryRun: true}
	return d.ledger.postSingle(ctx, it.draft.shape(), it)
}

// Reverse checks a reversal.
func (d DryRun) Reverse(ctx context.Context, r ReverseRequest) (Posted, error) {
	it := r.item()
	it.dryRun = true
	return d.ledger.postSingle(ctx, r.Shape(), it)
}

// PostBatch checks a batch.
func (d DryRun) PostBatch(ctx context.Context, requests []PostingRequest, atomic bool) ([]BatchResult, error) {
	return d.ledger.postBatch(ctx, requests, atomic, true)
}

// Capture checks a capture.
func (d DryRun) Capture(ctx context.Context, r CaptureRequest) (Ended, error) {
	e := r.ending()
	e.dryRun = true
	return d.ledger.end(ctx, r.Shape(), e)
}

// Release checks a release.
func (d DryRun) Release(ctx context.Context, r ReleaseRequest) (Ended, error) {
	e := r.ending()
	e.dryRun = true
	return d.ledger.end(ctx, r.Shape(), e)
}

// answerDryRun answers the pending items of a dry run: they would be posted if the funds suffice.
func (s *submission) answerDryRun(ctx context.Context) error {
	short, err := s.shortfalls(ctx, s.ledger)
	switch {
	case err != nil:
		return err
	case len(short) > 0:
		return s.shortfallError(short)
	}
	for _, it := range s.pending {
		it.answer = Posted{Transaction: it.header}
	}
	return nil
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
