package ledger

import (
	"context"
	"errors"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// DryRun judges a posting request on what is stored, and writes nothing. It returns what Post would answer, without
// KSUIDs, and without an id that the ledger would make. It promises nothing: what is stored may change.
// Errors: those of Post.
func (l *Ledger) DryRun(ctx context.Context, r PostingRequest) (Posted, error) {
	p := posting{attempts: attempts{ledger: l}, draft: r.expand()}
	c, cancel, err := startCommand(ctx, p.draft.shape(), p.draft.note.Actor)
	if err != nil {
		return Posted{}, err
	}
	defer cancel()
	return p.dry(c)
}

// dry judges a request whose fields are right by themselves.
func (p *posting) dry(ctx context.Context) (Posted, error) {
	later, err := p.plan(ctx)
	if err != nil {
		return Posted{}, err
	}
	return p.conclude(ctx, later)
}

// conclude answers a dry run: what was posted before comes first, and then later, the refusal that time or other
// requests can change, or what the funds say.
func (p *posting) conclude(ctx context.Context, later *Error) (Posted, error) {
	if p.header.ID != "" {
		stored, err := p.ledger.readHeader(ctx, p.header.ID)
		switch {
		case err == nil:
			return p.wouldReplay(stored)
		case !errors.Is(err, store.ErrAbsent):
			return Posted{}, storeError(err)
		}
	}
	if later == nil {
		var short []shortfall
		if short, later = p.wouldRefuse(ctx, p.ledger); len(short) > 0 {
			later = p.refusal(short[0])
		}
	}
	if later != nil {
		return Posted{}, later
	}
	return Posted{Transaction: p.header}, nil
}

// wouldReplay is the answer to a request whose id was used before.
func (p *posting) wouldReplay(stored events.TransactionPosted) (Posted, error) {
	same, err := sameRequest(stored.Fingerprint, p.draft)
	switch {
	case err != nil:
		return Posted{}, internalError(err)
	case !same:
		return Posted{}, idReused()
	}
	stored.Legs = withoutIDs(stored.Legs)
	return Posted{Transaction: stored, Replayed: true}, nil
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
