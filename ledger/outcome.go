package ledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// replayOrRefuse answers the planned requests that were carried out before. It reads the headers of those with a
// refusedIfNew, and of all in a dry run. Error: the first refusedIfNew of a request that was not carried out.
func (a *attempts) replayOrRefuse(c *command) error {
	var asked []*request
	for _, r := range a.pending {
		if r.DryRun || r.refusedIfNew != nil || r.ended != nil {
			asked = append(asked, r)
		}
	}
	if asked == nil {
		return nil
	}
	unread, refused := a.resolve(c, asked, true)
	if unread != nil {
		return a.fail(c, asError(unread))
	}
	return refused
}

// resolve reads what is stored for requests, and answers those that were carried out. unread is the error of a request
// for which it could not be read. refused ends the command. If the requests were just planned, an error of one comes
// before those of later ones, and a request is refused by its refusedIfNew.
func (a *attempts) resolve(c *command, requests []*request, planned bool) (unread, refused error) {
	stored, errs := make([]events.Event, len(requests)), make([]error, len(requests))
	_ = parallel(c, len(requests), func(ctx context.Context, n int) error {
		stored[n], errs[n] = a.ledger.readStored(ctx, requests[n], planned)
		return nil
	})
	for n, r := range requests {
		switch {
		case errs[n] == nil:
			refused = a.found(c, r, stored[n])
		case !errors.Is(errs[n], table.ErrAbsent):
			unread = errs[n]
		case planned && r.refusedIfNew != nil:
			refused = a.settle(c, r, r.refusedIfNew)
		}
		if refused != nil || planned && unread != nil {
			break
		}
	}
	return unread, refused
}

// readStored reads what is stored for a request, strongly consistent. If the request was just planned, the end of a
// hold was read with the hold. Errors: ErrAbsent, also for a transaction without an id, and those of reads.
func (l *Ledger) readStored(ctx context.Context, r *request, planned bool) (events.Event, error) {
	switch {
	case !r.endsHold() && r.ID == "":
		return nil, table.ErrAbsent
	case !r.endsHold():
		header, err := readEvent[events.TransactionPosted](ctx, l, table.Transaction.Key(r.ID))
		if err != nil {
			return nil, fmt.Errorf("read transaction: %w", err)
		}
		return header, nil
	case !planned:
		lifecycle, err := l.Lifecycle(ctx, r.ID)
		if err != nil {
			return nil, err
		}
		r.ended = lifecycle.Ended
	}
	if r.ended == nil {
		return nil, table.ErrAbsent
	}
	return *r.ended, nil
}

// failUnlessStored reads what is stored for the pending requests. If nothing is, the command ends with err. It is the
// last read before a refusal by guards, which makes it final: see judge.
func (a *attempts) failUnlessStored(c *command, err error) error {
	before := len(a.pending)
	unread, refused := a.resolve(c, a.pending, false)
	switch {
	case refused != nil:
		return refused
	case len(a.pending) < before:
		return nil
	case unread != nil:
		err = asError(unread)
	}
	return a.fail(c, err)
}

// awaitListed waits for the pending reversals whose id is among the reversals already: they were posted, or are being
// committed. A dry run does not wait.
func (a *attempts) awaitListed(c *command) error {
	if !slices.ContainsFunc(a.pending, isListed) {
		return nil
	}
	if a.pending[0].DryRun { // the header of a transaction that is being committed is not visible yet
		for _, r := range a.pending {
			if r.listed {
				r.refusedIfNew = asError(table.ErrConflict)
			}
		}
		return nil
	}
	return a.awaitOutcome(c, true, isListed, table.ErrConflict)
}

// Which requests are pending, were listed, or are to be planned again.
func isPending(*request) bool    { return true }
func isListed(r *request) bool   { return r.listed }
func isOutdated(r *request) bool { return r.isReversal() && r.reversal == 0 }

// awaitOutcome makes no further attempt. wait is true if one may still be applied, of this command or of another one
// for the same request. Then it reads what is stored until the deadline, or until no pending request is among those
// that are awaited. A command that stays without an answer ends with cause; if it waited, with CodeOutcomeUnknown.
func (a *attempts) awaitOutcome(c *command, wait bool, awaited func(*request) bool, cause error) error {
	for ; wait && pause(c, a.failed+1); a.failed++ {
		if _, refused := a.resolve(c, a.pending, false); refused != nil || !slices.ContainsFunc(a.pending, awaited) {
			return refused
		}
	}
	if wait {
		return a.fail(c, unknownError(a.pending[0].ID, cause))
	}
	return a.fail(c, asError(cause))
}

// proofs are the codes that prove that nothing was or will be written, even while the outcome of an attempt is unknown.
// CodeExceedsReversible is one: each attempt used a reversal number that is now taken, so none can succeed. A hold ends
// once, so a different end proves that this one failed.
var proofs = []Code{
	CodeInsufficientFunds, CodeAccountFrozen, CodeAccountClosed, CodeTransactionIDReused, CodeExceedsReversible,
	CodeRateExceeded, CodeHoldEnded, CodeHoldExpired,
}

// fail returns the error that the command ends with: err or, while the outcome of an attempt is unknown,
// CodeOutcomeUnknown with the id of the first pending request.
func (a *attempts) fail(ctx context.Context, err error) error {
	return a.failAs(ctx, a.pending[0].ID, err)
}

