package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// Post carries out a request: it posts a transaction, or ends a hold. A repeated request gets the first answer.
//
// Errors of every request: CodeInvalidRequest, CodeInvalidTransaction, CodeUnbalanced, CodeThrottled, CodeContention,
// CodeUnavailable, CodeOutcomeUnknown, CodeInternal. Of a transaction: CodeAccountNotFound, CodeAssetNotFound,
// CodeTransactionIDReused, CodeAccountFrozen, CodeAccountClosed, CodeRateExceeded, CodeInsufficientFunds, and with an
// effective date CodePeriodClosed. Of a reversal also CodeTransactionNotFound, CodeNothingToReverse,
// CodeExceedsReversible, CodeCostRequired. Of the end of a hold: CodeTransactionNotFound, CodeNotAHold, CodeHoldEnded;
// of a capture also CodeNothingCaptured, CodeExceedsHold, CodeCostRequired, CodeHoldExpired. A capture within
// clockTolerance after the time of expiry is CodeUnavailable if no attempt was made before that, else
// CodeOutcomeUnknown.
func (l *Ledger) Post(ctx context.Context, r Request) (Posted, error) { return l.post(ctx, r.expand()) }

// Expire ends a hold after its time of expiry. Errors: those of a release. Until clockTolerance after that time:
// CodeUnavailable.
func (l *Ledger) Expire(ctx context.Context, hold string) (Posted, error) {
	return l.post(ctx, draft{
		Annotation: Annotation{ID: hold, Actor: expiryActor}, outcome: events.OutcomeExpired,
	})
}

// post carries out a single request: a batch of one.
func (l *Ledger) post(ctx context.Context, d draft) (Posted, error) {
	c, cancel, err := startCommand(ctx, d.shape(), d.Actor)
	if err != nil {
		return Posted{}, err
	}
	defer cancel()
	r := &request{draft: d}
	leave, err := l.takeTurns(c, r)
	if err != nil {
		return Posted{}, err
	}
	defer leave()
	err = l.carryOut(c, r)
	return r.answer, err
}

// attempts carry out requests in one transaction of the store: a single request, those of an atomic batch, or
// independent ones that are written together. They go on until all requests are answered, one is refused, or the
// deadline is near.
//
// Requests are refused by what is read in two places. plan refuses by what it reads before the first attempt: decide
// says what that is, and which of its refusals apply only if the request was not carried out before. run refuses by
// what it reads after guards refused an attempt: judge says what that is, in which order, and why the refusal is final
// then. Both decide without reading, and loops read what they need: request.decide and attempts.resolveRefusals. Apart
// from these, each attempt is refused by the process's clock, by a capture that is late, by a closed period (see
// commit), and by another request with its id (see found).
type attempts struct {
	ledger *Ledger
	tries
	pending []*request // those that are not answered
	joint   bool       // they are independent: see postChain

	limits  []*limit
	partial int // see partialRetries
	sent    []*commit

	opened   events.KSUID // before the newest slot of a rate that is known to be open: see countRates
	refusing []guard      // guards with rates that refused an attempt, as they were at the last one
}

// carryOut carries out requests in one transaction of the store, or only checks them in a dry run. It sets the answer
// of each request. Error: that of the first refused request.
func (l *Ledger) carryOut(c *command, requests ...*request) error {
	return (&attempts{ledger: l, pending: requests}).carryOut(c)
}

func (a *attempts) carryOut(c *command) error {
	switch err := a.plan(c); {
	case err != nil, len(a.pending) == 0:
		return err
	case a.pending[0].DryRun:
		return a.answerDryRun(c)
	}
	return a.run(c)
}

