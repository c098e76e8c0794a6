package ledger

import "context"

// Post posts a transaction, transfer or trade. Errors: CodeInvalidRequest, CodeInvalidTransaction, CodeUnbalanced,
// CodeAccountNotFound, CodeAssetNotFound, CodeTransactionIDReused, CodeAccountFrozen, CodeAccountClosed,
// CodeInsufficientFunds, CodeThrottled, CodeContention, CodeUnavailable, CodeOutcomeUnknown, CodeInternal.
func (l *Ledger) Post(ctx context.Context, r PostingRequest) (Posted, error) {
	posted := &request{draft: r.expand()}
	err := l.write(ctx, posted)
	return posted.posted(), err
}

// write carries out a single request: a batch of one.
func (l *Ledger) write(ctx context.Context, r *request) error {
	c, cancel, err := startCommand(ctx, r.shape(), r.Actor)
	if err != nil {
		return err
	}
	defer cancel()
	return l.attempt(c, r)
}
