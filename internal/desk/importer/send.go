package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"ledger.example/client"
)

const (
	// batchFirst is the initial size of batches. The size doubles, up to client.BatchMax, after a full batch that took
	// less than half of batchTime, and halves after one that took more than batchTime. On a slow store, such as
	// DynamoDB Local on a busy machine, the commands of a large batch would time out.
	batchFirst = 16
	batchTime  = time.Second
	// batchClients is the number of clients for each concurrent batch, because the API executes eight requests of a
	// batch at a time.
	batchClients = 4
)

// Batches sends batches of commands. Each command has its own outcome. Batch retries while an outcome is unknown, as
// *client.Client does. After an error, no command of the batch was written.
type Batches interface {
	Batch(ctx context.Context, b client.Batch) ([]client.Outcome, error)
}

// work sends a job, and others in the same batch, unless reading has ended, and returns them. When ctx ends, they are
// cut off. Errors:
// ErrFailures, and the error of a line without an answer. After an error, no other job is sent. If several lines of a
// batch get no answer, the first one is reported, and the others are cut off.
func (i *Import) work(ctx, reading context.Context, first *job) (jobs []*job, err error) {
	jobs = []*job{first}
	if first.mayBatch() && i.batchSize.Load() > 1 {
		i.batches <- struct{}{}
		defer func() { <-i.batches }()
		jobs = i.schedule.batch(first, int(i.batchSize.Load()))
	}
	if ctx.Err() != nil || reading.Err() != nil { // reading ends a moment after ctx, its parent
		return jobs, nil
	}
	hasAnswers := true
	for n, o := range i.send(ctx, jobs) {
		j := jobs[n]
		switch isAnswer := isAnswer(o.Err); {
		case o.Err == nil && o.Written.New:
			i.count(j.bytes, func(c *Counts) { c.New++ })
		case o.Err == nil:
			i.count(j.bytes, func(c *Counts) { c.Replayed++ })
		case ctx.Err() != nil, !isAnswer && !hasAnswers:
			i.count(0, func(c *Counts) { c.CutOff++ })
		case i.deferRetry(j, o.Err), i.isPosted(ctx, j, o.Err):
		default:
			tooMany := i.fail(Failure{Line: j.number, Kind: j.Kind, ID: j.ID, Err: o.Err}, j.bytes)
			if !isAnswer {
				hasAnswers, err = false, o.Err
			}
			err = cmp.Or(err, tooMany)
		}
	}
	return jobs, err
}

// isPosted reports whether a line was refused because the ledger has its transaction already, and counts it.
func (i *Import) isPosted(ctx context.Context, j *job, refusal error) bool {
	e, ok := errors.AsType[*client.Error](refusal)
	if !ok || e.Code != client.CodeTransactionIDReused || i.config.Posted == nil {
		return false
	}
	isPosted, isOtherText, err := i.config.Posted(ctx, j.Command)
	switch {
	case err != nil || !isPosted: // the refusal says what is wrong
		return false
	case !isOtherText:
		i.count(j.bytes, func(c *Counts) { c.Replayed++ })
	default:
		i.count(j.bytes, func(c *Counts) {
			c.Other++
			i.config.OnOtherText(j.number, j.ID)
		})
	}
	return true
}

// count changes the counts, and adds the bytes of a finished line.
func (i *Import) count(bytes int64, change func(*Counts)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.counts.Bytes += bytes
	change(&i.counts)
}

// isAnswer reports whether err is a refusal by the ledger, and not a failure to answer.
func isAnswer(err error) bool {
	_, isUnknown := errors.AsType[*client.UnknownError](err)
	answer, ok := errors.AsType[*client.Error](err)
	return ok && !isUnknown && answer.Status < http.StatusInternalServerError
}

// fail counts and reports a bad line. Error: ErrFailures, when Config.Failures is reached.
func (i *Import) fail(f Failure, bytes int64) (err error) {
	i.count(bytes, func(c *Counts) {
		c.Failed++
		i.config.OnFailure(f)
		if i.config.Failures > 0 && c.Failed >= i.config.Failures {
			err = ErrFailures
		}
	})
	return err
}

// skip counts a change that is not tried because lines before failed. Only the first one is reported.
func (i *Import) skip(j *job, failed int64) {
	i.count(j.bytes, func(c *Counts) {
		if c.NotTried++; c.NotTried == 1 {
			noun := "lines"
			if failed == 1 {
				noun = "line"
			}
			i.config.OnFailure(Failure{Line: j.number, Kind: j.Kind, ID: j.ID,
				Err: fmt.Errorf("not tried: %d %s before failed", failed, noun)})
		}
	})
}