// plan decides what each pending request writes, and answers or refuses those that need no attempt.
func (a *attempts) plan(c *command) error {
	actions := 0
	for _, r := range a.pending {
		if err := a.settle(c, r, r.decide(c, a.ledger, a.unknown)); err != nil {
			return err
		}
		if r.refused == nil {
			actions += r.eventCount() + len(r.header.Legs)
		}
	}
	a.setLimits()
	if err := a.checkFits(); err != nil {
		return err
	}
	if err := checkActions(actions + len(a.limits) + a.giveBacks()); err != nil {
		return err
	}
	if err := a.awaitListed(c); err != nil {
		return err
	}
	return a.replayOrRefuse(c)
}

// run sends the plans of the pending requests, with retries.
//
// Once the outcome of an attempt is unknown, the command may end with what is stored, with CodeTransactionIDReused, or
// with a refusal that is final (see proofs). Any other end is CodeOutcomeUnknown.
func (a *attempts) run(c *command) error {
	for len(a.pending) > 0 {
		commit, err := a.commit(c, a.pending)
		switch {
		case errors.Is(err, errClock), isPeriodClosed(err): // a replay needs neither a sound clock nor an open period
			if err := a.failUnlessStored(c, err); err != nil {
				return err
			}
			continue
		case errors.Is(err, errNearExpiry) && len(a.sent) > 0:
			return a.fail(c, unknownError(a.pending[0].ID, err))
		case err != nil:
			return a.fail(c, err)
		}
		if err := c.abandoned(); err != nil {
			return a.awaitOutcome(c, a.unknown, isPending, err)
		}
		at, err := a.append(c, commit)
		cancelled, isCancelled := errors.AsType[*table.Cancelled](err)
		switch {
		case err == nil:
			a.ledger.rates.learnFrom(commit)
			return a.acknowledgeAll(c, commit, at)
		case isCancelled:
			retryNow, refused := a.handleCancelled(c, commit, cancelled)
			if refused != nil {
				return refused
			}
			if retryNow {
				a.failed++
				if err := a.replan(c); err != nil {
					return err
				}
				continue
			}
		case declined(err), errors.Is(err, table.ErrConflict):
		case errors.Is(err, table.ErrUnknownOutcome):
			a.unknown = true
			a.ledger.log.WarnContext(c, a.pending[0].unknownOutcome(), "transaction", a.pending[0].ID, "error", err)
			if _, refused := a.resolve(c, a.pending, false); refused != nil {
				return refused
			}
		default:
			return a.fail(c, internalError(err))
		}
		if len(a.pending) == 0 {
			return nil
		}
		if slices.ContainsFunc(a.pending, isOutdated) {
			a.failed = min(a.failed, quickAttempts) // who waits longer and longer never comes first
		}
		if a.joint && !a.unknown && a.failed == jointTries || !a.again(c, err) {
			return a.fail(c, asError(err))
		}
		if err := a.replan(c); err != nil {
			return err
		}
	}
	return nil
}

// replan plans the pending requests again if a reversal among them needs another number.
func (a *attempts) replan(c *command) error {
	if !slices.ContainsFunc(a.pending, isOutdated) {
		return nil
	}
	return a.plan(c)
}

