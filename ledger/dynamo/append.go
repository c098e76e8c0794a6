package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/ddb"
	"ledger.example/internal/store"
	"ledger.example/internal/table"
	"ledger.example/ledger"
)

// ErrTooLarge is the error for a commit of more than table.TransactionActions actions. No request was made.
var ErrTooLarge = errors.New("more actions than one transaction can have")

// Append implements ledger.Journal.
//
// The SDK makes a new client request token for every call. The header's condition makes the append idempotent. A
// constant token would not: the store would repeat its answer to an earlier attempt, and reject an attempt with raised
// bounds.
func (j *Journal) Append(ctx context.Context, c ledger.Commit) (time.Time, error) {
	size := c.Actions()
	if size > table.TransactionActions {
		return time.Time{}, fmt.Errorf("append: %w: %d", ErrTooLarge, size)
	}
	// cancelled expects this order: heads, postings, debits.
	actions := make([]types.TransactWriteItem, 0, size)
	maker, puts := ddb.NewItemEncoder(size), make([]types.Put, len(c.Heads)+len(c.Postings))
	for i, head := range c.Heads {
		puts[i] = j.putAbsent(maker, head)
	}
	for i := range c.Postings {
		puts[len(c.Heads)+i] = j.putAbsent(maker, &c.Postings[i])
	}
	for i := range puts {
		actions = append(actions, types.TransactWriteItem{Put: &puts[i]})
	}
	for _, debit := range c.Debits {
		actions = append(actions, j.spend(maker, debit))
	}

	if err := ddb.Ready(ctx); err != nil {
		return time.Time{}, fmt.Errorf("append: %w", err)
	}
	out, err := j.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: actions}, ddb.Once)
	if err == nil {
		return ddb.StoreTime(out.ResultMetadata), nil
	}
	if reasons, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		at := ddb.ErrorTime(err)
		proof, fault := cancelled(c, reasons.CancellationReasons)
		if fault != nil {
			return at, fmt.Errorf("append: %w: %w", fault, err)
		}
		proof.At = at
		return at, proof
	}
	return ddb.ErrorTime(err), fmt.Errorf("append: %w", ddb.WriteError(err))
}

// putAbsent returns a put of an event on the condition that its key is absent.
func (j *Journal) putAbsent(m *ddb.ItemEncoder, e events.Event) types.Put {
	return types.Put{
		TableName:                           &j.table,
		Item:                                m.Event(e),
		ConditionExpression:                 &ifAbsent,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// Expressions of an append. The SDK takes pointers to them, and only reads them.
var (
	ifAbsent        = ddb.IfAbsent
	spendExpression = "ADD #spent :gross"
	// A comparison with an absent attribute is false. So no debit passes a guard that is absent or has no version.
	within     = "#form = :form AND #change = :change AND #spent <= :bound"
	spendNames = map[string]string{
		"#form": table.AttrForm, "#spent": table.AttrSpent, "#change": table.AttrChange,
	}
)

// spend adds a debit to its guard, on the condition that the guard has the form and the version of the account that are
// known here, and that the amount spent before is within the bound. A negative bound never passes. It is sent
// nevertheless, because the refusal returns the amount spent.
func (j *Journal) spend(m *ddb.ItemEncoder, d ledger.Debit) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{
		TableName:                &j.table,
		Key:                      m.Key(table.Spend.Key(d.Pair.Account, d.Pair.Asset)),
		UpdateExpression:         &spendExpression,
		ConditionExpression:      &within,
		ExpressionAttributeNames: spendNames,
		ExpressionAttributeValues: ddb.Item{
			":gross":  m.Amount(d.Gross),
			":bound":  m.Amount(d.Bound),
			":change": m.Amount(events.NewAmount(d.Version)),
			":form":   m.Amount(events.NewAmount(events.Form)),
		},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}

// cancelled decodes the cancellation reasons, one for each action of c, in order. Errors: ErrUnknownOutcome if they
// prove nothing; others if no correct commit can cause them.
func cancelled(c ledger.Commit, reasons []types.CancellationReason) (*ledger.Cancelled, error) {
	if _, _, err := ddb.Reasons(reasons); err != nil {
		return nil, err
	}
	if actions := c.Actions(); len(reasons) != actions {
		return nil, fmt.Errorf("%w: cancelled for %d reasons with %d actions",
			store.ErrUnknownOutcome, len(reasons), actions)
	}
	proof := &ledger.Cancelled{Heads: make([]ledger.HeadReason, len(c.Heads))}
	for i := range proof.Heads {
		var err error
		if proof.Heads[i], err = headReason(reasons[i]); err != nil {
			return nil, err
		}
	}
	rest := reasons[len(c.Heads):]
	for i, reason := range rest {
		switch aws.ToString(reason.Code) {
		case ddb.ReasonConflict:
			proof.Conflict = true
		case ddb.ReasonCapacity, ddb.ReasonThrottled:
			proof.Throttled = true
		case ddb.ReasonCondition:
			// An existing posting needs no report: either its head exists, too, or its KSUID was minted twice.
			if i >= len(c.Postings) {
				refusal, err := refused(c.Debits[i-len(c.Postings)], reason.Item)
				if err != nil {
					return nil, err
				}
				proof.Refused = append(proof.Refused, refusal)
			}
		}
	}
	return proof, nil
}

func headReason(reason types.CancellationReason) (ledger.HeadReason, error) {
	switch aws.ToString(reason.Code) {
	case ddb.ReasonConflict:
		return ledger.HeadReason{Is: ledger.HeadConflict}, nil
	case ddb.ReasonCapacity, ddb.ReasonThrottled:
		return ledger.HeadReason{Is: ledger.HeadThrottled}, nil
	case ddb.ReasonCondition:
		exists := ledger.HeadReason{Is: ledger.HeadExists}
		if len(reason.Item) == 0 {
			return exists, nil // the store did not return the item
		}
		var err error
		if exists.Stored, err = ddb.DecodeEvent(reason.Item); err != nil {
			return exists, fmt.Errorf("stored event: %w", err)
		}
		return exists, nil
	}
	return ledger.HeadReason{}, nil
}

// refused decodes the guard whose condition failed.
func refused(d ledger.Debit, item ddb.Item) (ledger.Refusal, error) {
	if len(item) == 0 {
		return ledger.Refusal{Guard: ledger.Guard{Pair: d.Pair}, Absent: true}, nil
	}
	guard, err := readGuard(d.Pair, item)
	return ledger.Refusal{Guard: guard}, err
}
