package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"ledger.example/cmd/ledger-bench/meter"
	"ledger.example/functions/api"
	"ledger.example/functions/app"
	"ledger.example/internal/local/pump"
	"ledger.example/internal/table"
)

// beginTwin writes the first record of the twin's stream, right after that of the ledger's table. On every write,
// DynamoDB Local scans all records of the store up to the first record of the table's stream. If the twin's stream
// began later, the twin would be many times slower than the ledger's table.
func (i *inside) beginTwin(ctx context.Context) error {
	_, err := i.store.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &i.Twin, Item: table.KeyItem(table.Transaction.Key("first")),
		ConditionExpression: aws.String(table.IfAbsent),
	}, table.Once)
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
	table.Observe("Capture", func(_ context.Context, in, _ any, err error) {
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
			_, err := r.inside.store.TransactWriteItems(sending, prepared[n], table.Once)
			cancelled, ok := errors.AsType[*types.TransactionCanceledException](err)
			switch {
			case !ok:
				return err
			case hasReason(cancelled, table.ReasonCondition):
				failed.Add(1)
				return nil
			case !hasReason(cancelled, table.ReasonConflict):
				return err
			}
			if err := table.Pause(sending, tries); err != nil {
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
					"attribute_not_exists(" + table.AttrChange + ") OR " + condition)
				update.ExpressionAttributeValues = maps.Clone(update.ExpressionAttributeValues)
				update.ExpressionAttributeValues[bound] = &types.AttributeValueMemberN{Value: noBound}
			}
		}
		out.TransactItems[i] = a
	}
	return &out
}

// Local configures a ledger in this process. It runs the handlers that a deployed ledger runs.
type Local struct {
	// Client returns a new client of the store.
	Client func(optFns ...func(*dynamodb.Options)) *dynamodb.Client
	Table  string
	// Twin is an empty table with the same schema, for the STORE ceiling.
	Twin string
	// Serve serves on a port of the loopback interface until stop is called. stop waits for requests in flight.
	Serve func(handler http.Handler) (url string, stop func() error, err error)
	// Project delivers the table's stream to a projector and a lister until ctx ends. nil: no projection.
	Project func(ctx context.Context, projector, lister pump.Handler) error
	// Watch returns when ctx ends, or with an error if the store stops before that.
	Watch  func(ctx context.Context) error
	IsCold bool // the store is a DynamoDB Local that was just started
	Log    *slog.Logger
}

// inside is a ledger that runs in this process: an API and a projector with separate clients, so that their requests
// are counted separately, and a second API for reads of the bench, which are not counted.
type inside struct {
	Local
	command, projection *meter.Meter
	store               *dynamodb.Client // not counted
	captured            *capture         // transactions of the API
	url, observeURL     string
	stops               []func() error
}

// open starts the ledger. The caller must call stop, also after an error.
func (l Local) open(ctx context.Context) (i *inside, err error) {
	i = &inside{Local: l, command: new(meter.Meter), projection: new(meter.Meter), captured: new(capture),
		store: l.Client()}
	if i.url, err = i.serve(i.command.Count, i.captured.option); err != nil {
		return i, err
	}
	if i.observeURL, err = i.serve(); err != nil || l.Project == nil {
		return i, err
	}
	projector, err := i.service(i.projection.Count)
	if err != nil {
		return i, err
	}
	lister, err := i.service()
	if err != nil {
		return i, err
	}
	// The projection outlives ctx, because the checks wait for it.
	ctx, end := context.WithCancel(context.WithoutCancel(ctx))
	var projecting errgroup.Group
	projecting.Go(func() error { return l.Project(ctx, projector.Stream(), lister.List()) })
	i.stops = append(i.stops, func() error { end(); return projecting.Wait() })
	return i, nil
}

// reset forgets what was counted and captured so far.
func (i *inside) reset() {
	i.command.Take()
	i.projection.Take()
	i.captured.take()
}

// service returns a service with a new client.
func (i *inside) service(optFns ...func(*dynamodb.Options)) (*app.Service, error) {
	return app.New(app.Config{
		Client: i.Client(optFns...), Table: i.Table, Caller: api.LocalCaller, Log: i.Log,
	})
}

// serve creates an API and serves it until stop.
func (i *inside) serve(optFns ...func(*dynamodb.Options)) (string, error) {
	service, err := i.service(optFns...)
	if err != nil {
		return "", err
	}
	url, stop, err := i.Serve(service.API())
	if err == nil {
		i.stops = append(i.stops, stop)
	}
	return url, err
}

// stop stops the parts in the order in which they were started: the APIs first, then the projector.
func (i *inside) stop() (err error) {
	for _, stop := range i.stops {
		err = errors.Join(err, stop())
	}
	return err
}
