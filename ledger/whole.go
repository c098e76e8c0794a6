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
	"ledger.example/internal/table"
)

// whole is what is posted in one transaction of the store, on its way to the journal: one request, or an atomic batch.
type whole struct {
	attempts
	funding
	dry  bool       // nothing is written
	open []*posting // those that were not found yet
}

// postWhole posts all items in one transaction of the store. Those of a dry run are only judged. It sets the answer of
// each. Error: that of the first item that is refused.
func (l *Ledger) postWhole(c *command, items ...*posting) error {
	w := &whole{attempts: attempts{ledger: l}, dry: items[0].dry, open: items}
	err := w.plan(c, 1)
	switch {
	case err != nil:
		return err
	case w.dry:
		return w.judge(c)
	}
	return w.run(c)
}

// plan decides what the items become. An item that is found to be posted already gets its answer and is no longer open.
// failed is for await.
func (w *whole) plan(c *command, failed int) error {
	actions := 0
	for _, p := range w.open {
		if err := p.plan(c, w.ledger, w.unknown); err != nil {
			return w.failItem(c, p, err)
		}
		actions += 1 + len(p.header.Legs)
	}
	w.limit()
	if err := fits(actions + len(w.limits)); err != nil {
		return err
	}
	if r := w.open[0].reversal; r != nil && r.there {
		if w.dry { // a header that is being committed is not visible yet
			w.open[0].later = storeError(store.ErrConflict)
		} else {
			w.unknown = true
			return w.await(c, failed, store.ErrConflict)
		}
	}
	return w.lookForRefused(c)
}

