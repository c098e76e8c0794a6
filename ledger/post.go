package ledger

import (
	"context"
	"slices"

	"ledger.example/events"
)

// maxRequests is how many requests one command has in flight at a time.
const maxRequests = 8

// Post posts a transaction, transfer or trade. Errors: CodeInvalidRequest, CodeInvalidTransaction, CodeUnbalanced,
// CodeAccountNotFound, CodeAssetNotFound, CodeTransactionIDReused, CodeAccountFrozen, CodeAccountClosed,
// CodeInsufficientFunds, CodeThrottled, CodeContention, CodeUnavailable, CodeOutcomeUnknown, CodeInternal.
func (l *Ledger) Post(ctx context.Context, r PostingRequest) (Posted, error) {
	it := &item{draft: r.expand()}
	return l.postSingle(ctx, it.draft.shape(), it)
}

// postSingle submits one item. shape has the invalid fields of its request.
func (l *Ledger) postSingle(ctx context.Context, shape []FieldError, it *item) (Posted, error) {
	c, cancel, err := startCommand(ctx, shape, it.draft.Actor)
	if err != nil {
		return Posted{}, err
	}
	defer cancel()
	err = l.submit(c, it)
	return it.answer, err
}

// item is one transaction of a submission: a request, the transaction that it becomes, and its answer.
type item struct {
	draft        draft
	request      int                      // number of the request in an atomic batch, counted from 1; else 0
	header       events.TransactionPosted // without KSUIDs
	known        *definitions             // of the accounts and assets in header
	refusedIfNew *Error                   // the refusal if the id is unused: see plan
	reversal     *reversal                // nil unless the item is a reversal
	dryRun       bool                     // nothing is written
	answer       Posted
}

// plan decides which transaction the request becomes. An error refuses the request, whether it was posted before or
// not. A refusal that depends on the time or on other requests is kept in refusedIfNew instead: it does not apply if
// the request was posted before. unknown is true if an earlier attempt may still be applied.
func (it *item) plan(ctx context.Context, l *Ledger, unknown bool) error {
	var refused *Error
	if it.reversal != nil {
		refused = it.planReversal(ctx, l)
	} else {
		refused = it.draft.rules()
	}
	if refused == nil && (it.reversal == nil || !it.reversal.recorded) {
		known, err := l.resolve(ctx, it.draft)
		if err != nil { // not even CodeUnavailable is kept: the header could probably not be read either
			return err
		}
		refused = it.buildHeader(ctx, l, known, unknown)
	}
	it.refusedIfNew = nil
	switch {
	case refused == nil:
	case refused.mayHavePassedEarlier():
		it.refusedIfNew = refused
	default:
		return refused
	}
	return nil
}

// mayHavePassedEarlier reports whether the same request may have been accepted at an earlier time.
func (e *Error) mayHavePassedEarlier() bool {
	switch e.Code {
	case CodeInvalidRequest, CodeNothingToReverse, CodeExceedsReversible, CodeUnavailable, CodeAccountFrozen,
		CodeAccountClosed:
		return true
	}
	return false
}

// buildHeader makes the transaction of a draft that has all its legs, from the definitions that it names.
func (it *item) buildHeader(ctx context.Context, l *Ledger, known *definitions, unknown bool) *Error {
	it.known, it.header = known, known.buildTransaction(it.draft)
	if hold := it.draft.Hold; hold != nil {
		var refused *Error
		if it.header.ExpiresAt, refused = hold.expiry(l.instant()); refused != nil {
			return refused
		}
	}
	if refused := l.checkEffectiveDate(ctx, it.draft.Annotation); refused != nil {
		return refused
	}
	if unknown { // the attempt may still be applied, so no account state proves a refusal
		return nil
	}
	return it.checkStates(ctx, l)
}

// ksuidsNeeded returns how many KSUIDs an attempt mints at the current time: one for each leg, and one for a missing
// id. The legs of a backdated transaction are not counted: backdate mints theirs.
func (it *item) ksuidsNeeded() (n int) {
	if it.draft.EffectiveAt == nil {
		n = len(it.header.Legs)
	}
	if it.draft.ID == "" {
		n++
	}
	return n
}

// withKSUIDs returns the header with KSUIDs in its legs. ids are those that ksuidsNeeded counts.
func (it *item) withKSUIDs(ctx context.Context, l *Ledger, ids []events.KSUID) (events.TransactionPosted, error) {
	if it.draft.ID == "" {
		it.draft.ID, ids = string(ids[0]), ids[1:]
		it.header.ID = it.draft.ID
	}
	header := it.header
	header.Legs = slices.Clone(header.Legs)
	for i, id := range ids {
		header.Legs[i].ID = id
	}
	var err error
	if at := it.draft.effective(); !at.IsZero() {
		err = l.backdate(ctx, &header, at)
	}
	return header, err
}

// requestError returns err as an *Error that, in an atomic batch, names the item's request.
func (it *item) requestError(err error) *Error {
	if it.request == 0 {
		return asError(err)
	}
	return withRequest(err, it.request-1)
}
