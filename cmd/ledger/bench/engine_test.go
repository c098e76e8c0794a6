package bench

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// By nearest rank a percentile is the least sample that so many of all don't exceed.
func TestPercentiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := rapid.SliceOfN(rapid.Uint32Range(0, 50), 1, 300).Draw(t, "samples")
		share := rapid.IntRange(1, 100).Draw(t, "share")
		got := timing{latencies: samples}.percentiles(float64(share))[0]
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
	if none := (timing{}).percentiles(50, 100); !slices.Equal(none, []uint32{0, 0}) {
		t.Error(none)
	}
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
	if err != nil || got.count() != count || len(made) != count {
		t.Errorf("%v: %d calls, %d latencies", err, len(made), got.count())
	}
}

// The end of ctx, or of the period, begins no call and cuts none off; a failure ends all.
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
	if err != nil || int64(got.count()) != done.Load() || got.count() < 21 || got.count() > 24 {
		t.Errorf("%v: %d calls, %d done", err, got.count(), done.Load())
	}
	if got, err := drive(t.Context(), 2, bound{period: time.Nanosecond}, func(_, _ int) error { return nil }); err != nil || got.count() > 2 {
		t.Errorf("%v: %d calls", err, got.count())
	}
	broken := errors.New("broken")
	if got, err := drive(t.Context(), 4, bound{count: 1000}, func(_, n int) error {
		if n == 5 {
			return broken
		}
		return nil
	}); !errors.Is(err, broken) || got.count() == 999 {
		t.Errorf("%v: %d calls", err, got.count())
	}
}
