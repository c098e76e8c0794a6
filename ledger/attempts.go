package ledger

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"ledger.example/events"
	"ledger.example/internal/store"
	"ledger.example/internal/table"
)

// visibleAge is how old a posting may be at the reply without an EnsureVisible: half the settle window, less what the
// store's Date is cut to.
const visibleAge = table.SettleWindow/2 - store.DateStep

// attempts are those of one command to append.
type attempts struct {
	ledger   *Ledger
	sent     []attempt
	unknown  bool  // one may have been applied, or may yet be
	declines int   // how many the store did not take
	last     error // of the attempt before
}

// attempt is one that was sent.
type attempt struct {
	postings []events.PostingRecorded
	minted   time.Time // by the stopwatch
}

// append makes one attempt. When it was cancelled, err is not nil either.
func (a *attempts) append(
	ctx context.Context, c Commit, minted time.Time,
) (at time.Time, cancelled *Cancelled, err error) {
	a.sent = append(a.sent, attempt{c.Postings, minted})
	err = a.ledger.call(ctx, func(ctx context.Context) (time.Time, error) {
		at, err = a.ledger.journal.Append(ctx, c)
		if c, ok := errors.AsType[*Cancelled](err); ok {
			at, cancelled = c.At, c
		}
		return at, err
	})
	return at, cancelled, err
}

// again waits before the attempt after one that failed with err, and reports whether there is to be one.
func (a *attempts) again(ctx context.Context, failed int, err error) bool {
	if declined(err) {
		a.declines++
	}
	if a.declines >= maxDeclines && !a.unknown || !pause(ctx, failed) {
		return false
	}
	a.last = err
	return true
}

// wrote reports whether an attempt became these legs.
func (a *attempts) wrote(legs []events.Leg) bool {
	return slices.ContainsFunc(a.sent, func(a attempt) bool { return a.has(legs[0].ID) })
}

// has reports whether the attempt has a posting.
func (a attempt) has(id events.KSUID) bool {
	return slices.ContainsFunc(a.postings, func(p events.PostingRecorded) bool { return p.ID == id })
}

// acknowledge returns nil when it may be said that legs are committed, as the store said at the given time of its
// clock. When they are so old that a refold may have passed them already, it first ensures that each is visible.
func (a *attempts) acknowledge(ctx context.Context, legs []events.Leg, at time.Time) error {
	old := at.IsZero() || at.Sub(legs[0].ID.Time()) > visibleAge
	for _, sent := range a.sent {
		old = old || sent.has(legs[0].ID) && time.Since(sent.minted) > visibleAge
	}
	if !old {
		return nil
	}
	return a.ledger.ensureVisible(ctx, legs)
}

// ensureVisible ensures that each posting is visible. Those of one pair go one after the other, as they meet in one
// balance.
func (l *Ledger) ensureVisible(ctx context.Context, legs []events.Leg) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxRequests)
	byPair := map[events.Pair][]events.KSUID{}
	for _, leg := range legs {
		pair := events.Pair{Account: leg.Account, Asset: leg.Asset}
		byPair[pair] = append(byPair[pair], leg.ID)
	}
	for pair, ids := range byPair {
		group.Go(func() error {
			for _, id := range ids {
				err := retryRead(ctx, func() error {
					return l.projections.EnsureVisible(ctx, pair.Account, pair.Asset, id)
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// fail returns the error that a command on the transaction with an id may end with: err itself while nothing can have
// been applied, or when its code is one of those that prove that nothing ever will be.
func (a *attempts) fail(ctx context.Context, id string, err error, proof ...Code) error {
	e := asError(err)
	if e.Code == CodeUnavailable && a.last != nil && ctx.Err() != nil {
		e = storeError(a.last) // the attempts used up the time, not this request
	}
	if a.unknown && !slices.Contains(proof, e.Code) && e.Code != CodeOutcomeUnknown {
		e = unknownError(id, err)
	}
	switch e.Code {
	case CodeContention, CodeThrottled, CodeUnavailable, CodeOutcomeUnknown:
		a.ledger.log.WarnContext(ctx, "transaction failed",
			"transaction", id, "code", e.Code, "attempts", len(a.sent), "error", e.Err)
	}
	return e
}
