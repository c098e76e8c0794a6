package ledger

import (
	"context"
	"fmt"

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

// Lifecycle reads a transaction with its end and its reversals, strongly consistent, in one request for each megabyte.
// Errors: CodeTransactionNotFound, CodeThrottled, CodeUnavailable.
func (l *Ledger) Lifecycle(ctx context.Context, id string) (lifecycle Lifecycle, _ error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	if !events.ValidID(id) {
		return Lifecycle{}, TransactionNotFound()
	}
	q := store.Query{
		Partition: store.Transaction.PK(id), Within: store.LifecycleRange(), Consistency: store.Strong,
	}
	for item, err := range l.items(ctx, q) {
		if err == nil {
			err = lifecycle.add(item)
		}
		if err != nil {
			return Lifecycle{}, asError(fmt.Errorf("read transaction: %w", err))
		}
	}
	if lifecycle.Header.ID == "" { // the end and the reversals may be visible before the header
		return Lifecycle{}, TransactionNotFound()
	}
	return lifecycle, nil
}

// add adds an item of the transaction's partition.
func (l *Lifecycle) add(item store.Item) error {
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
	return nil
}
