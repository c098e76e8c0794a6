package pump

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/segmentio/ksuid"
)

// A delivery passes the records of one shard to the handler, one batch after the other.
type delivery struct {
	pump     *Pump
	shard    string
	waiting  []record // until their batch is full, or its window ends
	failures int      // successive failed invocations
}

// enqueue adds the records of a page that pass the filters to those that wait. Unreadable records become dead letters.
// It returns an error only if ctx ends before these are written.
func (d *delivery) enqueue(ctx context.Context, page []types.Record) error {
	seen := time.Now()
	for _, r := range page {
		if !d.pump.filter.matches(r) {
			continue
		}
		d.pump.addPending(1)
		if c, err := convert(r, d.pump.options.StreamARN, seen); err == nil {
			d.waiting = append(d.waiting, c)
		} else if err := d.pump.writeDeadLetter(ctx, d.shard, []record{c}, unreadable, 0, err); err != nil {
			return err
		}
	}
	return nil
}

// deliverDue delivers the batches that are full or whose window has ended, or all if the shard has ended. It returns an
// error only if ctx ends before that.
func (d *delivery) deliverDue(ctx context.Context, isOver bool) error {
	s, now := d.pump.options.Settings, time.Now()
	isDue := func(first record) bool { return isOver || now.Sub(first.seen) >= s.Window }
	for len(d.waiting) >= s.BatchSize || len(d.waiting) > 0 && isDue(d.waiting[0]) {
		n := min(len(d.waiting), s.BatchSize)
		batch := d.waiting[:n]
		d.waiting = d.waiting[n:]
		if err := d.deliver(ctx, batch, 0); err != nil {
			return err
		}
	}
	return nil
}

// deliver passes a batch to the handler until each of its records is done or a dead letter. It returns an error only if
// ctx ends before that. invocations is the number of earlier invocations with these records.
//
// The handler's answer decides how the delivery continues, by Lambda's rules:
//
//   - An error, a panic, a timeout, or a failure reported for an identifier that is not in the batch: the whole
//     batch failed. A batch of several records is bisected, which does not count as a retry. Otherwise it is retried.
//   - Failures reported by sequence number: the records before the lowest one are done, all others are redelivered.
//     That counts as a retry if the lowest is the first record of the batch.
//   - A batch without retries left becomes a dead letter, and the shard continues.
func (d *delivery) deliver(ctx context.Context, batch []record, invocations int) error {
	for retries := 0; ; {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		done, failure := d.invoke(ctx, batch)
		invocations++
		if failure == nil {
			d.failures = 0
			return nil
		}
		d.pump.options.Log.Warn("the handler failed", "shard", d.shard, "records", len(batch), "done", done,
			"first", batch[done].sequenceNumber(), "error", failure)
		batch = batch[done:]
		d.failures++
		switch reported := errors.Is(failure, errReported); {
		case done > 0:
			retries = 0 // the rest is a new batch
		case !reported && len(batch) > 1:
			if err := backoff.Sleep(ctx, d.failures); err != nil {
				return err
			}
			half := len(batch) / 2
			if err := d.deliver(ctx, batch[:half], invocations); err != nil {
				return err
			}
			return d.deliver(ctx, batch[half:], invocations)
		case retries < d.pump.options.Settings.MaximumRetryAttempts:
			retries++
		case d.pump.reachable(ctx):
			d.failures = 0
			return d.pump.writeDeadLetter(ctx, d.shard, batch, retriesExhausted, invocations, failure)
		}
		if err := backoff.Sleep(ctx, d.failures); err != nil {
			return err
		}
	}
}

// invoke calls the handler once, and completes the call even if ctx ends. done is the number of records at the head of
// the batch that are done. failure is nil if all are.
func (d *delivery) invoke(ctx context.Context, batch []record) (done int, failure error) {
	response, failure := d.call(context.WithoutCancel(ctx), eventOf(batch))
	if failure == nil {
		done, failure = checkpoint(batch, response)
	}
	d.pump.addPending(-done)
	return done, failure
}

// call runs the handler as Lambda does, with a request id and a deadline. A panic and a late answer are errors.
func (d *delivery) call(
	ctx context.Context, e lambdaevents.DynamoDBEvent,
) (response lambdaevents.DynamoDBEventResponse, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the handler panicked: %v\n%s", v, debug.Stack())
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, d.pump.options.Settings.Timeout)
	defer cancel()
	ctx = lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{AwsRequestID: ksuid.New().String()})
	response, err = d.pump.options.Handler(ctx, e)
	if err == nil && ctx.Err() != nil {
		err = fmt.Errorf("the handler took longer than %s", d.pump.options.Settings.Timeout)
	}
	return response, err
}

// errReported means that the handler returned a list of failed records instead of an error.
var errReported = errors.New("the handler reported failed records")

// checkpoint evaluates the reported failures. The records before the lowest one are done. If an identifier is not in
// the batch, the whole batch failed.
func checkpoint(batch []record, response lambdaevents.DynamoDBEventResponse) (done int, failure error) {
	if len(response.BatchItemFailures) == 0 {
		return len(batch), nil
	}
	index := make(map[string]int, len(batch))
	for i, r := range batch {
		index[r.sequenceNumber()] = i
	}
	done = len(batch)
	for _, f := range response.BatchItemFailures {
		i, ok := index[f.ItemIdentifier]
		if !ok {
			return 0, fmt.Errorf("the handler reported a failed record %q that is not in its batch", f.ItemIdentifier)
		}
		done = min(done, i)
	}
	return done, fmt.Errorf("%w, the first is %s", errReported, batch[done].sequenceNumber())
}
