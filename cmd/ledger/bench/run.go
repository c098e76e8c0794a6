package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"ledger.example/cmd/ledger/client"
)

// Config says what to put under load, and how.
type Config struct {
	URL   string        // of the API; "": Local is started
	Sign  client.Signer // nil: requests are not signed
	Local *Local        // nil with URL

	Workloads []string // in the order in which they run
	Clients   int
	Count     int           // requests of one slice; 0: Period bounds it
	Period    time.Duration // of one slice
	Rounds    int
	Accounts  int    // at least 2
	Seed      uint64 // the same seed makes the same requests, but for the run's name in them
	Projected bool   // whether something projects, so that it is waited for

	// What the report repeats.
	Ledger string
	Window time.Duration // in which the stream is gathered; 0: not known
}

const (
	// warmingCount and warmingPeriod bound the load that comes before the first slice and isn't reported: DynamoDB Local
	// compiles its own code while it begins.
	warmingCount  = 500
	warmingPeriod = 2 * time.Second
	// Where slices take coldLeast or more, a DynamoDB Local that was just started is warmed up by coldCount requests, within
	// coldPeriod: so many it takes until it is as fast as it gets.
	coldLeast  = 5 * time.Second
	coldCount  = 5_000
	coldPeriod = 30 * time.Second
	// accountsAtOnce is how many accounts one deposit gives to, and depositsAtOnce how many are under way: a transaction may
	// have 48 postings, and DynamoDB Local takes its time for so many.
	accountsAtOnce = 20
	depositsAtOnce = 2
)

// Run is one run, which is run once.
type Run struct{ run }

type run struct {
	Config
	cast       *cast
	book       *book
	pool       *http.Transport
	load, look *caller // what is measured, and what looks on
	inside     *inside // nil with URL

	began   time.Time
	end     context.CancelCauseFunc // ends the run
	success atomic.Int64            // when something succeeded last, in nanoseconds since began

	// What became of requests that are in no slice.
	warming, resolving counts

	// Of hot-spender's clients, by number, for the whole run.
	spenders []account

	mu       sync.Mutex
	pending  []posted // transactions whose outcome isn't known
	warnings []string

	slices  atomic.Int64 // finished
	current atomic.Pointer[progress]
}

// posted is a transaction, and what it stands for in the books.
type posted struct {
	request request
	legs    []leg
}

// progress is how far a slice is.
type progress struct {
	name  string
	began time.Time
	done  atomic.Int64 // requests
}

// New returns a run that has not begun.
func New(c Config) *Run {
	cast := newCast(runName(time.Now(), rand.Uint64()), c.Accounts)
	return &Run{run{
		Config: c, cast: cast, book: newBook(len(cast.names)), pool: newPool(c.Clients), spenders: make([]account, c.Clients),
	}}
}

// partsPerSlice is how finely Progress tells.
const partsPerSlice = 1000

// Whole is the whole of the work that Progress tells a part of.
func (r *Run) Whole() int64 { return int64(r.Rounds*len(r.Workloads)) * partsPerSlice }

// Progress tells how far the run is. It may be called at any time, by any goroutine.
func (r *Run) Progress() (text string, done int64) {
	done = r.slices.Load() * partsPerSlice
	p := r.current.Load()
	if p == nil {
		return "getting ready", done
	}
	requests, since := p.done.Load(), time.Since(p.began)
	share := float64(requests) / float64(max(r.Count, 1))
	if r.Count == 0 {
		share = since.Seconds() / r.Period.Seconds()
	}
	return fmt.Sprintf("%s: %d requests", p.name, requests), done + int64(min(share, 1)*(partsPerSlice-1))
}

// Run carries it out. When ctx ends, no more requests are made; what was posted is checked all the same, and the report says
// that it was cut short; so it is when the ledger does nothing any more, which is a failure. An error without a report means
// that the ledger could not be reached, did not let the caller in, or lost its store; one beside a report, that the ledger
// did not end in good order.
func (r *Run) Run(ctx context.Context) (report *Report, err error) {
	r.began = time.Now()
	ctx, r.end = context.WithCancelCause(ctx)
	defer r.end(nil)
	if r.Local != nil && r.Local.Watch != nil {
		go func() {
			if err := r.Local.Watch(ctx); err != nil {
				r.end(&storeError{err})
			}
		}()
	}
	if err = r.open(ctx); err == nil {
		report, err = r.loadAndCheck(ctx)
	}
	if gone := lost(ctx); gone != nil { // all else came of that
		return nil, errors.Join(gone, r.close())
	}
	return report, errors.Join(err, r.close())
}

