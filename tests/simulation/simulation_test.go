// Package simulation runs the real ledger, projections and adapters on an in-memory store and injects faults.
//
// # Histories
//
// A history is one run: some minutes of simulated time, computed from a Plan. The Plan has a seed, the operations that
// callers want done (a transfer, a hold, the capture of a hold, a change of an account, ...) and the hazards that are
// switched off. A history runs in a testing/synctest bubble. Every request to the store sleeps for a random time before
// and after it is applied, so only one goroutine runs at a time: the one that wakes first. Each random value is
// computed from the seed and a name that says what the value is for (Plan.draw), not taken from one sequence. Therefore
// a plan always gives the same history, and a failing plan can be shrunk: removing one operation leaves the others
// unchanged.
//
// # Actors
//
//   - Callers (callers_test.go) send each operation to a command process. They retry until the answer is final, give up
//     early, send the same id twice at once, or send the id with another body.
//   - Processes (process_test.go) run the real service: commands, readers, projectors, the sweeper of expired holds. A
//     process has its own clock and caches. It can crash at any request. The next process with its name replaces it.
//   - The stream (stream_test.go) delivers changes of the table to projectors, as DynamoDB Streams and Lambda do.
//   - Operators (operators_test.go) rebuild projections while everything runs.
//
// A gate (gate_test.go) lies between each process and the store. It delays, drops, duplicates and refuses requests. A
// Hazard (plan_test.go) is one kind of fault.
//
// # Checks
//
// The model (model_test.go) is the ledger in a few maps. It reads every change of the store and every answer to a
// caller, and checks them against each other. The first broken rule ends the history (history.fail). When the
// operations are done, faults stop, the stream drains, every request is sent again, and an independent audit reads the
// whole table (end_checks_test.go).
//
// # Tests
//
// TestHistories runs posts only. Each post moves a different power of two, so every sum shows which postings it counts.
// TestLifecycles runs everything else: holds, reversals, batches and changes of accounts. TestClosedPeriods closes the
// books while backdated transactions are posted (closings_test.go). TestDefects breaks the
// product's code in one place at a time, and requires that these tests fail (testdata/defects.txt). A
// failing history prints its seed, the smallest plan that still fails, and the command that replays it.
package simulation

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"ledger.example/tests/harness/full"
)

var (
	histories     = flag.Int("histories", 0, "number of histories to run; 0: 20, or hundreds in the full run")
	failures      = flag.Int64("failures", 1, "end after this number of failing histories")
	first         = flag.Uint64("first", 0, "seed of the first history; the next ones count up")
	shrinkFailure = flag.Bool("shrink", true, "search for the smallest plan that still fails")
	replay        = flag.String("plan", "", "run only this plan, as printed by a failure")
)

// shortRun is how many histories each test runs in the short run.
const shortRun = 20

// play runs a plan in a new bubble.
func play(t *testing.T, p Plan) (stats Stats, err error) {
	t.Helper()
	synctest.Test(t, func(*testing.T) { stats, err = run(p) })
	return stats, err
}

// TestHistories runs histories of posts only, whose sums show which postings they count.
func TestHistories(t *testing.T) { runHistories(t, PlanOf, 300) }

// TestLifecycles runs histories of everything else that can happen to money: holds and their ends, reversals, batches,
// and accounts that change. See Mode.
func TestLifecycles(t *testing.T) { runHistories(t, LifecycleOf, 500) }

// TestClosedPeriods runs histories in which the books are closed while backdated transactions are posted.
func TestClosedPeriods(t *testing.T) { runHistories(t, BooksOf, 350) }

// runHistories runs histories in parallel until one fails, or as many as the flag says. It prints how often each kind of
// event occurred. fullRun is the number of histories in the full run: more than find any planted defect. In these, every
// kind of event must occur (counts.requireCoverage).
func runHistories(t *testing.T, planOf func(seed uint64) Plan, fullRun int) {
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
		count = full.Count(shortRun, fullRun)
	}
	began, name := time.Now(), t.Name()
	var next, failed atomic.Int64
	var mu sync.Mutex
	occurrences, historiesWith := counts{}, counts{}
	t.Run("parallel", func(t *testing.T) {
		for range runtime.GOMAXPROCS(0) {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				for failed.Load() < *failures {
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
					if err != nil && failed.Add(1) <= *failures {
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
	t.Logf("number of histories in which each event occurred: %v", historiesWith)
	if failed.Load() == 0 && count >= fullRun {
		occurrences.requireCoverage(t, planOf(0).Mode)
	}
}

// oneProcessor makes histories repeatable while a test runs. With two processors, two goroutines that wake at the same
// instant can run in either order.
func oneProcessor(t *testing.T) {
	t.Helper()
	before := runtime.GOMAXPROCS(1)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
}

// TestReplay runs plans twice. Both runs must do the same things in the same order, so that a failure can be replayed.
func TestReplay(t *testing.T) {
	oneProcessor(t)
	kinds := []func(uint64) Plan{PlanOf, LifecycleOf, BooksOf}
	for seed := range 3 * full.Count(2, 5) {
		p := kinds[seed%3](1<<32 + uint64(seed))
		first, err1 := play(t, p)
		second, err2 := play(t, p)
		if !reflect.DeepEqual(first, second) {
			t.Errorf("seed %d: the runs differ:\n%+v %v\n%+v %v", p.Seed, first, err1, second, err2)
		}
	}
}

// maxShrinkRuns is how many smaller plans shrink runs at most.
const maxShrinkRuns = 300

// shrink removes operations, in ever smaller groups, and hazards from a failing plan as long as it still fails. It
// returns the smallest plan found and its error.
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
		for group := len(p.Operations); group > 0; group /= 2 {
			for from := 0; from+group <= len(p.Operations); {
				smaller := p
				smaller.Operations = slices.Delete(slices.Clone(p.Operations), from, from+group)
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

// size is the number of operations and hazards in a plan.
func (p Plan) size() int { return len(p.Operations) + len(hazards) - len(p.Without) }

// counts has how often each kind of event occurred.
type counts map[string]int

// String lists the events, the rarest first.
func (f counts) String() string {
	names := slices.SortedFunc(maps.Keys(f), func(a, b string) int {
		return cmp.Or(cmp.Compare(f[a], f[b]), cmp.Compare(a, b))
	})
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", name, f[name])
	}
	return strings.Join(names, ", ")
}

// requireCoverage fails a test if any hazard or expected event never occurred in its histories.
func (f counts) requireCoverage(t *testing.T, mode Mode) {
	t.Helper()
	wanted := slices.Concat(occurrences, occurrencesOf[mode])
	for _, hazard := range hazards {
		if hazard != Memberships {
			wanted = append(wanted, string(hazard))
		}
	}
	for _, what := range wanted {
		if f[what] == 0 {
			t.Errorf("%q never occurred in all these histories", what)
		}
	}
}
