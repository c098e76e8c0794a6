package ledger

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// maxRequests is how many requests one command has in flight at a time.
const maxRequests = 8

// readHeads reads what is stored for requests, strongly consistent. The error of a request without an id is ErrAbsent.
// If the requests were just planned, the ends of holds were read with the holds.
func (a *attempts) readHeads(c *command, requests []*request, planned bool) (stored []events.Event, errs []error) {
	stored, errs = make([]events.Event, len(requests)), make([]error, len(requests))
	var group errgroup.Group
	group.SetLimit(maxRequests)
	for n, r := range requests {
		switch {
		case r.endsHold() && planned:
			stored[n], errs[n] = r.lifecycle.end()
		case r.id() == "":
			errs[n] = store.ErrAbsent
		default:
			group.Go(func() error {
				stored[n], errs[n] = a.ledger.readHead(c, r)
				return nil
			})
		}
	}
	_ = group.Wait() // none fails
	return stored, errs
}

// readHead reads what is stored for a request, strongly consistent. Errors: ErrAbsent, and those of a read.
func (l *Ledger) readHead(ctx context.Context, r *request) (events.Event, error) {
	if !r.endsHold() {
		return l.readHeader(ctx, r.ID)
	}
	lifecycle, err := l.Lifecycle(ctx, r.of)
	if err != nil {
		return nil, err
	}
	return lifecycle.end()
}

// resolvePending reads what is stored for the pending requests, and answers those that were carried out. found is true
// if any was. unread is the error of one that could not be read. refused ends the command.
func (a *attempts) resolvePending(c *command) (found bool, unread, refused error) {
	requests := a.pending
	stored, errs := a.readHeads(c, requests, false)
	for n, r := range requests {
		switch {
		case errs[n] == nil:
			found = true
			if refused = a.found(c, r, stored[n]); refused != nil {
				return found, unread, refused
			}
		case !errors.Is(errs[n], store.ErrAbsent):
			unread = errs[n]
		}
	}
	return found, unread, nil
}

// failUnlessStored reads what is stored for the pending requests. If nothing is, the command ends with err.
func (a *attempts) failUnlessStored(c *command, err error) error {
	found, unread, refused := a.resolvePending(c)
	switch {
	case refused != nil:
		return refused
	case found:
		return nil
	case unread != nil:
		err = storeError(unread)
	}
	return a.fail(c, err)
}

// awaitOutcome makes no further attempt. While the outcome of an earlier one is unknown, it reads what is stored until
// the deadline. A command that stays without an answer ends with cause.
func (a *attempts) awaitOutcome(c *command, failed int, cause error) error {
	for ; a.unknown && pause(c, failed); failed++ {
		if _, _, refused := a.resolvePending(c); refused != nil || len(a.pending) == 0 {
			return refused
		}
	}
	return a.fail(c, storeError(cause))
}

// fail returns the error that the command ends with: err, or CodeOutcomeUnknown.
func (a *attempts) fail(ctx context.Context, err error) error { return a.failAs(ctx, a.id(), err) }

// failRequest is fail for an error of one request.
func (a *attempts) failRequest(ctx context.Context, r *request, err error) error {
	return r.inBatch(a.failAs(ctx, r.id(), err))
}

// proofs are the codes that prove that nothing was or will be written, even while the outcome of an attempt is unknown.
// CodeExceedsReversible is one: each attempt used a reversal number that is now taken, so none can succeed. A hold ends
// once, so a different end proves that this one failed.
var proofs = []Code{
	CodeInsufficientFunds, CodeAccountFrozen, CodeAccountClosed, CodeTransactionIDReused, CodeExceedsReversible,
	CodeHoldEnded, CodeHoldExpired,
}

// failAs returns the error that a command on a transaction id ends with. While the outcome of an attempt is unknown,
// that is CodeOutcomeUnknown, unless err proves that no attempt was or will be applied.
func (a *attempts) failAs(ctx context.Context, id string, err error) error {
	e := asError(err)
	if e.Code == CodeUnavailable && a.lastErr != nil && ctx.Err() != nil {
		e = storeError(a.lastErr) // the earlier attempts used up the time, not this request
	}
	if a.unknown && !slices.Contains(proofs, e.Code) && e.Code != CodeOutcomeUnknown {
		e = unknownError(id, err)
	}
	switch e.Code {
	case CodeContention, CodeThrottled, CodeUnavailable, CodeOutcomeUnknown:
		a.ledger.log.WarnContext(ctx, "transaction failed",
			"transaction", id, "code", e.Code, "attempts", len(a.sent), "error", e.Err)
	}
	return e
}
