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

	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
)

// ceilings measures both ceilings after one of our slices, from what was recorded of it. A ceiling that fails is left
// out with a warning.
func (r *Run) ceilings(ctx context.Context, s slot, m *measured, this *round, answers *sync.Map) {
	add := func(name string, sum *measurement, rate *float64, out measurement, err error) {
		if err != nil {
			r.warnings = append(r.warnings, fmt.Sprintf("%s, round %d: the ceiling of %s is not measured: %v",
				s.workload, s.round, name, err))
			return
		}
		sum.add(out)
		*rate = out.perSecond()
	}
	if captured := r.inside.captured.take(); len(captured) > 0 {
		out, err := r.storeCeiling(ctx, captured)
		add("the store", &m.store, &this.store, out, err)
	}
	if this.rate > 0 {
		out, err := r.httpCeiling(ctx, s, answers)
		add("HTTP", &m.http, &this.http, out, err)
	}
}

// beginTwin writes the first record of the twin's stream, right after that of the ledger's table. For every write,
// DynamoDB Local searches for the first record of the table's stream, through all records before it: a twin that began
// later would be many times slower than the table it is compared with.
func (i *inside) beginTwin(ctx context.Context) error {
	_, err := i.store.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &i.Twin, Item: ddb.Key(table.TransactionKey("first")),
		ConditionExpression: aws.String(ddb.IfAbsent),
	}, ddb.Once)
	if err != nil {
		return fmt.Errorf("the table beside: %w", err)
	}
	return nil
}

// capturedMax bounds the transactions kept of one slice, so that keeping them does not slow it down: some 5 KB each.
const capturedMax = 20_000

// capture keeps the transactions that a client writes. It is safe for concurrent use.
type capture struct {
	mu     sync.Mutex
	inputs []*dynamodb.TransactWriteItemsInput
}

// keep is a client option: the client's transactions are kept.
func (c *capture) keep(o *dynamodb.Options) {
	ddb.Observe("Capture", func(_ context.Context, in, _ any, err error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if input, ok := in.(*dynamodb.TransactWriteItemsInput); ok && err == nil && len(c.inputs) < capturedMax {
			c.inputs = append(c.inputs, input)
		}
	})(o)
}

// take returns what was kept since the last call, in order.
func (c *capture) take() []*dynamodb.TransactWriteItemsInput {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.inputs
	c.inputs = nil
	return taken
}

// storeCeiling measures the store's ceiling: the SDK alone sends the transactions that the ledger wrote, in the same
// order and by as many clients, to a twin of the table, which began empty. What it leaves out is the ledger: HTTP,
// JSON, deciding, encoding. A transaction is repeated only after a conflict, with the same backoff.
//
// Concurrent clients change the order, in which the conditions of guards may fail; so their bounds are lifted. If
// transactions fail all the same, nothing is measured: that is an error.
func (r *Run) storeCeiling(ctx context.Context, inputs []*dynamodb.TransactWriteItemsInput) (measurement, error) {
	prepared := make([]*dynamodb.TransactWriteItemsInput, len(inputs))
	for i, in := range inputs {
		prepared[i] = readdressed(in, r.inside.Twin)
	}
	sending, cancel := outlasting(ctx, finishTimeout)
	defer cancel()
	var failed atomic.Int64
	out, err := measure(ctx, r.Clients, bound{count: len(prepared)}, func(_, n int) error {
		for tries := 1; ; tries++ {
			prepared[n].ClientRequestToken = nil // the SDK makes another for every call
			_, err := r.inside.store.TransactWriteItems(sending, prepared[n], ddb.Once)
			cancelled, ok := errors.AsType[*types.TransactionCanceledException](err)
			switch {
			case !ok:
				return err
			case hasReason(cancelled, ddb.ReasonCondition):
				failed.Add(1)
				return nil
			case !hasReason(cancelled, ddb.ReasonConflict):
				return err
			}
			if err := ddb.Pause(sending, tries); err != nil {
				return err
			}
		}
	})
	const failedShare = 100 // one in how many may fail by a condition: those are answered faster than others
	if err == nil && int(failed.Load())*failedShare > out.count() {
		err = fmt.Errorf("%d of %d transactions failed in the twin of the table: that measures nothing", failed.Load(),
			out.count())
	}
	return out, err
}

func hasReason(c *types.TransactionCanceledException, code string) bool {
	return slices.ContainsFunc(c.CancellationReasons,
		func(r types.CancellationReason) bool { return aws.ToString(r.Code) == code })
}

// boundless is the largest whole number that DynamoDB stores exactly.
const boundless = "99999999999999999999999999999999999999"

// readdressed returns the same transaction for another table, without bounds of guards.
func readdressed(in *dynamodb.TransactWriteItemsInput, name string) *dynamodb.TransactWriteItemsInput {
	same := *in
	same.TransactItems = make([]types.TransactWriteItem, len(in.TransactItems))
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
				// Guards are not made in the twin, and never told of a change.
				update.ConditionExpression = aws.String(
					"attribute_not_exists(" + table.AttrChange + ") OR " + condition)
				update.ExpressionAttributeValues = maps.Clone(update.ExpressionAttributeValues)
				update.ExpressionAttributeValues[bound] = &types.AttributeValueMemberN{Value: boundless}
			}
		}
		same.TransactItems[i] = a
	}
	return &same
}
