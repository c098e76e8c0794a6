package pump

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	lambdaevents "github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/segmentio/ksuid"
)

// A delivery hands the records of one shard to the handler, one batch after the other.
type delivery struct {
	pump     *Pump
	shard    string
	records  <-chan record
	failures int // invocations that failed in a row
}

// run delivers until the records end or ctx does.
func (d *delivery) run(ctx context.Context) {
	for {
		batch := d.nextBatch(ctx)
		if len(batch) == 0 || d.deliver(ctx, batch, 0) != nil {
			return
		}
	}
}

// nextBatch waits for a record, and then until the batch is full or its first record has waited for the window. It
// is empty when the records or ctx have ended.
func (d *delivery) nextBatch(ctx context.Context) (batch []record) {
	var window <-chan time.Time // of the first record
	for len(batch) < d.pump.options.Settings.BatchSize {
		var r record
		var ok bool
		select {
		case r, ok = <-d.records: // a record that is there is taken, however late
		default:
			select {
			case r, ok = <-d.records:
			case <-window:
				return batch
			case <-ctx.Done():
				return nil
			}
		}
		if !ok {
			return batch
		}
		if batch = append(batch, r); len(batch) == 1 {
			timer := time.NewTimer(time.Until(r.seen.Add(d.pump.options.Settings.Window)))
			defer timer.Stop()
			window = timer.C
		}
	}
	return batch
}

// deliver hands a batch to the handler until each record of it is done or a dead letter. It returns an error only
// when ctx ended before that. The batch was part of that many invocations already.
//
// The handler's answer decides what comes next, by Lambda's rules:
//
//   - An error, a panic, a timeout, or a failure reported for an identifier that is not in the batch: the whole
//     batch failed. It is halved if it has more than one record, which uses up no retry. Otherwise it is retried.
//   - Failures reported by sequence number: the records before the lowest one are done, all others are delivered
//     again. If the lowest is the first of the batch, that is a retry.
//   - A batch out of retries and a record that is too old become dead letters, and the shard goes on.
func (d *delivery) deliver(ctx context.Context, batch []record, invocations int) error {
	for retries := 0; ; {
		var err error
		if batch, err = d.dropOld(ctx, batch, invocations); err != nil || len(batch) == 0 {
			return err
		}
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
		case done > 0: // the rest is a batch of its own
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
			return d.pump.giveUp(ctx, d.shard, batch, retriesExhausted, invocations, failure)
		}
		if err := backoff.Sleep(ctx, d.failures); err != nil {
			return err
		}
	}
}

// invoke calls the handler once, and finishes the call even if ctx ends. It returns how many records at the head of
// the batch are done, and why not all are.
func (d *delivery) invoke(ctx context.Context, batch []record) (done int, failure error) {
	response, failure := d.call(context.WithoutCancel(ctx), eventOf(batch))
	if failure == nil {
		done, failure = checkpoint(batch, response)
	}
	d.pump.addPending(-done)
	return done, failure
}

// call runs the handler as Lambda does: with a request id and a deadline. A panic and a late answer are errors.
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

// errReported means that the handler returned a list of failed records, and no error.
var errReported = errors.New("the handler reported failed records")

// checkpoint reads the list of failures. The records before the lowest one are done. An identifier that is not in
// the batch means that all of it failed.
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

// dropOld makes dead letters of the records that are too old, and returns the others.
//
// A record that is older than this run counts from the beginning of the run: it may have been delivered by the run
// before, and had no chance in this one. For the same reason, ages count from the end of an outage of the stream,
// and not at all during one.
func (d *delivery) dropOld(ctx context.Context, batch []record, invocations int) ([]record, error) {
	from, counts := d.pump.ageCountsFrom()
	if !counts {
		return batch, nil
	}
	old := 0
	for ; old < len(batch); old++ {
		since := batch[old].event.Change.ApproximateCreationDateTime.Time
		if since.Before(from) {
			since = from
		}
		if time.Since(since) <= d.pump.options.Settings.MaximumRecordAge {
			break
		}
	}
	if old == 0 {
		return batch, nil
	}
	return batch[old:], d.pump.giveUp(ctx, d.shard, batch[:old], ageExceeded, invocations, nil)
}
