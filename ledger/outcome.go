package ledger

import (
	"context"
	"errors"
	"slices"

	"ledger.example/events"
	"ledger.example/internal/store"
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
		case !errors.Is(errs[n], store.ErrAbsent):
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
		return nil, store.ErrAbsent
	case !r.endsHold():
		return l.readHeader(ctx, r.ID)
	case !planned:
		lifecycle, err := l.Lifecycle(ctx, r.ID)
		if err != nil {
			return nil, err
		}
		r.ended = lifecycle.Ended
	}
	if r.ended == nil {
		return nil, store.ErrAbsent
	}
	return *r.ended, nil
}

// failUnlessStored reads what is stored for the pending requests. If nothing is, the command ends with err.
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
				r.refusedIfNew = asError(store.ErrConflict)
			}
		}
		return nil
	}
	before := a.unknown
	a.unknown = true
	err := a.awaitOutcome(c, isListed, store.ErrConflict)
	a.unknown = before
	return err
}

// Which requests are pending, were listed, or are to be planned again.
func isPending(*request) bool    { return true }
func isListed(r *request) bool   { return r.listed }
func isOutdated(r *request) bool { return r.outdated }

// awaitOutcome makes no further attempt. While the outcome of an earlier one is unknown, it reads what is stored until
// the deadline, or until no pending request is among those that are awaited. A command that stays without an answer
// ends with cause.
func (a *attempts) awaitOutcome(c *command, awaited func(*request) bool, cause error) error {
	for ; a.unknown && pause(c, a.failed+1); a.failed++ {
		if _, refused := a.resolve(c, a.pending, false); refused != nil || !slices.ContainsFunc(a.pending, awaited) {
			return refused
		}
	}
	return a.fail(c, asError(cause))
}

// proofs are the codes that prove that nothing was or will be written, even while the outcome of an attempt is unknown.
// CodeExceedsReversible is one: each attempt used a reversal number that is now taken, so none can succeed. A hold ends
// once, so a different end proves that this one failed.
var proofs = []Code{
	CodeInsufficientFunds, CodeAccountFrozen, CodeAccountClosed, CodeTransactionIDReused, CodeExceedsReversible,
	CodeHoldEnded, CodeHoldExpired,
}

// fail returns the error that the command ends with: err or, while the outcome of an attempt is unknown,
// CodeOutcomeUnknown with the id of the first pending request.
func (a *attempts) fail(ctx context.Context, err error) error {
	return a.failAs(ctx, a.pending[0].ID, err)
}

// settle is fail for an error of one request, if there is one. It returns nil if the attempts go on for the others:
// then they are independent.
func (a *attempts) settle(ctx context.Context, r *request, err error) error {
	if err == nil {
		return nil
	}
	refused := r.inBatch(a.failAs(ctx, r.ID, err))
	if !a.joint {
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
	switch e.Code {
	case CodeContention, CodeThrottled, CodeUnavailable, CodeOutcomeUnknown:
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
