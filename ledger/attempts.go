package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// visibleAge is how old a posting may be when it is acknowledged without EnsureVisible: half the settle window, less
// the resolution of the store's Date.
const visibleAge = store.SettleWindow/2 - store.DateStep

// attempts are the attempts of one command to append.
type attempts struct {
	ledger   *Ledger
	sent     []attempt
	first    [1]attempt // backs sent
	unknown  bool       // an attempt may have been applied, or may still be
	declines int        // attempts that the store declined
	lastErr  error      // of the previous attempt
}

// attempt is one commit that was sent.
type attempt struct {
	postings []events.PostingRecorded
	minted   time.Time // monotonic
}

// append makes one attempt. If it was cancelled, both cancelled and err are set. at is the store's time.
func (a *attempts) append(
	ctx context.Context, c commit, minted time.Time,
) (at time.Time, cancelled *store.Cancelled, err error) {
	if a.sent == nil {
		a.sent = a.first[:0]
	}
	a.sent = append(a.sent, attempt{c.postings, minted})
	err = a.ledger.call(ctx, func(ctx context.Context) (time.Time, error) {
		at, err = a.ledger.table.Transact(ctx, c.writes())
		return at, err
	})
	if err != nil {
		err = fmt.Errorf("append: %w", err)
	}
	cancelled, _ = errors.AsType[*store.Cancelled](err)
	return at, cancelled, err
}

// waitToRetry waits after an attempt that failed with err. It reports whether another attempt may be made. failed
// counts attempts from 1.
func (a *attempts) waitToRetry(ctx context.Context, failed int, err error) bool {
	if declined(err) {
		a.declines++
	}
	if a.declines >= maxDeclines && !a.unknown || !pause(ctx, failed) {
		return false
	}
	a.lastErr = err
	return true
}

// wrote reports whether one of the attempts wrote these legs.
func (a *attempts) wrote(legs []events.Leg) bool {
	return slices.ContainsFunc(a.sent, func(a attempt) bool { return a.contains(legs[0].ID) })
}

// contains reports whether the attempt has the posting with an id.
func (a attempt) contains(id events.KSUID) bool {
	return slices.ContainsFunc(a.postings, func(p events.PostingRecorded) bool { return p.ID == id })
}

// acknowledge returns nil when strong reads will include legs, which were committed by the store's time at. If the legs
// are so old that a balance may have been refolded without them, it first ensures that each is visible.
func (a *attempts) acknowledge(ctx context.Context, legs []events.Leg, at time.Time) error {
	old := at.IsZero() || at.Sub(legs[0].ID.Time()) > visibleAge
	for _, sent := range a.sent {
		old = old || sent.contains(legs[0].ID) && time.Since(sent.minted) > visibleAge
	}
	if !old {
		return nil
	}
	return a.ledger.ensureVisible(ctx, legs)
}

// ensureVisible ensures that each posting is visible. Postings of one pair go one after the other, because they contend
// for one balance.
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

// fail returns the error that a command on a transaction id ends with. While the outcome of an attempt is unknown, that
// is CodeOutcomeUnknown, unless err has a code in proof: one that proves that no attempt was or will be applied.
func (a *attempts) fail(ctx context.Context, id string, err error, proof ...Code) error {
	e := asError(err)
	if e.Code == CodeUnavailable && a.lastErr != nil && ctx.Err() != nil {
		e = storeError(a.lastErr) // the earlier attempts used up the time, not this request
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
