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

// alreadyPosted answers an item whose id has a stored transaction, and removes it from pending. It reads the header if
// stored has no id. The transaction may be from an attempt of this command, or from an earlier request with the same
// body; if the body differs, the error is CodeTransactionIDReused.
func (s *submission) alreadyPosted(c *command, it *item, stored events.TransactionPosted) error {
	var err error
	if stored.ID == "" {
		if stored, err = s.ledger.readHeader(c, it.draft.ID); err != nil {
			return s.failItem(c, it, unknownError(it.draft.ID, err))
		}
	}
	same, err := sameRequest(stored.Fingerprint, it.draft)
	switch {
	case err != nil:
		return s.failItem(c, it, internalError(err))
	case !same:
		return s.failItem(c, it, idReused())
	}
	if s.dryRun {
		stored.Legs = withoutIDs(stored.Legs)
	} else if err := s.verifyPosted(c, it, stored); err != nil {
		return err
	}
	it.answer = Posted{Transaction: stored, Replayed: !s.wrote(stored.Legs)}
	s.pending = slices.DeleteFunc(slices.Clone(s.pending), func(other *item) bool { return other == it })
	s.setLimits()
	return nil
}

// verifyPosted returns nil when a stored transaction may be acknowledged. A header may be visible before its postings
// are: the transaction is committed when one read returns all of them.
func (s *submission) verifyPosted(c *command, it *item, stored events.TransactionPosted) error {
	at, err := s.ledger.verifyComplete(c, stored, stored.Postings())
	switch {
	case errors.Is(err, store.ErrAbsent):
		return s.failItem(c, it, internalError(fmt.Errorf("transaction %s is incomplete: %w", stored.ID, err)))
	case err != nil:
		return s.failItem(c, it, unknownError(stored.ID, err))
	}
	return s.acknowledge(c, it, stored, at)
}

// verifyComplete reads a head and all its postings in one serializable request, with retries. It returns nil if all of
// them are stored, and the store's time. Errors: ErrAbsent (of some item), ErrConflict, ErrThrottled, ErrUnavailable.
func (l *Ledger) verifyComplete(
	ctx context.Context, head events.Event, postings []events.PostingRecorded,
) (at time.Time, err error) {
	keys := make([]store.Key, 0, 1+len(postings))
	keys = append(keys, store.EventKey(head))
	for i := range postings {
		keys = append(keys, store.EventKey(&postings[i]))
	}
	err = l.read(ctx, func(ctx context.Context) (time.Time, error) {
		var items []store.Item
		items, at, err = l.table.Snapshot(ctx, keys, store.AttrPK) // keys only, because events never change
		if i := slices.IndexFunc(items, func(item store.Item) bool { return item == nil }); err == nil && i >= 0 {
			err = fmt.Errorf("%w: %s %s", store.ErrAbsent, keys[i].PK, keys[i].SK)
		}
		return at, err
	})
	if err != nil {
		err = fmt.Errorf("verify transaction: %w", err)
	}
	return at, err
}

// acknowledge returns nil when strong reads will include t, which was committed by the store's time at. The postings of
// a backdated transaction need no EnsureVisible: reads include them once they are projected.
func (s *submission) acknowledge(ctx context.Context, it *item, t events.TransactionPosted, at time.Time) error {
	if !t.IsBackdated() {
		if err := s.attempts.acknowledge(ctx, t.Legs, at); err != nil {
			return s.failItem(ctx, it, unknownError(t.ID, err))
		}
	}
	return nil
}

// acknowledgeAll answers all pending items with the transactions of a successful commit.
func (s *submission) acknowledgeAll(c *command, commit commit, at time.Time) error {
	for n, it := range s.pending {
		it.answer.Transaction, _ = commit.heads[n].(events.TransactionPosted)
		if err := s.acknowledge(c, it, it.answer.Transaction, at); err != nil {
			return err
		}
	}
	return nil
}