func (r *run) loadAndCheck(ctx context.Context) (*Report, error) {
	checking, cancel := outlasting(ctx, checkPatience)
	defer cancel()
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	measured := make([]*measured, len(r.Workloads))
	for i, name := range r.Workloads {
		measured[i] = newMeasured(name)
	}
	if err := r.warmUp(ctx); err != nil {
		return nil, err
	}
	for round := 1; round <= r.Rounds && ctx.Err() == nil; round++ {
		for _, m := range measured {
			if ctx.Err() != nil {
				break
			}
			if err := r.slice(ctx, slot{m.workload, round}, m); err != nil {
				return nil, fmt.Errorf("%s: %w", m.workload, err)
			}
			r.slices.Add(1)
			r.current.Store(nil)
		}
	}
	cut := context.Cause(ctx)
	checked, failed := r.check(checking, measured, cut)
	return r.report(measured, checked, failed, cut != nil, time.Since(r.began)), nil
}

// warn has the report say something.
func (r *run) warn(format string, args ...any) {
	r.warnings = append(r.warnings, fmt.Sprintf(format, args...))
}

// open finds the ledger, or starts it.
func (r *run) open(ctx context.Context) (err error) {
	url, lookURL := r.URL, r.URL
	if r.Local != nil {
		if r.inside, err = r.Local.open(ctx); err != nil {
			return err
		}
		url, lookURL = r.inside.url, r.inside.lookURL
	}
	if r.load, err = newCaller(r.pool, url, r.Sign); err != nil {
		return err
	}
	r.look, err = newCaller(r.pool, lookURL, r.Sign)
	return err
}

func (r *run) close() error {
	r.pool.CloseIdleConnections()
	if r.inside == nil {
		return nil
	}
	return r.inside.stop()
}

// prepare registers the assets, opens the accounts and makes the deposits.
func (r *run) prepare(ctx context.Context) error {
	defer r.guard(ctx)()
	under, cancel := outlasting(ctx, finishPatience)
	defer cancel()
	c := r.cast
	put := func(path, body string) error {
		return r.must(ctx, under, &draft{request: request{method: http.MethodPut, path: path, body: []byte(body)}})
	}
	if err := put("/v1/assets/"+c.assets[cash], `{"name":"Cash","scale":2}`); err != nil {
		return err
	}
	if err := put("/v1/assets/"+c.assets[share], `{"name":"Share","scale":0,"currency":"`+c.assets[cash]+`"}`); err != nil {
		return err
	}
	if r.inside != nil {
		if err := r.inside.beginTwin(ctx); err != nil {
			return err
		}
	}
	opening, openingCtx := errgroup.WithContext(ctx)
	opening.SetLimit(r.Clients)
	for i, name := range c.names {
		body := `{"name":"Account"}`
		if !c.limited(i) {
			body = `{"name":"Account","overdraft":"unlimited"}`
		}
		opening.Go(func() error {
			if openingCtx.Err() != nil {
				return context.Cause(openingCtx)
			}
			return put("/v1/accounts/"+name, body)
		})
	}
	if err := opening.Wait(); err != nil {
		return err
	}
	people := make([]int, c.people)
	for i := range people {
		people[i] = i
	}
	n := 0
	giving, givingCtx := errgroup.WithContext(ctx)
	giving.SetLimit(depositsAtOnce)
	for range deposits {
		for asset := range assets {
			for some := range slices.Chunk(people, accountsAtOnce) {
				d := new(draft)
				d.deposit(c, c.id("deposit", n), some, asset, deposit)
				n++
				giving.Go(func() error {
					if givingCtx.Err() != nil {
						return context.Cause(givingCtx)
					}
					return r.must(ctx, under, d)
				})
			}
		}
	}
	return giving.Wait()
}

// must sends a request without which there is no run.
func (r *run) must(ctx, under context.Context, d *draft) error {
	var buffer bytes.Buffer
	out, err := r.ask(ctx, under, &d.request, &buffer, new(counts))
	if err != nil {
		return err
	}
	if out.code != "" && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if out.code != "" {
		return fmt.Errorf("%s %s: %s", d.method, d.path, out.code)
	}
	r.book.post(d.legs)
	return nil
}

// warmUp makes what isn't reported, and finds out whether anything projects it.
func (r *run) warmUp(ctx context.Context) error {
	b := bound{period: min(r.Period, warmingPeriod)}
	if r.Count > 0 {
		b = bound{count: min(r.Count, warmingCount)}
	} else if r.Local != nil && r.Local.IsCold && r.Period >= coldLeast {
		b = bound{count: coldCount, period: coldPeriod}
	}
	if _, err := r.drive(ctx, slot{workload: Uniform}, b, &r.warming, nil); err != nil || !r.Projected {
		return err
	}
	late, err := r.unprojected(ctx)
	if ctx.Err() != nil {
		return nil // the checks tell
	}
	if err == nil && len(late) > 0 {
		err = fmt.Errorf("%d balances are not projected after %s: with --no-pump a ledger that nothing projects is measured",
			len(late), settlePatience)
	}
	return err
}
