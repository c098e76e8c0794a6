package ledger

import (
	"context"

	"ledger.example/events"
)

// Post carries out a request: it posts a transaction, or ends a hold. A repeated request gets the first answer.
//
// Errors of every request: CodeInvalidRequest, CodeInvalidTransaction, CodeUnbalanced, CodeThrottled, CodeContention,
// CodeUnavailable, CodeOutcomeUnknown, CodeInternal. Of a transaction: CodeAccountNotFound, CodeAssetNotFound,
// CodeTransactionIDReused, CodeAccountFrozen, CodeAccountClosed, CodeInsufficientFunds. Of a reversal also
// CodeTransactionNotFound, CodeNothingToReverse, CodeExceedsReversible. Of the end of a hold: CodeTransactionNotFound,
// CodeNotAHold, CodeHoldEnded; of a capture also CodeNothingCaptured, CodeExceedsHold, CodeHoldExpired, and
// CodeOutcomeUnknown within clockTolerance after the time of expiry.
func (l *Ledger) Post(ctx context.Context, r Request) (Posted, error) { return l.post(ctx, r.expand()) }

// Expire ends a hold after its time of expiry. Errors: those of a release; before that time, CodeOutcomeUnknown.
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
	err = l.attempt(c, r)
	return r.answer, err
}
