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
	"ledger.example/ledger"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
)

// ErrTooLarge is returned for a commit of more actions than the store takes in one transaction. Nothing was sent.
var ErrTooLarge = errors.New("more actions than one transaction can have")

// Append implements ledger.Journal.
//
// The client request token is left to the SDK, which makes a new one for every call: the header's condition is what
// makes an append happen once, for ever. A token of our own would make the store answer for an earlier attempt of
// this commit, and refuse one whose bounds were raised since as another request.
func (j *Journal) Append(ctx context.Context, c ledger.Commit) (time.Time, error) {
	postings := c.Header.Postings()
	if actions := 1 + len(postings) + len(c.Debits); actions > table.TransactionActions {
		return time.Time{}, fmt.Errorf("append transaction: %w: %d", ErrTooLarge, actions)
	}
	// The order is that in which cancelled reads the reasons: header, postings, debits.
	actions := make([]types.TransactWriteItem, 0, 1+len(postings)+len(c.Debits))
	maker, puts := wire.NewMaker(cap(actions)), make([]types.Put, 1+len(postings))
	puts[0] = j.putAbsent(maker, c.Header)
	for i := range postings {
		puts[1+i] = j.putAbsent(maker, &postings[i])
	}
	for i := range puts {
		actions = append(actions, types.TransactWriteItem{Put: &puts[i]})
	}
	for _, debit := range c.Debits {
		actions = append(actions, j.spend(maker, debit))
	}

	if err := wire.Ready(ctx); err != nil {
		return time.Time{}, fmt.Errorf("append transaction: %w", err)
	}
	out, err := j.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: actions}, wire.Once)
	if err == nil {
		return wire.StoreTime(out.ResultMetadata), nil
	}
	if reasons, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		at := wire.ErrorTime(err)
		proof, fault := cancelled(c, len(postings), reasons.CancellationReasons)
		if fault != nil {
			return at, fmt.Errorf("append transaction: %w: %w", fault, err)
		}
		proof.At = at
		return at, proof
	}
	return wire.ErrorTime(err), fmt.Errorf("append transaction: %w", wire.WriteError(err))
}

// putAbsent puts an event on the condition that it is absent.
func (j *Journal) putAbsent(m *wire.Maker, e events.Event) types.Put {
	return types.Put{
		TableName:                           &j.table,
		Item:                                m.Event(e),
		ConditionExpression:                 &j.expressions.ifAbsent,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// expressions are those of an append, which the SDK wants as pointers and only reads.
type expressions struct {
	ifAbsent                 string
	spend                    string
	within, nothingSpentOrIn string
	names                    map[string]string // of spend and its conditions
}

func newExpressions() expressions {
	// A comparison with what is absent is false: a guard that isn't there passes only if its absence does.
	const within = "#spent <= :bound"
	return expressions{
		ifAbsent:         wire.IfAbsent,
		spend:            "ADD #spent :gross SET #type = :type",
		within:           within,
		nothingSpentOrIn: "attribute_not_exists(#spent) OR " + within,
		names:            map[string]string{"#spent": table.AttrSpent, "#type": table.AttrType},
	}
}

// spend adds a debit to its guard, on the condition that what was spent before is within the bound. One with a negative
// bound can never pass; it is sent all the same, because the refusal tells what was spent at that moment.
func (j *Journal) spend(m *wire.Maker, d ledger.Debit) types.TransactWriteItem {
	condition := &j.expressions.within
	if d.Bound.Sign() >= 0 {
		condition = &j.expressions.nothingSpentOrIn
	}
	return types.TransactWriteItem{Update: &types.Update{
		TableName:                &j.table,
		Key:                      m.Key(table.SpendKey(d.Account, d.Asset)),
		UpdateExpression:         &j.expressions.spend,
		ConditionExpression:      condition,
		ExpressionAttributeNames: j.expressions.names,
		ExpressionAttributeValues: wire.Item{
			":gross": m.Amount(d.Gross),
			":bound": m.Amount(d.Bound),
			":type":  m.String(table.KindSpend),
		},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}

// cancelled reads the store's reasons, one for each action of c in their order. An error says that they are none that a
// correct commit can meet.
func cancelled(c ledger.Commit, postings int, reasons []types.CancellationReason) (*ledger.Cancelled, error) {
	if len(reasons) != 1+postings+len(c.Debits) {
		return nil, fmt.Errorf("cancelled for %d reasons with %d actions", len(reasons), 1+postings+len(c.Debits))
	}
	proof := &ledger.Cancelled{}
	if err := headerReason(proof, reasons[0]); err != nil {
		return nil, err
	}
	for i, reason := range reasons[1:] {
		switch code := aws.ToString(reason.Code); code {
		case wire.ReasonNone:
		case wire.ReasonConflict:
			proof.Conflict = true
		case wire.ReasonCapacity, wire.ReasonThrottled:
			proof.Throttled = true
		case wire.ReasonCondition:
			// A posting that exists says nothing that its header doesn't: without that, its KSUID was minted twice.
			if i >= postings {
				refusal, err := refused(c.Debits[i-postings], reason.Item)
				if err != nil {
					return nil, err
				}
				proof.Refused = append(proof.Refused, refusal)
			}
		default:
			return nil, fmt.Errorf("action %d was refused: %s: %s", i+1, code, aws.ToString(reason.Message))
		}
	}
	return proof, nil
}

func headerReason(proof *ledger.Cancelled, reason types.CancellationReason) error {
	switch code := aws.ToString(reason.Code); code {
	case wire.ReasonNone:
		proof.Header = ledger.HeaderNone
	case wire.ReasonConflict:
		proof.Header = ledger.HeaderConflict
	case wire.ReasonCapacity, wire.ReasonThrottled:
		proof.Header = ledger.HeaderThrottled
	case wire.ReasonCondition:
		stored, err := decode[events.TransactionPosted](reason.Item)
		if err != nil {
			return fmt.Errorf("transaction that is there already: %w", err)
		}
		proof.Header, proof.Stored = ledger.HeaderExists, &stored
	default:
		return fmt.Errorf("the header was refused: %s: %s", code, aws.ToString(reason.Message))
	}
	return nil
}

// refused reads the guard whose condition failed; one that isn't there has spent nothing.
func refused(d ledger.Debit, guard wire.Item) (ledger.Refusal, error) {
	refusal := ledger.Refusal{Pair: d.Pair}
	if len(guard) == 0 {
		return refusal, nil
	}
	r := wire.Read(guard)
	refusal.Spent = r.Amount(table.AttrSpent)
	if r.Err() != nil {
		return refusal, fmt.Errorf("guard of %s in %s: %w", d.Asset, d.Account, r.Err())
	}
	return refusal, nil
}
