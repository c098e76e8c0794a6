package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/store"
)

// beginTwin writes the first record of the twin's stream, right after that of the ledger's table. On every write,
// DynamoDB Local scans all records of the store up to the first record of the table's stream. If the twin's stream
// began later, the twin would be many times slower than the ledger's table.
func (i *inside) beginTwin(ctx context.Context) error {
	_, err := i.store.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &i.Twin, Item: store.KeyItem(store.Transaction.Key("first")),
		ConditionExpression: aws.String(store.IfAbsent),
	}, store.Once)
	if err != nil {
		return fmt.Errorf("the table of the STORE ceiling: %w", err)
	}
	return nil
}

// capturedMax bounds the transactions that are captured of one slice, of about 5 KB each, so that capturing does not
// slow the load down.
const capturedMax = 20_000

// capture records the transactions that a client writes. It is safe for concurrent use.
type capture struct {
	mu     sync.Mutex
	inputs []*dynamodb.TransactWriteItemsInput
}

// option is an option of a DynamoDB client, which makes c record its transactions.
func (c *capture) option(o *dynamodb.Options) {
	store.Observe("Capture", func(_ context.Context, in, _ any, err error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if input, ok := in.(*dynamodb.TransactWriteItemsInput); ok && err == nil && len(c.inputs) < capturedMax {
			c.inputs = append(c.inputs, input)
		}
	})(o)
}

// take returns the transactions since the last call, in order.
func (c *capture) take() []*dynamodb.TransactWriteItemsInput {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.inputs
	c.inputs = nil
	return taken
}

// storeCeiling measures the STORE ceiling: the SDK alone sends the transactions that the ledger wrote to a twin of the
// table, in the same order and with the same number of clients. This leaves out the work of the ledger: HTTP, JSON,
// decisions and encoding. A transaction is retried only after a conflict, with the ledger's backoff.
//
// Concurrent clients change the order of transactions, so the conditions of guards could fail. Their bounds are
// therefore removed. If more than a few transactions fail nevertheless, the measurement is an error.
func (r *Run) storeCeiling(ctx context.Context, inputs []*dynamodb.TransactWriteItemsInput) (measurement, error) {
	prepared := make([]*dynamodb.TransactWriteItemsInput, len(inputs))
	for i, in := range inputs {
		prepared[i] = forTwin(in, r.inside.Twin)
	}
	sending, cancel := outlasting(ctx, finishTimeout)
	defer cancel()
	var failed atomic.Int64
	out, err := measure(ctx, r.Clients, bound{count: len(prepared)}, func(_, n int) error {
		for tries := 1; ; tries++ {
			prepared[n].ClientRequestToken = nil // the SDK creates a new one for every call
			_, err := r.inside.store.TransactWriteItems(sending, prepared[n], store.Once)
			cancelled, ok := errors.AsType[*types.TransactionCanceledException](err)
			switch {
			case !ok:
				return err
			case hasReason(cancelled, store.ReasonCondition):
				failed.Add(1)
				return nil
			case !hasReason(cancelled, store.ReasonConflict):
				return err
			}
			if err := store.Pause(sending, tries); err != nil {
				return err
			}
		}
	})
	const failedShare = 100 // at most one in 100 may fail its condition, because failures are faster than successes
	if err == nil && failed.Load()*failedShare > out.times.count() {
		err = fmt.Errorf("%d of %d transactions failed, so the rate means nothing", failed.Load(), out.times.count())
	}
	return out, err
}

func hasReason(c *types.TransactionCanceledException, code string) bool {
	return slices.ContainsFunc(c.CancellationReasons,
		func(r types.CancellationReason) bool { return aws.ToString(r.Code) == code })
}

// noBound is the largest whole number that DynamoDB stores exactly.
const noBound = "99999999999999999999999999999999999999"

// forTwin returns the same transaction for another table, without the bounds of guards.
func forTwin(in *dynamodb.TransactWriteItemsInput, name string) *dynamodb.TransactWriteItemsInput {
	out := *in
	out.TransactItems = make([]types.TransactWriteItem, len(in.TransactItems))
	for i, a := range in.TransactItems {
		if a.Put != nil {
			put := *a.Put
			put.TableName, a.Put = &name, &put
		}
		if a.Update != nil {
			update := *a.Update
			update.TableName, a.Update = &name, &update
			condition := aws.ToString(update.ConditionExpression)
			if _, bound, ok := strings.Cut(condition, "<= "); ok {
				// The twin has no guards before the first transaction, and no changes of accounts.
				update.ConditionExpression = aws.String(
					"attribute_not_exists(" + store.AttrChange + ") OR " + condition)
				update.ExpressionAttributeValues = maps.Clone(update.ExpressionAttributeValues)
				update.ExpressionAttributeValues[bound] = &types.AttributeValueMemberN{Value: noBound}
			}
		}
		out.TransactItems[i] = a
	}
	return &out
}
