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

// submission appends items to the events in one transaction of the store: one item for a single request, one for each
// request of an atomic batch. It retries until all items are posted, one is refused, or the deadline is near.
type submission struct {
	attempts
	funding
	dryRun  bool    // nothing is written
	pending []*item // the items that are not known to be posted
}

// submit posts all items in one transaction of the store, or only checks them in a dry run. It sets the answer of each
// item. Error: that of the first refused item.
func (l *Ledger) submit(c *command, items ...*item) error {
	s := &submission{attempts: attempts{ledger: l}, dryRun: items[0].dryRun, pending: items}
	err := s.plan(c, 1)
	switch {
	case err != nil:
		return err
	case s.dryRun:
		return s.answerDryRun(c)
	}
	return s.run(c)
}

// plan decides which transaction each pending item becomes. It answers items that were posted before. failed counts the
// attempts that failed so far, for the backoff.
func (s *submission) plan(c *command, failed int) error {
	actions := 0
	for _, it := range s.pending {
		if err := it.plan(c, s.ledger, s.unknown); err != nil {
			return s.failItem(c, it, err)
		}
		actions += 1 + len(it.header.Legs)
	}
	s.setLimits()
	if err := checkActions(actions + len(s.limits)); err != nil {
		return err
	}
	if r := s.pending[0].reversal; r != nil && r.recorded {
		if s.dryRun { // the header of a transaction that is being committed is not visible yet
			s.pending[0].refusedIfNew = storeError(store.ErrConflict)
		} else {
			s.unknown = true
			return s.awaitOutcome(c, failed, store.ErrConflict)
		}
	}
	return s.replayOrRefuse(c)
}

