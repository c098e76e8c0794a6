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

// maxBatchBytes is what one invocation gets at most, the limit on the payload
// of a Lambda invocation. Records are counted with the size that the stream
// gives them, a little less than they have as JSON.
const maxBatchBytes = 6 << 20

// lane delivers records one batch after the other.
type lane struct {
	pump    *Pump
	shard   string
	records <-chan record
	// held is a record that didn't fit into the batch before.
	held *record
	// failures is how many invocations failed in a row.
	failures int
}

// run delivers until the records end or ctx does.
func (l *lane) run(ctx context.Context) {
	for {
		batch := l.next(ctx)
		if len(batch) == 0 || l.deliver(ctx, batch, 0) != nil {
			return
		}
	}
}

// next collects a batch: it waits for a first record, and then until the batch
// is full or its first record has waited for the window. It is empty when the
// records or ctx have ended.
func (l *lane) next(ctx context.Context) []record {
	first, ok := l.first(ctx)
	if !ok {
		return nil
	}
	s := &l.pump.settings
	batch := []record{first}
	bytes := first.event.Change.SizeBytes
	window := time.NewTimer(time.Until(first.seen.Add(s.Window)))
	defer window.Stop()
	for open := true; len(batch) < s.BatchSize; {
		var r record
		var ok bool
		select {
		case r, ok = <-l.records: // what is there comes along, however late
		default:
			if !open {
				return batch
			}
			select {
			case r, ok = <-l.records:
			case <-window.C:
				open = false
				continue
			case <-ctx.Done():
				return nil
			}
		}
		if !ok {
			return batch
		}
		if bytes += r.event.Change.SizeBytes; bytes > maxBatchBytes {
			l.held = &r
			return batch
		}
		batch = append(batch, r)
	}
	return batch
}

// first waits for the first record of a batch.
func (l *lane) first(ctx context.Context) (r record, ok bool) {
	if l.held != nil {
		r, l.held = *l.held, nil
		return r, true
	}
	if ctx.Err() != nil {
		return record{}, false
	}
	select {
	case r, ok = <-l.records:
		return r, ok
	case <-ctx.Done():
		return record{}, false
	}
}

// deliver hands a batch to the handler until all of it is done or set aside. It
// returns an error only when ctx ended before that. The batch was part of
// `invoked` invocations already.
func (l *lane) deliver(ctx context.Context, batch []record, invoked int) error {
	s := &l.pump.settings
	for retries := 0; ; {
		var err error
		if batch, err = l.dropOld(ctx, batch, invoked); err != nil || len(batch) == 0 {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		done, failure := l.invoke(ctx, batch)
		invoked++
		if failure == nil {
			l.failures = 0
			return nil
		}
		l.pump.log.Warn("the handler failed", "shard", l.shard, "records", len(batch), "done", done,
			"first", batch[done].sequenceNumber(), "error", failure)
		batch = batch[done:]

		var reported *reportedError
		partial := errors.As(failure, &reported)
		delay := backoff(l.failures)
		l.failures++
		switch {
		case s.BisectBatchOnFunctionError && partial && done > 0:
			// Split at the number returned; the rest is a batch of its own.
			l.pump.count(func(s *Stats) { s.Bisected++ })
		case s.BisectBatchOnFunctionError && !partial && len(batch) > 1:
			l.pump.count(func(s *Stats) { s.Bisected++ })
			if !pause(ctx, delay) {
				return ctx.Err()
			}
			half := len(batch) / 2
			if err := l.deliver(ctx, batch[:half], invoked); err != nil {
				return err
			}
			return l.deliver(ctx, batch[half:], invoked)
		case s.MaximumRetryAttempts >= 0 && retries >= s.MaximumRetryAttempts:
			if l.pump.reachable(ctx) {
				l.failures = 0
				return l.pump.setAside(ctx, l.shard, batch, retriesExhausted, invoked, failure)
			}
		default:
			retries++
			l.pump.count(func(s *Stats) { s.Retries++ })
		}
		if !pause(ctx, delay) {
			return ctx.Err()
		}
	}
}

// reportedError says that the handler returned no error but a list of failed
// records.
type reportedError struct{ first string }

func (e *reportedError) Error() string {
	return "the handler reported failed records, the first is " + e.first
}

// invoke calls the handler once. It returns how many records at the head of the
// batch are done, and why not all are. The end of ctx doesn't disturb it.
func (l *lane) invoke(ctx context.Context, batch []record) (done int, failure error) {
	began := time.Now()
	request := ksuid.New().String()
	response, err := l.call(context.WithoutCancel(ctx), request, event(batch))
	if err != nil {
		failure = err
	} else if l.pump.settings.ReportBatchItemFailures {
		done, failure = checkpoint(batch, response)
	}
	if failure == nil {
		done = len(batch)
	}
	l.pump.count(func(s *Stats) {
		s.Invocations++
		if failure != nil {
			s.Failures++
		}
		s.Delivered += int64(done)
		s.Pending -= int64(done)
	})
	l.pump.log.Debug("invoked", "shard", l.shard, "request_id", request, "records", len(batch), "done", done,
		"took", time.Since(began))
	return done, failure
}

// call runs the handler like the function that it is in Lambda: with a request
// id and a deadline. A panic is an error, and so is being late.
func (l *lane) call(ctx context.Context, request string, e lambdaevents.DynamoDBEvent) (response lambdaevents.DynamoDBEventResponse, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the handler panicked: %v\n%s", v, debug.Stack())
		}
	}()
	ctx = lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{AwsRequestID: request})
	if t := l.pump.settings.Timeout; t > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, t)
		defer cancel()
	}
	response, err = l.pump.handler(ctx, e)
	if err == nil && ctx.Err() != nil {
		err = fmt.Errorf("the handler took longer than %s", l.pump.settings.Timeout)
	}
	return response, err
}

// checkpoint reads the list of failures: what comes before the lowest is done.
// An identifier that is empty or not in the batch means that all of it failed.
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
	return done, &reportedError{first: batch[done].sequenceNumber()}
}

// dropOld sets aside what is older than records may get, and returns the rest.
// A record that is older than this Run counts from its beginning: most of those
// were delivered by the Run before, and none had its chance in this one. So it
// is with an outage of the stream.
func (l *lane) dropOld(ctx context.Context, batch []record, invoked int) ([]record, error) {
	limit := l.pump.settings.MaximumRecordAge
	if limit <= 0 {
		return batch, nil
	}
	from, counts := l.pump.oldest()
	if !counts {
		return batch, nil
	}
	old := 0
	for old < len(batch) && time.Since(later(batch[old].event.Change.ApproximateCreationDateTime.Time, from)) > limit {
		old++
	}
	if old == 0 {
		return batch, nil
	}
	return batch[old:], l.pump.setAside(ctx, l.shard, batch[:old], ageExceeded, invoked, nil)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
