package audit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"golang.org/x/sync/errgroup"

	"ledger.example/ledger/table"
)

const (
	// pageItems is the most items of one page, so that what is held at a time is small; the store cuts at 1 MB besides.
	pageItems = 500
	// tries is how often one request is made, beside what the client repeats by itself: in all about ten seconds.
	tries    = 7
	tryFirst = 150 * time.Millisecond // the first pause; each next is twice as long
)

// scan hands every item of the table to look, which is called by several goroutines at once.
func (a *Audit) scan(ctx context.Context, look func(context.Context, attributes) error) error {
	segments, ctx := errgroup.WithContext(ctx)
	for i := range a.Segments {
		segments.Go(func() error {
			var from attributes
			for {
				in := &dynamodb.ScanInput{
					TableName: &a.Table, ConsistentRead: aws.Bool(true), Limit: aws.Int32(pageItems), ExclusiveStartKey: from,
					Segment: aws.Int32(int32(i)), TotalSegments: aws.Int32(int32(a.Segments)),
					ReturnConsumedCapacity: a.meter.capacity(),
				}
				var out *dynamodb.ScanOutput
				err := a.ask(ctx, func(ctx context.Context) (used *types.ConsumedCapacity, err error) {
					if out, err = a.Store.Scan(ctx, in); err != nil {
						return nil, err
					}
					return out.ConsumedCapacity, nil
				})
				if err != nil {
					return fmt.Errorf("scan: %w", err)
				}
				for _, item := range out.Items {
					if err := look(ctx, item); err != nil {
						return err
					}
				}
				if from = out.LastEvaluatedKey; len(from) == 0 {
					return nil
				}
			}
		})
	}
	return segments.Wait()
}

// stretch is some items of one partition, in the order of their keys.
type stretch struct {
	partition string
	within    table.Range
	figures   bool // only what a fold reads of postings
}

// page reads one page of a stretch; more is where it goes on, empty at the end.
func (a *Audit) page(ctx context.Context, s stretch, from attributes) (items []attributes, more attributes, err error) {
	in := &dynamodb.QueryInput{
		TableName: &a.Table, ConsistentRead: aws.Bool(true), Limit: aws.Int32(pageItems), ExclusiveStartKey: from,
		KeyConditionExpression:    aws.String(table.AttrPK + " = :partition AND " + table.AttrSK + " BETWEEN :from AND :to"),
		ExpressionAttributeValues: attributes{":partition": stringOf(s.partition), ":from": stringOf(s.within.From), ":to": stringOf(s.within.To)},
		ReturnConsumedCapacity:    a.meter.capacity(),
	}
	if s.figures {
		in.ProjectionExpression = aws.String("#pk, #sk, #type, #quantity, #cost")
		in.ExpressionAttributeNames = map[string]string{
			"#pk": table.AttrPK, "#sk": table.AttrSK, "#type": table.AttrType, "#quantity": fieldQuantity, "#cost": fieldCost,
		}
	}
	var out *dynamodb.QueryOutput
	err = a.ask(ctx, func(ctx context.Context) (used *types.ConsumedCapacity, err error) {
		if out, err = a.Store.Query(ctx, in); err != nil {
			return nil, err
		}
		return out.ConsumedCapacity, nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", s.partition, err)
	}
	return out.Items, out.LastEvaluatedKey, nil
}

// get reads one item, nil when it is absent.
func (a *Audit) get(ctx context.Context, k table.Key) (attributes, error) {
	in := &dynamodb.GetItemInput{
		TableName: &a.Table, Key: itemKey(k), ConsistentRead: aws.Bool(true), ReturnConsumedCapacity: a.meter.capacity(),
	}
	var out *dynamodb.GetItemOutput
	err := a.ask(ctx, func(ctx context.Context) (used *types.ConsumedCapacity, err error) {
		if out, err = a.Store.GetItem(ctx, in); err != nil {
			return nil, err
		}
		return out.ConsumedCapacity, nil
	})
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", k.PK, k.SK, err)
	}
	return out.Item, nil
}

