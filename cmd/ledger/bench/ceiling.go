package bench

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
)

// ceilings give both ceilings a slice each, after ours of which kept and captured were taken. One that fails is not measured,
// and the report warns of it.
func (r *run) ceilings(ctx context.Context, m *measured, this *round, kept []exchange, captured []*dynamodb.TransactWriteItemsInput) {
	if len(captured) > 0 {
		out, err := replay(ctx, r.inside.store, r.inside.Twin, captured, r.Clients)
		if err == nil {
			m.store.add(out)
			this.store = out.perSecond()
		} else {
			r.warn("%s, round %d: the ceiling of the store is not measured: %v", m.workload, len(m.rounds)+1, err)
		}
	}
	if len(kept) > 0 {
		out, err := r.echoed(ctx, kept)
		if err == nil {
			m.http.add(out)
			this.http = out.perSecond()
		} else {
			r.warn("%s, round %d: the ceiling of HTTP is not measured: %v", m.workload, len(m.rounds)+1, err)
		}
	}
}

// beginTwin gives the twin's stream its first record, right after that of the ledger's table. For every item written and
// every request DynamoDB Local looks for the first record of the table's stream, through all that came before it: a twin
// that began later would be many times slower than what it is compared with.
func (i *inside) beginTwin(ctx context.Context) error {
	_, err := i.store.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &i.Twin, Item: wire.Key(table.TransactionKey("first")), ConditionExpression: aws.String(wire.IfAbsent),
	}, wire.Once)
	if err != nil {
		return fmt.Errorf("the table beside: %w", err)
	}
	return nil
}

// capturedMost bounds the transactions that are kept of one slice, so that keeping them doesn't slow down what is measured:
// some 5 KB each.
const capturedMost = 20_000

// capture keeps the transactions that a client wrote while it is on. It is safe for concurrent use.
type capture struct {
	mu     sync.Mutex
	on     bool
	inputs []*dynamodb.TransactWriteItemsInput
}

// keep is an option of the client whose transactions are to be kept.
func (c *capture) keep(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("Capture",
			func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
				out, metadata, err := next.HandleInitialize(ctx, in)
				if input, ok := in.Parameters.(*dynamodb.TransactWriteItemsInput); ok && err == nil {
					c.add(input)
				}
				return out, metadata, err
			}), middleware.After)
	})
}

func (c *capture) add(in *dynamodb.TransactWriteItemsInput) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.on && len(c.inputs) < capturedMost {
		c.inputs = append(c.inputs, in)
	}
}

// start switches the capture on.
func (c *capture) start() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.on = true
}

// take switches the capture off and returns what it kept, the first first.
func (c *capture) take() []*dynamodb.TransactWriteItemsInput {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.inputs
	c.on, c.inputs = false, nil
	return taken
}

// beside is what a ceiling took.
type beside struct {
	timing
	used     process
	repeated int64 // transactions sent again after a conflict
	failed   int64 // transactions whose conditions were not met in the twin
}

func (b *beside) add(other beside) {
	b.timing.add(other.timing)
	b.used.add(other.used)
	b.repeated += other.repeated
	b.failed += other.failed
}

// One in failedMost transactions may fail for a condition: it is answered sooner than one that is written.
const failedMost = 100

// replay is the ceiling of the store: the SDK alone sends the transactions that we wrote, in the same order and by as many
// callers at once, to a twin of the table, which began empty. All that is left out is ours: HTTP, JSON, deciding, encoding.
// Each is sent once, like ours, and again after a conflict, after a pause like ours.
//
// Many at once come in another order than ours did, in which the conditions of guards need not be met; so their bounds are
// set above everything. If transactions failed all the same it would be no measure, and replay says so by an error.
func replay(ctx context.Context, client *dynamodb.Client, twin string, inputs []*dynamodb.TransactWriteItemsInput, clients int) (beside, error) {
	prepared := make([]*dynamodb.TransactWriteItemsInput, len(inputs))
	for i, in := range inputs {
		prepared[i] = readdressed(in, twin)
	}
	sending, cancel := outlasting(ctx, finishPatience)
	defer cancel()
	var repeated, failed atomic.Int64
	out, err := alone(ctx, clients, bound{count: len(prepared)}, func(_, n int) error {
		for tries := 1; ; tries++ {
			prepared[n].ClientRequestToken = nil // the SDK makes another for every call
			_, err := client.TransactWriteItems(sending, prepared[n], wire.Once)
			var cancelled *types.TransactionCanceledException
			switch {
			case err == nil:
				return nil
			case !errors.As(err, &cancelled):
				return err
			case hasReason(cancelled, wire.ReasonCondition):
				failed.Add(1)
				return nil
			case !hasReason(cancelled, wire.ReasonConflict):
				return err
			}
			repeated.Add(1)
			if err := wire.Pause(sending, tries); err != nil {
				return err
			}
		}
	})
	out.repeated, out.failed = repeated.Load(), failed.Load()
	if err == nil && out.failed*failedMost > int64(out.count()) {
		err = fmt.Errorf("%d of %d transactions failed in the twin of the table: that measures nothing", out.failed, out.count())
	}
	return out, err
}

// alone is drive, and what this process used meanwhile; nothing else may be going on in it.
func alone(ctx context.Context, clients int, b bound, do func(worker, n int) error) (out beside, err error) {
	runtime.GC() // no slice pays for what another left
	before, err := used()
	if err != nil {
		return out, err
	}
	if out.timing, err = drive(ctx, clients, b, do); err != nil {
		return out, err
	}
	after, err := used()
	out.used = after.since(before)
	return out, err
}

func hasReason(c *types.TransactionCanceledException, code string) bool {
	return slices.ContainsFunc(c.CancellationReasons, func(r types.CancellationReason) bool { return aws.ToString(r.Code) == code })
}

// readdressed returns the same transaction for another table, with no bounds.
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
			if _, bound, ok := strings.Cut(aws.ToString(update.ConditionExpression), "<= "); ok {
				update.ExpressionAttributeValues = maps.Clone(update.ExpressionAttributeValues)
				update.ExpressionAttributeValues[bound] = &types.AttributeValueMemberN{Value: boundless}
			}
		}
		same.TransactItems[i] = a
	}
	return &same
}

// boundless is the largest whole number that the store takes exactly.
const boundless = "99999999999999999999999999999999999999"
