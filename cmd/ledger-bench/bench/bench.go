// Package bench puts a ledger under load and reports the cost: time, requests, capacity units and dollars. It is a
// client of the HTTP API, so it measures everything that a caller waits for. It adds up the acknowledged transactions
// in a book, and compares all balances with the book at the end. A run with a wrong balance fails.
//
// A run consists of rounds. In each round, every workload has a slice of load. Right after a slice, its ceiling is
// measured: the same transactions, sent by the SDK alone. The first request that fails ends the load.
package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"ledger.example/client"
	"ledger.example/internal/retry"
)

const (
	// After the end of the load, finishTimeout bounds the requests in flight, and checkTimeout the checks. Together
	// with the shutdown of the API, Ctrl-C takes at most about 20 s.
	finishTimeout = 5 * time.Second
	checkTimeout  = 12 * time.Second
)

// Config configures a run.
type Config struct {
	URL   string        // of the API; "": Local is started
	Sign  client.Signer // nil: requests are not signed
	User  string        // whom the requests act for; "": nobody
	Local *Local        // nil with URL

	Workloads []string // in the order in which they run
	Clients   int
	Count     int           // requests of one slice; 0: Period bounds it
	Period    time.Duration // of one slice, without a Count
	Rounds    int
	Accounts  int    // at least 2
	Seed      uint64 // the same seed makes the same requests, except for the name of the run
	Projected bool   // a projector runs; the run waits for it

	// For the report only.
	Ledger string        // describes where the ledger runs
	Window time.Duration // the stream's batching window; 0: unknown
}

// Run is one run. Its method Run may be called once.
type Run struct {
	Config
	fixture       *fixture
	book          *book
	load, observe *client.Client // of the workloads, and of everything else
	inside        *inside        // nil with URL

	end      context.CancelCauseFunc // ends the load
	spenders []spending              // state of the clients of hot-spender, for the whole run
	warnings []string
	uniform  round // the latest round of uniform

	mu      sync.Mutex
	pending []request // transactions of unknown outcome
	failed  []Failed  // requests

	slices   atomic.Int64
	requests atomic.Int64 // of all slices, so far
	current  atomic.Pointer[string]
}

// New returns a run, which Run starts.
func New(c Config) *Run {
	if c.Count > 0 {
		c.Period = 0
	}
	f := newFixture(runName(time.Now(), rand.Uint64()), c.Accounts)
	return &Run{Config: c, fixture: f, book: newBook(len(f.names)), spenders: make([]spending, c.Clients)}
}

// Total returns the number of slices.
func (r *Run) Total() int64 { return int64(r.Rounds * len(r.Workloads)) }

// Progress returns the progress as text, and the number of slices that are done. It is safe for concurrent use.
func (r *Run) Progress() (text string, slices int64) {
	workload := r.current.Load()
	if workload == nil {
		return "preparing", 0
	}
	return fmt.Sprintf("%s: %d requests", *workload, r.requests.Load()), r.slices.Load()
}

// Run executes the run. The load ends when ctx ends, or when a request fails. The transactions that were posted are
// still checked, and the report says that it was cut short. An error without a report means that the ledger could not
// be reached, rejected the caller, or lost its store. An error with a report means that the ledger did not stop
// cleanly.
func (r *Run) Run(ctx context.Context) (report *Report, err error) {
	ctx, r.end = context.WithCancelCause(ctx)
	defer r.end(nil)
	if r.Local != nil && r.Local.Watch != nil {
		go func() {
			if err := r.Local.Watch(ctx); err != nil {
				r.end(storeError{err})
			}
		}()
	}
	if err = r.open(ctx); err == nil {
		report, err = r.loadAndCheck(ctx)
	}
	if lost := storeLost(ctx); lost != nil { // every other error follows from it
		report, err = nil, lost
	}
	if r.inside != nil {
		err = errors.Join(err, r.inside.stop())
	}
	return report, err
}

// open connects to the ledger, or starts it.
func (r *Run) open(ctx context.Context) (err error) {
	url, observeURL := r.URL, r.URL
	if r.Local != nil {
		if r.inside, err = r.Local.open(ctx); err != nil {
			return err
		}
		url, observeURL = r.inside.url, r.inside.observeURL
	}
	c := client.Config{URL: url, Sign: r.Sign, User: r.User, Connections: r.Clients}
	if r.load, err = client.New(c); err != nil {
		return err
	}
	c.URL, c.Connections = observeURL, r.Clients+probesMax
	r.observe, err = client.New(c)
	return err
}

func (r *Run) loadAndCheck(ctx context.Context) (*Report, error) {
	checking, cancel := outlasting(ctx, checkTimeout)
	defer cancel()
	err := r.prepare(ctx)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err == nil {
		err = r.warmUp(ctx)
	}
	if err != nil {
		return nil, err
	}
	workloads := make([]*measured, len(r.Workloads))
	for i, name := range r.Workloads {
		workloads[i] = newMeasured(name)
	}
	for round := 1; round <= r.Rounds; round++ {
		for _, m := range workloads {
			if ctx.Err() != nil {
				break
			}
			if err := r.slice(ctx, slot{m.workload, round}, m); err != nil {
				return nil, fmt.Errorf("%s: %w", m.workload, err)
			}
			r.slices.Add(1)
		}
	}
	report := r.report(workloads, ctx.Err() != nil)
	r.check(checking, report)
	return report, nil
}

// storeError ends a run whose store has stopped.
type storeError struct{ error }

// storeLost returns the error of a store that has stopped, or nil while it runs.
func storeLost(ctx context.Context) error {
	lost, _ := errors.AsType[storeError](context.Cause(ctx))
	return lost.error
}

// outlasting returns a context that ends the given time after ctx, with the same cause, so that requests in flight can
// finish. If the store has stopped, it ends together with ctx.
func outlasting(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		if storeLost(ctx) != nil || retry.Sleep(longer, by) == nil {
			cancel(context.Cause(ctx))
		}
	})
	return longer, func() {
		stop()
		cancel(nil)
	}
}