// together reads at most table.TransactionActions items as they were at one instant; absent ones are empty.
func (a *Audit) together(ctx context.Context, keys []table.Key) ([]attributes, error) {
	in := &dynamodb.TransactGetItemsInput{ReturnConsumedCapacity: a.meter.capacity()}
	for _, k := range keys {
		in.TransactItems = append(in.TransactItems, types.TransactGetItem{Get: &types.Get{TableName: &a.Table, Key: itemKey(k)}})
	}
	var out *dynamodb.TransactGetItemsOutput
	err := a.ask(ctx, func(ctx context.Context) (used *types.ConsumedCapacity, err error) {
		if out, err = a.Store.TransactGetItems(ctx, in); err != nil {
			return nil, err
		}
		if len(out.ConsumedCapacity) > 0 {
			used = &out.ConsumedCapacity[0]
		}
		return used, nil
	})
	if err != nil {
		return nil, fmt.Errorf("read %s and others: %w", keys[0].PK, err)
	}
	if len(out.Responses) != len(keys) {
		return nil, errIncomplete
	}
	items := make([]attributes, len(keys))
	for i, response := range out.Responses {
		items[i] = response.Item
	}
	return items, nil
}

func itemKey(k table.Key) attributes {
	return attributes{table.AttrPK: stringOf(k.PK), table.AttrSK: stringOf(k.SK)}
}

func stringOf(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// ask makes a request within the rate, again when it failed for a reason that may pass.
func (a *Audit) ask(ctx context.Context, request func(context.Context) (*types.ConsumedCapacity, error)) error {
	for try := 1; ; try++ {
		if err := a.meter.wait(ctx); err != nil {
			return err
		}
		used, err := request(ctx)
		if err == nil {
			a.meter.use(used)
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if try == tries || !passes(err) {
			return err
		}
		if err := a.Pause(ctx, tryFirst<<(try-1)); err != nil {
			return err
		}
	}
}

// passes tells whether a failed read may go well if it is asked again: throttled, in conflict, or without an answer of the
// store's own (AWS, "Error handling with DynamoDB", which names what may be retried).
func passes(err error) bool {
	var refused smithy.APIError
	if errors.As(err, &refused) {
		switch refused.ErrorCode() {
		case "ProvisionedThroughputExceededException", "RequestLimitExceeded", "ThrottlingException",
			"TransactionCanceledException", "TransactionConflictException", "TransactionInProgressException":
			return true
		}
		if refused.ErrorFault() == smithy.FaultClient {
			return false
		}
	}
	var reply *smithyhttp.ResponseError
	if !errors.As(err, &reply) || reply.Response == nil || reply.Response.Response == nil {
		return true
	}
	return reply.HTTPStatusCode() >= http.StatusInternalServerError
}

// meter keeps the reads within a rate, in units of the store's.
type meter struct {
	rate  float64 // units a second; 0: no limit
	now   func() time.Time
	pause func(context.Context, time.Duration) error

	mu   sync.Mutex
	free time.Time // when what was used so far is paid for
}

// capacity asks the store what a request used, if that counts.
func (m *meter) capacity() types.ReturnConsumedCapacity {
	if m.rate <= 0 {
		return ""
	}
	return types.ReturnConsumedCapacityTotal
}

// wait returns when another request may be made.
func (m *meter) wait(ctx context.Context) error {
	if m.rate <= 0 {
		return ctx.Err()
	}
	m.mu.Lock()
	d := m.free.Sub(m.now())
	m.mu.Unlock()
	if d <= 0 {
		return ctx.Err()
	}
	return m.pause(ctx, d)
}

// use counts what a request used. A store that doesn't tell counts as one unit.
func (m *meter) use(c *types.ConsumedCapacity) {
	if m.rate <= 0 {
		return
	}
	units := 1.0
	if c != nil && c.CapacityUnits != nil {
		units = *c.CapacityUnits
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := m.now(); m.free.Before(now) {
		m.free = now
	}
	m.free = m.free.Add(time.Duration(units / m.rate * float64(time.Second)))
}

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
