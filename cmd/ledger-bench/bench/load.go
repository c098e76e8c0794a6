package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sync/errgroup"

	"ledger.example/client"
	"ledger.example/internal/retry"
)

const (
	// warmingCount and warmingPeriod bound the warm-up before the first slice, which is not reported. The JVM of
	// DynamoDB Local compiles code during it.
	warmingCount  = 500
	warmingPeriod = 2 * time.Second
	// If slices last coldLeast or more, a DynamoDB Local that was just started is warmed up with coldCount requests,
	// within coldPeriod. It needs that many to reach its full speed.
	coldLeast  = 5 * time.Second
	coldCount  = 5_000
	coldPeriod = 30 * time.Second
)

// times has durations in microseconds, with an error of at most 0.1 %. It is safe for concurrent use.
type times struct {
	mu        sync.Mutex
	histogram *hdrhistogram.Histogram
}

// timesMax is the longest duration that a histogram holds. Longer ones count as this long.
const timesMax = 10 * time.Minute

func newTimes() *times {
	return &times{histogram: hdrhistogram.New(1, timesMax.Microseconds(), 3)}
}

func (t *times) add(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = t.histogram.RecordValue(min(d, timesMax).Microseconds()) // it is in range
}

func (t *times) count() int64 { return t.histogram.TotalCount() }

// ms returns the percentile in milliseconds: 100 is the longest time. It is absent without times.
func (t *times) ms(percentile float64) float64 {
	if t.count() == 0 {
		return absent
	}
	return float64(t.histogram.ValueAtPercentile(percentile)) / 1000
}

// measurement holds the figures of one or several slices of load, of a workload or a ceiling.
type measurement struct {
	elapsed     time.Duration
	times       *times        // of the calls that succeeded
	cpu         time.Duration // user and system time of this process, including the clients
	allocations int64         // on the heap of this process, including the clients
}

func (m *measurement) add(other measurement) {
	m.elapsed += other.elapsed
	m.times.histogram.Merge(other.times.histogram)
	m.cpu += other.cpu
	m.allocations += other.allocations
}

// perSecond returns the rate of calls, or absent if there were none.
func (m *measurement) perSecond() float64 { return over(m.times.count(), m.elapsed.Seconds()) }

// measure calls drive, and measures the time and the resources of this process during the call.
func measure(ctx context.Context, clients int, b bound, do func(worker, n int) error) (measurement, error) {
	m := measurement{times: newTimes()}
	runtime.GC() // so that no slice collects the garbage of another one
	cpu, allocations, err := used()
	if err != nil {
		return m, err
	}
	start := time.Now()
	driven := drive(ctx, clients, b, m.times, do)
	m.elapsed = time.Since(start)
	m.cpu, m.allocations, err = used()
	m.cpu -= cpu
	m.allocations -= allocations
	return m, errors.Join(driven, err)
}

// bound ends a slice of load after a number of calls, or after a period. Zero means no bound.
type bound struct {
	count  int
	period time.Duration
}

// drive is the load engine of the workloads, the ceiling and the checks. Each client makes one call after the other,
// until the bound is reached, a call fails, or ctx ends, which is not an error. Calls in flight always finish. out,
// which may be nil, gets the durations of the calls that succeed.
//
// do makes call n, counted over all clients. n and worker begin with 0. do must return only after it has read the
// answer, because its duration is the latency. Calls are concurrent, but those of one worker never overlap.
func drive(ctx context.Context, clients int, b bound, out *times, do func(worker, n int) error) error {
	workers, running := errgroup.WithContext(ctx)
	var next atomic.Int64
	start := time.Now()
	for worker := range clients {
		workers.Go(func() error {
			for running.Err() == nil && (b.period == 0 || time.Since(start) < b.period) {
				n := int(next.Add(1) - 1)
				if b.count > 0 && n >= b.count {
					break
				}
				began := time.Now()
				if err := do(worker, n); err != nil {
					return err
				}
				if out != nil {
					out.add(time.Since(began))
				}
			}
			return nil
		})
	}
	return workers.Wait()
}

// used returns the resources that this process has used so far.
func used() (cpu time.Duration, allocations int64, err error) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0, 0, err
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()), int64(m.Mallocs), nil
}

// errEnded ends a slice in which a request got no success, after an interrupt or a failure that was recorded.
var errEnded = errors.New("the load has ended")

// drive makes the requests of a workload. o may be nil.
func (r *Run) drive(ctx context.Context, s slot, b bound, o *observer) (measurement, error) {
	sending, cancel := outlasting(ctx, finishTimeout)
	defer cancel()
	m, err := measure(ctx, r.Clients, b, func(worker, n int) error {
		q := r.next(s, worker, n)
		if q.post == nil {
			return r.judge(ctx, s, q, q.read(sending, r.load))
		}
		posted, _, err := r.load.Post(sending, q.post)
		if err != nil {
			return r.judge(ctx, s, q, err)
		}
		r.book.post(q.legs)
		if s.workload == HotSpender {
			r.spenders[worker].acknowledged(r.fixture, q.legs)
		}
		if o != nil {
			o.note(posted)
		}
		return nil
	})
	r.requests.Add(m.times.count())
	if errors.Is(err, errEnded) {
		err = nil
	}
	return m, err
}

