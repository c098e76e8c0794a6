package ledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// visibleAge is how old a posting may be when it is acknowledged without EnsureVisible: half the settle window, less
// the resolution of the store's Date.
const visibleAge = store.SettleWindow/2 - store.DateStep

// found answers a request whose event is stored, and removes it from pending. It reads the event if stored is nil. The
// event may be from an attempt of this command, or from an earlier request for the same. If it is not what the
// request asks for, the request is refused.
func (a *attempts) found(c *command, r *request, stored events.Event) error {
	if err := a.settle(c, r, a.answerFound(c, r, stored)); err != nil {
		return err
	}
	a.drop(r)
	return nil
}

// answerFound answers a request whose event is stored. The event may be visible before its postings are: it is
// committed when one read returns all of them.
func (a *attempts) answerFound(c *command, r *request, stored events.Event) (err error) {
	if stored == nil {
		if stored, err = a.ledger.readStored(c, r, false); err != nil {
			return unknownError(r.ID, err)
		}
	}
	if refused := r.same(stored); refused != nil {
		return refused
	}
	if r.DryRun {
		r.answerWith(stored, true)
		return nil
	}
	postings := r.postings(stored)
	keys := make([]store.Key, 0, 1+len(postings))
	keys = append(keys, store.EventKey(stored))
	for i := range postings {
		keys = append(keys, store.EventKey(&postings[i]))
	}
	at, err := a.ledger.readTogether(c, keys)
	switch {
	case errors.Is(err, store.ErrAbsent):
		return internalError(fmt.Errorf("%s of %s is incomplete: %w", stored.EventName(), r.ID, err))
	case err == nil && r.isReversal() && !r.listed:
		err = a.ledger.awaitReversal(c, r)
	}
	if err != nil {
		return unknownError(r.ID, err)
	}
	return a.acknowledge(c, r, stored, postings, at)
}

// awaitReversal waits until a reversal that was posted is among the reversals. The event that lists it has a number
// that only its writer knows.
func (l *Ledger) awaitReversal(ctx context.Context, r *request) error {
	for failed := 1; ; failed++ {
		lifecycle, err := l.Lifecycle(ctx, r.reverses)
		switch {
		case err != nil, lifecycle.reversedBy(r.ID):
			return err
		case !pause(ctx, failed):
			return store.ErrConflict
		}
	}
}

// drop removes a request from pending.
func (a *attempts) drop(r *request) {
	a.pending = slices.DeleteFunc(slices.Clone(a.pending), func(other *request) bool { return other == r })
	if a.limits != nil {
		a.setLimits()
	}
}

// readTogether reads what was written in one transaction of the store, in one serializable request, with retries. It
// returns nil if all of it is stored, and the store's time: then it is visible to every later read. Errors: ErrAbsent
// (of some item), ErrConflict, ErrThrottled, ErrUnavailable.
func (l *Ledger) readTogether(ctx context.Context, keys []store.Key) (at time.Time, err error) {
	err = l.read(ctx, func(ctx context.Context) (time.Time, error) {
		var items []store.Item
		items, at, err = l.table.Snapshot(ctx, keys, store.AttrPK)
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

// acknowledgeAll answers the requests of a successful commit with what it wrote.
func (a *attempts) acknowledgeAll(c *command, sent commit, at time.Time) error {
	for _, r := range sent.requests {
		e, postings := sent.events[0], sent.postings[:len(r.header.Legs)]
		sent.events, sent.postings = sent.events[r.eventCount():], sent.postings[len(postings):]
		if err := a.settle(c, r, a.acknowledge(c, r, e, postings, at)); err != nil {
			return err
		}
	}
	a.pending = nil
	return nil
}

// acknowledge answers a request when strong reads will include the postings of its event, which was committed by the
// store's time at. Those of a backdated transaction need no EnsureVisible: reads include them once they are projected.
func (a *attempts) acknowledge(
	ctx context.Context, r *request, e events.Event, postings []events.PostingRecorded, at time.Time,
) error {
	if r.endsHold() {
		if refused := r.same(e); refused != nil { // a late capture wrote an expiry
			return refused
		}
	}
	if !r.DryRun && !postings[0].Backdated {
		if err := a.ensureVisible(ctx, postings, at); err != nil {
			return unknownError(r.ID, err)
		}
	}
	r.answerWith(e, !r.DryRun && !a.wrote(postings))
	return nil
}

// wrote reports whether one of the attempts wrote these postings.
func (a *attempts) wrote(postings []events.PostingRecorded) bool {
	return slices.ContainsFunc(a.sent, func(sent attempt) bool { return sent.contains(postings[0].ID) })
}

// contains reports whether the attempt has the posting with an id.
func (a attempt) contains(id events.KSUID) bool {
	return slices.ContainsFunc(a.postings, func(p events.PostingRecorded) bool { return p.ID == id })
}

// ensureVisible returns nil when strong reads will include postings, which were committed by the store's time at. If
// they are so old that a balance may have been refolded without them, it first ensures that each is visible. Postings
// of one pair go one after the other, because they contend for one balance.
func (a *attempts) ensureVisible(ctx context.Context, postings []events.PostingRecorded, at time.Time) error {
	first := postings[0].ID
	old := at.IsZero() || at.Sub(first.Time()) > visibleAge
	for _, sent := range a.sent {
		old = old || sent.contains(first) && time.Since(sent.minted) > visibleAge
	}
	if !old {
		return nil
	}
	byPair := map[events.Pair][]events.KSUID{}
	for _, p := range postings {
		pair := events.Pair{Account: p.Account, Asset: p.Asset}
		byPair[pair] = append(byPair[pair], p.ID)
	}
	pairs := slices.Collect(maps.Keys(byPair))
	return parallel(ctx, len(pairs), func(ctx context.Context, i int) error {
		for _, id := range byPair[pairs[i]] {
			err := retryRead(ctx, func() error {
				return a.ledger.projections.EnsureVisible(ctx, pairs[i].Account, pairs[i].Asset, id)
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}
