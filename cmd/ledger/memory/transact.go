package memory

import (
	"context"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
)

// reasonValidation is the code of the reason of an action whose key, or what it makes of the item, cannot be.
const reasonValidation = "ValidationError"

var errTwice = validation("Transaction request cannot include multiple operations on one item")

// cancelled is the error of a transaction with those reasons.
func cancelled(reasons []types.CancellationReason) error {
	codes := make([]string, len(reasons))
	for i, r := range reasons {
		codes[i] = aws.ToString(r.Code)
	}
	return &types.TransactionCanceledException{
		Message:             aws.String("Transaction cancelled, please refer cancellation reasons for specific reasons [" + strings.Join(codes, ", ") + "]"),
		CancellationReasons: reasons,
	}
}

func conflictReason() types.CancellationReason {
	return types.CancellationReason{Code: aws.String(wire.ReasonConflict), Message: aws.String("Transaction is ongoing for the item")}
}

// faultReason is the reason that stands for a ValidationException.
func faultReason(err error) types.CancellationReason {
	var invalid smithy.APIError
	errors.As(err, &invalid)
	return types.CancellationReason{Code: aws.String(reasonValidation), Message: aws.String(invalid.ErrorMessage())}
}

// A place names one item of one table.
type place struct {
	books *books
	key   table.Key
}

// An outcome is what a transaction that passed still has to do to one item.
type outcome struct {
	*write
	after item
}

// transactWriteItems decides at once and then makes one item after the other visible; until an item is, others' writes to it
// are refused. Without hooks that have a say in it, all are visible at once.
func (s *Store) transactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput) (*dynamodb.TransactWriteItemsOutput, error) {
	if err := refuse(
		option{"ReturnItemCollectionMetrics", in.ReturnItemCollectionMetrics != ""}, measured(in.ReturnConsumedCapacity),
	); err != nil {
		return nil, err
	}
	if n := len(in.TransactItems); n == 0 || n > s.actions {
		return nil, validation("Value at 'transactItems' failed to satisfy constraint: Member must have between 1 and %d items", s.actions)
	}
	atOnce := s.between == nil && s.order == nil
	outcomes, breaches, err := s.decide(in.TransactItems, false, atOnce)
	if breaches != nil {
		s.violation(errors.Join(breaches...))
		outcomes, _, err = s.decide(in.TransactItems, true, atOnce)
	}
	if err != nil {
		return nil, err
	}
	if atOnce {
		return &dynamodb.TransactWriteItemsOutput{}, nil
	}
	if s.order != nil {
		s.order(len(outcomes), func(i, j int) { outcomes[i], outcomes[j] = outcomes[j], outcomes[i] })
	}
	// Whatever becomes of the caller in a hook, the transaction is carried through.
	next := 0
	defer func() { s.show(outcomes[next:]) }()
	for ; next < len(outcomes); next++ {
		if s.between != nil {
			s.between(ctx)
		}
		s.show(outcomes[next : next+1])
	}
	return &dynamodb.TransactWriteItemsOutput{}, nil
}

// show makes items visible.
func (s *Store) show(outcomes []outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range outcomes {
		delete(o.books.busy, o.key)
		s.apply(o.books, o.key, o.after)
	}
}

// decide checks everything that can refuse a transaction, and then keeps its items busy or, with atOnce, makes them what
// they become. When it would breach our promise and nobody was warned yet, it does nothing and returns the breaches.
func (s *Store) decide(actions []types.TransactWriteItem, warned, atOnce bool) (outcomes []outcome, breaches []error, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := make(map[place]bool, len(actions))
	outcomes = make([]outcome, 0, len(actions))
	for _, action := range actions {
		w, err := s.action(action)
		if err != nil {
			return nil, nil, err
		}
		at := place{w.books, w.key}
		if seen[at] && w.fault == nil {
			return nil, nil, errTwice
		}
		seen[at] = true
		outcomes = append(outcomes, outcome{write: w})
	}
	size, passed, none := 0, true, types.CancellationReason{Code: aws.String(wire.ReasonNone)}
	reasons := make([]types.CancellationReason, len(outcomes))
	for n, o := range outcomes {
		before := o.books.base.row(o.key).current()
		reason, after, err := o.reason(before, none)
		if err != nil {
			return nil, nil, err
		}
		reasons[n], outcomes[n].after = reason, after
		passed = passed && aws.ToString(reason.Code) == wire.ReasonNone
		size += max(before.bytes(), after.bytes())
		if breach := o.breach(before); breach != nil {
			breaches = append(breaches, breach)
		}
	}
	switch {
	case !passed:
		return nil, nil, cancelled(reasons)
	case size > table.TransactionBytes:
		return nil, nil, validation("Aggregate size of all items cannot exceed %d bytes", table.TransactionBytes)
	case breaches != nil && !warned:
		return nil, breaches, nil
	}
	for _, o := range outcomes {
		if atOnce {
			s.apply(o.books, o.key, o.after)
		} else {
			o.books.busy[o.key] = true
		}
	}
	return outcomes, nil, nil
}

// reason tells why the write cannot be made now, none if it can, and what the item becomes then.
func (w *write) reason(before item, none types.CancellationReason) (types.CancellationReason, item, error) {
	if w.fault != nil {
		return faultReason(w.fault), before, nil
	}
	if w.books.busy[w.key] {
		return conflictReason(), before, nil
	}
	if !w.condition(before) {
		failed := types.CancellationReason{Code: aws.String(wire.ReasonCondition), Message: aws.String(conditionFailed)}
		if w.shows {
			failed.Item = before.lent()
		}
		return failed, before, nil
	}
	after, err := w.become(before)
	switch {
	case errors.Is(err, errOperand):
		return none, before, err
	case err != nil:
		return faultReason(err), before, nil
	}
	return none, after, nil
}

// action reads one action of a transaction. The lock is held.
func (s *Store) action(a types.TransactWriteItem) (w *write, err error) {
	given := 0
	if a.Put != nil {
		given++
		w, err = s.put(a.Put)
	}
	if a.Update != nil {
		given++
		w, err = s.update(a.Update)
	}
	if a.Delete != nil {
		given++
		w, err = s.delete(a.Delete)
	}
	if a.ConditionCheck != nil {
		given++
		w, err = s.check(a.ConditionCheck)
	}
	if given != 1 {
		return nil, validation("TransactItems can only contain one of Check, Put, Update or Delete")
	}
	return w, err
}
