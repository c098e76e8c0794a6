package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// found takes in the transaction that is stored under the id of an item (without an id: it reads it), which is no
// longer open. An attempt of this command wrote it, or an earlier request with the same body, or one with another body.
func (w *whole) found(c *command, p *posting, stored events.TransactionPosted) error {
	var err error
	if stored.ID == "" {
		if stored, err = w.ledger.readHeader(c, p.draft.note.ID); err != nil {
			return w.failItem(c, p, unknownError(p.draft.note.ID, err))
		}
	}
	same, err := sameRequest(stored.Fingerprint, p.draft)
	switch {
	case err != nil:
		return w.failItem(c, p, internalError(err))
	case !same:
		return w.failItem(c, p, idReused())
	}
	if w.dry {
		stored.Legs = withoutIDs(stored.Legs)
	} else if err := w.complete(c, p, stored); err != nil {
		return err
	}
	p.answer = Posted{Transaction: stored, Replayed: !w.wrote(stored.Legs)}
	w.open = slices.DeleteFunc(slices.Clone(w.open), func(other *posting) bool { return other == p })
	w.limit()
	return nil
}

// complete returns nil when it may be said that the transaction that is stored was committed. A header may be visible
// before its postings are: the transaction is committed when all are read together.
func (w *whole) complete(c *command, p *posting, stored events.TransactionPosted) error {
	at, err := w.ledger.verify(c, stored, stored.Postings())
	switch {
	case errors.Is(err, store.ErrAbsent):
		return w.failItem(c, p, internalError(fmt.Errorf("transaction %s is incomplete: %w", stored.ID, err)))
	case err != nil:
		return w.failItem(c, p, unknownError(stored.ID, err))
	}
	return w.acknowledge(c, p, stored, at)
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

// acknowledge returns nil when it may be said that t is committed, as the store said at the given time of its clock.
// What has an effective date is not made sure of: reads include it once it is projected.
func (w *whole) acknowledge(ctx context.Context, p *posting, t events.TransactionPosted, at time.Time) error {
	if !t.IsBackdated() {
		if err := w.attempts.acknowledge(ctx, t.Legs, at); err != nil {
			return w.failItem(ctx, p, unknownError(t.ID, err))
		}
	}
	return nil
}

// acknowledgeAll answers that all that was open is committed.
func (w *whole) acknowledgeAll(c *command, commit Commit, at time.Time) error {
	for n, p := range w.open {
		p.answer.Transaction, _ = commit.Heads[n].(events.TransactionPosted)
		if err := w.acknowledge(c, p, p.answer.Transaction, at); err != nil {
			return err
		}
	}
	return nil
}
