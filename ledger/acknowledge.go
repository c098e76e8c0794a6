package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// found answers with the transaction that is stored under the request's id (without an id: read it). An attempt of
// this request wrote it, or an earlier request with the same body, or one with another body.
func (p *posting) found(ctx context.Context, stored events.TransactionPosted) (Posted, error) {
	var err error
	if stored.ID == "" {
		if stored, err = p.ledger.readHeader(ctx, p.header.ID); err != nil {
			return Posted{}, p.fail(ctx, unknownError(p.header.ID, err))
		}
	}
	same, err := sameRequest(stored.Fingerprint, p.draft)
	switch {
	case err != nil:
		return Posted{}, p.fail(ctx, internalError(err))
	case !same:
		return Posted{}, p.fail(ctx, idReused())
	}
	// A header may be visible before its postings are. The transaction is committed when all are read together.
	at, err := p.ledger.verify(ctx, stored, stored.Postings())
	switch {
	case errors.Is(err, store.ErrAbsent):
		return Posted{}, p.fail(ctx, internalError(fmt.Errorf("transaction %s is incomplete: %w", stored.ID, err)))
	case err != nil:
		return Posted{}, p.fail(ctx, unknownError(p.header.ID, err))
	}
	return p.acknowledge(ctx, stored, at, !p.wrote(stored.Legs))
}

// verify reads a head and all its postings together, with retries. The time is the store's.
func (l *Ledger) verify(
	ctx context.Context, head events.Event, postings []events.PostingRecorded,
) (at time.Time, err error) {
	err = l.read(ctx, func(ctx context.Context) (time.Time, error) {
		at, err = l.journal.VerifyComplete(ctx, head, postings)
		return at, err
	})
	return at, err
}

// acknowledge answers that t is committed, as the store said at the given time of its clock. What has an effective date
// is not made sure of: reads include it once it is projected.
func (p *posting) acknowledge(
	ctx context.Context, t events.TransactionPosted, at time.Time, replayed bool,
) (Posted, error) {
	if !t.IsBackdated() {
		if err := p.attempts.acknowledge(ctx, t.Legs, at); err != nil {
			return Posted{}, p.fail(ctx, unknownError(t.ID, err))
		}
	}
	return Posted{Transaction: t, Replayed: replayed}, nil
}
