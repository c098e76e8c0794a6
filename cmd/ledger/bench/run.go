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
	// accountsAtOnce is how many accounts one deposit gives to, and depositsAtOnce how many are under way: a transaction may
	// have 48 postings, and DynamoDB Local takes its time for so many.
	accountsAtOnce = 20
	depositsAtOnce = 2
)

// Run is one run.
type Run struct{ run }

type run struct {
	Config
	cast       *cast
	book       *book
	pool       *http.Transport
	load, look *caller // what is measured, and what looks on
	inside     *inside // nil with URL

	// Of hot-spender's clients, by number, for the whole run.
	spenders []account

	mu      sync.Mutex
	pending []posted // transactions whose outcome isn't known

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
// that it was cut short. An error means that there is no report: the ledger could not be reached, or did not let the caller in.
func (r *Run) Run(ctx context.Context) (report *Report, err error) {
	began := time.Now()
	if err := r.open(ctx); err != nil {
		return nil, errors.Join(err, r.close())
	}
	defer func() { err = errors.Join(err, r.close()) }()
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
	cut := ctx.Err() != nil
	checked, failed, err := r.check(context.WithoutCancel(ctx), measured)
	if err != nil {
		return nil, fmt.Errorf("the checks at the end: %w", err)
	}
	return r.report(measured, checked, failed, cut, time.Since(began)), nil
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
	c := r.cast
	put := func(path, body string) error {
		return r.must(ctx, &draft{request: request{method: http.MethodPut, path: path, body: []byte(body)}})
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
					return r.must(ctx, d)
				})
			}
		}
	}
	return giving.Wait()
}

// must sends a request without which there is no run.
func (r *run) must(ctx context.Context, d *draft) error {
	var buffer bytes.Buffer
	out, err := r.ask(context.WithoutCancel(ctx), &d.request, &buffer, new(counts))
	if err != nil {
		return err
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
	}
	if _, err := r.drive(ctx, slot{workload: Uniform}, b, new(counts), nil); err != nil || !r.Projected {
		return err
	}
	late, err := r.unprojected(ctx)
	if err == nil && len(late) > 0 {
		err = fmt.Errorf("%d balances are not projected after %s: with --no-pump a ledger that nothing projects is measured",
			len(late), settlePatience)
	}
	return err
}
