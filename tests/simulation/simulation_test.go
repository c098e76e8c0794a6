// Package simulation runs the real ledger, projections and adapters on a store in memory, with faults of every kind.
// Requests fail, are applied although they fail, or are applied long after their caller died. Processes die anywhere.
// Clocks jump, differ by minutes or stand still. The stream repeats records, falls behind, splits and loses records. A
// simple model checks the invariants after every change of the store. At the end, an audit must find nothing.
//
// One history runs in a bubble of testing/synctest with simulated time. Each request to the store waits for a random
// time before it is applied, and again after. Only one goroutine runs at a time: the one whose wait ends first. All
// random values come from the history's Plan. Each depends on its purpose, not on a common sequence. A history
// therefore replays exactly. It also shrinks well, because removing one request does not change the others.
package simulation

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ledger.example/tests/full"
)

var (
	histories     = flag.Int("histories", 0, "how many histories to run; 0: 30, and 500 in the full run")
	first         = flag.Uint64("first", 0, "the seed of the first")
	shrinkFailure = flag.Bool("shrink", true, "look for the smallest plan that still fails")
	replay        = flag.String("plan", "", "the one plan to run, as a failure prints it")
)

// enough histories meet everything that may go wrong. few of them meet most of it.
const (
	shortRun = 30
	fullRun  = 500
)

// play runs a plan in a bubble of its own.
func play(t *testing.T, p Plan) (stats Stats, err error) {
	t.Helper()
	synctest.Test(t, func(*testing.T) { stats, err = run(p) })
	return stats, err
}

// TestHistories runs histories of posts, and on a failure prints the smallest plan that still fails.
func TestHistories(t *testing.T) { runHistories(t, PlanOf, full.Count(shortRun, fullRun)) }

// TestLives runs histories of the life of money: holds, their ends, reversals, accounts that change.
func TestLives(t *testing.T) { runHistories(t, LifeOf, full.Count(shortRun, fullRun)) }

func runHistories(t *testing.T, planOf func(seed uint64) Plan, defaultCount int) {
	if *replay != "" {
		oneProcessor(t)
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
	count := *histories
	if count == 0 {
		count = defaultCount
	}
	began, name := time.Now(), t.Name()
	var next, failed atomic.Int64
	var mu sync.Mutex
	occurrences, historiesWith := counts{}, counts{}
	t.Run("side by side", func(t *testing.T) {
		for range runtime.GOMAXPROCS(0) {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				for failed.Load() == 0 {
					n := next.Add(1) - 1
					if n >= int64(count) {
						return
					}
					p := planOf(*first + uint64(n))
					stats, err := play(t, p)
					mu.Lock()
					for what, n := range stats.Met {
						occurrences[what] += n
						historiesWith[what]++
					}
					mu.Unlock()
					if err != nil && failed.Add(1) == 1 {
						small, smallErr := p, err
						if *shrinkFailure {
							small, smallErr = shrink(t, p, err)
						}
						t.Errorf("seed %d: %v\nshrunk: %v\nagain: go test ./tests/simulation -run %s -args -plan='%v'",
							p.Seed, err, smallErr, name, small)
					}
				}
			})
		}
	})
	took := time.Since(began)
	t.Logf("%d histories in %v, %.0f a second: %v", count, took.Round(time.Millisecond),
		float64(count)/took.Seconds(), occurrences)
	t.Logf("in so many of them occurred: %v", historiesWith)
	if failed.Load() == 0 && count >= fullRun {
		occurrences.requireCoverage(t, planOf(0).Mode)
	}
}

// oneProcessor makes histories repeatable while a test runs: two processors may swap what happens at the same instant.
func oneProcessor(t *testing.T) {
	t.Helper()
	before := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
}

func TestReplay(t *testing.T) {
	oneProcessor(t)
	for seed := range 2 * full.Count(3, 10) {
		p := PlanOf(1<<32 + uint64(seed))
		if seed%2 == 1 {
			p = LifeOf(p.Seed)
		}
		first, err1 := play(t, p)
		second, err2 := play(t, p)
		if !reflect.DeepEqual(first, second) {
			t.Errorf("seed %d went another way the second time:\n%+v %v\n%+v %v", p.Seed, first, err1, second, err2)
		}
	}
}

// garbagePercent trades memory for time: a history lives for a moment, and hardly any of it at once.
const garbagePercent = 400

func TestMain(m *testing.M) {
	debug.SetGCPercent(garbagePercent)
	os.Exit(m.Run())
}

// shrinkRuns bounds how often a failing plan is tried again with less in it.
const maxShrinkRuns = 300

// shrink leaves out of a failing plan what it fails without: hazards, and requests in ever smaller groups. It returns
// the smallest plan found, and how that fails.
func shrink(t *testing.T, p Plan, err error) (Plan, error) {
	t.Helper()
	runs := 0
	fails := func(smaller Plan) bool {
		if runs++; runs > maxShrinkRuns {
			return false
		}
		_, smallerErr := play(t, smaller)
		if smallerErr != nil {
			p, err = smaller, smallerErr
		}
		return smallerErr != nil
	}
	for size := -1; size != p.size() && runs < maxShrinkRuns; {
		size = p.size()
		for group := len(p.Requests); group > 0; group /= 2 {
			for from := 0; from+group <= len(p.Requests); {
				smaller := p
				smaller.Requests = slices.Delete(slices.Clone(p.Requests), from, from+group)
				if !fails(smaller) {
					from += group
				}
			}
		}
		for _, h := range hazards {
			if p.has(h) {
				smaller := p
				smaller.Without = append(slices.Clone(p.Without), h)
				fails(smaller)
			}
		}
	}
	return p, err
}

// size is how much there is in a plan.
func (p Plan) size() int { return len(p.Requests) + len(hazards) - len(p.Without) }

// frequency counts, by what may be met.
type counts map[string]int

// String lists what was met, the rarest first.
func (f counts) String() string {
	names := slices.SortedFunc(maps.Keys(f), func(a, b string) int {
		return cmp.Or(cmp.Compare(f[a], f[b]), cmp.Compare(a, b))
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", name, f[name])
	}
	return strings.Join(names, ", ")
}

// tame fails a test whose histories never met what they are for.
func (f counts) requireCoverage(t *testing.T, mode Mode) {
	t.Helper()
	wanted := slices.Concat(occurrences, occurrencesOfLives)
	if mode == PostsOnly {
		wanted = slices.Concat(occurrences, occurrencesOfPosts)
	}
	for _, hazard := range hazards {
		if hazard != Memberships {
			wanted = append(wanted, string(hazard))
		}
	}
	for _, what := range wanted {
		if f[what] == 0 {
			t.Errorf("too tame: no %s in all these histories", what)
		}
	}
}