// replayOrRefuse reads the headers of the items with a refusedIfNew, and of all items in a dry run. An item that was
// posted before is answered with its stored transaction. Error: the first refusedIfNew of an item that was not.
func (s *submission) replayOrRefuse(c *command) error {
	var items []*item
	for _, it := range s.pending {
		if s.dryRun || it.refusedIfNew != nil {
			items = append(items, it)
		}
	}
	if items == nil {
		return nil
	}
	stored, errs := s.readHeaders(c, items)
	for n, it := range items {
		var err error
		switch {
		case errs[n] == nil:
			err = s.alreadyPosted(c, it, stored[n])
		case !errors.Is(errs[n], store.ErrAbsent):
			err = s.fail(c, storeError(errs[n]))
		case it.refusedIfNew != nil:
			err = s.failItem(c, it, it.refusedIfNew)
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

// run appends the pending items, with retries.
//
// Once the outcome of an attempt is unknown, the command may end with a stored transaction, with
// CodeTransactionIDReused, or with a refusal that is final (see proofs). Any other end is CodeOutcomeUnknown.
func (s *submission) run(c *command) error {
	for failed := 1; len(s.pending) > 0; failed++ {
		commit, minted, err := s.commit(c)
		switch {
		case errors.Is(err, errClock): // a replay needs no KSUIDs, so it works without a sound clock
			if err := s.failUnlessPosted(c, err); err != nil {
				return err
			}
			continue
		case err != nil:
			return s.fail(c, err)
		}
		if err := c.abandoned(); err != nil {
			return s.awaitOutcome(c, failed, err)
		}
		at, cancelled, err := s.append(c, commit, minted)
		switch {
		case err == nil:
			return s.acknowledgeAll(c, commit, at)
		case cancelled != nil:
			retryNow, refused := s.handleCancelled(c, commit, cancelled)
			if refused != nil {
				return refused
			}
			if retryNow {
				continue
			}
		case declined(err), errors.Is(err, store.ErrConflict):
		case errors.Is(err, store.ErrUnknownOutcome):
			s.unknown = true
			s.ledger.log.WarnContext(c, "outcome of a write is unknown; reading the header to find out",
				"transaction", s.id(), "error", err)
			if _, _, refused := s.resolvePending(c); refused != nil {
				return refused
			}
		default:
			return s.fail(c, internalError(err))
		}
		if len(s.pending) == 0 {
			return nil
		}
		if !s.waitToRetry(c, failed, err) {
			return s.fail(c, storeError(err))
		}
		if r := s.pending[0].reversal; r != nil && r.stale {
			if err := s.plan(c, failed+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// id is the transaction id that CodeOutcomeUnknown reports: that of the first pending item.
func (s *submission) id() string { return s.pending[0].draft.ID }

// commit builds the commit of one attempt. It mints the KSUIDs right before the attempt, and the id of an item that has
// none. minted is the monotonic time of minting.
func (s *submission) commit(ctx context.Context) (c commit, minted time.Time, err error) {
	if err := s.prepare(ctx, s.ledger); err != nil {
		return c, minted, err
	}
	need, after, reversal := 0, events.KSUID(""), s.pending[0].reversal
	if reversal != nil {
		after = reversal.after
	}
	for _, it := range s.pending {
		need += it.ksuidsNeeded()
	}
	var ids []events.KSUID
	if minted = time.Now(); need > 0 {
		if ids, minted, err = s.ledger.mint(ctx, need, s.pending[0].header.Legs[0].Account, after); err != nil {
			return c, minted, err
		}
	}
	for _, it := range s.pending {
		n := it.ksuidsNeeded()
		header, err := it.withKSUIDs(ctx, s.ledger, ids[:n])
		if err != nil {
			return c, minted, err
		}
		c.add(header)
		ids = ids[n:]
	}
	if reversal != nil {
		c.heads = append(c.heads, reversal.head(s.pending[0].draft.reverses, s.id()))
	}
	c.debits = s.debits()
	return c, minted, nil
}

// handleCancelled uses the reasons of a cancellation: it answers items whose header exists, and brings the limits up to
// date. retryNow is true when the next attempt need not wait. An error is final.
func (s *submission) handleCancelled(c *command, sent commit, why *store.Cancelled) (retryNow bool, _ error) {
	allAbsent := true
	for n, it := range slices.Clone(s.pending) {
		head := why.Reasons[n]
		allAbsent = allAbsent && head.Is == store.CauseNone
		if head.Is != store.CauseCondition {
			continue
		}
		retryNow = true
		stored, err := storedHead[events.TransactionPosted](head)
		if err != nil {
			return false, s.fail(c, internalError(err))
		}
		if err := s.alreadyPosted(c, it, stored); err != nil {
			return false, err
		}
	}
	if retryNow {
		return true, nil
	}
	if r := s.pending[0].reversal; r != nil && why.Reasons[1].Is != store.CauseNone {
		r.stale = true // another reversal has this number, or is about to
		return false, nil
	}
	refused, err := sent.refusals(why)
	if err != nil {
		return false, s.fail(c, internalError(err))
	}
	if !allAbsent || len(refused) == 0 {
		return false, nil
	}
	short, failed := s.resolveRefusals(c, s.ledger, refused)
	switch {
	case failed != nil:
		return false, s.fail(c, failed)
	case short != nil:
		return true, s.failUnlessPosted(c, s.shortfallError(short))
	}
	return len(s.sent) <= quickAttempts, nil // stale limits are no contention, so the first retries need no backoff
}

// readHeaders reads the headers of items, strongly consistent. The error of an item without an id is ErrAbsent.
func (s *submission) readHeaders(c *command, items []*item) (stored []events.TransactionPosted, errs []error) {
	stored, errs = make([]events.TransactionPosted, len(items)), make([]error, len(items))
	var group errgroup.Group
	group.SetLimit(maxRequests)
	for n, it := range items {
		id := it.draft.ID
		if id == "" {
			errs[n] = store.ErrAbsent
			continue
		}
		group.Go(func() error {
			stored[n], errs[n] = s.ledger.readHeader(c, id)
			return nil
		})
	}
	_ = group.Wait() // none fails
	return stored, errs
}

// resolvePending reads the headers of the pending items and answers those that are posted. posted is true if any is.
// unread is the error of a header that could not be read. refused ends the command.
func (s *submission) resolvePending(c *command) (posted bool, unread, refused error) {
	items := slices.Clone(s.pending)
	stored, errs := s.readHeaders(c, items)
	for n, it := range items {
		switch {
		case errs[n] == nil:
			posted = true
			if refused = s.alreadyPosted(c, it, stored[n]); refused != nil {
				return posted, unread, refused
			}
		case !errors.Is(errs[n], store.ErrAbsent):
			unread = errs[n]
		}
	}
	return posted, unread, nil
}

// failUnlessPosted reads the headers of the pending items. If none is posted, the command ends with err.
func (s *submission) failUnlessPosted(c *command, err error) error {
	posted, unread, refused := s.resolvePending(c)
	switch {
	case refused != nil:
		return refused
	case posted:
		return nil
	case unread != nil:
		err = storeError(unread)
	}
	return s.fail(c, err)
}

// awaitOutcome makes no further attempt. While the outcome of an earlier one is unknown, it reads the headers until the
// deadline. A command that stays without an answer ends with cause.
func (s *submission) awaitOutcome(c *command, failed int, cause error) error {
	for ; s.unknown && pause(c, failed); failed++ {
		if _, _, refused := s.resolvePending(c); refused != nil || len(s.pending) == 0 {
			return refused
		}
	}
	return s.fail(c, storeError(cause))
}

// fail returns the error that the command ends with: err, or CodeOutcomeUnknown.
func (s *submission) fail(ctx context.Context, err error) error {
	return s.attempts.fail(ctx, s.id(), err, proofs...)
}

// failItem is fail for an error of one item.
func (s *submission) failItem(ctx context.Context, it *item, err error) error {
	return it.requestError(s.attempts.fail(ctx, it.draft.ID, err, proofs...))
}

// proofs are the codes that prove that nothing will ever be posted, even while the outcome of an attempt is unknown.
// CodeExceedsReversible is one: each attempt used a reversal number that is now taken, so none can succeed.
var proofs = []Code{
	CodeInsufficientFunds, CodeAccountFrozen, CodeAccountClosed, CodeTransactionIDReused, CodeExceedsReversible,
}