// judge says how the error of a request ends the load. A refusal, a read that fails and an unknown outcome are failed
// checks, unless the load had ended before. An error from anything but the ledger is returned. A transaction of unknown
// outcome is kept for resolve.
func (r *Run) judge(ctx context.Context, s slot, q request, err error) error {
	if err == nil {
		return nil
	}
	_, isRefused := errors.AsType[*client.Error](err)
	_, isUnknown := errors.AsType[*client.UnknownError](err)
	r.mu.Lock()
	defer r.mu.Unlock()
	if isUnknown {
		r.pending = append(r.pending, q)
	}
	switch {
	case ctx.Err() != nil:
		return errEnded
	case isRefused, isUnknown:
		r.failed = append(r.failed, Failed{checkRequests, s.series(), "success", err.Error()})
		r.end(errEnded)
		return errEnded
	}
	return err
}

// warmUp runs a load that is not reported, and checks that it is projected.
func (r *Run) warmUp(ctx context.Context) error {
	b := bound{min(r.Count, warmingCount), min(r.Period, warmingPeriod)}
	if r.Local != nil && r.Local.IsCold && r.Period >= coldLeast {
		b = bound{count: coldCount, period: coldPeriod}
	}
	if _, err := r.drive(ctx, slot{workload: Uniform}, b, nil); err != nil || !r.Projected {
		return err
	}
	late, err := r.unprojected(ctx)
	if ctx.Err() != nil {
		return nil // the checks report it
	}
	if err == nil && len(late) > 0 {
		err = fmt.Errorf("%d balances are not projected after %s: use --no-pump for a ledger without a projector",
			len(late), projectionTimeout)
	}
	return err
}

// slice measures one slice of a workload, and then the ceiling.
func (r *Run) slice(ctx context.Context, s slot, m *measured) error {
	r.current.Store(&s.workload)
	watching, cancel := outlasting(ctx, finishTimeout)
	defer cancel()
	o := &observer{run: r, watching: watching, lags: m.lags}
	if r.inside != nil {
		r.inside.reset()
	}
	own, err := r.drive(ctx, s, bound{r.Count, r.Period}, o)
	o.watched.Wait()
	if err == nil && r.Projected {
		if _, err = r.unprojected(ctx); ctx.Err() != nil { // the checks report missing projections
			err = nil
		}
	}
	if err != nil {
		return err
	}
	m.own.add(own)
	m.postings += o.postings.Load()
	m.unseen += o.unseen
	this := round{rate: own.perSecond(), p99: own.times.ms(99)}
	if s.workload == Uniform {
		r.uniform = this
	}
	this.uniformRate, this.uniformP99 = r.uniform.rate, r.uniform.p99
	if r.inside != nil {
		m.command.Add(r.inside.command.Take())
		m.projection.Add(r.inside.projection.Take())
		if captured := r.inside.captured.take(); len(captured) > 0 && ctx.Err() == nil {
			ceiling, err := r.storeCeiling(ctx, captured)
			if err != nil {
				r.warnings = append(r.warnings,
					fmt.Sprintf("%s: the STORE ceiling was not measured: %v", s.series(), err))
			} else {
				m.store.add(ceiling)
				this.store = ceiling.perSecond()
			}
		}
	}
	m.rounds = append(m.rounds, this)
	return nil
}

// observer follows the transactions of a slice while it runs. It is safe for concurrent use.
type observer struct {
	run      *Run
	postings atomic.Int64 // acknowledged

	// Postings that are watched until they are projected.
	watching context.Context // its end stops the watching
	watched  sync.WaitGroup
	lags     *times
	mu       sync.Mutex
	open     int
	unseen   int64 // not projected within probeTimeout
}

// note records an acknowledged transaction. If fewer than probesMax postings are watched, it starts to watch one of the
// transaction's.
func (o *observer) note(t client.Transaction) {
	now := time.Now()
	o.postings.Add(int64(len(t.Postings)))
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.run.Projected && o.open < probesMax {
		o.open++
		o.watched.Go(func() { o.watch(t.Postings[rand.IntN(len(t.Postings))], now) })
	}
}

const (
	// probesMax bounds the postings that are watched at the same time, so that watching adds little load.
	probesMax = 4
	// probePoll is the interval between reads of a watched balance, and the resolution of a lag. A shorter interval
	// would keep DynamoDB Local busy.
	probePoll    = 40 * time.Millisecond
	probeTimeout = 30 * time.Second
)

// watch reads the balance of a posting, acknowledged at began, until the balance includes it. The time until then is
// the lag of the projection.
func (o *observer) watch(posting client.Posting, began time.Time) {
	isSeen := false
	for !isSeen && time.Since(began) <= probeTimeout && retry.Sleep(o.watching, probePoll) == nil {
		b, err := o.run.observe.Balance(o.watching, posting.Account, posting.Asset, false)
		isSeen = err == nil && b.Value.AsOf != nil && *b.Value.AsOf >= posting.ID
	}
	lag := time.Since(began)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open--
	switch {
	case isSeen:
		o.lags.add(lag)
	case o.watching.Err() == nil: // else it was interrupted
		o.unseen++
	}
}
