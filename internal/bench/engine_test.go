package bench

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	_ "ledger.example/tests/full" // fixes the seed
)

// A nearest-rank percentile is the smallest sample such that the given share of all samples is not above it.
func TestPercentiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := rapid.SliceOfN(rapid.Uint32Range(0, 50), 1, 300).Draw(t, "samples")
		share := rapid.IntRange(1, 100).Draw(t, "share")
		var durations []time.Duration
		for _, ms := range samples {
			durations = append(durations, time.Duration(ms)*time.Millisecond)
		}
		got := uint32(percentile(durations, float64(share)))
		atMost := func(v uint32) (n int) {
			for _, s := range samples {
				if s <= v {
					n++
				}
			}
			return n
		}
		if !slices.Contains(samples, got) || atMost(got)*100 < share*len(samples) {
			t.Fatalf("the %dth percentile of %v is not %d", share, samples, got)
		}
		for _, s := range samples {
			if s < got && atMost(s)*100 >= share*len(samples) {
				t.Fatalf("the %dth percentile of %v is %d already, and not %d", share, samples, s, got)
			}
		}
	})
}

func TestDriveMakesEachCallOnce(t *testing.T) {
	const clients, count = 7, 1000
	var mu sync.Mutex
	made := make(map[int]bool)
	busy := make([]atomic.Bool, clients)
	got, err := drive(t.Context(), clients, bound{count: count}, func(worker, n int) error {
		if !busy[worker].CompareAndSwap(false, true) {
			t.Error("one client makes two calls at once")
		}
		defer busy[worker].Store(false)
		mu.Lock()
		defer mu.Unlock()
		if made[n] || n < 0 || n >= count {
			t.Errorf("call %d", n)
		}
		made[n] = true
		return nil
	})
	if err != nil || len(got) != count || len(made) != count {
		t.Errorf("%v: %d calls, %d latencies", err, len(made), len(got))
	}
}

// After the end of ctx or of the period, no call begins, and calls in flight finish. A failure ends the load.
func TestDriveEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var done atomic.Int64
	got, err := drive(ctx, 4, bound{}, func(_, n int) error {
		if n == 20 {
			cancel()
		}
		<-time.After(time.Millisecond)
		done.Add(1)
		return nil
	})
	if err != nil || int64(len(got)) != done.Load() || len(got) < 21 || len(got) > 24 {
		t.Errorf("%v: %d calls, %d done", err, len(got), done.Load())
	}
	if got, err := drive(t.Context(), 2, bound{period: time.Nanosecond},
		func(_, _ int) error { return nil }); err != nil || len(got) > 2 {
		t.Errorf("%v: %d calls", err, len(got))
	}
	synctest.Test(t, func(t *testing.T) { // time passes only when the failed call has returned
		broken := errors.New("broken")
		if got, err := drive(t.Context(), 4, bound{count: 1000}, func(_, n int) error {
			if n == 5 {
				return broken
			}
			time.Sleep(time.Millisecond)
			return nil
		}); !errors.Is(err, broken) || len(got) == 999 {
			t.Errorf("%v: %d calls", err, len(got))
		}
	})
}
