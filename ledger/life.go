package ledger

import (
	"context"
	"errors"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// Status is what became of a transaction.
type Status string

// The statuses. A hold is held until it ends; every other transaction is posted.
const (
	StatusPosted   Status = "posted"
	StatusHeld     Status = "held"
	StatusCaptured Status = "captured"
	StatusReleased Status = "released"
	StatusExpired  Status = "expired"
)

// Status returns what became of the transaction.
func (l Life) Status() Status {
	switch {
	case !l.Header.IsHold():
		return StatusPosted
	case l.Ended == nil:
		return StatusHeld
	}
	return statusOf(*l.Ended)
}

func statusOf(e events.HoldEnded) Status {
	switch e.Outcome {
	case events.OutcomeCaptured:
		return StatusCaptured
	case events.OutcomeReleased:
		return StatusReleased
	}
	return StatusExpired
}

// Posted returns the legs as they were posted: of a captured hold what was captured of each. Of a hold that was not
// captured there are none.
func (l Life) Posted() []events.Leg {
	switch l.Status() {
	case StatusPosted:
		return l.Header.Legs
	case StatusCaptured:
		return l.Ended.Legs
	}
	return nil
}

// Reversed returns what reversals took back of each leg that was posted, in the legs' order and with their signs.
func (l Life) Reversed() []events.Taken {
	sums := make([]events.Taken, len(l.Posted()))
	for _, r := range l.Reversals {
		for i := range min(len(sums), len(r.Taken)) {
			sums[i].Quantity = addSaturating(sums[i].Quantity, r.Taken[i].Quantity)
			sums[i].Cost = addSaturating(sums[i].Cost, r.Taken[i].Cost)
		}
	}
	return sums
}

// Left returns what may still be taken back of each leg that was posted, likewise.
func (l Life) Left() []events.Taken {
	left := takeAll(l.Posted())
	for i, gone := range l.Reversed() {
		left[i].Quantity = addSaturating(left[i].Quantity, gone.Quantity.Neg())
		left[i].Cost = addSaturating(left[i].Cost, gone.Cost.Neg())
	}
	return left
}

// reversedBy reports whether the transaction with an id is one of the reversals.
func (l Life) reversedBy(id string) bool {
	for _, r := range l.Reversals {
		if r.By == id {
			return true
		}
	}
	return false
}

// Life reads a transaction with all that became of it, strongly consistent.
// Errors: CodeTransactionNotFound, CodeThrottled, CodeUnavailable.
func (l *Ledger) Life(ctx context.Context, id string) (Life, error) {
	return l.readLife(ctx, id)
}

// readLife reads one life, with retries. Its error is an *Error.
func (l *Ledger) readLife(ctx context.Context, id string) (life Life, _ error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	err := store.ErrAbsent
	if events.ValidID(id) {
		err = l.read(ctx, func(ctx context.Context) (at time.Time, err error) {
			life, at, err = l.journal.Life(ctx, id)
			return at, err
		})
	}
	switch {
	case errors.Is(err, store.ErrAbsent):
		return Life{}, TransactionNotFound()
	case err != nil:
		return Life{}, storeError(err)
	}
	return life, nil
}

// TransactionNotFound is the error of a request for a transaction that does not exist.
func TransactionNotFound() *Error {
	return &Error{Code: CodeTransactionNotFound, Detail: "There is no such transaction."}
}