// settle is fail for an error of one request, if there is one. It returns nil if the attempts go on for the others:
// then they are independent, and they were sent already or do not wait for this one (see postChain).
func (a *attempts) settle(ctx context.Context, r *request, err error) error {
	if err == nil {
		return nil
	}
	refused := r.inBatch(a.failAs(ctx, r.ID, err))
	if !a.joint || len(a.sent) == 0 && refused.isTemporary() {
		return refused
	}
	r.refused = refused
	a.drop(r)
	return nil
}

func (a *attempts) failAs(ctx context.Context, id string, err error) error {
	e := a.cause(ctx, asError(err))
	if a.unknown && !slices.Contains(proofs, e.Code) && e.Code != CodeOutcomeUnknown {
		e = unknownError(id, err)
	}
	if e.isTemporary() {
		a.ledger.log.WarnContext(ctx, "transaction failed",
			"transaction", id, "code", e.Code, "attempts", len(a.sent), "error", e.Err)
	}
	return e
}

// unknownOutcome is what is logged when the outcome of a write is unknown.
func (r *request) unknownOutcome() string {
	if r.endsHold() {
		return "outcome of a hold's end is unknown; it is read"
	}
	return "outcome of a write is unknown; reading the header to find out"
}

// visibleAge is how old a posting may be when it is acknowledged without EnsureVisible: half the settle window, less
// the resolution of the store's Date.
const visibleAge = table.SettleWindow/2 - table.DateStep

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
	refused := r.same(stored)
	switch {
	case refused != nil && (r.DryRun || refused.Code != CodeHoldExpired): // acknowledge refuses after an expiry
		return refused
	case r.DryRun:
		r.answerWith(stored, true)
		return nil
	}
	postings := r.postings(stored)
	keys := make([]table.Key, 0, 1+len(postings))
	keys = append(keys, table.EventKey(stored))
	for i := range postings {
		keys = append(keys, table.EventKey(&postings[i]))
	}
	at, err := a.ledger.readTogether(c, keys)
	switch {
	case errors.Is(err, table.ErrAbsent):
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
		lifecycle, err := r.readOther(ctx, l)
		switch {
		case err != nil, lifecycle.reversedBy(r.ID):
			return err
		case !pause(ctx, failed):
			return table.ErrConflict
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
func (l *Ledger) readTogether(ctx context.Context, keys []table.Key) (at time.Time, err error) {
	err = l.read(ctx, func(ctx context.Context) (time.Time, error) {
		var items []table.Item
		items, at, err = l.table.Snapshot(ctx, keys, table.AttrPK)
		if i := slices.IndexFunc(items, func(item table.Item) bool { return item == nil }); err == nil && i >= 0 {
			err = fmt.Errorf("%w: %s %s", table.ErrAbsent, keys[i].PK, keys[i].SK)
		}
		return at, err
	})
	if err != nil {
		err = fmt.Errorf("verify transaction: %w", err)
	}
	return at, err
}

// acknowledgeAll answers the requests of a successful commit with what it wrote.
func (a *attempts) acknowledgeAll(c *command, sent *commit, at time.Time) error {
	written, left := sent.events, sent.postings
	for _, r := range sent.requests {
		e, postings := written[0], left[:len(r.nextLegs())]
		written, left = written[r.eventCount():], left[len(postings):]
		if err := a.settle(c, r, a.acknowledge(c, r, e, postings, at)); err != nil {
			return err
		}
	}
	a.pending = nil
	return nil
}

// acknowledge answers a request when strong reads will include the postings of its event, which was committed by the
// store's time at. Those of a backdated transaction need no EnsureVisible: reads include them once they are projected.
// A capture that is too late is refused then: whoever is told so finds the money that the expiry gave back.
func (a *attempts) acknowledge(
	ctx context.Context, r *request, e events.Event, postings []events.PostingRecorded, at time.Time,
) error {
	if !r.DryRun && !postings[0].Backdated {
		if err := a.ensureVisible(ctx, postings, at); err != nil {
			return unknownError(r.ID, err)
		}
	}
	if r.endsHold() {
		if refused := r.same(e); refused != nil {
			return refused
		}
	}
	r.answerWith(e, !r.DryRun && a.writer(postings[0].ID) == nil)
	return nil
}

// writer returns the attempt that wrote a posting, nil if none of them did.
func (a *attempts) writer(id events.KSUID) *commit {
	isIt := func(p events.PostingRecorded) bool { return p.ID == id }
	for _, sent := range a.sent {
		if slices.ContainsFunc(sent.postings, isIt) {
			return sent
		}
	}
	return nil
}

// ensureVisible returns nil when strong reads will include postings, which were committed by the store's time at. If
// they are so old that a balance may have been refolded without them, it first ensures that each is visible. Postings
// of one pair go one after the other, because they contend for one balance.
func (a *attempts) ensureVisible(ctx context.Context, postings []events.PostingRecorded, at time.Time) error {
	first := postings[0].ID
	old, sent := at.IsZero() || at.Sub(first.Time()) > visibleAge, a.writer(first)
	if sent != nil {
		old = old || time.Since(sent.minted) > visibleAge
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
