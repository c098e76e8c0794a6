package simulation

import (
	"encoding/json"
	"flag"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var (
	histories = flag.Int("histories", 500, "how many histories to run")
	first     = flag.Uint64("first", 0, "the seed of the first")
	smallest  = flag.Bool("shrink", true, "look for the smallest plan that still fails")
	replay    = flag.String("plan", "", "the one plan to run, as a failure prints it")
)

// play runs a plan in a bubble of its own.
func play(t *testing.T, p Plan) (stats Stats, err error) {
	t.Helper()
	synctest.Test(t, func(*testing.T) { stats, err = run(p) })
	return stats, err
}

// TestHistories runs histories, and on a failure prints the smallest plan that still fails.
func TestHistories(t *testing.T) {
	if *replay != "" {
		var p Plan
		if err := json.Unmarshal([]byte(*replay), &p); err != nil {
			t.Fatal(err)
		}
		stats, err := play(t, p)
		t.Logf("%+v", stats)
		if err != nil {
			t.Error(err)
		}
		return
	}
	began := time.Now()
	var next, failed atomic.Int64
	var mu sync.Mutex
	var total Stats
	t.Run("side by side", func(t *testing.T) {
		for range runtime.GOMAXPROCS(0) {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				for failed.Load() == 0 {
					n := next.Add(1) - 1
					if n >= int64(*histories) {
						return
					}
					p := PlanOf(*first + uint64(n))
					stats, err := play(t, p)
					mu.Lock()
					total.add(stats)
					mu.Unlock()
					if err != nil && failed.Add(1) == 1 {
						small, smallErr := p, err
						if *smallest {
							small, smallErr = shrink(t, p, err)
						}
						t.Errorf("seed %d: %v\nshrunk: %v\nagain: go test ./tests/simulation -run TestHistories -args -plan='%v'", p.Seed, err, smallErr, small)
					}
				}
			})
		}
	})
	took := time.Since(began)
	t.Logf("%d histories in %v, %.0f a second: %+v", *histories, took.Round(time.Millisecond), float64(*histories)/took.Seconds(), total)
	if failed.Load() == 0 && *histories >= 500 {
		total.tame(t)
	}
}

func TestReplay(t *testing.T) {
	for seed := range uint64(10) {
		p := PlanOf(1<<32 + seed)
		first, err1 := play(t, p)
		second, err2 := play(t, p)
		if first != second {
			t.Errorf("seed %d went another way the second time:\n%+v %v\n%+v %v", p.Seed, first, err1, second, err2)
		}
	}
}
