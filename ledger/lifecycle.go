package ledger

import (
	"context"
	"errors"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// Status is the current state of a transaction.
type Status string

// The statuses. A hold is held until it ends; every other transaction is posted.
const (
	StatusPosted   Status = "posted"
	StatusHeld     Status = "held"
	StatusCaptured Status = "captured"
	StatusReleased Status = "released"
	StatusExpired  Status = "expired"
)

// Status returns the current state of the transaction.
func (l Lifecycle) Status() Status {
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

// Posted returns the posted legs: for a captured hold, the captured amounts; for a hold that was not captured, nil.
func (l Lifecycle) Posted() []events.Leg {
	switch l.Status() {
	case StatusPosted:
		return l.Header.Legs
	case StatusCaptured:
		return l.Ended.Legs
	}
	return nil
}

// Reversed returns the sum of all reversals of each posted leg, in the legs' order and with their signs.
func (l Lifecycle) Reversed() []events.Taken {
	sums := make([]events.Taken, len(l.Posted()))
	for _, r := range l.Reversals {
		for i := range min(len(sums), len(r.Taken)) {
			sums[i].Quantity = addSaturating(sums[i].Quantity, r.Taken[i].Quantity)
			sums[i].Cost = addSaturating(sums[i].Cost, r.Taken[i].Cost)
		}
	}
	return sums
}

// Left returns what is left to reverse of each posted leg, in the legs' order and with their signs.
func (l Lifecycle) Left() []events.Taken {
	left := takeAll(l.Posted())
	for i, gone := range l.Reversed() {
		left[i].Quantity = addSaturating(left[i].Quantity, gone.Quantity.Neg())
		left[i].Cost = addSaturating(left[i].Cost, gone.Cost.Neg())
	}
	return left
}

// reversedBy reports whether the transaction with an id is one of the reversals.
func (l Lifecycle) reversedBy(id string) bool {
	for _, r := range l.Reversals {
		if r.By == id {
			return true
		}
	}
	return false
}

// Lifecycle reads a transaction with its end and its reversals, strongly consistent.
// Errors: CodeTransactionNotFound, CodeThrottled, CodeUnavailable.
func (l *Ledger) Lifecycle(ctx context.Context, id string) (lifecycle Lifecycle, _ error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	err := store.ErrAbsent
	if events.ValidID(id) {
		err = l.read(ctx, func(ctx context.Context) (at time.Time, err error) {
			lifecycle, at, err = l.journal.Lifecycle(ctx, id)
			return at, err
		})
	}
	switch {
	case errors.Is(err, store.ErrAbsent):
		return Lifecycle{}, TransactionNotFound()
	case err != nil:
		return Lifecycle{}, storeError(err)
	}
	return lifecycle, nil
}

// TransactionNotFound is the error of a request for a transaction that does not exist.
func TransactionNotFound() *Error {
	return &Error{Code: CodeTransactionNotFound, Detail: "There is no such transaction."}
}
