package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// Lifecycle is a transaction with its end and its reversals.
type Lifecycle struct {
	Header    events.TransactionPosted
	Ended     *events.HoldEnded            // of a hold; nil while it is open
	Reversals []events.TransactionReversed // by number
}

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
	left := amountsOf(l.Posted())
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
			lifecycle, at, err = l.readLifecycle(ctx, id)
			return at, err
		})
	}
	switch {
	case errors.Is(err, store.ErrAbsent):
		return Lifecycle{}, TransactionNotFound()
	case err != nil:
		return Lifecycle{}, asError(err)
	}
	return lifecycle, nil
}

// readLifecycle reads a transaction with its end and its reversals, strongly consistent, in one request for each
// megabyte. Errors: ErrAbsent, ErrThrottled, ErrUnavailable.
func (l *Ledger) readLifecycle(ctx context.Context, id string) (lifecycle Lifecycle, at time.Time, err error) {
	q := store.Query{
		Partition: store.Transaction.PK(id), Within: store.LifecycleRange(), Consistency: store.Strong,
	}
	for more := true; more; more = q.After != nil {
		page, err := l.table.Query(ctx, q)
		if err == nil {
			err = lifecycle.add(page.Items)
		}
		if err != nil {
			return Lifecycle{}, at, fmt.Errorf("read transaction: %w", err)
		}
		q.After, at = page.Next, page.At
	}
	if lifecycle.Header.ID == "" { // the end and the reversals may be visible before the header
		return Lifecycle{}, at, fmt.Errorf("read transaction: %w", store.ErrAbsent)
	}
	return lifecycle, at, nil
}

// add adds items of the transaction's partition.
func (l *Lifecycle) add(items []store.Item) error {
	for _, item := range items {
		e, err := store.DecodeEvent(item)
		if err != nil {
			return err
		}
		switch e := e.(type) {
		case events.TransactionPosted:
			l.Header = e
		case events.HoldEnded:
			l.Ended = &e
		case events.TransactionReversed:
			l.Reversals = append(l.Reversals, e)
		default:
			return fmt.Errorf("%w: a %T in the partition of a transaction", store.ErrMalformedItem, e)
		}
	}
	return nil
}

// TransactionNotFound is the error of a request for a transaction that does not exist.
func TransactionNotFound() *Error {
	return &Error{Code: CodeTransactionNotFound, Detail: "There is no such transaction."}
}
