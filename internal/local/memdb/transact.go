package memdb

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
)

// transactWriteItems decides a transaction at once and then makes one item after the other visible. Until an item is
// visible, other writes to it are refused.
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
	atOnce := s.options.Between == nil && s.options.Order == nil
	writes, err := s.write(requests, cancelled, atOnce)
	if err != nil {
		return nil, err
	}
	if atOnce {
		return &dynamodb.TransactWriteItemsOutput{}, nil
	}
	if s.options.Order != nil {
		s.options.Order(len(writes), func(i, j int) { writes[i], writes[j] = writes[j], writes[i] })
	}
	// The transaction is carried through even if the caller panics in a hook.
	next := 0
	defer func() { s.show(writes[next:]) }()
	for ; next < len(writes); next++ {
		if s.options.Between != nil {
			s.options.Between(ctx)
		}
		s.show(writes[next : next+1])
	}
	return &dynamodb.TransactWriteItemsOutput{}, nil
}

// show makes items visible, which are no longer busy then.
func (s *Store) show(writes []*write) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range writes {
		delete(w.table.busy, w.key)
		s.apply(w.table, w.key, w.after)
	}
}

// write decides writes that are made together or not at all. With atOnce it carries them out, otherwise it makes
// their items busy. refuse makes an error of the reasons why writes cannot be made, nil for one that can. A violation
// is reported before it is carried out.
func (s *Store) write(
	requests []writeRequest, refuse func(reasons []error) error, atOnce bool,
) (writes []*write, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := make(map[place]bool, len(requests))
	writes = make([]*write, 0, len(requests))
	for _, r := range requests {
		w, err := s.newWrite(r)
		if err != nil {
			return nil, err
		}
		at := place{w.table, w.key}
		if seen[at] {
			return nil, errTwice
		}
		seen[at] = true
		writes = append(writes, w)
	}
	var violation error
	size, reasons := 0, make([]error, len(writes))
	for n, w := range writes {
		before := w.table.row(w.key).current()
		if w.after, reasons[n], err = w.decide(before); err != nil {
			return nil, err
		}
		size += max(ddb.ItemBytes(before), ddb.ItemBytes(w.after))
		if w.action != checking && before[table.AttrEventVersion] != nil {
			err := fmt.Errorf("memdb: a write to an event: %s %s in table %s", w.key.PK, w.key.SK, w.table.name)
			violation = errors.Join(violation, err)
		}
	}
	switch {
	case errors.Join(reasons...) != nil:
		return nil, refuse(reasons)
	case size > table.TransactionBytes:
		return nil, validation("Aggregate size of all items cannot exceed %d bytes", table.TransactionBytes)
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

// A place is one item of one table. A transaction may have each place once.
type place struct {
	table *tableState
	key   table.Key
}

func errActions(most int) error {
	return validation("Value at 'transactItems' failed to satisfy constraint: it must have 1 to %d items", most)
}

var errTwice = validation("Transaction request cannot include multiple operations on one item")

// errConflict is the reason of a write or a transactional read that meets a transaction.
func errConflict() error {
	return &types.TransactionConflictException{Message: aws.String("Transaction is ongoing for the item")}
}

// cancelled is the error of a transaction with those reasons, nil for an action that could be carried out.
func cancelled(reasons []error) error {
	out := &types.TransactionCanceledException{}
	var codes []string
	for _, reason := range reasons {
		r := types.CancellationReason{Code: aws.String(ddb.ReasonNone)}
		var failed *types.ConditionalCheckFailedException
		var conflict *types.TransactionConflictException
		switch {
		case reason == nil:
		case errors.As(reason, &failed):
			r.Code, r.Message, r.Item = aws.String(ddb.ReasonCondition), failed.Message, failed.Item
		case errors.As(reason, &conflict):
			r.Code, r.Message = aws.String(ddb.ReasonConflict), conflict.Message
		}
		out.CancellationReasons = append(out.CancellationReasons, r)
		codes = append(codes, *r.Code)
	}
	out.Message = aws.String("Transaction cancelled, for these reasons: [" + strings.Join(codes, ", ") + "]")
	return out
}
