package importer

import (
	"context"
	"errors"
	"slices"
	"time"

	"ledger.example/client"
)

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
