package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"ledger.example/events"
	"ledger.example/ledger/table"
)

// SettleWindow is how old a posting is before a refold takes it for settled. It is the projections' window, which this
// package doesn't import; a test compares the two.
const SettleWindow = 10 * time.Second

// sureAge is how old a posting may be by an answer without being made sure of: half the settle window, less what the store's Date
// is cut to.
const sureAge = SettleWindow/2 - dateStep

// found answers with the transaction that stands under the request's id: an attempt of this request, an earlier
// request's, or another body's.
func (p *posting) found(ctx context.Context, stored *events.TransactionPosted) (Posted, error) {
	if stored == nil {
		t, _, err := p.readHeader(ctx, p.header.ID)
		if err != nil {
			return Posted{}, p.end(ctx, unknownError(p.header.ID, err))
		}
		stored = &t
	}
	same, err := sameRequest(stored.Fingerprint, p.request)
	switch {
	case err != nil:
		return Posted{}, p.end(ctx, internalError(err))
	case !same:
		return Posted{}, p.end(ctx, &Error{
			Code:   CodeTransactionIDReused,
			Detail: "The id was used before for a transaction with another body.",
		})
	}
	// A header may be seen before its postings are: it is committed when all can be read together.
	var at time.Time
	err = p.read(ctx, func(ctx context.Context) (_ time.Time, err error) {
		at, err = p.journal.Whole(ctx, *stored)
		return at, err
	})
	switch {
	case errors.Is(err, table.ErrAbsent):
		return Posted{}, p.end(ctx, internalError(fmt.Errorf("transaction %s is not whole: %w", stored.ID, err)))
	case err != nil:
		return Posted{}, p.end(ctx, unknownError(p.header.ID, err))
	}
	return p.acknowledge(ctx, *stored, at, !p.mine(*stored))
}

// mine tells whether an attempt of this very request became t.
func (p *posting) mine(t events.TransactionPosted) bool {
	return slices.ContainsFunc(p.sent, func(a attempt) bool { return a.first == t.Legs[0].ID })
}

// acknowledge answers that t is committed, which the store said at the given time of its clock. When its postings are so old
// that a refold may have passed them by already, it first makes sure of each.
func (p *posting) acknowledge(ctx context.Context, t events.TransactionPosted, at time.Time, replayed bool) (Posted, error) {
	old := at.IsZero() || at.Sub(t.PostedAt()) > sureAge
	for _, a := range p.sent {
		old = old || a.first == t.Legs[0].ID && time.Since(a.minted) > sureAge
	}
	if old {
		if err := p.makeSure(ctx, t); err != nil {
			return Posted{}, p.end(ctx, unknownError(t.ID, err))
		}
	}
	return Posted{Transaction: t, Replayed: replayed}, nil
}

// makeSure makes sure of each posting of t, those of one account and asset one after the other, as they meet in one balance.
func (p *posting) makeSure(ctx context.Context, t events.TransactionPosted) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	byPair := map[Pair][]events.KSUID{}
	for _, leg := range t.Legs {
		pair := Pair{leg.Account, leg.Asset}
		byPair[pair] = append(byPair[pair], leg.ID)
	}
	for pair, ids := range byPair {
		group.Go(func() error {
			for _, id := range ids {
				if err := again(ctx, func() error { return p.projections.MakeSure(ctx, pair.Account, pair.Asset, id) }); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}
