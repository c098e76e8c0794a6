package importer

import (
	"context"
	"errors"
	"net/http"
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
		case !i.refusesBatch(err):
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
	if size > 1 { // else a concurrent batch found that the ledger takes no batches
		i.batchSize.CompareAndSwap(size, next)
	}
}

// refusesBatch reports whether the ledger refused a batch as a whole, so that its commands must be sent one by one. An
// older ledger has no batches at all. Then no more batches are sent.
func (i *Import) refusesBatch(err error) bool {
	status, isStatus := errors.AsType[*client.StatusError](err)
	refused, isRefused := errors.AsType[*client.Error](err)
	switch {
	case isStatus && status.Status == http.StatusNotFound, isRefused && refused.Status == http.StatusNotFound,
		isRefused && refused.Status == http.StatusMethodNotAllowed:
		i.batchSize.Store(1)
		return true
	}
	return isAnswer(err)
}