// lookForRefused reads the headers of the items that are about to be refused, in a dry run those of all. An item that
// was posted before is answered as it was then.
func (w *whole) lookForRefused(c *command) error {
	var which []*posting
	for _, p := range w.open {
		if w.dry || p.later != nil {
			which = append(which, p)
		}
	}
	if which == nil {
		return nil
	}
	stored, reads := w.readHeaders(c, which)
	for n, p := range which {
		var err error
		switch {
		case reads[n] == nil:
			err = w.found(c, p, stored[n])
		case !errors.Is(reads[n], store.ErrAbsent):
			err = w.fail(c, storeError(reads[n]))
		case p.later != nil:
			err = w.failItem(c, p, p.later)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fits returns nil, or CodeBatchTooLarge for so many actions.
func fits(actions int) error {
	over := actions - table.TransactionActions
	if over <= 0 {
		return nil
	}
	return &Error{
		Code: CodeBatchTooLarge, TooMany: over,
		Detail: fmt.Sprintf("The batch takes %d writes, %d more than one transaction of the store can have. Each "+
			"request takes one, and so do each posting, and each account and asset that is debited within a limit.",
			actions, over),
	}
}

// run appends what is open until all of it is there, or it is proved that it never will be, or the time is up.
//
// Once an attempt's outcome is unknown, only what is proved is said: that a transaction is there, that its id belongs
// to another body, or a refusal (see refused). Everything else is CodeOutcomeUnknown.
func (w *whole) run(c *command) error {
	for failed := 1; len(w.open) > 0; failed++ {
		commit, minted, err := w.commit(c)
		switch {
		case errors.Is(err, errClock): // what is there already needs no KSUID
			if err := w.failUnlessThere(c, err); err != nil {
				return err
			}
			continue
		case err != nil:
			return w.fail(c, err)
		}
		if err := c.abandoned(); err != nil {
			return w.await(c, failed, err)
		}
		at, cancelled, err := w.append(c, commit, minted)
		switch {
		case err == nil:
			return w.acknowledgeAll(c, commit, at)
		case cancelled != nil:
			again, refused := w.cancelled(c, cancelled)
			if refused != nil {
				return refused
			}
			if again {
				continue
			}
			err = cancelled.cause()
		case declined(err), errors.Is(err, store.ErrConflict):
		case errors.Is(err, store.ErrUnknownOutcome):
			w.unknown = true
			w.ledger.log.WarnContext(c, "outcome of a transaction is unknown; its header is read",
				"transaction", w.id(), "error", err)
			if _, _, refused := w.look(c); refused != nil {
				return refused
			}
		default:
			return w.fail(c, internalError(err))
		}
		if len(w.open) == 0 {
			return nil
		}
		if !w.again(c, failed, err) {
			return w.fail(c, storeError(err))
		}
		if r := w.open[0].reversal; r != nil && r.stale {
			if err := w.plan(c, failed+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// id names the whole to its caller while its outcome is unknown.
func (w *whole) id() string { return w.open[0].draft.note.ID }

// commit mints the KSUIDs of one attempt, right before it is sent, and an id where there is none.
func (w *whole) commit(ctx context.Context) (c Commit, minted time.Time, err error) {
	if err := w.prepare(ctx, w.ledger); err != nil {
		return c, minted, err
	}
	need, after, reversal := 0, events.KSUID(""), w.open[0].reversal
	if reversal != nil {
		after = reversal.after
	}
	for _, p := range w.open {
		need += p.needs()
	}
	var ids []events.KSUID
	if minted = time.Now(); need > 0 {
		if ids, minted, err = w.ledger.mint(ctx, need, w.open[0].header.Legs[0].Account, after); err != nil {
			return c, minted, err
		}
	}
	for _, p := range w.open {
		of := p.needs()
		header, err := p.minted(ctx, w.ledger, ids[:of])
		if err != nil {
			return c, minted, err
		}
		c.add(header)
		ids = ids[of:]
	}
	if reversal != nil {
		c.Heads = append(c.Heads, reversal.head(w.open[0].draft.reverses, w.id()))
	}
	c.Debits = w.debits()
	return c, minted, nil
}

// cancelled learns from a cancellation. again is true when the next attempt may be made at once.
func (w *whole) cancelled(c *command, why *Cancelled) (again bool, _ error) {
	isNone := true
	for n, p := range slices.Clone(w.open) {
		head := why.head(n)
		isNone = isNone && head.Is == HeadNone
		if head.Is != HeadExists {
			continue
		}
		again = true
		stored, _ := head.Stored.(events.TransactionPosted)
		if err := w.found(c, p, stored); err != nil {
			return false, err
		}
	}
	if again {
		return true, nil
	}
	if r := w.open[0].reversal; r != nil && why.head(1).Is != HeadNone { // another reversal came first, or is about to
		r.stale = true
		return false, nil
	}
	if !isNone || len(why.Refused) == 0 {
		return false, nil
	}
	short, err := w.refused(c, w.ledger, why.Refused)
	switch {
	case err != nil:
		return false, w.fail(c, err)
	case short != nil:
		return true, w.failUnlessThere(c, w.refusal(short))
	}
	return len(w.sent) <= quickAttempts, nil // the refusal taught what was missing: that is no contention yet
}

// readHeaders reads the headers of items, strongly consistent. What has no id yet is absent.
func (w *whole) readHeaders(c *command, which []*posting) (stored []events.TransactionPosted, errs []error) {
	stored, errs = make([]events.TransactionPosted, len(which)), make([]error, len(which))
	var group errgroup.Group
	group.SetLimit(maxRequests)
	for n, p := range which {
		id := p.draft.note.ID
		if id == "" {
			errs[n] = store.ErrAbsent
			continue
		}
		group.Go(func() error {
			stored[n], errs[n] = w.ledger.readHeader(c, id)
			return nil
		})
	}
	_ = group.Wait() // none fails
	return stored, errs
}

// look reads the headers of what is open. found is true when some are there; unread is why others could not be read.
func (w *whole) look(c *command) (found bool, unread, refused error) {
	open := slices.Clone(w.open)
	stored, reads := w.readHeaders(c, open)
	for n, p := range open {
		switch {
		case reads[n] == nil:
			found = true
			if refused = w.found(c, p, stored[n]); refused != nil {
				return found, unread, refused
			}
		case !errors.Is(reads[n], store.ErrAbsent):
			unread = reads[n]
		}
	}
	return found, unread, nil
}

// failUnlessThere ends the command with err only if none of what is open is there.
func (w *whole) failUnlessThere(c *command, err error) error {
	found, unread, refused := w.look(c)
	switch {
	case refused != nil:
		return refused
	case found:
		return nil
	case unread != nil:
		err = storeError(unread)
	}
	return w.fail(c, err)
}

// await ends the command of a caller that is gone, with cause, and makes no further attempt. While the outcome of one
// is unknown it reads the headers until the time is up.
func (w *whole) await(c *command, failed int, cause error) error {
	for ; w.unknown && pause(c, failed); failed++ {
		if _, _, refused := w.look(c); refused != nil || len(w.open) == 0 {
			return refused
		}
	}
	return w.fail(c, storeError(cause))
}

// fail returns the error that the command may end with.
func (w *whole) fail(ctx context.Context, err error) error {
	return w.attempts.fail(ctx, w.id(), err, proofs...)
}

// failItem is fail for what is about one item.
func (w *whole) failItem(ctx context.Context, p *posting, err error) error {
	return p.named(w.attempts.fail(ctx, p.draft.note.ID, err, proofs...))
}

// proofs are the codes that prove that nothing will ever be posted, even while the outcome of an attempt is unknown.
// CodeExceedsReversible is one: other reversals have taken the number of each attempt, so none of them can pass.
var proofs = []Code{
	CodeInsufficientFunds, CodeAccountFrozen, CodeAccountClosed, CodeTransactionIDReused, CodeExceedsReversible,
}
