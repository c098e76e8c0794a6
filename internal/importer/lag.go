package importer

import (
	"context"
	"errors"
	"slices"
	"time"

	"ledger.example/client"
)

// A backdated credit can be spent once it is projected, which its answer doesn't wait for. So a line that is refused
// for want of funds is put aside, when the file backdates anything, and tried again after all others.
const (
	// lagTime is how long the lines that were put aside are tried without one that is posted. A projection lags by a
	// second or two.
	lagTime = 20 * time.Second
	// lagPause is the pause before they are tried again.
	lagPause = time.Second
	// asideMax bounds the lines that are put aside.
	asideMax = 10_000
)

// putAside keeps a job whose refusal may be for lag alone, and reports whether it did.
func (i *Import) putAside(j *job, refusal error) bool {
	e, ok := errors.AsType[*client.Error](refusal)
	if !ok || e.Code != client.CodeInsufficientFunds || !i.backdates.Load() {
		return false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.caughtUp || len(i.aside) == asideMax {
		return false
	}
	i.aside = append(i.aside, j)
	return true
}

// retryAside tries the lines that were put aside, in the order of the file, until all are posted, or none was for so
// long that their refusals are final. The caller has the whole window, and has it again afterwards.
func (i *Import) retryAside(ctx context.Context) {
	for progress := time.Now(); len(i.aside) > 0; {
		jobs := i.aside
		i.aside = nil
		i.caughtUp = time.Since(progress) >= lagTime || ctx.Err() != nil
		i.window.Release(i.bytes)
		slices.SortFunc(jobs, func(a, b *job) int { return a.number - b.number })
		for _, j := range jobs {
			_ = i.window.Acquire(context.WithoutCancel(ctx), j.weight)
			i.schedule.add(j, j.holds, nil)
		}
		_ = i.window.Acquire(context.WithoutCancel(ctx), i.bytes)
		if len(i.aside) < len(jobs) {
			progress = time.Now()
		}
		if len(i.aside) > 0 {
			select {
			case <-time.After(lagPause):
			case <-ctx.Done():
			}
		}
	}
}
