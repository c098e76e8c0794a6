package audit

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/table"
)

const (
	// pageItems bounds the memory for a page. DynamoDB also ends a page at 1 MB.
	pageItems = 500
	// attempts bounds the attempts per request, for about ten seconds. The client's own retries come on top.
	attempts     = 7
	firstBackoff = 150 * time.Millisecond // doubles with each attempt
)

// transient decides which errors are retried: those that the SDK retries, and conflicts of transactional reads.
var transient = retry.AddWithErrorCodes(retry.NewStandard(), "TransactionCanceledException",
	"TransactionConflictException")

// request sends a read within the rate limit, and retries it after transient errors. All reads of the audit go through
// it. If the read fails, request ends the audit and returns an empty reply. what names the request in the error. used
// returns the consumed capacity of a reply.
func request[In, Out any](ctx context.Context, a *Audit, what string,
	send func(context.Context, *In, ...func(*dynamodb.Options)) (*Out, error), in *In,
	used func(*Out) *types.ConsumedCapacity,
) *Out {
	for attempt := 1; a.limiter.wait(ctx); attempt++ {
		out, err := send(ctx, in)
		if err == nil {
			a.limiter.use(used(out))
			return out
		}
		if attempt == attempts || !transient.IsErrorRetryable(err) {
			a.fail(fmt.Errorf("%s: %w", what, err))
			break
		}
		a.sleep(ctx, firstBackoff<<(attempt-1))
	}
	return new(Out)
}

// scan passes every item of the table to check. It calls check concurrently.
func (a *Audit) scan(ctx context.Context, check func(context.Context, attributes)) {
	var segments sync.WaitGroup
	for i := range a.Segments {
		segments.Go(func() {
			in := &dynamodb.ScanInput{
				TableName: &a.Table, ConsistentRead: aws.Bool(true), Limit: aws.Int32(pageItems),
				Segment: aws.Int32(int32(i)), TotalSegments: aws.Int32(int32(a.Segments)),
				ReturnConsumedCapacity: a.limiter.capacity(),
			}
			for more := true; more; more = len(in.ExclusiveStartKey) > 0 {
				out := request(ctx, a, "scan", a.Store.Scan, in,
					func(out *dynamodb.ScanOutput) *types.ConsumedCapacity { return out.ConsumedCapacity })
				if at, ok := awsmiddleware.GetServerTime(out.ResultMetadata); ok {
					a.count(func(*Report) { a.storeTime = at })
				}
				for _, item := range out.Items {
					check(ctx, item)
				}
				in.ExclusiveStartKey = out.LastEvaluatedKey
			}
			if ctx.Err() == nil {
				a.count(func(r *Report) { r.Counts.Parts = min(r.Counts.Parts+1, int64(a.Segments)) })
			}
		})
	}
	segments.Wait()
}

// keyRange is a range of items of one partition.
type keyRange struct {
	partition   string
	bounds      table.Range
	amountsOnly bool // of postings: only the attributes that a fold needs
}

// page reads one page of a key range. more is where the next page begins, empty at the end.
func (a *Audit) page(ctx context.Context, s keyRange, from attributes) (items []attributes, more attributes) {
	in := &dynamodb.QueryInput{
		TableName: &a.Table, ConsistentRead: aws.Bool(true), Limit: aws.Int32(pageItems), ExclusiveStartKey: from,
		KeyConditionExpression: aws.String(
			table.AttrPK + " = :partition AND " + table.AttrSK + " BETWEEN :from AND :to"),
		ExpressionAttributeValues: attributes{
			":partition": stringOf(s.partition), ":from": stringOf(s.bounds.From), ":to": stringOf(s.bounds.To),
		},
		ReturnConsumedCapacity: a.limiter.capacity(),
	}
	if s.amountsOnly {
		names := map[string]string{"#Kind": "Kind", "#PK": table.AttrPK, "#SK": table.AttrSK, "#Type": table.AttrType,
			"#Transaction": "Transaction"}
		for _, of := range []reflect.Type{
			reflect.TypeFor[amounts](), reflect.TypeFor[marks](), reflect.TypeFor[counting](),
		} {
			for _, c := range columnsOf(of) {
				names["#"+c.name] = c.name
			}
		}
		in.ExpressionAttributeNames = names
		in.ProjectionExpression = aws.String(strings.Join(slices.Sorted(maps.Keys(names)), ", "))
	}
	out := request(ctx, a, "read "+s.partition, a.Store.Query, in,
		func(out *dynamodb.QueryOutput) *types.ConsumedCapacity { return out.ConsumedCapacity })
	return out.Items, out.LastEvaluatedKey
}

