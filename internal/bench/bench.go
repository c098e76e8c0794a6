// Package bench puts a ledger under load and reports the cost: time, requests, capacity units and dollars. It is a
// client of the HTTP API, so it measures everything that a caller waits for. It adds up the acknowledged transactions
// in a book, and compares all balances with the book at the end. A run with a wrong balance fails.
//
// A run consists of rounds. In each round, every workload has a slice of load. Right after a slice, its ceilings are
// measured: the same load without a part of the work.
package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"ledger.example/client"
)

// Config configures a run.
type Config struct {
	URL   string        // of the API; "": Local is started
	Sign  client.Signer // nil: requests are not signed
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
	fixture *fixture
	book    *book
	pool    *http.Transport
	load    *endpoint      // for requests whose outcomes are counted
	inside  *inside        // nil with URL
	isEcho  bool           // this is the HTTP ceiling of another run
	observe *client.Client // for all other requests
	// balanceOf reads a balance for the checks. It is that of observe.
	balanceOf func(ctx context.Context, account, asset string, strong bool) (client.Reply[client.Balance], error)

	began   time.Time
	end     context.CancelCauseFunc // ends the run
	success atomic.Int64            // time of the last request that succeeded, in nanoseconds since began

	warming, resolving counts     // requests outside of slices
	spenders           []spending // state of the clients of hot-spender, for the whole run
	warnings           []string

	mu      sync.Mutex
	pending []draft // transactions of unknown outcome

	uniform  round // the latest round of uniform
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
	return &Run{Config: c, fixture: f, book: newBook(len(f.names)), pool: newPool(c.Clients),
		spenders: make([]spending, c.Clients)}
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

// Run executes the run. The load ends when ctx ends, or when no request succeeds any more. The transactions that were
// posted are still checked, and the report says that it was cut short. An error without a report means that the ledger
// could not be reached, rejected the caller, or lost its store. An error with a report means that the ledger did not
// stop cleanly.
func (r *Run) Run(ctx context.Context) (report *Report, err error) {
	inPart(ctx, partLoad, func(ctx context.Context) { report, err = r.run(ctx) })
	return report, err
}

func (r *Run) run(ctx context.Context) (report *Report, err error) {
	r.began = time.Now()
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
	r.pool.CloseIdleConnections()
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
	if r.load, err = newEndpoint(r.pool, url, r.Sign); err != nil {
		return err
	}
	r.observe, err = client.New(client.Config{URL: observeURL, Sign: r.Sign, Connections: r.Clients + probesMax})
	if err == nil {
		r.balanceOf = r.observe.Balance
	}
	return err
}

func (r *Run) loadAndCheck(ctx context.Context) (*Report, error) {
	checking, cancel := outlasting(ctx, checkTimeout)
	defer cancel()
	err := r.prepare(ctx)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	if err := r.warmUp(ctx); err != nil {
		return nil, err
	}
	workloads := make([]*measured, len(r.Workloads))
	for i, name := range r.Workloads {
		workloads[i] = &measured{workload: name}
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
	cut := context.Cause(ctx)
	report := r.report(workloads, cut != nil)
	r.check(checking, report, workloads, cut)
	return report, nil
}
