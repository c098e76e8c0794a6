package bench

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// timing is what a slice of load took. Timings of several slices can be added up.
type timing struct {
	elapsed   time.Duration
	latencies []uint32 // microseconds, one for each call, in no order
}

func (t *timing) add(other timing) {
	t.elapsed += other.elapsed
	t.latencies = append(t.latencies, other.latencies...)
}

func (t timing) count() int { return len(t.latencies) }

// perSecond is the rate of calls, 0 where there were none.
func (t timing) perSecond() float64 {
	if t.elapsed <= 0 {
		return 0
	}
	return float64(t.count()) / t.elapsed.Seconds()
}

// percentiles returns the latencies at those shares of all, in per cent, by nearest rank: each is one that was measured. 100
// is the longest. 0 stands for all where there were no calls.
func (t timing) percentiles(shares ...float64) []uint32 {
	sorted := slices.Sorted(slices.Values(t.latencies))
	found := make([]uint32, len(shares))
	for i, share := range shares {
		if len(sorted) > 0 {
			rank := int(math.Ceil(share / 100 * float64(len(sorted))))
			found[i] = sorted[min(max(rank, 1), len(sorted))-1]
		}
	}
	return found
}

// bound ends a slice of load: after so many calls, or when no new ones are begun after so long. Zero is no bound.
type bound struct {
	count  int
	period time.Duration
}

// drive is the load engine of ours and of every ceiling: that many clients, each making one call after the other, until the
// bound is reached, a call fails, or ctx ends, which is no failure. Calls that are under way are always finished.
//
// do makes call number n, from 0 and counted over all clients, as client number worker, from 0; it must not return before
// the whole answer was read, which is when the clock of its latency stops. n alone says what to send, so that the same load
// is sent whichever client comes first. It is called by clients goroutines at once, never by two with the same worker.
func drive(ctx context.Context, clients int, b bound, do func(worker, n int) error) (timing, error) {
	var (
		next    atomic.Int64
		failure atomic.Pointer[error]
		workers sync.WaitGroup
		samples = make([][]uint32, clients)
		start   = time.Now()
	)
	for worker := range clients {
		workers.Go(func() {
			var taken []uint32
			for ctx.Err() == nil && failure.Load() == nil && (b.period == 0 || time.Since(start) < b.period) {
				n := int(next.Add(1) - 1)
				if b.count > 0 && n >= b.count {
					break
				}
				began := time.Now()
				if err := do(worker, n); err != nil {
					failure.CompareAndSwap(nil, &err)
					break
				}
				taken = append(taken, microseconds(time.Since(began)))
			}
			samples[worker] = taken
		})
	}
	workers.Wait()
	t := timing{elapsed: time.Since(start), latencies: slices.Concat(samples...)}
	if err := failure.Load(); err != nil {
		return t, *err
	}
	return t, nil
}

// microseconds rounds down; more than an hour is cut off there.
func microseconds(d time.Duration) uint32 {
	return uint32(min(d.Microseconds(), math.MaxUint32))
}
