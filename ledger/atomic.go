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

// whole is an atomic batch on its way to the journal.
type whole struct {
	attempts
	funding
	batch *batch
	open  []int // the requests that were not found yet, by index
	debts []debt
}

// postAll posts all requests in one transaction of the store, or returns the error of the first that is refused.
func (b *batch) postAll(c *command) error {
	w, later, err := b.plan(c)
	if err != nil {
		return err
	}
	for i, refused := range later {
		if refused == nil {
			continue
		}
		switch stored, err := b.ledger.readHeader(c, b.items[i].header.ID); {
		case err == nil:
			if err := w.found(c, i, stored); err != nil {
				return err
			}
		case errors.Is(err, store.ErrAbsent):
			return ofRequest(refused, i)
		default:
			return w.fail(c, storeError(err))
		}
	}
	return w.run(c)
}

// plan decides what the batch becomes as a whole. later are the refusals of requests that time or other requests can
// change.
func (b *batch) plan(ctx context.Context) (w *whole, later []*Error, _ error) {
	for i, result := range b.results {
		if result.Err != nil {
			return nil, nil, ofRequest(result.Err, i)
		}
	}
	b.warm(ctx)
	w = &whole{attempts: attempts{ledger: b.ledger}, batch: b}
	later = make([]*Error, len(b.items))
	for i, p := range b.items {
		var err error
		if later[i], err = p.plan(ctx); err != nil {
			return nil, nil, ofRequest(err, i)
		}
		w.open = append(w.open, i)
	}
	w.limit()
	if err := w.fits(); err != nil {
		return nil, nil, err
	}
	return w, later, nil
}

// fits returns nil, or CodeBatchTooLarge.
func (w *whole) fits() *Error {
	actions := len(w.limits)
	for _, p := range w.batch.items {
		actions += 1 + len(p.header.Legs)
	}
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

// run appends what is open until all of it is there, or it is proved that it never will be, or the time is up. What is
// said follows the rules of posting.run.
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
			return w.fail(c, storeError(err))
		}
		at, cancelled, err := w.append(c, commit, minted)
		for n, i := range w.open {
			w.batch.items[i].sent = append(w.batch.items[i].sent, attempt{firstLeg(commit.Heads[n]), minted})
		}
		switch {
		case err == nil:
			return w.acknowledge(c, commit, at)
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
			w.setUnknown()
			w.ledger.log.WarnContext(c, "outcome of a batch is unknown; its headers are read",
				"transaction", w.id(), "error", err)
			if _, _, refused := w.look(c); refused != nil {
				return refused
			}
		default:
			return w.fail(c, internalError(err))
		}
		if len(w.open) > 0 && !w.again(c, failed, err) {
			return w.fail(c, storeError(err))
		}
	}
	return nil
}

func firstLeg(head events.Event) events.KSUID {
	t, _ := head.(events.TransactionPosted)
	return t.Legs[0].ID
}

// id names the batch to its caller while its outcome is unknown.
func (w *whole) id() string { return w.batch.items[w.open[0]].header.ID }

func (w *whole) setUnknown() {
	w.unknown = true
	for _, i := range w.open {
		w.batch.items[i].unknown = true
	}
}

// commit mints the KSUIDs of one attempt, right before it is sent.
func (w *whole) commit(ctx context.Context) (c Commit, minted time.Time, err error) {
	if err := w.prepare(ctx, w.ledger); err != nil {
		return c, minted, err
	}
	legs := 0
	for _, i := range w.open {
		if w.batch.items[i].draft.note.EffectiveAt == nil {
			legs += len(w.batch.items[i].header.Legs)
		}
	}
	ids, minted, err := w.ledger.mint(ctx, legs, w.batch.items[w.open[0]].header.Legs[0].Account, "")
	if err != nil {
		return c, minted, err
	}
	for _, i := range w.open {
		header := w.batch.items[i].header
		header.Legs = slices.Clone(header.Legs)
		if at := w.batch.items[i].draft.note.effective(); !at.IsZero() {
			if err := w.ledger.backdate(ctx, &header, at); err != nil {
				return c, minted, err
			}
		} else {
			for at := range header.Legs {
				header.Legs[at].ID, ids = ids[0], ids[1:]
			}
		}
		c.Heads = append(c.Heads, header)
		c.Postings = append(c.Postings, header.Postings()...)
	}
	c.Debits = w.debits()
	return c, minted, nil
}

// cancelled learns from a cancellation. again is true when the next attempt may be made at once.
func (w *whole) cancelled(c *command, why *Cancelled) (again bool, _ error) {
	isNone := true
	for n, i := range slices.Clone(w.open) {
		head := why.head(n)
		isNone = isNone && head.Is == HeadNone
		if head.Is != HeadExists {
			continue
		}
		again = true
		stored, _ := head.Stored.(events.TransactionPosted)
		if err := w.found(c, i, stored); err != nil {
			return false, err
		}
	}
	if again || !isNone || len(why.Refused) == 0 {
		return again, nil
	}
	short, err := w.refused(c, w.ledger, why.Refused)
	switch {
	case err != nil:
		return false, w.fail(c, err)
	case short != nil:
		return true, w.failUnlessThere(c, w.refusal(short))
	}
	return len(w.sent) <= quickAttempts, nil
}

// found takes in a transaction that is stored under the id of request i. It is no longer open.
func (w *whole) found(c *command, i int, stored events.TransactionPosted) error {
	posted, err := w.batch.items[i].found(c, stored)
	if err != nil {
		return ofRequest(err, i)
	}
	w.batch.results[i] = BatchResult{Posted: posted}
	w.open = slices.DeleteFunc(w.open, func(j int) bool { return j == i })
	w.limit()
	return nil
}

// look reads the headers of what is open. any is true when some are there; unread is why others could not be read.
func (w *whole) look(c *command) (any bool, unread, refused error) {
	open := slices.Clone(w.open)
	stored, reads := make([]events.TransactionPosted, len(open)), make([]error, len(open))
	var group errgroup.Group
	group.SetLimit(maxRequests)
	for n, i := range open {
		group.Go(func() error {
			stored[n], reads[n] = w.ledger.readHeader(c, w.batch.items[i].header.ID)
			return nil
		})
	}
	_ = group.Wait() // none fails
	for n, i := range open {
		switch {
		case reads[n] == nil:
			any = true
			if refused = w.found(c, i, stored[n]); refused != nil {
				return any, unread, refused
			}
		case !errors.Is(reads[n], store.ErrAbsent):
			unread = reads[n]
		}
	}
	return any, unread, nil
}

// failUnlessThere ends the command with err only if none of what is open is there.
func (w *whole) failUnlessThere(c *command, err error) error {
	any, unread, refused := w.look(c)
	switch {
	case refused != nil:
		return refused
	case any:
		return nil
	case unread != nil:
		err = storeError(unread)
	}
	return w.fail(c, err)
}

func (w *whole) fail(ctx context.Context, err error) error {
	return w.attempts.fail(ctx, w.id(), err, CodeInsufficientFunds, CodeAccountFrozen, CodeAccountClosed,
		CodeTransactionIDReused)
}

// acknowledge answers that all that was open is committed.
func (w *whole) acknowledge(c *command, commit Commit, at time.Time) error {
	for n, i := range w.open {
		header, _ := commit.Heads[n].(events.TransactionPosted)
		posted, err := w.batch.items[i].acknowledge(c, header, at, false)
		if err != nil {
			return ofRequest(err, i)
		}
		w.batch.results[i] = BatchResult{Posted: posted}
	}
	return nil
}