// get reads one item. It returns nil if there is none.
func (a *Audit) get(ctx context.Context, k table.Key) attributes {
	in := &dynamodb.GetItemInput{
		TableName: &a.Table, Key: itemKey(k), ConsistentRead: aws.Bool(true),
		ReturnConsumedCapacity: a.limiter.capacity(),
	}
	return request(ctx, a, "read "+k.PK+" "+k.SK, a.Store.GetItem, in,
		func(out *dynamodb.GetItemOutput) *types.ConsumedCapacity { return out.ConsumedCapacity }).Item
}

// getTogether reads at most table.TransactionActions items in one transaction. It returns nil for missing items. A
// transaction reads an item once, but an altered header may name a posting twice.
func (a *Audit) getTogether(ctx context.Context, keys []table.Key) []attributes {
	if len(keys) == 0 {
		return nil
	}
	once := slices.Compact(slices.SortedFunc(slices.Values(keys), compareKeys))
	in := &dynamodb.TransactGetItemsInput{ReturnConsumedCapacity: a.limiter.capacity()}
	for _, k := range once {
		in.TransactItems = append(in.TransactItems,
			types.TransactGetItem{Get: &types.Get{TableName: &a.Table, Key: itemKey(k)}})
	}
	out := request(ctx, a, "read "+keys[0].PK+" and other partitions", a.Store.TransactGetItems, in,
		func(out *dynamodb.TransactGetItemsOutput) *types.ConsumedCapacity {
			if len(out.ConsumedCapacity) == 0 {
				return nil
			}
			return &out.ConsumedCapacity[0]
		})
	items := make([]attributes, len(keys))
	if len(out.Responses) != len(once) {
		a.fail(fmt.Errorf("TransactGetItems returned %d items instead of %d", len(out.Responses), len(once)))
		return items
	}
	for i, k := range keys {
		at, _ := slices.BinarySearchFunc(once, k, compareKeys)
		items[i] = out.Responses[at].Item
	}
	return items
}

func itemKey(k table.Key) attributes {
	return attributes{table.AttrPK: stringOf(k.PK), table.AttrSK: stringOf(k.SK)}
}

func stringOf(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// limiter limits the rate of the reads. It is safe for concurrent use.
type limiter struct {
	rate  float64 // read units per second; 0: no limit
	now   func() time.Time
	pause func(context.Context, time.Duration)

	mu   sync.Mutex
	free time.Time // when the rate allows the next request
}

// capacity makes the store return the consumed units if there is a rate limit.
func (l *limiter) capacity() types.ReturnConsumedCapacity {
	if l.rate <= 0 {
		return ""
	}
	return types.ReturnConsumedCapacityTotal
}

// wait blocks until the rate allows another request. ok is false if the audit has ended.
func (l *limiter) wait(ctx context.Context) (ok bool) {
	if l.rate > 0 {
		l.mu.Lock()
		d := l.free.Sub(l.now())
		l.mu.Unlock()
		if d > 0 {
			l.pause(ctx, d)
		}
	}
	return ctx.Err() == nil
}

// use counts the consumed units of a request: one if the store did not return them.
func (l *limiter) use(c *types.ConsumedCapacity) {
	if l.rate <= 0 {
		return
	}
	units := 1.0
	if c != nil && c.CapacityUnits != nil {
		units = *c.CapacityUnits
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := l.now(); l.free.Before(now) {
		l.free = now
	}
	l.free = l.free.Add(time.Duration(units / l.rate * float64(time.Second)))
}

// pause sleeps for d. If the context ends before, it returns the cause.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// stream reads the items of a key range in order, a page at a time. It is not safe for concurrent use.
type stream struct {
	audit  *Audit
	source keyRange
	items  []attributes // read and not consumed yet
	from   attributes   // where the next page begins
	begun  bool         // a page was read; if from is empty, it was the last one
}

// peek returns the next item without consuming it, or nil at the end.
func (s *stream) peek(ctx context.Context) attributes {
	for len(s.items) == 0 && (!s.begun || len(s.from) > 0) {
		s.items, s.from = s.audit.page(ctx, s.source, s.from)
		s.begun = true
	}
	if len(s.items) == 0 {
		return nil
	}
	return s.items[0]
}

// next consumes the next item. It returns nil at the end.
func (s *stream) next(ctx context.Context) attributes {
	item := s.peek(ctx)
	if item != nil {
		s.items = s.items[1:]
	}
	return item
}

// itemsOf reads items of one partition in order.
func (a *Audit) itemsOf(partition string, within table.Range) items {
	s := &stream{audit: a, source: keyRange{partition: partition, bounds: within}}
	return s.next
}

// items consumes one item per call. It returns nil at the end.
type items func(context.Context) attributes

// all iterates over the rest of the items.
func (next items) all(ctx context.Context) iter.Seq[attributes] {
	return func(yield func(attributes) bool) {
		for item := next(ctx); item != nil && yield(item); {
			item = next(ctx)
		}
	}
}