// send sends several jobs as a batch, and returns their outcomes. A single job, and jobs whose batch is refused as a
// whole, are sent one after the other. Then the first job without an answer is the last one that is sent.
func (i *Import) send(ctx context.Context, jobs []*job) (outcomes []client.Outcome) {
	if len(jobs) > 1 {
		batch := client.Batch{Requests: make([]client.Request, len(jobs))}
		for n, j := range jobs {
			batch.Requests[n] = j.Command
		}
		began := time.Now()
		outcomes, err := i.config.Batches.Batch(ctx, batch)
		switch {
		case err == nil:
			i.adapt(len(jobs), time.Since(began))
			return outcomes
		case !isAnswer(err):
			for range jobs {
				outcomes = append(outcomes, client.Outcome{Err: err})
			}
			return outcomes
		}
	}
	for _, j := range jobs {
		w, err := i.config.Ledger.Send(ctx, j.Command)
		outcomes = append(outcomes, client.Outcome{Written: w, Err: err})
		if err != nil && !isAnswer(err) {
			break
		}
	}
	return outcomes
}

// adapt adapts the size of batches to the time that a batch of the given number of lines took.
func (i *Import) adapt(lines int, took time.Duration) {
	size := i.batchSize.Load()
	next := size
	switch {
	case took > batchTime:
		next = max(int64(lines/2), 2)
	case took < batchTime/2 && int64(lines) == size:
		next = min(size*2, client.BatchMax)
	}
	i.batchSize.CompareAndSwap(size, next)
}

// A backdated credit can be spent only after it is projected, some time after its answer. And ends and reversals of
// transactions of an earlier file are sent in any order, although one may give back what another one debits. So if the
// file has such lines, a line that is refused for insufficient funds is deferred, and retried after all others. So is a
// line that ends or reverses a deferred one.
const (
	// lagTime is how long deferred lines are retried while none of them is posted. The projection lags by a second or
	// two.
	lagTime = 20 * time.Second
	// lagPause is the pause between retries.
	lagPause = time.Second
	// deferredMax bounds the deferred lines.
	deferredMax = 10_000
)

// deferRetry defers a job whose refusal may be caused by the lag, and reports whether it did.
func (i *Import) deferRetry(j *job, refusal error) bool {
	e, ok := errors.AsType[*client.Error](refusal)
	if !ok {
		return false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	switch e.Code {
	case client.CodeInsufficientFunds:
		ok = i.backdates.Load() || i.unknowns.Load()
	case client.CodeInvalidChange: // the account to close has a balance until the last lines are projected
		ok = i.backdates.Load()
	case client.CodeTransactionNotFound:
		ok = j.Of != "" && slices.ContainsFunc(i.deferred, func(d *job) bool { return d.ID == j.Of })
	default:
		ok = false
	}
	if !ok || i.final || len(i.deferred) == deferredMax {
		return false
	}
	i.deferred = append(i.deferred, j)
	return true
}

// retryDeferred retries the deferred lines in the order of the file, until all are posted, or until none was posted for
// lagTime, after which refusals are final. Without backdated lines, they are final once no line was posted. The caller
// must have acquired the whole window, and has it again afterwards.
func (i *Import) retryDeferred(ctx context.Context) {
	for progress, isStuck := time.Now(), false; len(i.deferred) > 0; {
		jobs, lags := i.deferred, i.backdates.Load()
		i.deferred = nil
		i.final = time.Since(progress) >= lagTime || isStuck && !lags || ctx.Err() != nil
		i.window.Release(i.bytes)
		slices.SortFunc(jobs, func(a, b *job) int { return a.number - b.number })
		for _, j := range jobs {
			_ = i.window.Acquire(context.WithoutCancel(ctx), j.weight)
			i.schedule.add(j, j.holds, nil)
		}
		_ = i.window.Acquire(context.WithoutCancel(ctx), i.bytes)
		if isStuck = len(i.deferred) == len(jobs); !isStuck {
			progress = time.Now()
		}
		if len(i.deferred) > 0 && lags {
			select {
			case <-time.After(lagPause):
			case <-ctx.Done():
			}
		}
	}
	i.final = false // for the lines that follow
}
