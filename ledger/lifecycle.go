package ledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"ledger.example/events"
	"ledger.example/internal/table"
)

// Lifecycle is a transaction with its end and its reversals.
type Lifecycle struct {
	events.Transaction
	Reversals []events.TransactionReversed // by number
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

// clone returns a copy that shares nothing with l that can be written.
func (l Lifecycle) clone() Lifecycle {
	l.Header.Legs, l.Header.Metadata = slices.Clone(l.Header.Legs), maps.Clone(l.Header.Metadata)
	if l.Ended != nil {
		ended := *l.Ended
		ended.Legs = slices.Clone(ended.Legs)
		l.Ended = &ended
	}
	l.Reversals = slices.Clone(l.Reversals)
	room := make([]events.Taken, 0, len(l.Reversals)*len(l.Header.Legs)) // of all reversals, in one allocation
	for i := range l.Reversals {
		from := len(room)
		room = append(room, l.Reversals[i].Taken...)
		l.Reversals[i].Taken = slices.Clip(room[from:])
	}
	return l
}

// reversedBy reports whether the transaction with an id is one of the reversals.
func (l Lifecycle) reversedBy(id string) bool {
	return slices.ContainsFunc(l.Reversals, func(r events.TransactionReversed) bool { return r.By == id })
}

// Transaction reads a transaction as it was posted or placed, strongly consistent, in one request of one item. Errors:
// those of Lifecycle.
func (l *Ledger) Transaction(ctx context.Context, id string) (events.TransactionPosted, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	if !events.ValidID(id) {
		return events.TransactionPosted{}, TransactionNotFound()
	}
	header, err := readEvent[events.TransactionPosted](ctx, l, table.Transaction.Key(id))
	switch {
	case errors.Is(err, table.ErrAbsent):
		err = TransactionNotFound()
	case err != nil:
		err = asError(fmt.Errorf("read transaction: %w", err))
	}
	return header, err
}

// Lifecycle reads a transaction with its end and its reversals, strongly consistent, in one request for each megabyte.
// Errors: CodeTransactionNotFound, CodeThrottled, CodeUnavailable.
func (l *Ledger) Lifecycle(ctx context.Context, id string) (Lifecycle, error) {
	lifecycle, err := l.readLifecycle(ctx, id)
	if err == nil && lifecycle.Header.ID == "" {
		err = TransactionNotFound()
	}
	return lifecycle, err
}

// readLifecycle is Lifecycle, without an error if there is no such transaction.
func (l *Ledger) readLifecycle(ctx context.Context, id string) (lifecycle Lifecycle, _ error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	if !events.ValidID(id) {
		return Lifecycle{}, nil
	}
	q := table.Query{
		Partition: table.Transaction.PK(id), Within: table.LifecycleRange(), Consistency: table.Strong,
	}
	if err := l.addTo(ctx, &lifecycle, q); err != nil {
		return Lifecycle{}, err
	}
	if lifecycle.Header.ID == "" { // the end and the reversals may be visible before the header
		return Lifecycle{}, nil
	}
	return lifecycle, nil
}

// remember keeps a transaction that was reversed before, with its reversals. Its next reversal reads only those that
// were written since. Of two readings the one with more reversals is kept.
func (l *Ledger) remember(read Lifecycle) {
	if len(read.Reversals) == 0 {
		return
	}
	l.reversed.change(read.Header.ID, func(known Lifecycle, ok bool) Lifecycle {
		if ok && len(known.Reversals) > len(read.Reversals) {
			return known
		}
		return read
	})
}

// lifecycleBytes estimates the size of a transaction with its reversals.
func lifecycleBytes(l Lifecycle) int {
	return definitionMinimum + limitBytes*len(l.Header.Legs)*(1+len(l.Reversals))
}

// addReversals adds the reversals that have been written since a transaction was read. Their numbers have no gaps.
// Errors: those of Lifecycle.
func (l *Ledger) addReversals(ctx context.Context, to *Lifecycle) error {
	within := table.Reversal.All()
	if n := len(to.Reversals); n > 0 {
		within = within.After(table.Number(to.Reversals[n-1].Number))
	}
	return l.addTo(ctx, to, table.Query{
		Partition: table.Transaction.PK(to.Header.ID), Within: within, Consistency: table.Strong,
	})
}

func (l *Ledger) addTo(ctx context.Context, lifecycle *Lifecycle, q table.Query) error {
	for item, err := range l.items(ctx, q) {
		if err == nil {
			err = lifecycle.add(item)
		}
		if err != nil {
			return asError(fmt.Errorf("read transaction: %w", err))
		}
	}
	return nil
}

// add adds an item of the transaction's partition.
func (l *Lifecycle) add(item table.Item) error {
	e, err := table.DecodeEvent(item)
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
		return fmt.Errorf("%w: a %T in the partition of a transaction", table.ErrMalformedItem, e)
	}
	return nil
}
