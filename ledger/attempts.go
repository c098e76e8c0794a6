package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// attempts write requests in one transaction of the store: a single request, or those of an atomic batch. They go on
// until all requests are answered, one is refused, or the deadline is near.
type attempts struct {
	ledger *Ledger
	funding
	pending []*request // those that are not answered

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

// attempt carries out requests in one transaction of the store, or only checks them in a dry run. It sets the answer of
// each request. Error: that of the first refused request.
func (l *Ledger) attempt(c *command, requests ...*request) error {
	a := &attempts{ledger: l, pending: requests}
	if err := a.plan(c, 1); err != nil {
		return err
	}
	if requests[0].DryRun {
		return a.answerDryRun(c)
	}
	return a.run(c)
}

// plan decides what each pending request writes. It answers requests that were carried out before. failed counts the
// attempts that failed so far, for the backoff.
func (a *attempts) plan(c *command, failed int) error {
	actions := 0
	for _, r := range a.pending {
		if err := r.decide(c, a.ledger, a.unknown); err != nil {
			return a.failRequest(c, r, err)
		}
		heads, legs := r.size()
		actions += heads + legs
	}
	a.setLimits()
	if err := checkActions(actions + len(a.limits)); err != nil {
		return err
	}
	if r := a.pending[0]; r.listed {
		if r.DryRun { // the header of a transaction that is being committed is not visible yet
			r.refusedIfNew = storeError(store.ErrConflict)
		} else {
			a.unknown = true
			return a.awaitOutcome(c, failed, store.ErrConflict)
		}
	}
	return a.replayOrRefuse(c)
}

// replayOrRefuse answers requests that were carried out before. It reads the headers of the requests with a
// refusedIfNew, and of all in a dry run; the end of a hold was read with the hold. Error: the first refusedIfNew of a
// request that was not carried out.
func (a *attempts) replayOrRefuse(c *command) error {
	var asked []*request
	for _, r := range a.pending {
		if r.DryRun || r.refusedIfNew != nil || r.endsHold() && r.lifecycle.Ended != nil {
			asked = append(asked, r)
		}
	}
	if asked == nil {
		return nil
	}
	stored, errs := a.readHeads(c, asked, true)
	for n, r := range asked {
		var err error
		switch {
		case errs[n] == nil:
			err = a.found(c, r, stored[n])
		case !errors.Is(errs[n], store.ErrAbsent):
			err = a.fail(c, storeError(errs[n]))
		case r.refusedIfNew != nil:
			err = a.failRequest(c, r, r.refusedIfNew)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkActions returns CodeBatchTooLarge if one transaction of the store cannot hold this number of actions.
func checkActions(actions int) error {
	over := actions - store.TransactionActions
	if over <= 0 {
		return nil
	}
	return &Error{
		Code: CodeBatchTooLarge, TooMany: over,
		Detail: fmt.Sprintf("The batch needs %d writes, %d more than one database transaction can have. Each request "+
			"needs one write, and so does each posting, and each account and asset that is debited within a limit.",
			actions, over),
	}
}

// run sends the plans of the pending requests, with retries.
//
// Once the outcome of an attempt is unknown, the command may end with what is stored, with CodeTransactionIDReused, or
// with a refusal that is final (see proofs). Any other end is CodeOutcomeUnknown.
func (a *attempts) run(c *command) error {
	for failed := 1; len(a.pending) > 0; failed++ {
		commit, minted, err := a.commit(c)
		switch {
		case errors.Is(err, errClock): // a replay needs no KSUIDs, so it works without a sound clock
			if err := a.failUnlessStored(c, err); err != nil {
				return err
			}
			continue
		case err != nil:
			return a.fail(c, err)
		}
		if err := c.abandoned(); err != nil {
			return a.awaitOutcome(c, failed, err)
		}
		at, cancelled, err := a.append(c, commit, minted)
		switch {
		case err == nil:
			return a.acknowledgeAll(c, commit, at)
		case cancelled != nil:
			retryNow, refused := a.handleCancelled(c, commit, cancelled)
			if refused != nil {
				return refused
			}
			if retryNow {
				continue
			}
		case declined(err), errors.Is(err, store.ErrConflict):
		case errors.Is(err, store.ErrUnknownOutcome):
			a.unknown = true
			a.ledger.log.WarnContext(c, a.pending[0].unknownOutcome(), "transaction", a.id(), "error", err)
			if _, _, refused := a.resolvePending(c); refused != nil {
				return refused
			}
		default:
			return a.fail(c, internalError(err))
		}
		if len(a.pending) == 0 {
			return nil
		}
		if !a.waitToRetry(c, failed, err) {
			return a.fail(c, storeError(err))
		}
		if a.pending[0].outdated {
			if err := a.plan(c, failed+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// id is the transaction id that CodeOutcomeUnknown reports: that of the first pending request.
func (a *attempts) id() string { return a.pending[0].id() }

// commit builds the commit of one attempt. It mints the KSUIDs right before the attempt, and the id of a transaction
// that has none. minted is the monotonic time of minting.
func (a *attempts) commit(ctx context.Context) (c commit, minted time.Time, err error) {
	if err := a.prepare(ctx, a.ledger); err != nil {
		return c, minted, err
	}
	need, first := 0, a.pending[0]
	for _, r := range a.pending {
		need += r.ksuidsNeeded()
	}
	var ids []events.KSUID
	if minted = time.Now(); need > 0 {
		if ids, minted, err = a.ledger.mint(ctx, need, first.firstAccount(), first.after); err != nil {
			return c, minted, err
		}
	}
	for _, r := range a.pending {
		n := r.ksuidsNeeded()
		if err := r.addTo(ctx, a.ledger, &c, ids[:n]); err != nil {
			return c, minted, err
		}
		ids = ids[n:]
	}
	c.debits = a.debits()
	return c, minted, nil
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

// handleCancelled uses the reasons of a cancellation: it answers requests whose head exists, and brings the limits up
// to date. retryNow is true when the next attempt need not wait. An error is final.
func (a *attempts) handleCancelled(c *command, sent commit, why *store.Cancelled) (retryNow bool, _ error) {
	allAbsent, next := true, 0
	for _, r := range a.pending {
		heads, _ := r.size()
		own := why.Reasons[next : next+heads]
		next += heads
		allAbsent = allAbsent && own[0].Is == store.CauseNone
		if own[0].Is != store.CauseCondition {
			// Another reversal has this number, or is about to.
			r.outdated = r.isReversal() && own[1].Is != store.CauseNone
			continue
		}
		retryNow = true
		stored, err := storedHead(own[0])
		if err != nil {
			return false, a.fail(c, internalError(err))
		}
		if err := a.found(c, r, stored); err != nil {
			return false, err
		}
	}
	if retryNow || a.pending[0].outdated {
		return retryNow, nil
	}
	refused, err := sent.refusals(why)
	if err != nil {
		return false, a.fail(c, internalError(err))
	}
	if !allAbsent || len(refused) == 0 {
		return false, nil
	}
	short, failed := a.resolveRefusals(c, a.ledger, refused)
	switch {
	case failed != nil:
		return false, a.fail(c, failed)
	case short != nil:
		return true, a.failUnlessStored(c, a.shortfallError(short))
	}
	return len(a.sent) <= quickAttempts, nil // stale limits are no contention, so the first retries need no backoff
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
