package memdb

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/table"
)

// transactWriteItems answers TransactWriteItems. It commits the transaction and then makes the items visible one by
// one. Other writes to an item are rejected until it is visible.
func (s *Store) transactWriteItems(
	ctx context.Context, in *dynamodb.TransactWriteItemsInput,
) (*dynamodb.TransactWriteItemsOutput, error) {
	var all struct {
		TransactItems      []types.TransactWriteItem
		ClientRequestToken *string
	}
	if err := decode(in, &all); err != nil {
		return nil, err
	}
	if n := len(all.TransactItems); n == 0 || n > s.options.Actions {
		return nil, errActions(s.options.Actions)
	}
	requests := make([]writeRequest, len(all.TransactItems))
	for n, action := range all.TransactItems {
		var err error
		if requests[n], err = writeRequestOf(action); err != nil {
			return nil, err
		}
	}
	s.awaitReaders(ctx, requests)
	atOnce := s.options.Between == nil && s.options.Order == nil
	writes, err := s.write(ctx, requests, true, atOnce)
	if err != nil {
		return nil, err
	}
	if atOnce {
		return &dynamodb.TransactWriteItemsOutput{}, nil
	}
	if s.options.Order != nil {
		s.options.Order(len(writes), func(i, j int) { writes[i], writes[j] = writes[j], writes[i] })
	}
	// The transaction completes even if a hook panics.
	next := 0
	defer func() { s.makeVisible(writes[next:]) }()
	for ; next < len(writes); next++ {
		if s.options.Between != nil {
			s.options.Between(ctx)
		}
		s.makeVisible(writes[next : next+1])
	}
	return &dynamodb.TransactWriteItemsOutput{}, nil
}

// makeVisible applies writes. Their items are no longer busy.
func (s *Store) makeVisible(writes []*write) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range writes {
		delete(w.table.busy, w.key)
		s.apply(w.table, w.key, w.after)
	}
}

// write decides all or none of some writes: one, or those of a transaction. With atOnce it applies them, otherwise it
// makes their items busy. It counts the units that they consume, and reports a violation before it applies it.
func (s *Store) write(
	ctx context.Context, requests []writeRequest, isTransaction, atOnce bool,
) (writes []*write, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := make(map[itemRef]bool, len(requests))
	writes = make([]*write, 0, len(requests))
	for _, r := range requests {
		w, err := s.newWrite(r)
		if err != nil {
			return nil, err
		}
		ref := itemRef{w.table, w.key}
		if seen[ref] {
			return nil, errTwice
		}
		seen[ref] = true
		writes = append(writes, w)
	}
	var violation error
	size, reasons := 0, make([]error, len(writes))
	for n, w := range writes {
		before := w.table.row(w.key).current()
		if w.after, reasons[n], err = w.decide(before); err != nil {
			return nil, err
		}
		w.before = before
		size += max(before.size(nil), w.after.size(nil))
		if w.action != checking && before != "" && table.IsEvent(w.key.SK) {
			err := fmt.Errorf("memdb: a write to an event: %s %s in table %s", w.key.PK, w.key.SK, w.table.name)
			violation = errors.Join(violation, err)
		}
	}
	isRefused := errors.Join(reasons...) != nil
	if !isRefused && size > table.TransactionBytes {
		return nil, validation("Aggregate size of all items cannot exceed %d bytes", table.TransactionBytes)
	}
	if used := table.UsedOf(ctx); used != nil {
		for _, w := range writes {
			w.use(used, isTransaction, isRefused)
		}
	}
	switch {
	case isRefused && isTransaction:
		return nil, cancelled(reasons)
	case isRefused:
		return nil, reasons[0]
	case violation != nil:
		s.options.Violation(violation)
	}
	for _, w := range writes {
		if atOnce {
			s.apply(w.table, w.key, w.after)
		} else {
			w.table.busy[w.key] = true
		}
	}
	return writes, nil
}

// An itemRef is an item of a table. A transaction may have each item once.
type itemRef struct {
	table *tableState
	key   table.Key
}

func errActions(max int) error {
	return validation("Value at 'transactItems' failed to satisfy constraint: it must have 1 to %d items", max)
}

var errTwice = validation("Transaction request cannot include multiple operations on one item")

// errConflict is the reason for rejecting a write or a transactional read of a busy item.
func errConflict() error {
	return &types.TransactionConflictException{Message: aws.String("Transaction is ongoing for the item")}
}

// cancelled returns the error of a transaction. A reason is nil if its action was accepted.
func cancelled(reasons []error) error {
	out := &types.TransactionCanceledException{}
	var codes []string
	for _, reason := range reasons {
		r := types.CancellationReason{Code: aws.String(table.ReasonNone)}
		var failed *types.ConditionalCheckFailedException
		var conflict *types.TransactionConflictException
		switch {
		case reason == nil:
		case errors.As(reason, &failed):
			r.Code, r.Message, r.Item = aws.String(table.ReasonCondition), failed.Message, failed.Item
		case errors.As(reason, &conflict):
			r.Code, r.Message = aws.String(table.ReasonConflict), conflict.Message
		}
		out.CancellationReasons = append(out.CancellationReasons, r)
		codes = append(codes, *r.Code)
	}
	out.Message = aws.String("Transaction cancelled, for these reasons: [" + strings.Join(codes, ", ") + "]")
	return out
}
