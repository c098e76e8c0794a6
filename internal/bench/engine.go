package bench

import (
	"context"
	"math"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// bound ends a slice of load after a number of calls, or after a period. Zero means no bound.
type bound struct {
	count  int
	period time.Duration
}

// measurement holds the figures of one or several slices of load, of a workload or a ceiling.
type measurement struct {
	elapsed     time.Duration
	latencies   []time.Duration // one for each call, in no order
	cpu         time.Duration   // user and system time of this process, including the clients
	allocations int64           // on the heap of this process, including the clients
}

func (m *measurement) add(other measurement) {
	m.elapsed += other.elapsed
	m.latencies = append(m.latencies, other.latencies...)
	m.cpu += other.cpu
	m.allocations += other.allocations
}

func (m *measurement) count() int { return len(m.latencies) }

// perSecond returns the rate of calls, or absent if there were none.
func (m *measurement) perSecond() float64 { return over(int64(m.count()), m.elapsed.Seconds()) }

// percentile returns the nearest-rank percentile in milliseconds: share 100 is the longest sample. It is absent without
// samples.
func percentile(samples []time.Duration, share float64) float64 {
	if len(samples) == 0 {
		return absent
	}
	sorted := slices.Sorted(slices.Values(samples))
	rank := int(math.Ceil(share / 100 * float64(len(sorted))))
	return float64(sorted[min(max(rank, 1), len(sorted))-1].Microseconds()) / 1000
}

// measure calls drive, and measures the time and the resources of this process during the call.
func measure(ctx context.Context, clients int, b bound, do func(worker, n int) error) (m measurement, err error) {
	runtime.GC() // so that no slice collects the garbage of another one
	cpu, allocations, err := used()
	if err != nil {
		return m, err
	}
	start := time.Now()
	m.latencies, err = drive(ctx, clients, b, do)
	m.elapsed = time.Since(start)
	if err != nil {
		return m, err
	}
	m.cpu, m.allocations, err = used()
	m.cpu -= cpu
	m.allocations -= allocations
	return m, err
}

// drive is the load engine of the workloads, the ceilings and the checks. Each client makes one call after the other,
// until the bound is reached, a call fails, or ctx ends, which is not an error. Calls in flight always finish. drive
// returns the duration of each call.
//
// do makes call n, counted over all clients. n and worker begin with 0. do must return only after it has read the
// answer, because its duration is the latency. Calls are concurrent, but those of one worker never overlap.
func drive(ctx context.Context, clients int, b bound, do func(worker, n int) error) ([]time.Duration, error) {
	workers, running := errgroup.WithContext(ctx)
	samples := make([][]time.Duration, clients)
	var next atomic.Int64
	start := time.Now()
	for worker := range clients {
		workers.Go(func() error {
			var taken []time.Duration // separate for each worker, so that workers share no cache lines
			defer func() { samples[worker] = taken }()
			for running.Err() == nil && (b.period == 0 || time.Since(start) < b.period) {
				n := int(next.Add(1) - 1)
				if b.count > 0 && n >= b.count {
					break
				}
				began := time.Now()
				if err := do(worker, n); err != nil {
					return err
				}
				taken = append(taken, time.Since(began))
			}
			return nil
		})
	}
	err := workers.Wait()
	return slices.Concat(samples...), err
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
