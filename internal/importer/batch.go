package importer

import (
	"context"
	"errors"
	"net/http"
	"time"

	"ledger.example/client"
)

const (
	// batchFirst is how many lines are sent together at first. As long as a batch takes less than half of batchTime,
	// the next ones are larger, up to client.BatchMax. One that takes longer makes them smaller: a store that is slow,
	// as DynamoDB Local is on a busy machine, would let commands run out of their time.
	batchFirst = 16
	batchTime  = time.Second
	// batchClients is how many clients a batch counts for: the API carries out eight of its requests at a time.
	batchClients = 4
)

// Batches sends commands together, each judged and answered for itself, as *client.Client does. It retries likewise. An
// error means that nothing of it was written.
type Batches interface {
	Batch(ctx context.Context, b client.Batch) ([]client.Outcome, error)
}

// send sends jobs together, or one after the other, and returns how they ended. The first one that gets no answer ends
// the second way: no other is tried then.
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
		case !i.isOfTheBatch(err):
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

// adapt takes what a batch of so many lines took, and says how many are sent together from now on.
func (i *Import) adapt(lines int, took time.Duration) {
	size := i.together.Load()
	next := size
	switch {
	case took > batchTime:
		next = max(int64(lines/2), 2)
	case took < batchTime/2 && int64(lines) == size:
		next = min(size*2, client.BatchMax)
	}
	if size > 1 { // else it takes no batches, as another one has learned meanwhile
		i.together.CompareAndSwap(size, next)
	}
}

// isOfTheBatch reports whether an error says nothing of the commands in a batch: they are sent singly then. An older
// ledger takes no batches at all, and is not asked again.
func (i *Import) isOfTheBatch(err error) bool {
	other, isOther := errors.AsType[*client.StatusError](err)
	refused, isRefused := errors.AsType[*client.Error](err)
	switch {
	case isOther && other.Status == http.StatusNotFound, isRefused && refused.Status == http.StatusNotFound,
		isRefused && refused.Status == http.StatusMethodNotAllowed:
		i.together.Store(1)
		return true
	}
	return isAnswer(err)
}