// commit builds the commit of one attempt. It mints the KSUIDs right before the attempt, and the id of a transaction
// that has none; a dry run gets empty ones.
//
// If the batch has a capture that comes too late, the batch is refused, and the attempt carries out that one only: it
// writes the expiry.
func (a *attempts) commit(ctx *command, requests []*request) (*commit, error) {
	c, first := &commit{requests: requests, minted: time.Now()}, requests[0]
	if !first.DryRun {
		if err := a.prepare(ctx); err != nil {
			return nil, err
		}
		if err := a.decideFits(ctx); err != nil {
			return nil, err
		}
	}
	after := a.opened
	need := 0
	for _, r := range requests {
		need += r.ksuidsNeeded()
		after = max(after, r.after)
	}
	var ids []events.KSUID
	var err error
	switch {
	case first.DryRun: // mints nothing, but needs the same clock
		ids = make([]events.KSUID, need)
		_, err = a.ledger.checkClock(ctx, first.header.Legs[0].Account)
	case need > 0:
		ids, c.minted, err = a.ledger.mint(ctx, need, first.header.Legs[0].Account, after)
	}
	if err != nil {
		return nil, err
	}
	now := a.ledger.now()
	if len(requests) == len(a.pending) {
		c.limits = debited(a.limits)
	}
	for _, r := range requests {
		n := r.ksuidsNeeded()
		if len(requests) > 1 && r.isLate(now, ids) {
			r.late = true // also if the clock goes back
			return a.commit(ctx, []*request{r})
		}
		if err := r.addTo(ctx, a.ledger, c, now, ids[:n]); err != nil {
			return nil, err
		}
		ids = ids[n:]
	}
	at := c.instant(now)
	opened := a.countRates(c, at)
	switch {
	case c.unknownZone != "":
		return nil, unknownZoneError(c.unknownZone)
	case first.DryRun:
		return c, nil
	case opened <= a.opened && !a.fitsOtherwise(at):
		return c, nil
	}
	a.opened = max(a.opened, opened, events.FirstKSUID(at))
	return a.commit(ctx, requests)
}

// append makes one attempt. at is the store's time.
func (a *attempts) append(ctx context.Context, c *commit) (at time.Time, err error) {
	a.sent = append(a.sent, c)
	err = a.ledger.call(ctx, func(ctx context.Context) (time.Time, error) {
		at, err = a.ledger.table.Transact(ctx, c.writes())
		return at, err
	})
	if err != nil {
		err = fmt.Errorf("append: %w", err)
	}
	return at, err
}

// handleCancelled uses the reasons of a cancellation: it answers requests whose event exists, and brings the limits up
// to date. retryNow is true when the next attempt need not wait. An error is final.
func (a *attempts) handleCancelled(c *command, sent *commit, why *table.Cancelled) (retryNow bool, _ error) {
	isClear, learned, next := true, true, 0 // isClear: no header has a reason; it may exist nevertheless
	for _, r := range sent.requests {
		own := why.Reasons[next : next+r.eventCount()]
		next += r.eventCount()
		isClear = isClear && own[0].Is == table.CauseNone
		if own[0].Is != table.CauseCondition {
			if r.isReversal() && (own[1].Is == table.CauseCondition || own[1].Is == table.CauseConflict) {
				r.reversal = 0 // another one has this number, or is about to
				learned = r.learn(own[1].Old) && learned
			}
			continue
		}
		retryNow = true
		var stored events.Event // the store may not return it
		var err error
		if own[0].Old != nil {
			stored, err = table.DecodeEvent(own[0].Old)
		}
		if err != nil {
			return false, a.fail(c, internalError(fmt.Errorf("stored event: %w", err)))
		}
		if err := a.found(c, r, stored); err != nil {
			return false, err
		}
	}
	switch outdated := slices.ContainsFunc(a.pending, isOutdated); {
	case outdated && (!learned || len(a.sent)%(quickAttempts+1) == 0):
		for _, r := range a.pending {
			r.ahead = nil // it is read again after the wait
		}
		return false, nil
	case outdated, retryNow:
		return true, nil
	}
	refused, err := sent.refusals(why)
	if err != nil {
		return false, a.fail(c, internalError(err))
	}
	a.learnRates(refused)
	debits := slices.DeleteFunc(refused, func(l *limit) bool { return l.backOnly })
	switch {
	case !isClear:
		return false, nil
	case len(debits) == 0: // the next attempt gives back by what the guards have
		return len(refused) > 0 && len(a.sent) <= quickAttempts, nil
	}
	short, failed := a.resolveRefusals(c, debits)
	switch {
	case failed != nil:
		return false, a.fail(c, failed)
	case short && a.joint:
		return false, errTogether
	case short:
		return true, a.failUnlessStored(c, a.shortfallError())
	}
	return len(a.sent) <= quickAttempts, nil // stale limits are no contention, so the first retries need no backoff
}
